//! Load balancing on any graph: each LID uses the least loaded of the legal paths of a
//! [`HopMatrix`].
//!
//! One LID at a time, switches choose from the destination outwards: the path with the lowest
//! maximum load of a link, then with the lowest total load. The load that a switch will send counts
//! immediately, so that switches do not all choose the same path. The LIDs of several switches are
//! routed in parallel against the same load; the batch size depends on the graph alone, so tables
//! do not depend on the number of threads.
//!
//! Two uses: fresh tables ([`balanced_tables`]) and repair of other tables with overloaded links
//! ([`relieve_overloaded_links`]).

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use crate::hints::Hints;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::tables::Lft;
use crate::topology::graph::Graph;
use crate::topology::{Destination, SwitchIdx, Topology, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Maximum number of passes over overloaded links.
const ROUNDS: usize = 2;

/// Work units per switch for routing one LID.
const COLUMN_UNITS: usize = 8;

/// No link.
const NONE: u32 = u32::MAX;

/// Fresh tables from the graph and the hints.
pub(crate) fn balanced_tables<C: HopCell>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    hints: &Hints,
    budget: &WorkBudget,
) -> Result<Vec<Lft>, BudgetExceeded> {
    let mut lfts = vec![Lft::drop_all(topo.top_lid()); graph.len()];
    for (v, lft) in lfts.iter_mut().enumerate() {
        for d in topo.destinations_on(SwitchIdx::from_index(v)) {
            lft.set(d.lid, d.port);
        }
    }
    let balance = LoadBalance::new(topo, graph, matrix, hints);
    let mut load = vec![0; balance.links.port.len()];
    let order = lids_in_order(topo, graph, hints);
    balance.route_batches(&order, &mut lfts, &mut load, None, budget)?;
    Ok(lfts)
}

/// Moves LIDs, if `may_move` allows it, off links that carry more than the unavoidable load, as far
/// as other paths exist.
pub(crate) fn relieve_overloaded_links<C: HopCell>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    hints: &Hints,
    may_move: impl Fn(&Destination) -> bool,
    lfts: &mut [Lft],
    budget: &WorkBudget,
) -> Result<(), BudgetExceeded> {
    if !topo.destinations().iter().any(&may_move) {
        return Ok(());
    }
    let balance = LoadBalance::new(topo, graph, matrix, hints);
    let mut order = lids_in_order(topo, graph, hints);
    let mut load = vec![0; balance.links.port.len()];
    for batch in order.chunks(64) {
        let lids: usize = batch.iter().map(Vec::len).sum();
        budget.spend_len(COLUMN_UNITS * lids * graph.len())?;
        let flows: Vec<Vec<(usize, u64)>> = batch
            .par_iter()
            .map(|lids| balance.current_load(lids, lfts))
            .collect();
        for (link, flow) in flows.into_iter().flatten() {
            load[link] += flow;
        }
    }
    order.iter_mut().for_each(|lids| lids.retain(&may_move));
    // Tolerate 25% above the unavoidable load.
    let tolerated_load = unavoidable_load(topo, graph) * 5 / 4;
    let mut busiest = load.iter().copied().max().unwrap_or(0);
    for _ in 0..ROUNDS {
        if busiest <= tolerated_load {
            return Ok(());
        }
        let before = lfts.to_vec();
        balance.route_batches(&order, lfts, &mut load, Some(tolerated_load), budget)?;
        let now = load.iter().copied().max().unwrap_or(0);
        if 10 * now > 9 * busiest {
            // The gain does not justify giving up the original pattern.
            lfts.clone_from_slice(&before);
            return Ok(());
        }
        busiest = now;
    }
    Ok(())
}

/// A load that some link has in any case: the traffic of a switch with end ports divided among its
/// links. At least the traffic to one LID, so that a full tree with few hosts stays unchanged.
pub(crate) fn unavoidable_load(topo: &Topology, graph: &Graph) -> u64 {
    let hosts: u64 = graph.hosts.iter().map(|&h| u64::from(h)).sum();
    let hosts_near = |s: SwitchIdx| {
        let own_hosts = u64::from(graph.hosts[s.index()]);
        let links = topo.links(s).len() as u64;
        (own_hosts * (hosts - own_hosts)).div_ceil(links.max(1))
    };
    topo.switches()
        .map(hosts_near)
        .max()
        .unwrap_or(0)
        .max(hosts)
}

/// LIDs of one switch, or some of them.
type Lids = Vec<Destination>;

/// Groups of LIDs that are routed together, in order: first those named in the hints, then by
/// switch.
fn lids_in_order(topo: &Topology, graph: &Graph, hints: &Hints) -> Vec<Lids> {
    let mut groups: Vec<Lids> = Vec::new();
    let mut is_listed = fixedbitset::FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
    for lid in &hints.routing_order {
        let destinations = topo.destinations();
        if let Ok(at) = destinations.binary_search_by_key(lid, |d| d.lid) {
            let same = destinations[at..].iter().take_while(|d| {
                (d.switch, d.port) == (destinations[at].switch, destinations[at].port)
            });
            let lids: Lids = same
                .filter(|d| !is_listed.put(usize::from(d.lid.raw())))
                .copied()
                .collect();
            if !lids.is_empty() {
                groups.push(lids);
            }
        }
    }
    for &v in &graph.by_lid {
        let lids: Lids = topo
            .destinations_on(SwitchIdx::from_index(v))
            .iter()
            .filter(|d| !is_listed.contains(usize::from(d.lid.raw())))
            .copied()
            .collect();
        if !lids.is_empty() {
            groups.push(lids);
        }
    }
    groups
}

/// Links between switches by slot, in the order of preference.
struct LinkTable {
    /// By slot: index of its first link.
    base: Vec<usize>,
    port: Vec<u8>,
    /// By link: whether its load is counted.
    counted: Vec<bool>,
    /// By slot: preference among the slots of its switch at equal load.
    preference: Vec<u32>,
    /// By switch: index of its first port in `at_port`.
    port_base: Vec<usize>,
    /// By switch and port: link and neighbour.
    at_port: Vec<(u32, u32)>,
}

impl LinkTable {
    fn new(topo: &Topology, graph: &Graph, hints: &Hints) -> Self {
        let mut ignored: Vec<(SwitchIdx, PortNum)> = hints.load_balance_ignored.clone();
        ignored.sort_unstable();
        let mut balance = Self {
            base: Vec::with_capacity(graph.num_slots() + 1),
            port: Vec::new(),
            counted: Vec::new(),
            preference: Vec::new(),
            port_base: Vec::with_capacity(graph.len()),
            at_port: Vec::new(),
        };
        for s in topo.switches() {
            let listed = hints.port_order.iter().find(|(switch, _)| *switch == s);
            let position = |port: u8| {
                let at = listed.and_then(|(_, order)| order.iter().position(|p| p.raw() == port));
                (at.is_none(), at, port)
            };
            let slots = graph.slots(s.index());
            let at_port = balance.at_port.len();
            balance.port_base.push(at_port);
            let ports = usize::from(topo.num_ports(s)) + 1;
            balance.at_port.resize(at_port + ports, (NONE, 0));
            let mut firsts = Vec::with_capacity(slots.len());
            for slot in slots {
                balance.base.push(balance.port.len());
                let mut ports = graph.ports(*slot).to_vec();
                ports.sort_by_key(|&p| position(p));
                firsts.push(ports.first().copied().map(position));
                for port in ports {
                    let link = u32::try_from(balance.port.len()).unwrap_or(NONE);
                    balance.at_port[at_port + usize::from(port)] =
                        (link, SwitchIdx::from_index(slot.peer).0);
                    balance.port.push(port);
                    let counted = ignored.binary_search(&(s, PortNum(port))).is_err();
                    balance.counted.push(counted);
                }
            }
            let rank = |k: usize| firsts.iter().filter(|f| **f < firsts[k]).count();
            let ranks = (0..slots.len()).map(|k| index_to_u32(rank(k)));
            balance.preference.extend(ranks);
        }
        balance.base.push(balance.port.len());
        balance.port_base.push(balance.at_port.len());
        balance
    }

    /// Link at a port of a switch, and the neighbour at its other end.
    fn link_at(&self, v: usize, port: usize) -> (u32, u32) {
        let ports = &self.at_port[self.port_base[v]..self.port_base[v + 1]];
        ports.get(port).copied().unwrap_or((NONE, 0))
    }

    fn port_of(&self, link: u32) -> u8 {
        self.port
            .get(link as usize)
            .copied()
            .unwrap_or(PortNum::DROP.raw())
    }

    /// Least loaded link of a slot.
    fn lightest(&self, slot: usize, load: &[u64]) -> usize {
        let links = self.base[slot]..self.base[slot + 1];
        let from = links.start;
        links.min_by_key(|&c| load[c]).unwrap_or(from)
    }
}

/// Result for the LIDs of one switch.
#[derive(Default)]
struct BatchResult {
    /// For each LID that moved: switches with their new ports.
    moved: Vec<(Lid, Vec<(usize, u8)>)>,
    /// Load removed, load added.
    decreases: Vec<(usize, u64)>,
    increases: Vec<(usize, u64)>,
}

/// Switches from a destination outwards, and their legal slots.
struct OutwardOrder {
    order: Vec<usize>,
    legal: Vec<(usize, usize)>,
    base: Vec<usize>,
}

struct LoadBalance<'a, C> {
    graph: &'a Graph,
    matrix: &'a HopMatrix<C>,
    links: LinkTable,
}

/// Working state of one task.
struct Scratch {
    load: Vec<u64>,
    /// Link that each switch uses, and the switch it leads to.
    chosen: Vec<(u32, u32)>,
    flow: Vec<u64>,
    estimate: Vec<u64>,
}

impl<'a, C: HopCell> LoadBalance<'a, C> {
    fn new(topo: &Topology, graph: &'a Graph, matrix: &'a HopMatrix<C>, hints: &Hints) -> Self {
        Self {
            graph,
            matrix,
            links: LinkTable::new(topo, graph, hints),
        }
    }

    /// Routes all LIDs; with `tolerated_load`, only LIDs that cross links with a higher load.
    fn route_batches(
        &self,
        order: &[Lids],
        lfts: &mut [Lft],
        load: &mut [u64],
        tolerated_load: Option<u64>,
        budget: &WorkBudget,
    ) -> Result<(), BudgetExceeded> {
        for batch in order.chunks((self.graph.len() / 128).clamp(1, 16)) {
            let routed: Vec<BatchResult> = batch
                .par_iter()
                .map(|lids| self.route(lids, lfts, load, tolerated_load))
                .collect();
            let lids: usize = batch.iter().map(Vec::len).sum();
            budget.spend_len(COLUMN_UNITS * lids * self.graph.len())?;
            for result in routed {
                for (lid, ports) in result.moved {
                    for (v, port) in ports {
                        lfts[v].set(lid, PortNum(port));
                    }
                }
                result
                    .increases
                    .iter()
                    .for_each(|&(link, by)| load[link] += by);
                result
                    .decreases
                    .iter()
                    .for_each(|&(link, by)| load[link] -= by);
            }
        }
        Ok(())
    }

    fn outwards(&self, dest: usize, slots: bool) -> OutwardOrder {
        let graph = self.graph;
        let mut order: Vec<usize> = (0..graph.len()).filter(|&v| v != dest).collect();
        order.sort_by_cached_key(|&v| (self.matrix.cell(v, dest).hops(), graph.lid_rank[v]));
        let mut legal = Vec::new();
        let mut base = vec![0];
        for &v in order.iter().filter(|_| slots) {
            legal.extend(
                graph
                    .slots(v)
                    .iter()
                    .enumerate()
                    .filter(|(_, s)| self.matrix.is_next_hop(v, s.peer, dest))
                    .map(|(k, s)| (graph.first_slot(v) + k, s.peer)),
            );
            base.push(legal.len());
        }
        OutwardOrder { order, legal, base }
    }

    /// Reads the installed next hop of every switch for a LID.
    fn read_installed(&self, lid: Lid, order: &[usize], lfts: &[Lft], scratch: &mut Scratch) {
        for &v in order {
            let port = lfts[v].get(lid);
            scratch.chosen[v] = self.links.link_at(v, port.index());
        }
    }

    /// Flow through each switch over the chosen links, from the farthest switch inwards.
    fn flows(&self, order: &[usize], scratch: &mut Scratch) {
        for (flow, &hosts) in scratch.flow.iter_mut().zip(&self.graph.hosts) {
            *flow = u64::from(hosts);
        }
        for &v in order.iter().rev() {
            let (link, peer) = scratch.chosen[v];
            if link != NONE {
                scratch.flow[peer as usize] += scratch.flow[v];
            }
        }
    }

    fn scratch(&self, load: &[u64]) -> Scratch {
        let n = self.graph.len();
        Scratch {
            load: load.to_vec(),
            chosen: vec![(NONE, 0); n],
            flow: vec![0; n],
            estimate: vec![0; n],
        }
    }

    /// Current load on links caused by the LIDs of one switch.
    fn current_load(&self, lids: &[Destination], lfts: &[Lft]) -> Vec<(usize, u64)> {
        let Some(dest) = lids.first().map(|d| d.switch.index()) else {
            return Vec::new();
        };
        let outwards = self.outwards(dest, false);
        let mut scratch = self.scratch(&[]);
        let mut sum = vec![0; self.links.port.len()];
        for d in lids.iter().filter(|d| d.port != PortNum::ZERO) {
            self.read_installed(d.lid, &outwards.order, lfts, &mut scratch);
            self.flows(&outwards.order, &mut scratch);
            for &v in &outwards.order {
                let link = scratch.chosen[v].0;
                if link != NONE && self.links.counted[link as usize] {
                    sum[link as usize] += scratch.flow[v];
                }
            }
        }
        sum.into_iter()
            .enumerate()
            .filter(|&(_, flow)| flow > 0)
            .collect()
    }

    /// Routes the LIDs of one switch.
    fn route(
        &self,
        lids: &[Destination],
        lfts: &[Lft],
        before: &[u64],
        tolerated_load: Option<u64>,
    ) -> BatchResult {
        let mut routed = BatchResult::default();
        let Some(dest) = lids.first().map(|d| d.switch.index()) else {
            return routed;
        };
        let mut outwards = self.outwards(dest, tolerated_load.is_none());
        let mut scratch = self.scratch(before);
        for d in lids {
            let host = d.port != PortNum::ZERO;
            scratch.chosen.fill((NONE, 0));
            scratch.estimate.fill(0);
            if let Some(tolerated_load) = tolerated_load {
                if !host {
                    continue;
                }
                self.read_installed(d.lid, &outwards.order, lfts, &mut scratch);
                self.flows(&outwards.order, &mut scratch);
                let over = |v: usize| {
                    let link = scratch.chosen[v].0;
                    link != NONE
                        && scratch.flow[v] > 0
                        && scratch.load[link as usize] > tolerated_load
                };
                if !outwards.order.iter().any(|&v| over(v)) {
                    continue;
                }
                if outwards.legal.is_empty() {
                    outwards = self.outwards(dest, true);
                }
                self.add_load(&outwards.order, &mut scratch, false);
                scratch.estimate.copy_from_slice(&scratch.flow);
            }
            for (estimate, &hosts) in scratch.estimate.iter_mut().zip(&self.graph.hosts) {
                *estimate = (*estimate).max(u64::from(hosts));
            }
            let old_ports = scratch.chosen.clone();
            self.choose_links(
                &outwards,
                dest,
                host,
                tolerated_load.unwrap_or(0),
                &mut scratch,
            );
            if host {
                self.flows(&outwards.order, &mut scratch);
                self.add_load(&outwards.order, &mut scratch, true);
            }
            let moved = outwards
                .order
                .iter()
                .filter(|&&v| old_ports[v] != scratch.chosen[v]);
            let ports = moved.map(|&v| (v, self.links.port_of(scratch.chosen[v].0)));
            routed.moved.push((d.lid, ports.collect()));
        }
        for (link, (&now, &then)) in scratch.load.iter().zip(before).enumerate() {
            match now.cmp(&then) {
                std::cmp::Ordering::Greater => routed.increases.push((link, now - then)),
                std::cmp::Ordering::Less => routed.decreases.push((link, then - now)),
                std::cmp::Ordering::Equal => {}
            }
        }
        routed
    }

    /// Adds the flows to the load of the chosen links, or subtracts them.
    fn add_load(&self, order: &[usize], scratch: &mut Scratch, add: bool) {
        for &v in order {
            let link = scratch.chosen[v].0;
            if link != NONE && self.links.counted[link as usize] {
                let load = &mut scratch.load[link as usize];
                *load = if add {
                    *load + scratch.flow[v]
                } else {
                    load.saturating_sub(scratch.flow[v])
                };
            }
        }
    }

    /// Chooses a path for every switch, from the destination outwards. An installed path stays if
    /// no link on it carries more than `tolerated_load`.
    fn choose_links(
        &self,
        outwards: &OutwardOrder,
        dest: usize,
        host: bool,
        tolerated_load: u64,
        scratch: &mut Scratch,
    ) {
        let mut estimated: Vec<(u32, u64)> = Vec::new();
        for (i, &v) in outwards.order.iter().enumerate() {
            let own_estimate = scratch.estimate[v];
            // Maximum and total load of the path that starts with this link.
            let path_load = |link: usize, peer: usize| {
                let first = scratch.load[link] + own_estimate;
                let mut max = first;
                let mut total = first;
                let mut at = peer;
                for _ in 0..WALK_MAX {
                    if at == dest {
                        break;
                    }
                    let (next, to) = scratch.chosen[at];
                    if next == NONE {
                        break;
                    }
                    let load = scratch.load[next as usize] + own_estimate;
                    max = max.max(load);
                    total += load;
                    at = to as usize;
                }
                (max, total)
            };
            let (old_port, to) = scratch.chosen[v];
            if old_port != NONE && path_load(old_port as usize, to as usize).0 <= tolerated_load {
                // Keep the installed link.
            } else {
                let slots = &outwards.legal[outwards.base[i]..outwards.base[i + 1]];
                let best = slots.iter().min_by_key(|&&(slot, peer)| {
                    let link = self.links.lightest(slot, &scratch.load);
                    let stays = u32::try_from(link).is_ok_and(|c| c == old_port);
                    (path_load(link, peer), !stays, self.links.preference[slot])
                });
                scratch.chosen[v] = best.map_or((NONE, 0), |&(slot, peer)| {
                    let link = self.links.lightest(slot, &scratch.load);
                    (
                        u32::try_from(link).unwrap_or(NONE),
                        SwitchIdx::from_index(peer).0,
                    )
                });
            }
            if host && own_estimate > 0 {
                let mut at = v;
                for _ in 0..WALK_MAX {
                    let (link, to) = scratch.chosen[at];
                    if at == dest || link == NONE {
                        break;
                    }
                    if self.links.counted[link as usize] {
                        scratch.load[link as usize] += own_estimate;
                        estimated.push((link, own_estimate));
                    }
                    at = to as usize;
                }
            }
        }
        for (link, by) in estimated {
            scratch.load[link as usize] -= by;
        }
    }
}

/// Maximum number of links that are evaluated on a path; of longer paths, only the first links
/// count.
const WALK_MAX: usize = 8;
