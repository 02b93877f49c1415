//! Next hops of the switches that dimension order does not connect to a destination.
//!
//! The destinations are processed one after the other. For each, a shortest path search starts at
//! the switches that dimension order connects and takes only turns that close no credit loop
//! ([`Turns`]). The cost of a link rises with its load, so that detours spread over several lines.
//! If the turns connect a switch to no other, it takes any path, for an additional layer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::turns::Turns;
use crate::paths::grid::credit_loops::VlRule;
use crate::paths::grid::paths::{GridPaths, ReachingSwitches};
use crate::paths::slot_routes::SlotLoads;
use crate::topology::graph::Graph;
use crate::topology::index_to_u32;
use crate::work::{BudgetExceeded, WorkBudget};

/// Cost of a link without load.
const LINK_COST: u64 = 256;

/// Cost of a turn against dimension order.
const TURN_COST: u64 = LINK_COST;

/// Cost of a path that passes a ring on a VL of other parts of the ring: it may need another SL or
/// a layer.
const RING_VL_COST: u64 = 64 * LINK_COST;

/// Aims of the search, one after the other. The first avoids other turns than before, so that no
/// destination uses up the turns that another one needs. Its turns remain permitted.
const AIMS: [Aim; 2] = [Aim::FewTurns, Aim::Balance];

/// What a search minimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// New turns and hops.
    FewTurns,
    /// Load and hops.
    Balance,
}

impl Aim {
    /// Cost of a turn that no path has yet. In a torus, a turn back over several axes is likely to
    /// prevent others, and can be avoided.
    fn new_turn_cost(self, turns: &Turns<'_>, x: usize, y: usize) -> u64 {
        match self {
            Self::FewTurns if turns.vls.ordered > 1 => 16 * LINK_COST * turns.span(x, y),
            Self::FewTurns => 16 * LINK_COST,
            Self::Balance => 3 * LINK_COST,
        }
    }
}

/// Sets the next hops of all switches that `paths` does not connect.
pub(super) fn connect(
    graph: &Graph,
    paths: &mut GridPaths,
    turns: &mut Turns<'_>,
    budget: &WorkBudget,
) -> Result<(), BudgetExceeded> {
    let loads = loads_in_order(graph, paths);
    let busiest = (0..graph.num_slots()).map(|channel| loads.per_link(channel));
    let unconnected = std::mem::take(&mut paths.unconnected);
    let mut search = DetourSearch {
        graph,
        busiest: busiest.max().unwrap_or(0).max(1),
        aim: Aim::FewTurns,
        loads,
        link_costs: vec![LINK_COST; graph.num_slots()],
        is_open: vec![false; graph.len()],
        best: vec![UNKNOWN; graph.len()],
        cost: vec![UNKNOWN; graph.len()],
        fitting: vec![FittingSls::ALL; graph.len()],
        known: Vec::new(),
        candidates: BinaryHeap::new(),
        order: Vec::new(),
        flow: vec![0; graph.len()],
    };
    for aim in AIMS {
        search.aim = aim;
        if aim == Aim::Balance {
            (0..graph.num_slots()).for_each(|channel| search.update_cost(channel));
        }
        for &dest in &graph.by_lid {
            let sources = &unconnected[dest];
            if sources.is_empty() {
                continue;
            }
            budget.spend_len(sources.len())?;
            search.set_open(sources, true);
            match aim {
                Aim::FewTurns => search.find_first(paths, turns, dest, sources),
                Aim::Balance => search.improve(paths, turns, dest, sources),
            }
            search.set_open(sources, true);
            search.add_loads(paths, dest, LoadChange::Add);
            search.set_open(sources, false);
        }
        turns.limit_searches();
    }
    paths.unconnected = unconnected;
    Ok(())
}

/// Loads of the paths in dimension order.
fn loads_in_order(graph: &Graph, paths: &GridPaths) -> SlotLoads {
    let n = graph.len();
    let loads = (0..n)
        .into_par_iter()
        .fold(
            || (vec![0u64; graph.num_slots()], ReachingSwitches::new(n)),
            |(mut loads, mut order), dest| {
                let column = paths.column(dest);
                order.follow(graph, column, dest);
                let mut flow: Vec<u64> = graph.hosts.iter().map(|&h| u64::from(h)).collect();
                for &v in order.switches.iter().skip(1).rev() {
                    let slot = usize::from(column[v]);
                    flow[graph.slots(v)[slot].peer] += flow[v];
                    loads[graph.first_slot(v) + slot] += flow[v] * u64::from(graph.hosts[dest]);
                }
                (loads, order)
            },
        )
        .map(|(loads, _)| loads)
        .reduce(
            || vec![0; graph.num_slots()],
            |mut a, b| {
                a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
                a
            },
        );
    let mut slot_loads = SlotLoads::new(graph);
    for (channel, load) in loads.into_iter().enumerate() {
        slot_loads.add(channel, load);
    }
    slot_loads
}

/// Cost of a switch that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Whether a path is added to the loads or removed from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadChange {
    Add,
    Remove,
}

/// Whether a search takes only turns that close no credit loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnRule {
    Permitted,
    Any,
}

/// A next hop of a switch, in the order of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DetourHop {
    cost: u64,
    rank: usize,
    slot: usize,
}

/// SLs, one bit each, on which packets pass rings only on VLs on which others do so already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FittingSls {
    /// From the first channel of a path to the second. All SLs fit after a turn against dimension
    /// order, which has a VL of its own.
    first: u16,
    /// From the second channel on.
    rest: u16,
}

impl FittingSls {
    const ALL: Self = Self {
        first: u16::MAX,
        rest: u16::MAX,
    };
}

/// Search for the detours to one destination. All but `loads` is working memory.
struct DetourSearch<'a> {
    graph: &'a Graph,
    loads: SlotLoads,
    /// Load of the busiest channel in dimension order.
    busiest: u64,
    aim: Aim,
    /// Cost of each channel.
    link_costs: Vec<u64>,
    /// Switches without a next hop.
    is_open: Vec<bool>,
    /// Cost of the path of each switch.
    cost: Vec<u64>,
    /// SLs that fit the path of each switch with a known cost.
    fitting: Vec<FittingSls>,
    /// Lowest cost of a candidate of each open switch that is permitted.
    best: Vec<u64>,
    /// Switches with a known cost.
    known: Vec<usize>,
    candidates: BinaryHeap<Reverse<DetourHop>>,
    /// Switches with detours, each after its next switch if that has a detour too.
    order: Vec<usize>,
    /// Number of end ports whose packets cross each switch.
    flow: Vec<u64>,
}

impl DetourSearch<'_> {
    fn set_open(&mut self, sources: &[usize], is_open: bool) {
        sources.iter().for_each(|&v| self.is_open[v] = is_open);
    }

    /// Sets the next hops of all `sources`, which are marked as open.
    fn find_first(
        &mut self,
        paths: &mut GridPaths,
        turns: &mut Turns<'_>,
        dest: usize,
        sources: &[usize],
    ) {
        self.order.clear();
        self.connect(paths, turns, dest, sources, TurnRule::Permitted);
        if self.order.len() < sources.len() {
            self.connect(paths, turns, dest, sources, TurnRule::Any);
        }
    }

    /// Sets better next hops of all `sources`, which are marked as open, if there are permitted
    /// turns. Their loads are removed.
    fn improve(
        &mut self,
        paths: &mut GridPaths,
        turns: &mut Turns<'_>,
        dest: usize,
        sources: &[usize],
    ) {
        self.order_by_paths(paths, dest, sources);
        self.add_loads(paths, dest, LoadChange::Remove);
        let slots: Vec<Option<usize>> = sources.iter().map(|&v| paths.slot(v, dest)).collect();
        self.order.clear();
        self.connect(paths, turns, dest, sources, TurnRule::Permitted);
        if self.order.len() < sources.len() {
            for (&v, slot) in sources.iter().zip(slots) {
                slot.into_iter()
                    .for_each(|slot| paths.set_slot(v, dest, slot));
            }
            self.set_open(sources, true);
            self.order_by_paths(paths, dest, sources);
        }
    }

    /// Sets the next hops of those of the open `sources` that turns connect.
    fn connect(
        &mut self,
        paths: &mut GridPaths,
        turns: &mut Turns<'_>,
        dest: usize,
        sources: &[usize],
        rule: TurnRule,
    ) {
        let graph = self.graph;
        self.cost[dest] = 0;
        self.known.push(dest);
        for &v in sources {
            let slots = if self.is_open[v] {
                graph.slots(v).len()
            } else {
                0
            };
            for slot in 0..slots {
                self.add_candidate(paths, turns, dest, rule, v, slot);
            }
        }
        while let Some(Reverse(candidate)) = self.candidates.pop() {
            let v = graph.by_lid[candidate.rank];
            if !self.is_open[v] {
                continue;
            }
            let channel = graph.first_slot(v) + candidate.slot;
            if rule == TurnRule::Permitted {
                let next = self.next_channel(paths, channel, dest);
                let after = next.and_then(|out| self.next_channel(paths, out, dest));
                if next.is_some_and(|out| !turns.permits(channel, out, after)) {
                    continue;
                }
            }
            paths.set_slot(v, dest, candidate.slot);
            self.is_open[v] = false;
            self.best[v] = UNKNOWN;
            self.cost[v] = candidate.cost;
            self.fitting[v] = self.fitting_sls(paths, turns, dest, channel);
            self.known.push(v);
            self.order.push(v);
            for (k, slot) in graph.slots(v).iter().enumerate() {
                let before = slot.peer;
                if self.is_open[before] {
                    let back = graph.channels.reverse[graph.first_slot(v) + k] as usize;
                    let slot = back - graph.first_slot(before);
                    self.add_candidate(paths, turns, dest, rule, before, slot);
                }
            }
        }
        for v in self.known.drain(..) {
            self.cost[v] = UNKNOWN;
        }
        sources.iter().for_each(|&v| self.best[v] = UNKNOWN);
    }

    /// Adds a next hop of a switch to the candidates, unless it has no path itself.
    fn add_candidate(
        &mut self,
        paths: &GridPaths,
        turns: &Turns<'_>,
        dest: usize,
        rule: TurnRule,
        v: usize,
        slot: usize,
    ) {
        let next = self.graph.slots(v)[slot].peer;
        if self.is_open[next] {
            return;
        }
        let channel = self.graph.first_slot(v) + slot;
        let mut cost = self.cost_of(paths, turns, next, dest) + self.link_costs[channel];
        let mut is_known = true;
        if let Some(out) = self.output(paths, next, dest)
            && turns.is_irregular(channel, out)
        {
            cost += TURN_COST;
            let after = self.next_channel(paths, out, dest);
            match turns.status(channel, out, after) {
                Some(false) if rule == TurnRule::Permitted => return,
                Some(_) => {}
                None => {
                    is_known = false;
                    cost += self.aim.new_turn_cost(turns, channel, out);
                }
            }
        }
        let fitting = self.fitting_sls(paths, turns, dest, channel);
        if fitting.first & fitting.rest & 1 << turns.vls.sl(v, dest) == 0 {
            cost += RING_VL_COST;
        }
        if cost >= self.best[v] {
            return;
        }
        if is_known {
            self.best[v] = cost;
        }
        self.candidates.push(Reverse(DetourHop {
            cost,
            rank: self.graph.lid_rank[v],
            slot,
        }));
    }

    /// SLs that fit the path through a channel, whose next switch has a path.
    fn fitting_sls(
        &self,
        paths: &GridPaths,
        turns: &Turns<'_>,
        dest: usize,
        x: usize,
    ) -> FittingSls {
        let next = self.graph.head(index_to_u32(x));
        let Some(y) = self.output(paths, next, dest) else {
            return FittingSls::ALL;
        };
        let after = self.fitting[next];
        if turns.is_irregular(x, y) {
            return FittingSls {
                first: u16::MAX,
                rest: after.rest,
            };
        }
        let axis = turns.axis[y];
        let is_in_ring = turns.axis[x] == axis && turns.vls.has_dateline(axis);
        FittingSls {
            first: if is_in_ring {
                let has = |vl: &usize| turns.contains(turns.on_vl(x, *vl), turns.on_vl(y, *vl));
                let vls = (0..turns.vls.ordered).filter(has);
                vls.fold(0, |sls, vl| sls | turns.vls.sls_on(axis, vl))
            } else {
                u16::MAX
            },
            rest: after.first & after.rest,
        }
    }

    /// The channel of a switch towards the destination.
    fn output(&self, paths: &GridPaths, v: usize, dest: usize) -> Option<usize> {
        let slot = paths.slot(v, dest).filter(|_| v != dest)?;
        Some(self.graph.first_slot(v) + slot)
    }

    /// The channel after this one towards the destination.
    fn next_channel(&self, paths: &GridPaths, channel: usize, dest: usize) -> Option<usize> {
        self.output(paths, self.graph.head(index_to_u32(channel)), dest)
    }

    /// Cost of the path of a switch that has one.
    fn cost_of(&mut self, paths: &GridPaths, turns: &Turns<'_>, v: usize, dest: usize) -> u64 {
        let first = self.known.len();
        let mut at = v;
        while self.cost[at] == UNKNOWN
            && let Some(out) = self.output(paths, at, dest)
        {
            self.known.push(at);
            at = self.graph.head(index_to_u32(out));
        }
        let mut cost = self.cost[at];
        for i in (first..self.known.len()).rev() {
            let at = self.known[i];
            if let Some(out) = self.output(paths, at, dest) {
                self.fitting[at] = self.fitting_sls(paths, turns, dest, out);
                cost += self.link_costs[out];
            }
            self.cost[at] = cost;
        }
        cost
    }

    /// Sets the cost of a channel: twice that of an idle one at the load of the busiest channel in
    /// dimension order, and rising with the fourth power of the load.
    fn update_cost(&mut self, channel: usize) {
        let sixteenths = 16 * self.loads.per_link(channel) / self.busiest;
        self.link_costs[channel] = LINK_COST + sixteenths.min(1 << 12).pow(4) / LINK_COST;
    }

    /// Sets `order` from the next hops of the last search for this destination.
    fn order_by_paths(&mut self, paths: &GridPaths, dest: usize, sources: &[usize]) {
        self.order.clear();
        for &source in sources {
            let first = self.order.len();
            let mut at = source;
            while self.is_open[at]
                && let Some(out) = self.output(paths, at, dest)
            {
                self.is_open[at] = false;
                self.order.push(at);
                at = self.graph.head(index_to_u32(out));
            }
            self.order[first..].reverse();
        }
        sources.iter().for_each(|&v| self.is_open[v] = true);
    }

    /// Adds the routes of the switches in `order`, which are marked as open, to the loads, or
    /// removes them.
    fn add_loads(&mut self, paths: &GridPaths, dest: usize, change: LoadChange) {
        let hosts = u64::from(self.graph.hosts[dest]);
        if hosts == 0 {
            return;
        }
        for &v in &self.order {
            self.flow[v] = u64::from(self.graph.hosts[v]);
        }
        for i in (0..self.order.len()).rev() {
            let mut at = self.order[i];
            let flow = std::mem::take(&mut self.flow[at]);
            while flow > 0
                && let Some(out) = self.output(paths, at, dest)
            {
                match change {
                    LoadChange::Add => self.loads.add(out, flow * hosts),
                    LoadChange::Remove => self.loads.remove(out, flow * hosts),
                }
                if self.aim == Aim::Balance {
                    self.update_cost(out);
                }
                at = self.graph.head(index_to_u32(out));
                if self.is_open[at] {
                    self.flow[at] += flow;
                    break;
                }
            }
        }
    }
}
