//! Safe order of LFT updates under traffic.
//!
//! While LFT blocks are written, each switch forwards by its old or its new entry, in any order. A
//! mixture of old and new entries can form a forwarding loop for a LID, or a credit loop that
//! neither the old nor the new tables have. Both are searched in the union of the tables: for each
//! changed LID, every switch has both next hops, and the channel dependency graph has all resulting
//! pairs of input and output channel, on each VL.
//!
//! This module only plans. The caller waits between stages for the responses to all writes of a
//! stage, and between the two halves of a [`Transition::Drain`] also for the packet lifetime in a
//! switch.
//!
//! If the new tables were verified incrementally and few entries change, only the dependencies near
//! the changed entries are evaluated (`local`).
//!
//! Old and new tables have the same VL of each SL. If that changes, the caller must drain traffic
//! in any case. If only SLs of paths change, [`plan_for_sls`] finds an order that is safe for
//! packets on the SLs of both VL plans.

pub mod groups;
mod local;
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use rayon::prelude::*;

use crate::channels::{
    DependencySet, VlChannelNumbers, dependencies_of_lids, dependencies_of_tables,
};
use crate::messages::Describe;
use crate::reroute_cache::RerouteCache;
use crate::tables::{BLOCK_LIDS, Lft, Tables, changed_blocks};
use crate::topology::{Destination, SwitchIdx, Topology, index_to_u16};
use crate::verify::IncrementalVerifier;
use crate::vl_plan::{PathSl, VlPlan};
use local::{ChannelDependency, MixedTables};

pub use trees::trees_in_all_phases;

/// Maximum number of stages; an update that needs more drains traffic instead.
const STAGES_MAX: usize = 24;

/// The local evaluation is used if at most one of this number of entries changes.
const ENTRIES_PER_CHANGE: usize = 32;

/// Order of the writes from the installed to the new tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// All blocks can be written at once.
    AnyOrder,
    /// Stages of blocks (switch, LFT block). The blocks of one stage can be written at once.
    /// Differing blocks that are in no stage can be written at any time.
    Stages(Vec<Vec<(SwitchIdx, u16)>>),
    /// No safe order found: write the tables `first`, which drop packets whose routes change, then
    /// the new ones.
    Drain {
        /// By switch: the installed table, with changing entries set to DROP.
        first: Tables,
        /// The conflict that requires the drain.
        conflict: Conflict,
    },
}

/// Conflict between old and new entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// Packets for this LID may loop.
    Loop(Lid),
    /// A credit loop over these channels (switch, port).
    CreditLoop(Vec<(SwitchIdx, PortNum)>),
}

impl Describe for Conflict {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Loop(lid) => format!("forwarding loop for LID {lid}"),
            Self::CreditLoop(channels) => {
                let hops: Vec<String> = channels
                    .iter()
                    .map(|&(s, p)| format!("{} port {p}", label(s)))
                    .collect();
                format!("credit loop over {}", hops.join(", "))
            }
        }
    }
}

/// Plans the update from `old` to `new`.
///
/// `None` in `old`: the table of the switch is unknown, for example of a new switch; it counts as
/// unchanged. Old entries over lost links drop packets. Both sets of tables must have passed
/// verification. LIDs that are not in use are ignored.
#[must_use]
pub fn plan(
    topo: &Topology,
    old: &[Option<Arc<Lft>>],
    new: &Tables,
    vl_plan: &VlPlan,
) -> Transition {
    plan_with(topo, old, new, vl_plan, &RerouteCache::new())
}

/// As [`plan`], with the cache of the run that computed `new`, which makes small updates fast.
#[must_use]
pub fn plan_with(
    topo: &Topology,
    old: &[Option<Arc<Lft>>],
    new: &Tables,
    vl_plan: &VlPlan,
    cache: &RerouteCache,
) -> Transition {
    let planned = plan_for(topo, old, new, None, vl_plan, cache);
    // The new tables are free of credit loops, so that a drain of all changed LIDs is always
    // possible.
    planned.unwrap_or_else(|transition| transition)
}

/// As [`plan`], for packets on the SLs that paths had before and on those of the VL plan. The SLs
/// in `before` have the same VLs in both plans. `None` if packets on the old SLs can deadlock with
/// the new tables.
#[must_use]
pub fn plan_for_sls(
    topo: &Topology,
    old: &[Option<Arc<Lft>>],
    new: &Tables,
    vl_plan: &VlPlan,
    before: PathSl,
) -> Option<Transition> {
    let before = VlPlan {
        path_sl: before,
        ..vl_plan.clone()
    };
    plan_for(topo, old, new, Some(&before), vl_plan, &RerouteCache::new()).ok()
}

/// `Err` with a drain of all changed LIDs if their new routes can deadlock with those of the other
/// LIDs.
fn plan_for(
    topo: &Topology,
    old: &[Option<Arc<Lft>>],
    new: &Tables,
    before: Option<&VlPlan>,
    vl_plan: &VlPlan,
    cache: &RerouteCache,
) -> Result<Transition, Transition> {
    let entries = changed_entries(topo, old, new);
    if entries.is_empty() && before.is_none() {
        return Ok(Transition::AnyOrder);
    }
    let old: Vec<&Lft> = new
        .iter()
        .enumerate()
        .map(|(v, lft)| old.get(v).and_then(Option::as_deref).unwrap_or(lft))
        .collect();
    let ports = topo.port_channels();
    let channels = VlChannelNumbers::new(ports, vl_plan);
    let channels_before = before.map(|before| VlChannelNumbers::new(ports, before));
    let rows: Vec<&Lft> = new.iter().map(Arc::as_ref).collect();
    let verifier = cache
        .verifier()
        .filter(|v| before.is_none() && v.has_verified(topo, new, vl_plan));
    if let Some(verifier) = verifier
        && entries.len()
            <= BLOCK_LIDS + topo.num_switches() * topo.destinations().len() / ENTRIES_PER_CHANGE
    {
        let mixed = MixedTables {
            topo,
            ports,
            old: &old,
            new: &rows,
        };
        if let Some(transition) = plan_locally(&mixed, channels, &entries, verifier) {
            return Ok(transition);
        }
    }
    let changes = |d: &Destination| entries.binary_search_by_key(&d.lid, |e| e.0).is_ok();
    let (changed, unchanged): (Vec<Destination>, Vec<Destination>) =
        topo.destinations().iter().copied().partition(changes);
    let new = rows;
    let mut fixed = dependencies_of_tables(topo, channels, &new, &unchanged);
    if let Some(before) = channels_before {
        fixed.union_with(&dependencies_of_tables(topo, before, &new, &unchanged));
    }
    let update = Update {
        topo,
        channels,
        channels_before,
        old,
        new,
        changed,
    };
    let (mixed, looping) = update.dependencies(&update.changed, |_, _| Phase::Now);
    let mut dependencies = fixed.clone();
    dependencies.union_with(&mixed);
    let cycle = dependencies.find_cycle(&channels);
    let conflict = match (looping.first(), cycle) {
        (None, None) => return Ok(in_any_order(&entries, &update.old, &update.new)),
        (Some(d), _) => Conflict::Loop(d.lid),
        (None, Some(cycle)) => {
            let name = |c| ports.switch_and_port(channels.channel(c));
            Conflict::CreditLoop(cycle.into_iter().map(name).collect())
        }
    };
    // If there are forwarding loops but no credit loop, only the looping LIDs need an order.
    let other_lids: Vec<Destination> = update.changed_except(&looping);
    let (free_dependencies, _) = update.dependencies(&other_lids, |_, _| Phase::Now);
    let mut dependencies = fixed.clone();
    dependencies.union_with(&free_dependencies);
    let (ordered, known) = if dependencies.find_cycle(&channels).is_none() {
        (looping, dependencies)
    } else {
        (update.changed.clone(), fixed.clone())
    };
    if let Some(stages) = update.stages(&ordered, &known) {
        return Ok(Transition::Stages(stages));
    }
    let drained = update.lids_to_drain(ordered, &known);
    match drained.or_else(|| update.lids_to_drain(update.changed.clone(), &fixed)) {
        Some(drained) => Ok(update.drain(&drained, conflict)),
        None => Err(update.drain(&update.changed, conflict)),
    }
}

/// LIDs in use with differing entries, and the switches of these entries.
fn changed_entries(topo: &Topology, old: &[Option<Arc<Lft>>], new: &Tables) -> Vec<(Lid, usize)> {
    let mut entries = Vec::new();
    for (v, new_lft) in new.iter().enumerate() {
        if let Some(Some(old_lft)) = old.get(v)
            && old_lft != new_lft
        {
            let differs = |d: &&Destination| old_lft.get(d.lid) != new_lft.get(d.lid);
            let lids = topo.destinations().iter().filter(differs);
            entries.extend(lids.map(|d| (d.lid, v)));
        }
    }
    entries.sort_unstable();
    entries
}

/// The transition if any order is safe. Entries that drop packets come first, so that none is
/// dropped because a switch that leads to them was written earlier: a switch that returned has an
/// empty table.
fn in_any_order(entries: &[(Lid, usize)], old: &[&Lft], new: &[&Lft]) -> Transition {
    let drops = |(lid, v): &&(Lid, usize)| {
        old[*v].get(*lid) == PortNum::DROP && new[*v].get(*lid) != PortNum::DROP
    };
    let block = |(lid, v): &(Lid, usize)| (*v, block_of(*lid));
    let first: BTreeSet<(usize, usize)> = entries.iter().filter(drops).map(block).collect();
    let others: BTreeSet<(usize, usize)> = entries
        .iter()
        .map(block)
        .filter(|at| !first.contains(at))
        .collect();
    if first.is_empty() || others.is_empty() {
        Transition::AnyOrder
    } else {
        Transition::Stages(to_stages(vec![first, others]))
    }
}

/// Plans the update from the changed entries alone; `None` if the full evaluation is needed.
fn plan_locally(
    mixed: &MixedTables<'_>,
    channels: VlChannelNumbers<'_>,
    entries: &[(Lid, usize)],
    verifier: &IncrementalVerifier,
) -> Option<Transition> {
    let (dependencies, looping) = dependencies_in_any_order(mixed, channels, entries);
    if !verifier.stays_acyclic_with(&dependencies) {
        return None;
    }
    if looping.is_empty() {
        return Some(in_any_order(entries, mixed.old, mixed.new));
    }
    let update = Update {
        topo: mixed.topo,
        channels,
        channels_before: None,
        old: mixed.old.to_vec(),
        new: mixed.new.to_vec(),
        changed: looping,
    };
    // Together with the verified dependencies and those of the other changed LIDs in any order.
    let is_acyclic = |added: &DependencySet| {
        let mut dependencies = dependencies.clone();
        push_dependencies(channels, added, &mut dependencies);
        verifier.stays_acyclic_with(&dependencies)
    };
    let stages = update.stages_nearest_first(&update.changed)?;
    update
        .is_safe(&update.changed, &stages, &is_acyclic)
        .then(|| Transition::Stages(to_stages(stages)))
}

/// Appends dependencies to a sorted list.
fn push_dependencies(
    channels: VlChannelNumbers<'_>,
    added: &DependencySet,
    dependencies: &mut Vec<ChannelDependency>,
) {
    let dependency = |(x, y)| (channels.channel(x), channels.channel(y), channels.vl(x));
    dependencies.extend(added.iter(&channels).map(dependency));
    dependencies.sort_unstable();
    dependencies.dedup();
}

/// Additional dependencies while differing entries are old or new in any combination, and the LIDs
/// for which packets may loop, whose dependencies are not included.
fn dependencies_in_any_order(
    mixed: &MixedTables<'_>,
    channels: VlChannelNumbers<'_>,
    entries: &[(Lid, usize)],
) -> (Vec<ChannelDependency>, Vec<Destination>) {
    let destinations = mixed.topo.destinations();
    let changes: Vec<&[(Lid, usize)]> = entries.chunk_by(|a, b| a.0 == b.0).collect();
    let mut single_vl = Vec::new();
    let mut other_lids = Vec::new();
    for part in changes {
        let index = destinations.binary_search_by_key(&part[0].0, |d| d.lid);
        let Some(d) = index.ok().map(|i| destinations[i]) else {
            continue;
        };
        // Not every switch sends to the LID of a switch: the verified dependencies may lack part of
        // an old route.
        match channels
            .packets
            .vl_of_lid(&d)
            .filter(|_| d.port != PortNum::ZERO)
        {
            Some(vl) => single_vl.push((d, vl, part)),
            None => other_lids.push(d),
        }
    }
    let chunk_size = single_vl
        .len()
        .div_ceil(rayon::current_num_threads())
        .max(1);
    let results: Vec<(Vec<ChannelDependency>, Vec<Destination>)> = single_vl
        .par_chunks(chunk_size)
        .map(|parts| {
            let mut dependencies = Vec::new();
            let mut looping = Vec::new();
            let mut changed = Vec::new();
            for (d, vl, part) in parts {
                changed.clear();
                changed.extend(part.iter().map(|e| e.1));
                let before = dependencies.len();
                if !mixed.add_dependencies(d, *vl, &changed, &mut dependencies) {
                    dependencies.truncate(before);
                    looping.push(*d);
                }
            }
            dependencies.sort_unstable();
            dependencies.dedup();
            (dependencies, looping)
        })
        .collect();
    let mut dependencies = Vec::new();
    let mut looping = Vec::new();
    for (part, looping_part) in results {
        dependencies.extend(part);
        looping.extend(looping_part);
    }
    if !other_lids.is_empty() {
        let next = |v: usize, lid: usize| {
            let lid = Lid::from_index(lid);
            [mixed.old[v].get(lid).raw(), mixed.new[v].get(lid).raw()]
        };
        let (mut added, other_looping) =
            dependencies_of_lids(mixed.topo, channels, &other_lids, next);
        if !other_looping.is_empty() {
            other_lids.retain(|d| {
                other_looping
                    .binary_search_by_key(&d.lid, |m| m.lid)
                    .is_err()
            });
            (added, _) = dependencies_of_lids(mixed.topo, channels, &other_lids, next);
            looping.extend(other_looping);
        }
        push_dependencies(channels, &added, &mut dependencies);
    }
    dependencies.sort_unstable();
    dependencies.dedup();
    looping.sort_unstable_by_key(|d| d.lid);
    (dependencies, looping)
}

/// Stages in the types of [`Transition::Stages`].
fn to_stages(stages: Vec<BTreeSet<(usize, usize)>>) -> Vec<Vec<(SwitchIdx, u16)>> {
    let name = |(v, block)| (SwitchIdx::from_index(v), index_to_u16(block));
    let stage = |stage: BTreeSet<(usize, usize)>| stage.into_iter().map(name).collect();
    stages.into_iter().map(stage).collect()
}

/// Progress of the write of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Written: the new entries are valid.
    Done,
    /// In progress: the old or the new entries are valid.
    Now,
    /// Not written: the old entries are valid.
    Later,
}

/// An update of tables.
struct Update<'a> {
    topo: &'a Topology,
    channels: VlChannelNumbers<'a>,
    /// The same channels with the SLs that paths had before, if these differ.
    channels_before: Option<VlChannelNumbers<'a>>,
    old: Vec<&'a Lft>,
    new: Vec<&'a Lft>,
    changed: Vec<Destination>,
}

fn block_of(lid: Lid) -> usize {
    usize::from(lid.raw()) / BLOCK_LIDS
}

impl Update<'_> {
    /// Changed LIDs except these (sorted by LID).
    fn changed_except(&self, excluded: &[Destination]) -> Vec<Destination> {
        let is_included =
            |d: &&Destination| excluded.binary_search_by_key(&d.lid, |n| n.lid).is_err();
        self.changed.iter().filter(is_included).copied().collect()
    }

    /// Dependencies of packets to these LIDs while blocks are in these phases, and the LIDs for
    /// which packets may loop.
    fn dependencies(
        &self,
        lids: &[Destination],
        phase: impl Fn(usize, usize) -> Phase + Sync,
    ) -> (DependencySet, Vec<Destination>) {
        let next = |v: usize, lid: usize| {
            let lid = Lid::from_index(lid);
            let old_port = self.old[v].get(lid).raw();
            let new_port = self.new[v].get(lid).raw();
            match phase(v, block_of(lid)) {
                Phase::Done => [new_port, new_port],
                Phase::Now => [old_port, new_port],
                Phase::Later => [old_port, old_port],
            }
        };
        let (mut dependencies, looping) =
            dependencies_of_lids(self.topo, self.channels, lids, next);
        if let Some(before) = self.channels_before {
            let (added, _) = dependencies_of_lids(self.topo, before, lids, next);
            dependencies.union_with(&added);
        }
        (dependencies, looping)
    }

    /// The LIDs of an update for which no safe order was found that have to be drained: all others
    /// can be written in any order together with the new routes of these. `fixed` are the
    /// dependencies of all other LIDs. `None` if the new routes can close a cycle while other LIDs
    /// have old and new entries.
    fn lids_to_drain(
        &self,
        lids: Vec<Destination>,
        fixed: &DependencySet,
    ) -> Option<Vec<Destination>> {
        let (after, _) = self.dependencies(&lids, |_, _| Phase::Done);
        let mut safe = fixed.clone();
        safe.union_with(&after);
        if safe.find_cycle(&self.channels).is_some() {
            return None;
        }
        let mut drained = Vec::new();
        let mut parts = vec![lids];
        while let Some(mut part) = parts.pop() {
            let (mixed, looping) = self.dependencies(&part, |_, _| Phase::Now);
            let mut together = safe.clone();
            together.union_with(&mixed);
            if looping.is_empty() && together.is_acyclic(&self.channels) {
                safe = together;
            } else if part.len() > 1 {
                parts.push(part.split_off(part.len() / 2));
                parts.push(part);
            } else {
                drained.extend(part);
            }
        }
        drained.sort_unstable_by_key(|d| d.lid);
        Some(drained)
    }

    /// A safe order of the blocks of these LIDs, if one is found.
    fn stages(
        &self,
        lids: &[Destination],
        fixed: &DependencySet,
    ) -> Option<Vec<Vec<(SwitchIdx, u16)>>> {
        let nearest_first = self.stages_nearest_first(lids);
        let by_block = || {
            let mut groups: BTreeMap<usize, BTreeSet<(usize, usize)>> = BTreeMap::new();
            for (v, block) in self.blocks(lids) {
                groups.entry(block).or_default().insert((v, block));
            }
            groups.into_values().collect::<Vec<_>>()
        };
        let is_acyclic = |dependencies: &DependencySet| {
            let mut with_fixed = fixed.clone();
            with_fixed.union_with(dependencies);
            with_fixed.find_cycle(&self.channels).is_none()
        };
        nearest_first
            .filter(|stages| self.is_safe(lids, stages, &is_acyclic))
            .or_else(|| Some(by_block()).filter(|stages| self.is_safe(lids, stages, &is_acyclic)))
            .map(to_stages)
    }

    /// Blocks in which entries of these LIDs change.
    fn blocks(&self, lids: &[Destination]) -> BTreeSet<(usize, usize)> {
        let mut blocks = BTreeSet::new();
        for d in lids {
            for (v, (old, new)) in self.old.iter().zip(&self.new).enumerate() {
                if old.get(d.lid) != new.get(d.lid) {
                    blocks.insert((v, block_of(d.lid)));
                }
            }
        }
        blocks
    }

    /// Orders each block after the blocks on the new routes from its switch, so that behind a new
    /// entry the whole route is new. `None` if the LIDs of one block require contradictory orders,
    /// or if there are more than [`STAGES_MAX`] stages.
    fn stages_nearest_first(&self, lids: &[Destination]) -> Option<Vec<BTreeSet<(usize, usize)>>> {
        let blocks: Vec<(usize, usize)> = self.blocks(lids).into_iter().collect();
        let index_of = |v: usize, block: usize| blocks.binary_search(&(v, block)).ok();
        let n = self.new.len();
        // By block: the blocks that must be written before it.
        let mut predecessors: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); blocks.len()];
        for d in lids {
            let block = block_of(d.lid);
            for v in 0..n {
                let Some(own_index) = index_of(v, block) else {
                    continue;
                };
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
                        predecessors[own_index].extend(index_of(at, block));
                        break;
                    }
                }
            }
        }
        let mut level = vec![None; blocks.len()];
        for stage in 0..STAGES_MAX {
            let ready: Vec<usize> = (0..blocks.len())
                .filter(|&b| {
                    level[b].is_none() && predecessors[b].iter().all(|&a| level[a].is_some())
                })
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

    /// Whether no stage has a forwarding loop or a credit loop. `is_acyclic`: whether these
    /// dependencies close no cycle with all others.
    fn is_safe(
        &self,
        lids: &[Destination],
        stages: &[BTreeSet<(usize, usize)>],
        is_acyclic: &dyn Fn(&DependencySet) -> bool,
    ) -> bool {
        let stage_of: BTreeMap<(usize, usize), usize> = stages
            .iter()
            .enumerate()
            .flat_map(|(i, stage)| stage.iter().map(move |&b| (b, i)))
            .collect();
        stages.len() <= STAGES_MAX
            && (0..stages.len()).all(|current| {
                let (dependencies, looping) = self.dependencies(lids, |v, block| {
                    match stage_of.get(&(v, block)).map(|stage| stage.cmp(&current)) {
                        Some(std::cmp::Ordering::Less) => Phase::Done,
                        Some(std::cmp::Ordering::Equal) => Phase::Now,
                        Some(std::cmp::Ordering::Greater) | None => Phase::Later,
                    }
                });
                looping.is_empty() && is_acyclic(&dependencies)
            })
    }

    /// The installed tables with the changing entries of these LIDs set to DROP, so that old and
    /// new entries are never mixed.
    fn drain(&self, lids: &[Destination], conflict: Conflict) -> Transition {
        let table = |(old_lft, new_lft): (&&Lft, &&Lft)| {
            let mut lft = Lft::clone(old_lft);
            for d in lids
                .iter()
                .filter(|d| old_lft.get(d.lid) != new_lft.get(d.lid))
            {
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

/// Number of differing blocks.
#[must_use]
pub fn blocks_to_write(old: &[Option<Arc<Lft>>], new: &Tables) -> usize {
    let blocks = |(v, lft): (usize, &Arc<Lft>)| {
        changed_blocks(old.get(v).and_then(Option::as_deref), lft).count()
    };
    new.iter().enumerate().map(blocks).sum()
}
