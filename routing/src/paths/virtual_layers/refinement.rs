//! Moves routes off busy links, one switch and LID at a time, while all layers stay acyclic.
//!
//! A switch changes to another link, to a neighbour at the same distance from the LID, if that
//! lowers the sum of a power of all loads and if the layers of all sources behind the switch admit
//! the new dependencies. So every step is free of credit loops, no path gets longer and no VL is
//! added. Owned by one engine run.

use crate::channels::{Dependency, VirtualLayer};
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::weighted::LidTrees;
use crate::request::RoutingRequest;
use crate::topology::Destination;
use crate::topology::graph::Graph;
use crate::work::{BudgetExceeded, WorkBudget};
use ferrosm_mad::ids::PortNum;

/// A fabric is balanced if the busiest link has at most this percentage of the mean load.
const BALANCED_PERCENT: u64 = 103;

/// Maximum number of passes over all LIDs for each power.
const PASSES: usize = 8;

/// Maximum number of steps along paths, which limits the time on large fabrics.
const VISITS_MAX: u64 = 40_000_000;

/// Steps counted for one admission test.
const VISITS_PER_ADMISSION: u64 = 50;

/// Work units per switch for building the tree of a LID.
const COLUMN_UNITS: usize = 2;

/// Layers that must stay acyclic, and the layer of each pair of switches.
#[derive(Debug)]
pub(crate) struct LayerConstraints<'s> {
    pub(crate) layers: &'s mut [VirtualLayer],
    /// By source and destination switch; empty if there is one layer.
    pub(crate) layer_of: &'s [u8],
    /// Whether the first layer also has the dependencies of a multicast tree, which no route has.
    pub(crate) tree: bool,
}

/// Loads of all links, and the state to change them.
#[derive(Debug)]
pub(crate) struct Refinement<'a, C> {
    graph: &'a Graph,
    matrix: &'a HopMatrix<C>,
    budget: &'a WorkBudget,
    lids: Vec<Destination>,
    /// Routes over each link, by switch and port.
    load: Vec<u64>,
    /// Whether the load of a link is counted.
    is_counted: Vec<bool>,
    /// Number of directed links between switches.
    links: u64,
    /// Remaining steps.
    visits_left: u64,
    tree: Tree,
}

/// The tree of the current LID.
#[derive(Debug)]
struct Tree {
    dest: usize,
    /// Switches by distance, then by LID.
    order: Vec<u32>,
    /// Next hop of each switch.
    next: Vec<u32>,
    /// First switch that sends to each switch, and next switch with the same next hop.
    child: Vec<u32>,
    sibling: Vec<u32>,
    /// End ports that send through each switch.
    flow: Vec<u64>,
    /// Whether the path of each switch is a shortest one. Others must not become next hops, because
    /// they might loop.
    shortest: Vec<bool>,
}

/// No switch.
const NONE: u32 = u32::MAX;

/// A link that a switch might change to.
struct Choice {
    delta: f64,
    port: u8,
    peer: usize,
}

impl<'a, C: HopCell> Refinement<'a, C> {
    pub(crate) fn new(
        request: &RoutingRequest<'a>,
        graph: &'a Graph,
        matrix: &'a HopMatrix<C>,
        lid_trees: &LidTrees,
    ) -> Result<Self, BudgetExceeded> {
        let topo = request.topo;
        let n = graph.len();
        let mut is_counted = vec![true; n * 256];
        for (s, port) in &request.hints.load_balance_ignored {
            is_counted[s.index() * 256 + port.index()] = false;
        }
        let links = topo.switches().map(|s| topo.links(s).len() as u64).sum();
        let mut initial = Self {
            graph,
            matrix,
            budget: request.budget,
            lids: lid_trees.destinations(topo).copied().collect(),
            load: vec![0; n * 256],
            is_counted,
            links,
            visits_left: VISITS_MAX,
            tree: Tree {
                dest: 0,
                order: Vec::new(),
                next: vec![NONE; n],
                child: vec![NONE; n],
                sibling: vec![NONE; n],
                flow: vec![0; n],
                shortest: vec![false; n],
            },
        };
        initial.for_each_column(lid_trees, |refinement, column| {
            let ports = lid_trees.column(column);
            for &v in &refinement.tree.order {
                let v = v as usize;
                refinement.load[v * 256 + usize::from(ports[v])] += refinement.tree.flow[v];
            }
        })?;
        Ok(initial)
    }

    /// Routes over the busiest link that is counted.
    pub(crate) fn max_load(&self) -> u64 {
        let counted = self.load.iter().zip(&self.is_counted);
        counted.filter(|c| *c.1).map(|c| *c.0).max().unwrap_or(0)
    }

    /// Whether the highest load is at most [`BALANCED_PERCENT`] of the mean.
    fn is_balanced(&self) -> bool {
        self.max_load() * 100 * self.links <= self.load.iter().sum::<u64>() * BALANCED_PERCENT
    }

    /// Refines all LIDs of end ports, pass by pass, until nothing improves. After each pass
    /// `rebuild_layers` may drop unused dependencies. Ends early if the work budget is exceeded;
    /// paths and layers are valid after every step.
    pub(crate) fn run(
        &mut self,
        lid_trees: &mut LidTrees,
        constraints: &mut LayerConstraints<'_>,
        mut rebuild_layers: impl FnMut(
            &LidTrees,
            &mut LayerConstraints<'_>,
        ) -> Result<(), BudgetExceeded>,
    ) {
        for power in [1u32, 2, 3] {
            for _ in 0..PASSES {
                if self.visits_left == 0 || self.is_balanced() {
                    return;
                }
                let mut moves = 0;
                for i in 0..self.graph.len() {
                    let dest = self.graph.by_lid[i];
                    for column in self.start_destination(lid_trees, dest) {
                        let visits_left = self.visits_left;
                        self.build_tree(lid_trees.column(column));
                        moves += self.improve(lid_trees.column_mut(column), power, constraints);
                        let visits = visits_left - self.visits_left;
                        let units = visits.saturating_add((COLUMN_UNITS * self.graph.len()) as u64);
                        if self.budget.spend(units).is_err() {
                            return;
                        }
                    }
                }
                if moves == 0 {
                    break;
                }
                if rebuild_layers(lid_trees, constraints).is_err() {
                    return;
                }
            }
        }
    }

    /// Prepares for the LIDs on a switch; returns the columns of its end ports.
    fn start_destination(&mut self, lid_trees: &LidTrees, dest: usize) -> Vec<usize> {
        let of_hosts = |&c: &usize| self.lids[c].port != PortNum::ZERO;
        let columns: Vec<usize> = lid_trees.columns_on(dest).filter(of_hosts).collect();
        if !columns.is_empty() {
            let row = self.matrix.row(dest);
            let tree = &mut self.tree;
            tree.dest = dest;
            tree.order.clear();
            let other_switches = self.graph.by_lid.iter().filter(|&&v| v != dest);
            tree.order
                .extend(other_switches.map(|&v| u32::try_from(v).unwrap_or(NONE)));
            tree.order.sort_by_key(|&v| row[v as usize].hops());
        }
        columns
    }

    /// Calls `work` with the tree of each LID of an end port.
    fn for_each_column(
        &mut self,
        lid_trees: &LidTrees,
        mut work: impl FnMut(&mut Self, usize),
    ) -> Result<(), BudgetExceeded> {
        for i in 0..self.graph.len() {
            for column in self.start_destination(lid_trees, self.graph.by_lid[i]) {
                self.build_tree(lid_trees.column(column));
                work(self, column);
                self.budget.spend_len(COLUMN_UNITS * self.graph.len())?;
            }
        }
        Ok(())
    }

    /// Builds the tree of one LID.
    fn build_tree(&mut self, ports: &[u8]) {
        let tree = &mut self.tree;
        for (flow, &hosts) in tree.flow.iter_mut().zip(&self.graph.hosts) {
            *flow = u64::from(hosts);
        }
        tree.child.fill(NONE);
        for i in (0..tree.order.len()).rev() {
            let v = tree.order[i];
            let at = v as usize;
            let next = self.graph.channels.head[self.graph.output_channel(at, ports[at]) as usize];
            tree.next[at] = next;
            tree.flow[next as usize] += tree.flow[at];
            tree.attach(v, next);
        }
        let row = self.matrix.row(tree.dest);
        tree.shortest.fill(false);
        tree.shortest[tree.dest] = true;
        for i in 0..tree.order.len() {
            let v = tree.order[i] as usize;
            let next = tree.next[v] as usize;
            tree.shortest[v] = tree.shortest[next] && row[next].farther() == row[v];
        }
    }

    /// Improves the current tree; returns the number of switches that changed their link.
    fn improve(
        &mut self,
        ports: &mut [u8],
        power: u32,
        constraints: &mut LayerConstraints<'_>,
    ) -> usize {
        let mut moves = 0;
        for i in 0..self.tree.order.len() {
            let v = self.tree.order[i] as usize;
            if self.tree.flow[v] == 0 || self.visits_left == 0 {
                continue;
            }
            let mut choices = self.choices(ports, v, power);
            choices.sort_by(|a, b| a.delta.total_cmp(&b.delta));
            let choice = choices.into_iter().find(|choice| {
                self.visits_left = self.visits_left.saturating_sub(VISITS_PER_ADMISSION);
                choice.peer == self.tree.next[v] as usize
                    || self.fits(ports, v, choice, constraints)
            });
            if let Some(choice) = choice {
                self.apply(ports, v, &choice);
                moves += 1;
            }
        }
        moves
    }

    /// Links that lower the sum.
    fn choices(&mut self, ports: &[u8], v: usize, power: u32) -> Vec<Choice> {
        let row = self.matrix.row(self.tree.dest);
        let mut choices = Vec::new();
        for slot in self.graph.slots(v) {
            if row[slot.peer].farther() != row[v] || !self.tree.shortest[slot.peer] {
                continue;
            }
            let load = |p: &u8| self.load[v * 256 + usize::from(*p)];
            let other_ports = self.graph.ports(*slot).iter().filter(|p| **p != ports[v]);
            let Some(&port) = other_ports.min_by_key(|p| load(p)) else {
                continue;
            };
            let mut choice = Choice {
                delta: 0.0,
                port,
                peer: slot.peer,
            };
            choice.delta = self.delta(ports, v, &choice, power);
            if choice.delta < -1e-9 {
                choices.push(choice);
            }
        }
        choices
    }

    /// Change of the sum of powers of loads.
    fn delta(&mut self, ports: &[u8], v: usize, choice: &Choice, power: u32) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let sum_of = |load: u64| (0..power).fold(load as f64, |x, _| x * x);
        let flow = self.tree.flow[v];
        let mut delta = 0.0;
        let mut old = v;
        let mut new = v;
        let mut old_port = ports[v];
        let mut new_port = choice.port;
        loop {
            self.visits_left = self.visits_left.saturating_sub(1);
            let from = old * 256 + usize::from(old_port);
            let to = new * 256 + usize::from(new_port);
            if self.is_counted[from] {
                delta += sum_of(self.load[from] - flow) - sum_of(self.load[from]);
            }
            if self.is_counted[to] {
                delta += sum_of(self.load[to] + flow) - sum_of(self.load[to]);
            }
            old = self.tree.next[old] as usize;
            new = if new == v {
                choice.peer
            } else {
                self.tree.next[new] as usize
            };
            if old == new {
                return delta;
            }
            (old_port, new_port) = (ports[old], ports[new]);
        }
    }

    /// Whether all layers with packets through the switch admit its new path.
    fn fits(
        &self,
        ports: &[u8],
        v: usize,
        choice: &Choice,
        constraints: &mut LayerConstraints<'_>,
    ) -> bool {
        let tree = &self.tree;
        let graph = self.graph;
        let n = graph.len();
        let to = graph.output_channel(v, choice.port);
        let mut beyond: Vec<Dependency> = Vec::new();
        let mut x = to;
        let mut at = choice.peer;
        while at != tree.dest {
            let y = graph.output_channel(at, ports[at]);
            beyond.push((x, y));
            (x, at) = (y, tree.next[at] as usize);
        }
        // Layers of the packets that arrive from each neighbour.
        let layer_of = |s: usize| match constraints.layer_of {
            [] => 1u64,
            vls => 1 << vls[s * n + tree.dest],
        };
        let mut children: Vec<(u32, u64)> = Vec::new();
        for child in tree.children(v) {
            let c = child as usize;
            let vls = if constraints.layer_of.is_empty() {
                1
            } else {
                tree.subtree(c).fold(0, |vls, s| vls | layer_of(s as usize))
            };
            children.push((graph.output_channel(c, ports[c]), vls));
        }
        let all_vls = children.iter().fold(layer_of(v), |all, (_, vls)| all | vls);
        let mut dependencies: Vec<Dependency> = Vec::new();
        (0..constraints.layers.len()).all(|l| {
            if all_vls >> l & 1 == 0 {
                return true;
            }
            dependencies.clone_from(&beyond);
            let of_vl = children.iter().filter(|(_, vls)| vls >> l & 1 == 1);
            dependencies.extend(of_vl.map(|&(from, _)| (from, to)));
            constraints.layers[l].admit(&graph.channels, &dependencies)
        })
    }

    /// Changes the link of a switch.
    fn apply(&mut self, ports: &mut [u8], v: usize, choice: &Choice) {
        let flow = self.tree.flow[v];
        let dest = self.tree.dest;
        let mut along = |tree: &mut Tree, ports: &[u8], add: bool| {
            let mut at = v;
            while at != dest {
                let load = &mut self.load[at * 256 + usize::from(ports[at])];
                *load = if add { *load + flow } else { *load - flow };
                at = tree.next[at] as usize;
                if at != dest {
                    tree.flow[at] = if add {
                        tree.flow[at] + flow
                    } else {
                        tree.flow[at] - flow
                    };
                }
            }
        };
        along(&mut self.tree, ports, false);
        ports[v] = choice.port;
        self.tree.detach(v);
        let peer = u32::try_from(choice.peer).unwrap_or(NONE);
        self.tree.next[v] = peer;
        self.tree.attach(u32::try_from(v).unwrap_or(NONE), peer);
        along(&mut self.tree, ports, true);
    }
}

impl Tree {
    /// Adds `v` to the switches that send to `next`.
    fn attach(&mut self, v: u32, next: u32) {
        self.sibling[v as usize] = self.child[next as usize];
        self.child[next as usize] = v;
    }

    /// Removes `v` from the switches that send to its next hop.
    fn detach(&mut self, v: usize) {
        let next = self.next[v] as usize;
        let after = self.sibling[v];
        if self.child[next] as usize == v {
            self.child[next] = after;
            return;
        }
        let mut c = self.child[next] as usize;
        while self.sibling[c] as usize != v {
            c = self.sibling[c] as usize;
        }
        self.sibling[c] = after;
    }

    /// Switches that send to `v`.
    fn children(&self, v: usize) -> impl Iterator<Item = u32> {
        let link = |c: u32| (c != NONE).then_some(c);
        std::iter::successors(link(self.child[v]), move |&c| {
            link(self.sibling[c as usize])
        })
    }

    /// `v` and all switches that send through it.
    fn subtree(&self, v: usize) -> impl Iterator<Item = u32> {
        let mut stack = vec![u32::try_from(v).unwrap_or(NONE)];
        std::iter::from_fn(move || {
            let at = stack.pop()?;
            stack.extend(self.children(at as usize));
            Some(at)
        })
    }
}
