//! The proof of tables that differ little from those that were proven last: only LIDs whose packets go other ways are
//! walked again, once as they went and once as they go. What waits for what is counted, so that it can be taken back.
//!
//! The verdict and the figures are those of [`super::verify()`], always. Where something changed that concerns all LIDs,
//! where switches map VLs by ports, or where answers need a second look, everything is proven afresh.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use ferrosm_mad::ids::PortNum;

use super::channels::Channels;
use super::inject::Injection;
use super::order::Order;
use super::waits::{Waits, ones};
use super::walk::{self, Ground, Sink, Walked};
use super::{Failure, Proof, proof, verify};
use crate::lanes::{Lanes, Sl2Vl};
use crate::tables::Tables;
use crate::topology::{Destination, Topology};

/// Remembers what was proven last.
#[derive(Default)]
pub struct Ledger {
    last: Option<State>,
}

struct State {
    topo: Arc<Topology>,
    tables: Tables,
    lanes: Lanes,
    counts: Counts,
    order: Order,
    totals: Walked,
}

impl Ledger {
    /// Nothing was proven yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`super::verify()`].
    ///
    /// # Errors
    /// As [`super::verify()`]. What was remembered is forgotten then.
    pub fn verify(
        &mut self,
        topo: &Arc<Topology>,
        tables: &Tables,
        lanes: &Lanes,
    ) -> Result<Proof, Failure> {
        let last = self.last.take();
        let narrow = lanes.vls == 0 || lanes.vls > topo.common_vls();
        let answers = || Injection::new(topo, lanes).with_answers(topo).is_some();
        if narrow || lanes.sl2vl != Sl2Vl::Modulo || answers() {
            return verify(topo, tables, lanes);
        }
        let next = last.filter(|last| last.is_like(topo, lanes));
        let next = match next {
            Some(last) => last.go_on(topo, tables, lanes),
            None => State::new(topo, tables, lanes),
        };
        match next {
            Some(state) => {
                let told = state.proof();
                self.last = Some(state);
                Ok(told)
            }
            // Something is wrong: the whole proof says what.
            None => verify(topo, tables, lanes),
        }
    }
}

impl State {
    /// Proves everything; `None` if it does not hold.
    fn new(topo: &Arc<Topology>, tables: &Tables, lanes: &Lanes) -> Option<Self> {
        let channels = Channels::new(topo);
        let counts = Counts::new(topo, lanes);
        let all = topo.destinations();
        let (totals, _) = enter(topo, tables, lanes, &channels, all, &counts, true);
        let order = Order::new(&counts.graph(&channels))?;
        holds(&totals).then(|| Self {
            topo: Arc::clone(topo),
            tables: tables.clone(),
            lanes: lanes.clone(),
            counts,
            order,
            totals,
        })
    }

    /// Whether the numbers of channels and lanes, and who sends, are still the same.
    fn is_like(&self, topo: &Topology, lanes: &Lanes) -> bool {
        let senders = |t: &Topology| -> Vec<(u8, usize)> {
            let of = |s| (t.num_ports(s), t.end_ports(s).len());
            t.switches().map(of).collect()
        };
        lanes.vls == self.lanes.vls && senders(topo) == senders(&self.topo)
    }

    /// Proves what changed; `None` if it does not hold.
    fn go_on(mut self, topo: &Arc<Topology>, tables: &Tables, lanes: &Lanes) -> Option<Self> {
        let changed = self.changed(topo, tables, lanes);
        let of = |topo: &Topology| -> Vec<Destination> {
            let all = topo.destinations().iter();
            all.filter(|d| changed.get(usize::from(d.lid.raw())).is_none_or(|&c| c))
                .copied()
                .collect()
        };
        let (before, after) = (of(&self.topo), of(topo));
        let old = Channels::new(&self.topo);
        let (gone, _) = enter(
            &self.topo,
            &self.tables,
            &self.lanes,
            &old,
            &before,
            &self.counts,
            false,
        );
        let channels = Channels::new(topo);
        let (come, fresh) = enter(topo, tables, lanes, &channels, &after, &self.counts, true);
        let graph = self.counts.graph(&channels);
        if !holds(&come) || !self.order.add(&graph, &fresh) {
            return None;
        }
        self.totals.replace(&gone, &come);
        self.topo = Arc::clone(topo);
        self.tables.clone_from(tables);
        self.lanes.clone_from(lanes);
        Some(self)
    }

    /// By LID: whether its packets may go another way, or on another lane, than before.
    fn changed(&self, topo: &Topology, tables: &Tables, lanes: &Lanes) -> Vec<bool> {
        let top = usize::from(topo.top_lid().max(self.topo.top_lid()).raw());
        let mut changed = vec![false; top + 1];
        let entry = |tables: &Tables, s: usize, lid: usize| {
            let row = tables.get(s).map_or(&[][..], |t| t.entries());
            row.get(lid).copied().unwrap_or(PortNum::DROP.raw())
        };
        for s in topo.switches() {
            let i = s.index();
            let moved = |p: &PortNum| topo.neighbor(s, *p) != self.topo.neighbor(s, *p);
            let ports = (1..=topo.num_ports(s)).map(PortNum);
            let moved: Vec<u8> = ports.filter(moved).map(PortNum::raw).collect();
            let same = self.tables.get(i) == tables.get(i);
            if same && moved.is_empty() {
                continue;
            }
            for (lid, changed) in changed.iter_mut().enumerate() {
                let (a, b) = (entry(&self.tables, i, lid), entry(tables, i, lid));
                *changed |= a != b || moved.contains(&a);
            }
        }
        if self.topo.destinations() != topo.destinations() {
            let owner = |t: &Topology| {
                let mut owner = vec![None; top + 1];
                for d in t.destinations() {
                    owner[usize::from(d.lid.raw())] = Some(*d);
                }
                owner
            };
            let pairs = owner(&self.topo).into_iter().zip(owner(topo));
            for (changed, (a, b)) in changed.iter_mut().zip(pairs) {
                *changed |= a != b;
            }
        }
        if self.lanes.path_sl != lanes.path_sl {
            for d in topo.destinations() {
                let differs = |s| self.lanes.sl(s, d) != lanes.sl(s, d);
                changed[usize::from(d.lid.raw())] |= topo.switches().any(differs);
            }
        }
        changed
    }

    fn proof(&self) -> Proof {
        let used = (0..16).map(|vl| self.counts.channels_with(vl)).collect();
        proof(
            &self.topo,
            self.totals.clone(),
            used,
            self.counts.dependencies(),
            true,
        )
    }
}

fn holds(walked: &Walked) -> bool {
    walked.unreachable.count == 0 && walked.loops.count == 0 && walked.dropped == 0
}

/// Walks these LIDs, and counts what waits for what up, or down. Gives the dependencies that came up from nothing.
fn enter(
    topo: &Topology,
    tables: &Tables,
    lanes: &Lanes,
    channels: &Channels,
    lids: &[Destination],
    counts: &Counts,
    up: bool,
) -> (Walked, Vec<(u32, u32)>) {
    let ground = Ground::new(topo, tables, lanes, channels);
    let injection = Injection::new(topo, lanes);
    let sink = Count {
        counts,
        up,
        fresh: Vec::new(),
    };
    let (walked, sinks) = walk::walk(&ground, &injection, lids, &sink);
    let mut fresh: Vec<(u32, u32)> = sinks.into_iter().flat_map(|s| s.fresh).collect();
    fresh.sort_unstable();
    (walked, fresh)
}

/// How many LIDs make each dependency, and how many use each lane of each channel. There are fewer LIDs than 2^16.
struct Counts {
    lanes: usize,
    /// By channel: its first place in `waits`. A channel has one place for each port by which packets come to its switch, and
    /// for each lane.
    rows: Vec<u32>,
    waits: Vec<AtomicU16>,
    /// By channel and lane.
    on: Vec<AtomicU16>,
}

impl Counts {
    fn new(topo: &Topology, lanes: &Lanes) -> Self {
        let lanes = usize::from(lanes.vls.clamp(1, 15));
        let mut rows = Vec::new();
        let mut next = 0;
        for s in topo.switches() {
            let ports = usize::from(topo.num_ports(s)) + 1;
            for _ in 0..ports {
                rows.push(u32::try_from(next).unwrap_or(u32::MAX));
                next += ports * lanes;
            }
        }
        let zeros = |n| std::iter::repeat_with(AtomicU16::default).take(n).collect();
        Self {
            lanes,
            waits: zeros(next),
            on: zeros(rows.len() * lanes),
            rows,
        }
    }

    fn graph<'a>(&'a self, channels: &'a Channels) -> Graph<'a> {
        Graph {
            counts: self,
            channels,
        }
    }

    fn channels_with(&self, vl: usize) -> usize {
        let of = self.on.iter().skip(vl).step_by(self.lanes);
        let used = of.filter(|n| n.load(Ordering::Relaxed) > 0).count();
        if vl < self.lanes { used } else { 0 }
    }

    fn dependencies(&self) -> u64 {
        let some = |n: &&AtomicU16| n.load(Ordering::Relaxed) > 0;
        self.waits.iter().filter(some).count() as u64
    }
}

#[derive(Clone)]
struct Count<'a> {
    counts: &'a Counts,
    up: bool,
    /// Nodes, the first of which did not wait for the second before.
    fresh: Vec<(u32, u32)>,
}

impl Sink for Count<'_> {
    #[inline(always)]
    fn keep(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        let lanes = self.counts.lanes;
        let port = usize::from(channels.ends[first].port);
        let row = self.counts.rows[second] as usize + port * lanes;
        for vl in ones(vls) {
            let count = &self.counts.waits[row + vl];
            if !self.up {
                count.fetch_sub(1, Ordering::Relaxed);
            } else if count.fetch_add(1, Ordering::Relaxed) == 0 {
                let node = |c: usize| u32::try_from(c * lanes + vl).unwrap_or(u32::MAX);
                self.fresh.push((node(first), node(second)));
            }
        }
    }

    #[inline(always)]
    fn on(&mut self, channel: usize, vls: u16) {
        for vl in ones(vls) {
            let count = &self.counts.on[channel * self.counts.lanes + vl];
            if self.up {
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn across(&self) -> Option<&Waits> {
        None
    }
}

/// The dependency graph that the counts are. A node is a channel and a lane.
pub(super) struct Graph<'a> {
    counts: &'a Counts,
    channels: &'a Channels,
}

impl Graph<'_> {
    pub(super) fn nodes(&self) -> usize {
        self.counts.on.len()
    }

    /// Calls `f` with each node that waits for this one.
    #[inline(always)]
    pub(super) fn before(&self, node: usize, mut f: impl FnMut(usize)) {
        let (channel, vl) = (node / self.counts.lanes, node % self.counts.lanes);
        let row = self.counts.rows[channel] as usize + vl;
        for (port, first) in self.channels.arriving_before(channel) {
            if self.waits(row + port * self.counts.lanes) {
                f(first * self.counts.lanes + vl);
            }
        }
    }

    /// Calls `f` with each node that this one waits for.
    #[inline(always)]
    pub(super) fn after(&self, node: usize, mut f: impl FnMut(usize)) {
        let (channel, vl) = (node / self.counts.lanes, node % self.counts.lanes);
        let end = self.channels.ends[channel];
        if end.switch == Channels::NOWHERE {
            return;
        }
        let port = usize::from(end.port);
        for second in self.channels.out_of(end.switch as usize) {
            let row = self.counts.rows[second] as usize + vl;
            if self.waits(row + port * self.counts.lanes) {
                f(second * self.counts.lanes + vl);
            }
        }
    }

    #[inline(always)]
    fn waits(&self, at: usize) -> bool {
        self.counts.waits[at].load(Ordering::Relaxed) > 0
    }
}
