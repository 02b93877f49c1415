//! Chooses ways by weight: each LID in turn gets the lightest tree of shortest paths, and weighs on the channels that
//! its packets cross (Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand Networks, HOTI 2009).
//!
//! Only paths of the fewest hops are looked at, so Dijkstra's queue is a sweep over the switches by distance. Which
//! cables lead nearer to a switch is found once for all LIDs on it, and for the next switches while this one's LIDs are
//! weighed. The weighing itself is one LID after the other by nature.

use rayon::prelude::*;

use super::super::cell::Cell;
use super::super::graph::Graph;
use super::super::layers::{Orders, Rest};
use super::super::legs::Legs;
use super::super::neighbors::NeighborChannels;
use super::super::{Previous, Request};
use super::ways::Ways;
use crate::channels::DependencySet;
use crate::topology::{Destination, Topology};
use crate::work::BudgetExceeded;
use ferrosm_mad::ids::{Lid, PortNum};

/// Switches whose graphs of shortest paths are made at a time.
const BATCH: usize = 32;

/// How much the LIDs on one switch may differ in their ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Each LID has a tree of its own: the best balance.
    ByLid,
    /// All LIDs on a switch go by the same switches, only parallel cables are shared out: the fewest channel
    /// dependencies.
    BySwitch,
}

/// What is preferred among shortest ways.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Taste<'a> {
    /// The least weight.
    Light,
    /// The fewest channel dependencies that no way had before; then the least weight.
    FewTurns,
    /// The first port: ways that agree where cabling is regular.
    FirstPort,
    /// The first of these orders that the way can keep to; then the least weight.
    Orders(&'a Orders),
}

/// Ways for all LIDs. What is installed is kept where it still is as short as can be, unless a cable was gained;
/// says whether all are new.
pub(crate) fn weigh<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    legs: &Legs<C>,
    channels: &NeighborChannels,
    spread: Spread,
    taste: Taste<'_>,
) -> Result<(Ways, bool), BudgetExceeded> {
    let topo = request.topo;
    let cables = Cables::new(request, channels);
    let scale = || Scale::new(topo, graph, legs, channels, &cables, spread, taste);
    let fresh = || scale().weigh_all(request, None);
    let previous = request.previous;
    if previous.lfts.iter().all(Option::is_none) {
        return Ok((fresh()?, true));
    }
    // A repaired cable would idle for ever if everything were kept.
    let idle = cables.idle_in(topo, previous);
    if !idle.is_empty() {
        let ways = fresh()?;
        if cables.any_used(&ways, &idle) {
            return Ok((ways, true));
        }
    }
    Ok((scale().weigh_all(request, Some(previous))?, false))
}

/// Cables by switch, in the order in which they are tried.
struct Cables {
    first: Vec<usize>,
    peer: Vec<u32>,
    port: Vec<u8>,
    /// The channel that the cable is part of.
    channel: Vec<u32>,
    /// What a route over the cable counts for: 0 or 1.
    counts: Vec<u64>,
    /// Cable by switch and port.
    behind: Vec<u32>,
}

impl Cables {
    const NONE: u32 = u32::MAX;

    fn new(request: &Request<'_>, channels: &NeighborChannels) -> Self {
        let (topo, hints) = (request.topo, request.hints);
        let mut cables = Self {
            first: vec![0],
            peer: Vec::new(),
            port: Vec::new(),
            channel: Vec::new(),
            counts: Vec::new(),
            behind: vec![Self::NONE; topo.num_switches() * 256],
        };
        for s in topo.switches() {
            let asked = hints.port_order.iter().find(|(at, _)| *at == s);
            let mut links = topo.links(s).to_vec();
            if let Some((_, order)) = asked {
                links.sort_by_key(|l| {
                    order
                        .iter()
                        .position(|p| *p == l.port)
                        .unwrap_or(order.len())
                });
            }
            for link in links {
                cables.behind[s.index() * 256 + link.port.index()] =
                    u32::try_from(cables.peer.len()).unwrap_or(Self::NONE);
                cables.peer.push(link.peer.0);
                cables.port.push(link.port.raw());
                cables
                    .channel
                    .push(channels.behind(s.index(), link.port.raw()));
                let ignored = hints.not_counted.contains(&(s, link.port));
                cables.counts.push(u64::from(!ignored));
            }
            cables.first.push(cables.peer.len());
        }
        cables
    }

    /// The cable behind a port.
    fn at(&self, v: usize, port: PortNum) -> Option<usize> {
        let cable = self.behind[v * 256 + port.index()];
        (cable != Self::NONE).then_some(cable as usize)
    }

    /// Ports (switch, port) of cables between known switches that nothing installed uses, either way.
    fn idle_in(&self, topo: &Topology, previous: &Previous) -> Vec<(usize, u8)> {
        let used: Vec<Option<[bool; 256]>> = (0..topo.num_switches())
            .into_par_iter()
            .map(|v| {
                previous.get(v).map(|lft| {
                    let mut used = [false; 256];
                    for &port in lft.entries() {
                        used[usize::from(port)] = true;
                    }
                    used
                })
            })
            .collect();
        let idle = |v: usize, port: PortNum| used[v].is_some_and(|used| !used[port.index()]);
        topo.switches()
            .flat_map(|s| topo.links(s).iter().map(move |l| (s.index(), l)))
            .filter(|(v, l)| idle(*v, l.port) && idle(l.peer.index(), l.peer_port))
            .map(|(v, l)| (v, l.port.raw()))
            .collect()
    }

    fn any_used(&self, ways: &Ways, ports: &[(usize, u8)]) -> bool {
        ways.all()
            .any(|column| ports.iter().any(|&(v, port)| column[v] == port))
    }
}

/// Which cables lead one hop nearer to one switch.
struct Nearer {
    /// Switches by distance, without the switch itself.
    order: Vec<u32>,
    /// First cable of each switch in `order`, and the total.
    first: Vec<u32>,
    /// (cable, switch behind it).
    cables: Vec<(u32, u32)>,
}

impl Nearer {
    fn new<C: Cell>(legs: &Legs<C>, cables: &Cables, dest: usize) -> Self {
        // Cables go both ways: the row of the destination is its column.
        let row = legs.row(dest);
        let far = row.iter().map(|c| c.hops()).max().unwrap_or(0);
        let mut ends = vec![0u32; far + 2];
        for c in row {
            ends[c.hops() + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let mut order = vec![0u32; row.len()];
        for (v, c) in (0u32..).zip(row) {
            order[ends[c.hops()] as usize] = v;
            ends[c.hops()] += 1;
        }
        order.remove(0);
        let (mut first, mut nearer) = (Vec::with_capacity(order.len() + 1), Vec::new());
        first.push(0);
        for &v in &order {
            let v = v as usize;
            let from = cables.first[v];
            for (cable, &peer) in (from..).zip(&cables.peer[from..cables.first[v + 1]]) {
                if row[peer as usize].farther() == row[v] {
                    nearer.push((u32::try_from(cable).unwrap_or(Cables::NONE), peer));
                }
            }
            first.push(u32::try_from(nearer.len()).unwrap_or(u32::MAX));
        }
        Self {
            order,
            first,
            cables: nearer,
        }
    }

    /// Switches by distance, with their cables.
    #[inline(always)]
    fn each(&self) -> impl DoubleEndedIterator<Item = (usize, &[(u32, u32)])> {
        self.order
            .iter()
            .zip(self.first.windows(2))
            .map(|(&v, ends)| (v as usize, &self.cables[ends[0] as usize..ends[1] as usize]))
    }
}

/// LIDs on one switch that are weighed together.
struct Job {
    dest: usize,
    columns: Vec<usize>,
    /// Packets of management only, which are not counted as load.
    idle: bool,
}

/// The state of weighing.
struct Scale<'a, C> {
    topo: &'a Topology,
    graph: &'a Graph,
    legs: &'a Legs<C>,
    channels: &'a NeighborChannels,
    cables: &'a Cables,
    spread: Spread,
    taste: Taste<'a>,
    ways: Ways,
    lids: Vec<Destination>,
    /// Routes between end ports over each cable.
    load: Vec<u64>,
    /// Routes to switches without end ports over each cable.
    idle_load: Vec<u64>,
    /// Of the LID at hand, by switch: weight of the way, the cable, routes that come by.
    weight: Vec<u64>,
    cable: Vec<u32>,
    routes: Vec<u64>,
    /// The same: dependencies that no way had before.
    news: Vec<u64>,
    /// The same: orders kept to.
    rest: Vec<Rest>,
    /// Dependencies of all ways so far, if the taste asks for them.
    turns: Option<DependencySet>,
}

impl<'a, C: Cell> Scale<'a, C> {
    fn new(
        topo: &'a Topology,
        graph: &'a Graph,
        legs: &'a Legs<C>,
        channels: &'a NeighborChannels,
        cables: &'a Cables,
        spread: Spread,
        taste: Taste<'a>,
    ) -> Self {
        let n = topo.num_switches();
        let ways = Ways::new(topo);
        Self {
            lids: ways.destinations(topo).copied().collect(),
            topo,
            graph,
            legs,
            channels,
            cables,
            spread,
            taste,
            ways,
            load: vec![0; cables.peer.len()],
            idle_load: vec![0; cables.peer.len()],
            weight: vec![0; n],
            cable: vec![Cables::NONE; n],
            routes: vec![0; n],
            news: vec![0; n],
            rest: vec![(Orders::ALL, 0); n],
            turns: match taste {
                Taste::FewTurns => Some(DependencySet::empty(&channels.index)),
                Taste::Light | Taste::FirstPort | Taste::Orders(_) => None,
            },
        }
    }

    /// All LIDs. Those whose ways can all be kept come first, so that the others find the load that is there to stay.
    fn weigh_all(
        mut self,
        request: &Request<'_>,
        keep: Option<&Previous>,
    ) -> Result<Ways, BudgetExceeded> {
        let mut jobs = self.jobs(request);
        if let Some(old) = keep {
            let mut late = Vec::new();
            for job in &mut jobs {
                let (whole, torn): (Vec<usize>, Vec<usize>) = std::mem::take(&mut job.columns)
                    .into_iter()
                    .partition(|&c| self.all_kept(c, old));
                job.columns = whole;
                late.push(Job {
                    dest: job.dest,
                    columns: torn,
                    idle: job.idle,
                });
            }
            jobs.extend(late);
        }
        jobs.retain(|job| !job.columns.is_empty());
        let make = |batch: &[Job], legs, cables| -> Vec<Nearer> {
            let batch = batch.par_iter();
            batch
                .map(|job| Nearer::new(legs, cables, job.dest))
                .collect()
        };
        let mut batches = jobs.chunks(BATCH);
        let mut at_hand = batches.next().map(|b| (b, make(b, self.legs, self.cables)));
        while let Some((batch, nearer)) = at_hand.take() {
            let (legs, cables) = (self.legs, self.cables);
            let after = batches.next();
            let visits = |n: &Nearer| n.cables.len() + 2 * n.order.len();
            let units = batch.iter().zip(&nearer);
            let units = units.map(|(job, nearer)| (job.columns.len() + 1) * visits(nearer));
            request.budget.spend_len(units.sum())?;
            let ((), made) = rayon::join(
                || {
                    for (job, nearer) in batch.iter().zip(&nearer) {
                        self.weigh_job(job, nearer, keep);
                    }
                },
                || after.map(|b| (b, make(b, legs, cables))),
            );
            at_hand = made;
        }
        self.management(keep);
        Ok(self.ways)
    }

    /// What is weighed together, in the order of weighing: as the operator asks, then compute, I/O, all others; among
    /// these, switch by switch.
    fn jobs(&self, request: &Request<'_>) -> Vec<Job> {
        let hints = request.hints;
        let class = |d: &Destination| {
            let listed = |lids: &Option<Vec<Lid>>| {
                lids.as_ref().is_some_and(|lids| {
                    let owner = self
                        .topo
                        .end_ports(d.switch)
                        .iter()
                        .find(|e| e.port == d.port);
                    owner.is_some_and(|e| lids.contains(&e.lid))
                })
            };
            if listed(&hints.compute) {
                0
            } else if listed(&hints.io) {
                1
            } else {
                2usize
            }
        };
        let asked: Vec<Option<usize>> = if hints.routing_order.is_empty() {
            vec![None; self.lids.len()]
        } else {
            let at = |d: &Destination| hints.routing_order.iter().position(|lid| *lid == d.lid);
            self.lids.iter().map(at).collect()
        };
        let mut columns: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (column, d) in self.lids.iter().enumerate() {
            let dest = d.switch.index();
            if d.port != PortNum::ZERO {
                let turn = asked[column].unwrap_or_else(|| usize::MAX - 3 + class(d));
                columns.push((turn, self.graph.lid_rank[dest], column, dest));
            }
        }
        columns.sort_unstable();
        let mut jobs: Vec<Job> = Vec::new();
        let mut turn_before = None;
        for (turn, _, column, dest) in columns {
            match jobs.last_mut() {
                Some(job) if job.dest == dest && turn_before == Some(turn) => {
                    job.columns.push(column);
                }
                Some(_) | None => jobs.push(Job {
                    dest,
                    columns: vec![column],
                    idle: false,
                }),
            }
            turn_before = Some(turn);
        }
        let bare = self.graph.by_lid.iter().copied();
        jobs.extend(bare.filter(|&s| self.graph.hosts[s] == 0).map(|dest| Job {
            dest,
            columns: self.ways.columns_on(dest).collect(),
            idle: true,
        }));
        jobs
    }

    /// The cable that is installed for a LID, if it still leads one hop nearer.
    fn kept(&self, v: usize, lid: Lid, dest: usize, old: &Previous) -> Option<usize> {
        let cable = self.cables.at(v, old.get(v)?.get(lid))?;
        let row = self.legs.row(dest);
        (row[self.cables.peer[cable] as usize].farther() == row[v]).then_some(cable)
    }

    fn all_kept(&self, column: usize, old: &Previous) -> bool {
        let d = self.lids[column];
        let dest = d.switch.index();
        (0..self.graph.len()).all(|v| v == dest || self.kept(v, d.lid, dest, old).is_some())
    }

    fn weigh_job(&mut self, job: &Job, nearer: &Nearer, keep: Option<&Previous>) {
        let mut model: Option<usize> = None;
        for &column in &job.columns {
            self.choose(job, nearer, column, model, keep);
            if self.spread == Spread::BySwitch {
                model.get_or_insert(column);
            }
            let load = if job.idle {
                &mut self.idle_load
            } else {
                &mut self.load
            };
            for (routes, &hosts) in self.routes.iter_mut().zip(&self.graph.hosts) {
                *routes = u64::from(hosts);
            }
            for (v, _) in nearer.each().rev() {
                let cable = self.cable[v] as usize;
                let routes = self.routes[v];
                load[cable] += routes * self.cables.counts[cable];
                self.routes[self.cables.peer[cable] as usize] += routes;
            }
        }
    }

    /// The lightest way of every switch to one LID; by the switches that the LID `model` goes by, if there is one.
    fn choose(
        &mut self,
        job: &Job,
        nearer: &Nearer,
        column: usize,
        model: Option<usize>,
        keep: Option<&Previous>,
    ) {
        let lid = self.lids[column].lid;
        self.weight[job.dest] = 0;
        self.rest[job.dest] = (Orders::ALL, 0);
        for (v, cables) in nearer.each() {
            let load = if job.idle {
                &self.idle_load
            } else {
                &self.load
            };
            let lightest = |cables: &mut dyn Iterator<Item = &(u32, u32)>| {
                let weigh = |&(c, peer): &(u32, u32)| self.weight[peer as usize] + load[c as usize];
                cables
                    .map(|c| (weigh(c), c.0))
                    .min_by_key(|&(weight, _)| weight)
            };
            let kept = keep.and_then(|old| self.kept(v, lid, job.dest, old));
            let found = if let Some(cable) = kept {
                let cable = u32::try_from(cable).unwrap_or(Cables::NONE);
                lightest(&mut cables.iter().filter(|c| c.0 == cable))
            } else if let Some(model) = model {
                let port = PortNum(self.ways.column(model)[v]);
                let peer = self.cables.at(v, port).map(|c| self.cables.peer[c]);
                lightest(&mut cables.iter().filter(|c| Some(c.1) == peer))
            } else {
                Some(self.taste_best(job.dest, cables, load))
            };
            // On a connected graph there always is one.
            let (weight, cable) =
                found.unwrap_or_else(|| (0, cables.first().map_or(Cables::NONE, |c| c.0)));
            self.weight[v] = weight;
            self.cable[v] = cable;
            self.taste_taken(v, job.dest);
        }
        self.remember(nearer, job.dest);
        let chosen = self.ways.column_mut(column);
        for &v in &nearer.order {
            chosen[v as usize] = self.cables.port[self.cable[v as usize] as usize];
        }
    }

    /// The cable that the taste prefers, with the weight of its way.
    #[inline(always)]
    fn taste_best(&self, dest: usize, cables: &[(u32, u32)], load: &[u64]) -> (u64, u32) {
        let weigh = |&(cable, peer): &(u32, u32)| self.weight[peer as usize] + load[cable as usize];
        let least = |key: &dyn Fn(&(u32, u32)) -> u64| {
            let keyed = cables.iter().map(|c| ((key(c), weigh(c)), c.0));
            let best = keyed.min_by_key(|&(key, _)| key);
            best.map_or((0, Cables::NONE), |((_, weight), cable)| (weight, cable))
        };
        match self.taste {
            Taste::Light => {
                let mut best = (u64::MAX, Cables::NONE);
                for c in cables {
                    let weight = weigh(c);
                    if weight < best.0 {
                        best = (weight, c.0);
                    }
                }
                best
            }
            Taste::FewTurns => least(&|&(cable, peer)| self.news_by(dest, cable, peer as usize)),
            Taste::FirstPort => cables
                .first()
                .map_or((0, Cables::NONE), |c| (weigh(c), c.0)),
            Taste::Orders(orders) => least(&|&(cable, peer)| {
                let rest = self.rest[peer as usize];
                let (kept, _) = orders.before(self.cables.channel[cable as usize], rest);
                u64::from(kept.trailing_zeros())
            }),
        }
    }

    /// Dependencies of the way over this cable that no way had before.
    fn news_by(&self, dest: usize, cable: u32, peer: usize) -> u64 {
        if peer == dest {
            return 0;
        }
        let (x, y) = (cable as usize, self.cable[peer] as usize);
        let turn = (self.cables.channel[x], self.cables.channel[y]);
        let had = |turns: &DependencySet| turns.contains(&self.channels.index, turn);
        self.news[peer] + u64::from(!self.turns.as_ref().is_some_and(had))
    }

    /// Notes what the taste has to know of the cable that was taken.
    fn taste_taken(&mut self, v: usize, dest: usize) {
        let cable = self.cable[v];
        let peer = self.cables.peer[cable as usize] as usize;
        match self.taste {
            Taste::Light | Taste::FirstPort => {}
            Taste::FewTurns => self.news[v] = self.news_by(dest, cable, peer),
            Taste::Orders(orders) => {
                self.rest[v] = orders.before(self.cables.channel[cable as usize], self.rest[peer]);
            }
        }
    }

    /// The dependencies of the LID at hand are there from now on.
    fn remember(&mut self, nearer: &Nearer, dest: usize) {
        let Some(turns) = &mut self.turns else {
            return;
        };
        for &v in &nearer.order {
            let x = self.cable[v as usize] as usize;
            let peer = self.cables.peer[x] as usize;
            if peer != dest {
                let y = self.cable[peer] as usize;
                let channel = &self.cables.channel;
                turns.insert(&self.channels.index, (channel[x], channel[y]));
            }
        }
    }

    /// LIDs of switches with end ports: management goes the way of one of these, which brings no dependencies that are
    /// not there anyway.
    fn management(&mut self, keep: Option<&Previous>) {
        for (rank, &dest) in self.graph.by_lid.iter().enumerate() {
            let columns = self.ways.columns_on(dest);
            let (own, others): (Vec<usize>, Vec<usize>) =
                columns.partition(|&c| self.lids[c].port == PortNum::ZERO);
            if others.is_empty() {
                continue;
            }
            for column in own {
                let model = self.ways.column(others[rank % others.len()]).to_vec();
                let lid = self.lids[column].lid;
                for (v, port) in model.into_iter().enumerate().filter(|(v, _)| *v != dest) {
                    let kept = keep.and_then(|old| self.kept(v, lid, dest, old));
                    let port = kept.map_or(port, |cable| self.cables.port[cable]);
                    self.ways.column_mut(column)[v] = port;
                }
            }
        }
    }
}
