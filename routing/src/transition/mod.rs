//! Whether tables can be replaced by others while packets are on their way, and in which order.
//!
//! While blocks of tables are written each switch forwards by its old entry or by its new one, and nobody knows which of
//! them first. What can go wrong in between: packets for a LID go round by old entries here and new ones there; or
//! packets wait for each other in a circle of channels that neither the old nor the new tables have alone. Both are
//! looked for in the union: for each changed LID every switch has both its next hops, and the dependency graph has all
//! pairs of (channel in, channel out) that this allows, on each VL.
//!
//! It computes only. Who writes waits between stages until all writes of a stage are answered; between the two halves of
//! a [`Transition::Drain`] also for as long as a packet may live in a switch.
//!
//! Where what was proven of the new tables is kept and little changes, only what the changes add is looked at (`detour`).
//!
//! The lanes are those of both runs. Where they change, old packets travel on new lanes: that is no question of tables,
//! and the caller has to bring traffic to rest anyway.

mod detour;
pub mod groups;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use rayon::prelude::*;

use crate::channels::{
    DependencySet, PortChannels, VirtualChannels, dependencies_of_lids, dependencies_of_tables,
};
use crate::reroute_cache::RerouteCache;
use crate::tables::{BLOCK_LIDS, Lft, Tables, changed_blocks};
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::verify::IncrementalVerifier;
use crate::vl_plan::VlPlan;

use detour::{Both, Wait};

/// Stages that are tried at most; with more, traffic is brought to rest instead.
const STAGES_MAX: usize = 24;

/// Of how many entries one may change for only what changes to be looked at.
const ENTRIES_PER_CHANGE: usize = 32;

/// How to get from installed tables to new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// All blocks may be written at once.
    AnyOrder,
    /// These blocks (switch, block of 64 LIDs) stage by stage, those of one stage at once. Blocks that differ and are not
    /// named may be written at any time.
    Stages(Vec<Vec<(SwitchIdx, u16)>>),
    /// No order is known to be safe: first these tables, which drop packets where their way changes, then the new ones.
    Drain {
        /// A table for each switch: as installed, where nothing dangerous changes.
        first: Tables,
        /// What would happen otherwise.
        conflict: Conflict,
    },
}

/// What may happen when old and new entries are in force together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// Packets for this LID may go round and round.
    Loop(Lid),
    /// Packets may wait for each other over these channels (switch, port), each for the next, the last for the first.
    CreditLoop(Vec<(SwitchIdx, PortNum)>),
}

impl Conflict {
    /// The end of a sentence that begins with "in between", with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Loop(lid) => format!("packets for LID {lid} could go round and round"),
            Self::CreditLoop(channels) => {
                let hops: Vec<String> = channels
                    .iter()
                    .map(|&(s, p)| format!("{} port {p}", label(s)))
                    .collect();
                format!(
                    "packets could wait for each other over {}, and back",
                    hops.join(", ")
                )
            }
        }
    }
}

/// Plans the way from `old` to `new`.
///
/// `None` in `old` is a switch whose content is unknown: it has just come, nothing can be said of what it does now, and
/// it is taken to have the new table. Old entries over cables that are gone drop packets. Both tables are taken to be
/// proven for themselves; LIDs that nobody has do not matter.
#[must_use]
pub fn plan(topo: &Topology, old: &[Option<Arc<Lft>>], new: &Tables, lanes: &VlPlan) -> Transition {
    plan_with(topo, old, new, lanes, &RerouteCache::new())
}

/// The same with what is kept of the run that made `new`, which makes it quick where little changes.
#[must_use]
pub fn plan_with(
    topo: &Topology,
    old: &[Option<Arc<Lft>>],
    new: &Tables,
    lanes: &VlPlan,
    cache: &RerouteCache,
) -> Transition {
    let entries = changed_entries(topo, old, new);
    if entries.is_empty() {
        return Transition::AnyOrder;
    }
    let old: Vec<&Lft> = new
        .iter()
        .enumerate()
        .map(|(v, lft)| old.get(v).and_then(Option::as_deref).unwrap_or(lft))
        .collect();
    let ports = PortChannels::new(topo);
    let channels = VirtualChannels::new(&ports, lanes);
    let rows: Vec<&Lft> = new.iter().map(Arc::as_ref).collect();
    let ledger = cache.verifier().filter(|l| l.is_of(topo, new, lanes));
    if let Some(ledger) = ledger
        && entries.len()
            <= BLOCK_LIDS + topo.num_switches() * topo.destinations().len() / ENTRIES_PER_CHANGE
    {
        let both = Both {
            topo,
            ports: &ports,
            old: &old,
            new: &rows,
        };
        if let Some(quick) = quickly(&both, channels, &entries, ledger) {
            return quick;
        }
    }
    let changes = |d: &Destination| entries.binary_search_by_key(&d.lid, |e| e.0).is_ok();
    let (changed, same): (Vec<Destination>, Vec<Destination>) =
        topo.destinations().iter().copied().partition(changes);
    let new = rows;
    let mut fixed = dependencies_of_tables(topo, channels, &new, &same);
    let work = Work {
        topo,
        channels,
        old,
        new,
        changed,
    };
    let (both, round) = work.mixed(&work.changed, |_, _| Phase::Now);
    let mut all = fixed.clone();
    all.union_with(&both);
    let circle = all.find_cycle(&channels);
    let conflict = match (round.first(), circle) {
        (None, None) => return Transition::AnyOrder,
        (Some(d), _) => Conflict::Loop(d.lid),
        (None, Some(circle)) => {
            let name = |c| ports.switch_and_port(channels.channel(c));
            Conflict::CreditLoop(circle.into_iter().map(name).collect())
        }
    };
    // Where only loops threaten, only their LIDs need an order.
    let others: Vec<Destination> = work.without(&round);
    let (free, _) = work.mixed(&others, |_, _| Phase::Now);
    let mut rest = fixed.clone();
    rest.union_with(&free);
    let delicate = if rest.find_cycle(&channels).is_none() {
        fixed = rest;
        round
    } else {
        work.changed.clone()
    };
    if let Some(stages) = work.stages(&delicate, &fixed) {
        return Transition::Stages(stages);
    }
    // After the pause the new ways of those that were drained come while the others are half old, half new. If that could
    // close a circle, all that changes is drained.
    let (after, _) = work.mixed(&delicate, |_, _| Phase::Done);
    fixed.union_with(&after);
    let drained = if fixed.find_cycle(&channels).is_none() {
        &delicate
    } else {
        &work.changed
    };
    work.drain(drained, conflict)
}

/// LIDs that somebody has, with the switches where their entry differs.
fn changed_entries(topo: &Topology, old: &[Option<Arc<Lft>>], new: &Tables) -> Vec<(Lid, usize)> {
    let mut entries = Vec::new();
    for (v, is) in new.iter().enumerate() {
        if let Some(Some(was)) = old.get(v)
            && was != is
        {
            let differs = |d: &&Destination| was.get(d.lid) != is.get(d.lid);
            let lids = topo.destinations().iter().filter(differs);
            entries.extend(lids.map(|d| (d.lid, v)));
        }
    }
    entries.sort_unstable();
    entries
}

/// The plan where only loops threaten, or nothing, and that is clear from what changes; else a longer look is needed.
fn quickly(
    both: &Both<'_>,
    channels: VirtualChannels<'_>,
    entries: &[(Lid, usize)],
    ledger: &IncrementalVerifier,
) -> Option<Transition> {
    let (waits, round) = in_any_mixture(both, channels, entries);
    if !ledger.has_room_for(&waits) {
        return None;
    }
    if round.is_empty() {
        return Some(Transition::AnyOrder);
    }
    let work = Work {
        topo: both.topo,
        channels,
        old: both.old.to_vec(),
        new: both.new.to_vec(),
        changed: round,
    };
    // Beside all that was proven and all that the others may do, whenever they do it.
    let is_free = |found: &DependencySet| {
        let mut all = waits.clone();
        push_waits(channels, found, &mut all);
        ledger.has_room_for(&all)
    };
    let stages = work.nearest_first(&work.changed)?;
    work.is_safe(&work.changed, &stages, &is_free)
        .then(|| Transition::Stages(named(stages)))
}

/// Dependencies as a list.
fn push_waits(channels: VirtualChannels<'_>, found: &DependencySet, waits: &mut Vec<Wait>) {
    let wait = |(x, y)| (channels.channel(x), channels.channel(y), channels.vl(x));
    waits.extend(found.iter(&channels).map(wait));
    waits.sort_unstable();
    waits.dedup();
}

/// What packets may wait for besides while entries that differ are old or new in any mixture, but for LIDs for which they
/// may go round: those are given too.
fn in_any_mixture(
    both: &Both<'_>,
    channels: VirtualChannels<'_>,
    entries: &[(Lid, usize)],
) -> (Vec<Wait>, Vec<Destination>) {
    let all = both.topo.destinations();
    let changes: Vec<&[(Lid, usize)]> = entries.chunk_by(|a, b| a.0 == b.0).collect();
    let (mut plain, mut others) = (Vec::new(), Vec::new());
    for part in changes {
        let found = all.binary_search_by_key(&part[0].0, |d| d.lid);
        let Some(d) = found.ok().map(|i| all[i]) else {
            continue;
        };
        // Not everybody sends to a switch's own LID: what was proven need not have all of an old way.
        match channels
            .packets
            .vl_of_lid(&d)
            .filter(|_| d.port != PortNum::ZERO)
        {
            Some(vl) => plain.push((d, vl, part)),
            None => others.push(d),
        }
    }
    let share = plain.len().div_ceil(rayon::current_num_threads()).max(1);
    let found: Vec<(Vec<Wait>, Vec<Destination>)> = plain
        .par_chunks(share)
        .map(|parts| {
            let (mut waits, mut round, mut changed) = (Vec::new(), Vec::new(), Vec::new());
            for (d, vl, part) in parts {
                changed.clear();
                changed.extend(part.iter().map(|e| e.1));
                let before = waits.len();
                if !both.waits(d, *vl, &changed, &mut waits) {
                    waits.truncate(before);
                    round.push(*d);
                }
            }
            waits.sort_unstable();
            waits.dedup();
            (waits, round)
        })
        .collect();
    let (mut waits, mut round) = (Vec::new(), Vec::new());
    for (more, others) in found {
        waits.extend(more);
        round.extend(others);
    }
    if !others.is_empty() {
        let next = |v: usize, lid: usize| {
            let lid = Lid(u16::try_from(lid).unwrap_or(u16::MAX));
            [both.old[v].get(lid).raw(), both.new[v].get(lid).raw()]
        };
        let (mut found, more) = dependencies_of_lids(both.topo, channels, &others, next);
        if !more.is_empty() {
            others.retain(|d| more.binary_search_by_key(&d.lid, |m| m.lid).is_err());
            (found, _) = dependencies_of_lids(both.topo, channels, &others, next);
            round.extend(more);
        }
        push_waits(channels, &found, &mut waits);
    }
    waits.sort_unstable();
    waits.dedup();
    round.sort_unstable_by_key(|d| d.lid);
    (waits, round)
}

/// Stages in words of the interface.
fn named(stages: Vec<BTreeSet<(usize, usize)>>) -> Vec<Vec<(SwitchIdx, u16)>> {
    let name = |(v, block)| (SwitchIdx::at(v), u16::try_from(block).unwrap_or(u16::MAX));
    let stage = |stage: BTreeSet<(usize, usize)>| stage.into_iter().map(name).collect();
    stages.into_iter().map(stage).collect()
}

/// Where the writing of a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Done,
    Now,
    Later,
}

struct Work<'a> {
    topo: &'a Topology,
    channels: VirtualChannels<'a>,
    old: Vec<&'a Lft>,
    new: Vec<&'a Lft>,
    changed: Vec<Destination>,
}

fn block_of(lid: Lid) -> usize {
    usize::from(lid.raw()) / BLOCK_LIDS
}

impl Work<'_> {
    /// Changed LIDs but these (by LID).
    fn without(&self, not: &[Destination]) -> Vec<Destination> {
        let here = |d: &&Destination| not.binary_search_by_key(&d.lid, |n| n.lid).is_err();
        self.changed.iter().filter(here).copied().collect()
    }

    /// Dependencies of packets to some LIDs while blocks are in these phases, and LIDs for which packets may go round.
    fn mixed(
        &self,
        lids: &[Destination],
        phase: impl Fn(usize, usize) -> Phase + Sync,
    ) -> (DependencySet, Vec<Destination>) {
        dependencies_of_lids(self.topo, self.channels, lids, |v, lid| {
            let lid = Lid(u16::try_from(lid).unwrap_or(u16::MAX));
            let (was, is) = (self.old[v].get(lid).raw(), self.new[v].get(lid).raw());
            match phase(v, block_of(lid)) {
                Phase::Done => [is, is],
                Phase::Now => [was, is],
                Phase::Later => [was, was],
            }
        })
    }

    /// An order of the blocks of these LIDs in which nothing happens, if one is found.
    fn stages(
        &self,
        lids: &[Destination],
        fixed: &DependencySet,
    ) -> Option<Vec<Vec<(SwitchIdx, u16)>>> {
        let near = self.nearest_first(lids);
        let by_block = || {
            let mut groups: BTreeMap<usize, BTreeSet<(usize, usize)>> = BTreeMap::new();
            for (v, block) in self.blocks(lids) {
                groups.entry(block).or_default().insert((v, block));
            }
            groups.into_values().collect::<Vec<_>>()
        };
        let is_free = |found: &DependencySet| {
            let mut all = fixed.clone();
            all.union_with(found);
            all.find_cycle(&self.channels).is_none()
        };
        near.filter(|stages| self.is_safe(lids, stages, &is_free))
            .or_else(|| Some(by_block()).filter(|stages| self.is_safe(lids, stages, &is_free)))
            .map(named)
    }

    /// Blocks in which entries of these LIDs change.
    fn blocks(&self, lids: &[Destination]) -> BTreeSet<(usize, usize)> {
        let mut blocks = BTreeSet::new();
        for d in lids {
            for (v, (was, is)) in self.old.iter().zip(&self.new).enumerate() {
                if was.get(d.lid) != is.get(d.lid) {
                    blocks.insert((v, block_of(d.lid)));
                }
            }
        }
        blocks
    }

    /// Each block after those that the new ways from its switch go on to: who has the new entry then has all of the new
    /// way, and who has the old one comes to that or arrives. `None` if LIDs of one block disagree.
    fn nearest_first(&self, lids: &[Destination]) -> Option<Vec<BTreeSet<(usize, usize)>>> {
        let blocks: Vec<(usize, usize)> = self.blocks(lids).into_iter().collect();
        let place = |v: usize, block: usize| blocks.binary_search(&(v, block)).ok();
        let n = self.new.len();
        // For each block those that must be written before.
        let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); blocks.len()];
        for d in lids {
            let block = block_of(d.lid);
            for v in 0..n {
                let Some(own) = place(v, block) else { continue };
                if self.old[v].get(d.lid) == self.new[v].get(d.lid) {
                    continue;
                }
                let mut at = v;
                for _ in 0..n {
                    let port = self.new[at].get(d.lid).raw();
                    let next = self.channels.ports.peer(at, port);
                    let Some((next, _)) = next.filter(|_| at != d.switch.index()) else {
                        break;
                    };
                    at = next;
                    if self.old[at].get(d.lid) != self.new[at].get(d.lid) {
                        after[own].extend(place(at, block));
                        break;
                    }
                }
            }
        }
        let mut level = vec![None; blocks.len()];
        for stage in 0..STAGES_MAX {
            let ready: Vec<usize> = (0..blocks.len())
                .filter(|&b| level[b].is_none() && after[b].iter().all(|&a| level[a].is_some()))
                .collect();
            ready.iter().for_each(|&b| level[b] = Some(stage));
        }
        let mut stages: Vec<BTreeSet<(usize, usize)>> = vec![BTreeSet::new(); STAGES_MAX];
        for (b, level) in level.into_iter().enumerate() {
            stages[level?].insert(blocks[b]);
        }
        stages.retain(|stage| !stage.is_empty());
        Some(stages)
    }

    /// Whether nothing can happen in any stage; `is_free` says whether dependencies close a circle with all others.
    fn is_safe(
        &self,
        lids: &[Destination],
        stages: &[BTreeSet<(usize, usize)>],
        is_free: &dyn Fn(&DependencySet) -> bool,
    ) -> bool {
        let stage_of: BTreeMap<(usize, usize), usize> = stages
            .iter()
            .enumerate()
            .flat_map(|(i, stage)| stage.iter().map(move |&b| (b, i)))
            .collect();
        stages.len() <= STAGES_MAX
            && (0..stages.len()).all(|now| {
                let (found, round) = self.mixed(lids, |v, block| {
                    match stage_of.get(&(v, block)).map(|stage| stage.cmp(&now)) {
                        Some(std::cmp::Ordering::Less) => Phase::Done,
                        Some(std::cmp::Ordering::Equal) => Phase::Now,
                        Some(std::cmp::Ordering::Greater) | None => Phase::Later,
                    }
                });
                round.is_empty() && is_free(&found)
            })
    }

    /// The installed tables without the entries of these LIDs that change: what is left are entries of the old tables,
    /// and then entries of the new ones, never both.
    fn drain(&self, lids: &[Destination], conflict: Conflict) -> Transition {
        let table = |(was, is): (&&Lft, &&Lft)| {
            let mut lft = Lft::clone(was);
            for d in lids.iter().filter(|d| was.get(d.lid) != is.get(d.lid)) {
                lft.set(d.lid, PortNum::DROP);
            }
            Arc::new(lft)
        };
        Transition::Drain {
            first: self.old.iter().zip(&self.new).map(table).collect(),
            conflict,
        }
    }
}

/// How many blocks differ in all: what a transition in any order writes.
#[must_use]
pub fn blocks_to_write(old: &[Option<Arc<Lft>>], new: &Tables) -> usize {
    let blocks = |(v, lft): (usize, &Arc<Lft>)| {
        changed_blocks(old.get(v).and_then(Option::as_deref), lft).count()
    };
    new.iter().enumerate().map(blocks).sum()
}
