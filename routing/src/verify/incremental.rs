//! The proof of tables that differ little from those that were proven last: only LIDs whose packets go other ways are
//! looked at again. What waits for what is counted, so that it can be taken back.
//!
//! The verdict and the figures are those of [`super::verify()`], always. Where something changed that concerns all LIDs,
//! where switches map VLs by ports, where answers need a second look, or where there is too much to remember, everything
//! is proven afresh.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use super::channels::Channels;
use super::counts::{Changes, Count, Counts, Nothing};
use super::detour::{self, Detour, Side};
use super::ground::Ground;
use super::inject::{self, Injection, single_vl};
use super::order::Order;
use super::walk::{self, Walked};
use super::{Proof, VerifyError, proof, verify};
use crate::tables::{BLOCK_LIDS, Tables};
use crate::topology::{Destination, Topology};
use crate::vl_plan::{SlToVl, VlPlan};

/// Of how many (switch, LID) entries one may change before everything is proven afresh.
const ENTRIES_PER_CHANGE: usize = 32;

/// Of how many switches one may change for a LID before all switches are walked for it.
const SWITCHES_PER_CHANGE: usize = 4;

/// Remembers what was proven last. A value: who goes on from a copy leaves the other as it was, and a copy costs nothing.
#[derive(Debug, Clone, Default)]
pub struct IncrementalVerifier {
    last: Option<Arc<State>>,
}

#[derive(Debug, Clone)]
struct State {
    topo: Topology,
    tables: Tables,
    lanes: VlPlan,
    counts: Counts,
    order: Order,
    totals: Walked,
}

impl IncrementalVerifier {
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
        topo: &Topology,
        tables: &Tables,
        lanes: &VlPlan,
    ) -> Result<Proof, VerifyError> {
        let last = self.last.take();
        let narrow = lanes.vls == 0 || lanes.vls > topo.common_vls();
        let known = last
            .as_ref()
            .is_some_and(|l| l.lanes == *lanes && l.topo.destinations() == topo.destinations());
        let answers = || !known && Injection::new(topo, lanes).with_answers(topo).is_some();
        if narrow || lanes.sl2vl != SlToVl::Modulo || answers() {
            return verify(topo, tables, lanes);
        }
        let differs = last.and_then(|last| {
            let changed = last.changed(topo, tables, lanes)?;
            Some((last, changed))
        });
        let next = match differs {
            Some((last, changed)) => last.go_on(topo, tables, lanes, &changed),
            None => State::new(topo, tables, lanes),
        };
        match next {
            Some(state) => {
                let told = state.proof();
                self.last = Some(Arc::new(state));
                Ok(told)
            }
            // The whole proof says what is wrong, if anything is.
            None => verify(topo, tables, lanes),
        }
    }

    /// Whether it is these tables that were proven last.
    pub(crate) fn is_of(&self, topo: &Topology, tables: &Tables, lanes: &VlPlan) -> bool {
        self.last.as_ref().is_some_and(|state| {
            state.tables == *tables && state.lanes == *lanes && state.topo == *topo
        })
    }

    /// Whether packets might besides wait like this as well (one channel for another one on the same VL), and there would be
    /// no circle. Channels are numbers of ports, those of all switches in a row, port 0 included. False where nothing is
    /// known.
    pub(crate) fn has_room_for(&self, waits: &[(usize, usize, u8)]) -> bool {
        let Some(state) = &self.last else {
            return false;
        };
        let channels = Channels::new(&state.topo);
        let mut counts = state.counts.clone();
        let mut come = Changes::default();
        for &(first, second, vl) in waits {
            let end = channels.ends[first];
            if end.switch == Channels::NOWHERE || usize::from(vl) >= counts.lanes {
                return false;
            }
            let port = second.checked_sub(channels.base[end.switch as usize]);
            let Some(port) = port.and_then(|port| u8::try_from(port).ok()) else {
                return false;
            };
            come.waits
                .push(counts.dependency(first, (second, port), usize::from(vl)));
        }
        let fresh = counts.change(&Changes::default(), &come);
        let mut order = state.order.clone();
        order.add(&counts.graph(&channels), &fresh)
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.last.as_ref().map_or(0, |state| {
            let loads = state.totals.load.len() * 8 + state.totals.used.len() * 2;
            state.counts.memory() + state.order.memory() + loads
        })
    }
}

/// What differs from what was proven.
#[derive(Debug, Default)]
struct Changed {
    /// LIDs for which single switches send another way, with those switches.
    entries: Vec<(Lid, u32)>,
    /// By LID: whether more than that changed.
    wholly: Vec<bool>,
}

impl State {
    /// Proves everything; `None` if it does not hold, or is too much to be remembered.
    fn new(topo: &Topology, tables: &Tables, lanes: &VlPlan) -> Option<Self> {
        let channels = Channels::new(topo);
        let mut counts = Counts::new(topo, &channels, lanes)?;
        let (plain, others): (Vec<Destination>, Vec<Destination>) = topo
            .destinations()
            .iter()
            .partition(|d| single_vl(lanes, d).is_some());
        let ground = Ground::new(topo, tables, lanes, &channels);
        let injection = Injection::new(topo, lanes);
        let (walked, _) = walk::walk(&ground, &injection, &plain, &Nothing);
        if !holds(&walked) {
            return None;
        }
        counts.add_rows(tables, &channels, &inject::single_vl_lids(lanes, &plain));
        let (counts, more, _) = enter(&ground, counts, &others, true);
        let order = Order::new(&counts.graph(&channels))?;
        holds(&more).then(|| Self {
            topo: topo.clone(),
            tables: tables.clone(),
            lanes: lanes.clone(),
            counts,
            order,
            totals: walked.add(&more),
        })
    }

    /// What differs; `None` where it is so much, or of such a kind, that everything has to be proven.
    fn changed(&self, topo: &Topology, tables: &Tables, lanes: &VlPlan) -> Option<Changed> {
        let senders = |t: &Topology, s| (t.num_ports(s), t.end_ports(s).len());
        let same = topo.num_switches() == self.topo.num_switches()
            && tables.len() == self.tables.len()
            && lanes.vls == self.lanes.vls
            && topo
                .switches()
                .all(|s| senders(topo, s) == senders(&self.topo, s));
        if !same {
            return None;
        }
        let top = usize::from(topo.top_lid().max(self.topo.top_lid()).raw());
        let mut wholly = vec![false; top + 1];
        let all = self.topo.destinations();
        let most = topo.num_switches() * all.len() / ENTRIES_PER_CHANGE + BLOCK_LIDS;
        let mut entries = Vec::new();
        for s in topo.switches() {
            let i = s.index();
            let mut moved = [false; 256];
            let mut any = false;
            if topo.links(s) != self.topo.links(s) {
                for port in (1..=topo.num_ports(s)).map(PortNum) {
                    let differs = topo.neighbor(s, port) != self.topo.neighbor(s, port);
                    moved[port.index()] = differs;
                    any |= differs;
                }
            }
            let same = self.tables.get(i) == tables.get(i);
            if same && !any {
                continue;
            }
            let row = |tables: &Tables, lid: usize| {
                let row = tables.get(i).map_or(&[][..], |t| t.entries());
                row.get(lid).copied().unwrap_or(PortNum::DROP.raw())
            };
            for d in all {
                let lid = usize::from(d.lid.raw());
                let (a, b) = (row(&self.tables, lid), row(tables, lid));
                if a != b || moved[usize::from(a)] {
                    entries.push((d.lid, s.0));
                }
            }
            if entries.len() > most {
                return None;
            }
        }
        entries.sort_unstable();
        if self.topo.destinations() != topo.destinations() {
            let owner = |t: &Topology| {
                let mut owner = vec![None; top + 1];
                for d in t.destinations() {
                    owner[usize::from(d.lid.raw())] = Some(*d);
                }
                owner
            };
            let pairs = owner(&self.topo).into_iter().zip(owner(topo));
            for (wholly, (a, b)) in wholly.iter_mut().zip(pairs) {
                *wholly |= a != b;
            }
        }
        if self.lanes.path_sl != lanes.path_sl {
            for d in topo.destinations() {
                let differs = |s| self.lanes.sl(s, d) != lanes.sl(s, d);
                wholly[usize::from(d.lid.raw())] |= topo.switches().any(differs);
            }
        }
        Some(Changed { entries, wholly })
    }

    /// Proves what changed; `None` if it does not hold.
    fn go_on(
        &self,
        topo: &Topology,
        tables: &Tables,
        lanes: &VlPlan,
        changed: &Changed,
    ) -> Option<Self> {
        let (old, channels) = (Channels::new(&self.topo), Channels::new(topo));
        if !self.counts.has_room(topo, &channels) {
            return Self::new(topo, tables, lanes);
        }
        let switches: Vec<u32> = changed.entries.iter().map(|e| e.1).collect();
        let mut wholly = changed.wholly.clone();
        let mut detours = Vec::new();
        let mut at = 0;
        for part in changed.entries.chunk_by(|a, b| a.0 == b.0) {
            let here = &switches[at..at + part.len()];
            at += part.len();
            let lid = part.first()?.0;
            let raw = usize::from(lid.raw());
            let all = topo.destinations();
            let found = all.binary_search_by_key(&lid, |d| d.lid).ok();
            let few = here.len() * SWITCHES_PER_CHANGE <= topo.num_switches();
            let plain = found.map(|i| all[i]).and_then(|d| {
                let vl = single_vl(lanes, &d).filter(|_| few && !wholly[raw])?;
                Some((d, usize::from(vl)))
            });
            match plain {
                Some((dest, vl)) => detours.push(Detour {
                    dest,
                    vl,
                    changed: here,
                }),
                None => wholly[raw] = true,
            }
        }
        let before = Side::new(&self.topo, &old, &self.tables);
        let after = Side::new(topo, &channels, tables);
        let found = detour::follow(before, after, &self.counts, &detours)?;
        let (mut counts, mut totals) = (self.counts.clone(), self.totals.clone());
        let mut fresh = Vec::new();
        for found in &found {
            fresh.extend(counts.change(&found.gone, &found.come));
            totals.move_routes(found);
        }
        let of = |topo: &Topology| -> Vec<Destination> {
            let all = topo.destinations().iter();
            all.filter(|d| wholly[usize::from(d.lid.raw())])
                .copied()
                .collect()
        };
        let (before, after) = (of(&self.topo), of(topo));
        if !before.is_empty() || !after.is_empty() {
            let ground = Ground::new(&self.topo, &self.tables, &self.lanes, &old);
            let (less, gone, _) = enter(&ground, counts, &before, false);
            let ground = Ground::new(topo, tables, lanes, &channels);
            let (all, come, new) = enter(&ground, less, &after, true);
            if !holds(&come) {
                return None;
            }
            totals.replace(&gone, &come);
            fresh.extend(new);
            counts = all;
        }
        fresh.sort_unstable();
        fresh.dedup();
        let mut order = self.order.clone();
        if !order.add(&counts.graph(&channels), &fresh) {
            return None;
        }
        Some(Self {
            topo: topo.clone(),
            tables: tables.clone(),
            lanes: lanes.clone(),
            counts,
            order,
            totals,
        })
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
    ground: &Ground<'_>,
    counts: Counts,
    lids: &[Destination],
    up: bool,
) -> (Counts, Walked, Vec<(u32, u32)>) {
    let injection = Injection::new(ground.topo, ground.lanes);
    let counts = counts.open();
    let sink = Count {
        counts: &counts,
        up,
        fresh: Vec::new(),
    };
    let (walked, sinks) = walk::walk(ground, &injection, lids, &sink);
    let fresh: Vec<(u32, u32)> = sinks.into_iter().flat_map(|s| s.fresh).collect();
    drop(sink);
    (counts.close(), walked, fresh)
}
