//! Paths spread by load, on any graph: each LID takes, among the legal next hops of [`Legs`], the ways that carry least.
//!
//! One LID after the other, switches decide from the destination outwards: the way whose busiest cable carries least, and of
//! several the one with the least on all its cables; what a switch will send counts at once, so that the switches do not
//! all take the same way. Several switches' LIDs are routed at once against the same load; how many depends on the graph
//! alone, so tables do not depend on the number of threads.
//!
//! Two uses: tables from nothing ([`tables`]), and the mending of tables that were made otherwise, where cables carry more
//! than they need to ([`relieve`]).

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use super::cell::Cell;
use super::graph::Graph;
use super::legs::Legs;
use crate::hints::Hints;
use crate::tables::Lft;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::work::{BudgetExceeded, WorkBudget};

/// How often overloaded cables are looked for.
const ROUNDS: usize = 2;

/// Work units of a switch when one LID is routed.
const COLUMN_UNITS: usize = 8;

/// No cable.
const NONE: u32 = u32::MAX;

/// Tables from nothing but the graph and what the operator says of it.
pub(crate) fn tables<C: Cell>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    hints: &Hints,
    budget: &WorkBudget,
) -> Result<Vec<Lft>, BudgetExceeded> {
    let mut lfts = vec![Lft::drop_all(topo.top_lid()); graph.len()];
    for (v, lft) in lfts.iter_mut().enumerate() {
        for d in topo.destinations_on(SwitchIdx::at(v)) {
            lft.set(d.lid, d.port);
        }
    }
    let spread = Spread::new(topo, graph, legs, hints);
    let mut load = vec![0; spread.cables.port.len()];
    let order = in_order(topo, graph, hints);
    spread.batches(&order, &mut lfts, &mut load, None, budget)?;
    Ok(lfts)
}

/// Moves LIDs, of those that may be moved, away from cables that carry more than the most loaded cable must, as far as
/// there are other ways.
pub(crate) fn relieve<C: Cell>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    hints: &Hints,
    may_move: impl Fn(&Destination) -> bool,
    lfts: &mut [Lft],
    budget: &WorkBudget,
) -> Result<(), BudgetExceeded> {
    if !topo.destinations().iter().any(&may_move) {
        return Ok(());
    }
    let spread = Spread::new(topo, graph, legs, hints);
    let mut order = in_order(topo, graph, hints);
    let mut load = vec![0; spread.cables.port.len()];
    for part in order.chunks(64) {
        let lids: usize = part.iter().map(Vec::len).sum();
        budget.spend_len(COLUMN_UNITS * lids * graph.len())?;
        let flows: Vec<Vec<(usize, u64)>> = part
            .par_iter()
            .map(|lids| spread.present_load(lids, lfts))
            .collect();
        for (cable, flow) in flows.into_iter().flatten() {
            load[cable] += flow;
        }
    }
    order.iter_mut().for_each(|lids| lids.retain(&may_move));
    // And a quarter more.
    let enough = busy(topo, graph) * 5 / 4;
    let mut busiest = load.iter().copied().max().unwrap_or(0);
    for _ in 0..ROUNDS {
        if busiest <= enough {
            return Ok(());
        }
        let before = lfts.to_vec();
        spread.batches(&order, lfts, &mut load, Some(enough), budget)?;
        let now = load.iter().copied().max().unwrap_or(0);
        if 10 * now > 9 * busiest {
            // Not worth the pattern that was there.
            lfts.clone_from_slice(&before);
            return Ok(());
        }
        busiest = now;
    }
    Ok(())
}

/// A load that some cable has in any case: what a switch with end ports sends and receives, divided among its cables;
/// and all that is sent to one LID, so that a full tree with few hosts is left as it is.
pub(crate) fn busy(topo: &Topology, graph: &Graph) -> u64 {
    let hosts: u64 = graph.hosts.iter().map(|&h| u64::from(h)).sum();
    let of = |s: SwitchIdx| {
        let own = u64::from(graph.hosts[s.index()]);
        let cables = topo.links(s).len() as u64;
        (own * (hosts - own)).div_ceil(cables.max(1))
    };
    topo.switches().map(of).max().unwrap_or(0).max(hosts)
}

/// The LIDs of one switch, or some of them.
type Lids = Vec<Destination>;

/// Which LIDs are routed together, and in which order: first those that the operator names, then by switch.
fn in_order(topo: &Topology, graph: &Graph, hints: &Hints) -> Vec<Lids> {
    let mut first: Vec<Lids> = Vec::new();
    let mut done = fixedbitset::FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
    for lid in &hints.routing_order {
        let all = topo.destinations();
        if let Ok(at) = all.binary_search_by_key(lid, |d| d.lid) {
            let same = all[at..]
                .iter()
                .take_while(|d| (d.switch, d.port) == (all[at].switch, all[at].port));
            let lids: Lids = same
                .filter(|d| !done.put(usize::from(d.lid.raw())))
                .copied()
                .collect();
            if !lids.is_empty() {
                first.push(lids);
            }
        }
    }
    for &v in &graph.by_lid {
        let all = topo.destinations_on(SwitchIdx::at(v)).iter();
        let lids: Lids = all
            .filter(|d| !done.contains(usize::from(d.lid.raw())))
            .copied()
            .collect();
        if !lids.is_empty() {
            first.push(lids);
        }
    }
    first
}

/// Cables between switches by slot, in the order in which they are tried.
struct Cables {
    /// By slot: its first cable.
    base: Vec<usize>,
    port: Vec<u8>,
    /// By cable: whether paths on it count as load.
    counted: Vec<bool>,
    /// By slot: its place among those of its switch, for equal load.
    preference: Vec<u32>,
    /// By switch: its first port in `at_port`.
    port_base: Vec<usize>,
    /// By switch and port: cable and neighbour.
    at_port: Vec<(u32, u32)>,
}

impl Cables {
    fn new(topo: &Topology, graph: &Graph, hints: &Hints) -> Self {
        let mut ignored: Vec<(SwitchIdx, PortNum)> = hints.not_counted.clone();
        ignored.sort_unstable();
        let mut this = Self {
            base: Vec::with_capacity(graph.num_slots() + 1),
            port: Vec::new(),
            counted: Vec::new(),
            preference: Vec::new(),
            port_base: Vec::with_capacity(graph.len()),
            at_port: Vec::new(),
        };
        for s in topo.switches() {
            let listed = hints.port_order.iter().find(|(of, _)| *of == s);
            let place = |port: u8| {
                let at = listed.and_then(|(_, order)| order.iter().position(|p| p.raw() == port));
                (at.is_none(), at, port)
            };
            let slots = graph.slots(s.index());
            let at_port = this.at_port.len();
            this.port_base.push(at_port);
            let ports = usize::from(topo.num_ports(s)) + 1;
            this.at_port.resize(at_port + ports, (NONE, 0));
            let mut firsts = Vec::with_capacity(slots.len());
            for slot in slots {
                this.base.push(this.port.len());
                let mut ports = graph.ports(*slot).to_vec();
                ports.sort_by_key(|&p| place(p));
                firsts.push(ports.first().copied().map(place));
                for port in ports {
                    let cable = u32::try_from(this.port.len()).unwrap_or(NONE);
                    this.at_port[at_port + usize::from(port)] = (cable, SwitchIdx::at(slot.peer).0);
                    this.port.push(port);
                    let counted = ignored.binary_search(&(s, PortNum(port))).is_err();
                    this.counted.push(counted);
                }
            }
            let rank = |k: usize| firsts.iter().filter(|f| **f < firsts[k]).count();
            let ranks = (0..slots.len()).map(|k| u32::try_from(rank(k)).unwrap_or(u32::MAX));
            this.preference.extend(ranks);
        }
        this.base.push(this.port.len());
        this.port_base.push(this.at_port.len());
        this
    }

    /// The cable on a port of a switch, and the neighbour behind it.
    fn behind(&self, v: usize, port: usize) -> (u32, u32) {
        let ports = &self.at_port[self.port_base[v]..self.port_base[v + 1]];
        ports.get(port).copied().unwrap_or((NONE, 0))
    }

    fn port_of(&self, cable: u32) -> u8 {
        let port = self.port.get(cable as usize).copied();
        port.unwrap_or(PortNum::DROP.raw())
    }

    /// The cable of a slot that carries least.
    fn lightest(&self, slot: usize, load: &[u64]) -> usize {
        let cables = self.base[slot]..self.base[slot + 1];
        let from = cables.start;
        cables.min_by_key(|&c| load[c]).unwrap_or(from)
    }
}

/// What was found for some LIDs.
#[derive(Default)]
struct Routed {
    /// For each LID that moved, the switches where it did, and their ports.
    moved: Vec<(Lid, Vec<(usize, u8)>)>,
    /// Load that was taken away, load that was added.
    less: Vec<(usize, u64)>,
    more: Vec<(usize, u64)>,
}

/// Switches from a destination outwards, and their legal slots.
struct Outwards {
    order: Vec<usize>,
    legal: Vec<(usize, usize)>,
    base: Vec<usize>,
}

struct Spread<'a, C> {
    graph: &'a Graph,
    legs: &'a Legs<C>,
    cables: Cables,
}

/// What one task works with.
struct Desk {
    load: Vec<u64>,
    /// The cable that each switch takes, and where it leads.
    taken: Vec<(u32, u32)>,
    flow: Vec<u64>,
    guess: Vec<u64>,
}

impl<'a, C: Cell> Spread<'a, C> {
    fn new(topo: &Topology, graph: &'a Graph, legs: &'a Legs<C>, hints: &Hints) -> Self {
        Self {
            graph,
            legs,
            cables: Cables::new(topo, graph, hints),
        }
    }

    /// Routes all LIDs, or, given how much load is enough, those that cross cables with more.
    fn batches(
        &self,
        order: &[Lids],
        lfts: &mut [Lft],
        load: &mut [u64],
        enough: Option<u64>,
        budget: &WorkBudget,
    ) -> Result<(), BudgetExceeded> {
        for batch in order.chunks((self.graph.len() / 128).clamp(1, 16)) {
            let routed: Vec<Routed> = batch
                .par_iter()
                .map(|lids| self.route(lids, lfts, load, enough))
                .collect();
            let lids: usize = batch.iter().map(Vec::len).sum();
            budget.spend_len(COLUMN_UNITS * lids * self.graph.len())?;
            for one in routed {
                for (lid, ports) in one.moved {
                    for (v, port) in ports {
                        lfts[v].set(lid, PortNum(port));
                    }
                }
                one.more.iter().for_each(|&(cable, by)| load[cable] += by);
                one.less.iter().for_each(|&(cable, by)| load[cable] -= by);
            }
        }
        Ok(())
    }

    fn outwards(&self, dest: usize, slots: bool) -> Outwards {
        let graph = self.graph;
        let mut order: Vec<usize> = (0..graph.len()).filter(|&v| v != dest).collect();
        order.sort_by_cached_key(|&v| (self.legs.cell(v, dest).hops(), graph.lid_rank[v]));
        let (mut legal, mut base) = (Vec::new(), vec![0]);
        for &v in order.iter().filter(|_| slots) {
            let slots = graph.slots(v).iter().enumerate();
            legal.extend(
                slots
                    .filter(|(_, s)| self.legs.may_go(v, s.peer, dest))
                    .map(|(k, s)| (graph.first_slot(v) + k, s.peer)),
            );
            base.push(legal.len());
        }
        Outwards { order, legal, base }
    }

    /// Reads where switches send a LID now.
    fn read(&self, lid: Lid, order: &[usize], lfts: &[Lft], desk: &mut Desk) {
        for &v in order {
            let port = lfts[v].get(lid);
            desk.taken[v] = self.cables.behind(v, port.index());
        }
    }

    /// The flow through each switch, from the outside inwards, by the cables taken.
    fn flows(&self, order: &[usize], desk: &mut Desk) {
        for (flow, &hosts) in desk.flow.iter_mut().zip(&self.graph.hosts) {
            *flow = u64::from(hosts);
        }
        for &v in order.iter().rev() {
            let (cable, peer) = desk.taken[v];
            if cable != NONE {
                desk.flow[peer as usize] += desk.flow[v];
            }
        }
    }

    fn desk(&self, load: &[u64]) -> Desk {
        let n = self.graph.len();
        Desk {
            load: load.to_vec(),
            taken: vec![(NONE, 0); n],
            flow: vec![0; n],
            guess: vec![0; n],
        }
    }

    /// What LIDs of one switch put on cables now.
    fn present_load(&self, lids: &[Destination], lfts: &[Lft]) -> Vec<(usize, u64)> {
        let Some(dest) = lids.first().map(|d| d.switch.index()) else {
            return Vec::new();
        };
        let outwards = self.outwards(dest, false);
        let mut desk = self.desk(&[]);
        let mut sum = vec![0; self.cables.port.len()];
        for d in lids.iter().filter(|d| d.port != PortNum::ZERO) {
            self.read(d.lid, &outwards.order, lfts, &mut desk);
            self.flows(&outwards.order, &mut desk);
            for &v in &outwards.order {
                let cable = desk.taken[v].0;
                if cable != NONE && self.cables.counted[cable as usize] {
                    sum[cable as usize] += desk.flow[v];
                }
            }
        }
        let used = sum.into_iter().enumerate();
        used.filter(|&(_, flow)| flow > 0).collect()
    }

    /// Routes LIDs of one switch.
    fn route(
        &self,
        lids: &[Destination],
        lfts: &[Lft],
        before: &[u64],
        enough: Option<u64>,
    ) -> Routed {
        let mut routed = Routed::default();
        let Some(dest) = lids.first().map(|d| d.switch.index()) else {
            return routed;
        };
        let mut outwards = self.outwards(dest, enough.is_none());
        let mut desk = self.desk(before);
        for d in lids {
            let host = d.port != PortNum::ZERO;
            desk.taken.fill((NONE, 0));
            desk.guess.fill(0);
            if let Some(enough) = enough {
                if !host {
                    continue;
                }
                self.read(d.lid, &outwards.order, lfts, &mut desk);
                self.flows(&outwards.order, &mut desk);
                let over = |v: usize| {
                    let cable = desk.taken[v].0;
                    cable != NONE && desk.flow[v] > 0 && desk.load[cable as usize] > enough
                };
                if !outwards.order.iter().any(|&v| over(v)) {
                    continue;
                }
                if outwards.legal.is_empty() {
                    outwards = self.outwards(dest, true);
                }
                self.count(&outwards.order, &mut desk, false);
                desk.guess.copy_from_slice(&desk.flow);
            }
            for (guess, &hosts) in desk.guess.iter_mut().zip(&self.graph.hosts) {
                *guess = (*guess).max(u64::from(hosts));
            }
            let was = desk.taken.clone();
            self.choose(&outwards, dest, host, enough.unwrap_or(0), &mut desk);
            if host {
                self.flows(&outwards.order, &mut desk);
                self.count(&outwards.order, &mut desk, true);
            }
            let moved = outwards.order.iter().filter(|&&v| was[v] != desk.taken[v]);
            let ports = moved.map(|&v| (v, self.cables.port_of(desk.taken[v].0)));
            routed.moved.push((d.lid, ports.collect()));
        }
        for (cable, (&now, &then)) in desk.load.iter().zip(before).enumerate() {
            match now.cmp(&then) {
                std::cmp::Ordering::Greater => routed.more.push((cable, now - then)),
                std::cmp::Ordering::Less => routed.less.push((cable, then - now)),
                std::cmp::Ordering::Equal => {}
            }
        }
        routed
    }

    /// Adds the flows to the load of the cables taken, or takes them away.
    fn count(&self, order: &[usize], desk: &mut Desk, add: bool) {
        for &v in order {
            let cable = desk.taken[v].0;
            if cable != NONE && self.cables.counted[cable as usize] {
                let load = &mut desk.load[cable as usize];
                *load = if add {
                    *load + desk.flow[v]
                } else {
                    load.saturating_sub(desk.flow[v])
                };
            }
        }
    }

    /// Chooses a way for every switch, from the destination outwards. What is there is kept where no cable on the way
    /// carries more than enough.
    fn choose(&self, outwards: &Outwards, dest: usize, host: bool, enough: u64, desk: &mut Desk) {
        let mut guessed: Vec<(u32, u64)> = Vec::new();
        for (i, &v) in outwards.order.iter().enumerate() {
            let own = desk.guess[v];
            // The busiest and all of the load on a way that begins with this cable.
            let on_way = |cable: usize, peer: usize| {
                let first = desk.load[cable] + own;
                let (mut most, mut all, mut at) = (first, first, peer);
                for _ in 0..WALK {
                    if at == dest {
                        break;
                    }
                    let (next, to) = desk.taken[at];
                    if next == NONE {
                        break;
                    }
                    let load = desk.load[next as usize] + own;
                    most = most.max(load);
                    all += load;
                    at = to as usize;
                }
                (most, all)
            };
            let (was, to) = desk.taken[v];
            if was != NONE && on_way(was as usize, to as usize).0 <= enough {
                // Stays.
            } else {
                let slots = &outwards.legal[outwards.base[i]..outwards.base[i + 1]];
                let best = slots.iter().min_by_key(|&&(slot, peer)| {
                    let cable = self.cables.lightest(slot, &desk.load);
                    let stays = u32::try_from(cable).is_ok_and(|c| c == was);
                    (on_way(cable, peer), !stays, self.cables.preference[slot])
                });
                desk.taken[v] = best.map_or((NONE, 0), |&(slot, peer)| {
                    let cable = self.cables.lightest(slot, &desk.load);
                    (u32::try_from(cable).unwrap_or(NONE), SwitchIdx::at(peer).0)
                });
            }
            if host && own > 0 {
                let mut at = v;
                for _ in 0..WALK {
                    let (cable, to) = desk.taken[at];
                    if at == dest || cable == NONE {
                        break;
                    }
                    if self.cables.counted[cable as usize] {
                        desk.load[cable as usize] += own;
                        guessed.push((cable, own));
                    }
                    at = to as usize;
                }
            }
        }
        for (cable, by) in guessed {
            desk.load[cable as usize] -= by;
        }
    }
}

/// Cables that are looked at on a way. Longer ways are judged by their beginning.
const WALK: usize = 8;
