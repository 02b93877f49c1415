//! Multicast entries that are installed, beside forwarding tables that are being replaced: which of them have to go first.
//!
//! Trees were made to go together with the routes that were in force when they were made. While these are replaced, packets to
//! groups still follow the old trees, and may wait for packets that follow new routes. Here that is proven harmless, or the
//! entries are named that must be emptied before the first table is written. It names as few as it finds without long search:
//! whole groups stay where they can, then single switches of a group.

use ferrosm_mad::ids::Lid;

use super::{
    BLOCK_LIDS, Both, ENTRIES_PER_CHANGE, Phase, Transition, Wait, Work, changed_entries,
    in_any_mixture,
};
use crate::channels::{
    Dependency, DependencySet, PortChannels, RoutedDependencies, VirtualChannels,
    dependencies_of_tables, dependencies_of_tree,
};
use crate::multicast::PortSet;
use crate::reroute_cache::RerouteCache;
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::VlPlan;

use std::collections::BTreeMap;
use std::sync::Arc;

/// The installed entries of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupEntries {
    /// The SL of its packets.
    pub sl: u8,
    /// Ports by switch.
    pub ports: Vec<(SwitchIdx, PortSet)>,
}

/// How tables are replaced: what [`super::plan_with`] was given, and what it said.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// The graph.
    pub topo: &'a Topology,
    /// What is installed; `None` where that is not known.
    pub old: &'a [Option<Arc<Lft>>],
    /// What will be.
    pub new: &'a Tables,
    /// The lanes of both.
    pub vl_plan: &'a VlPlan,
    /// What is kept of the run that made `new`.
    pub cache: &'a RerouteCache,
    /// The order of writes.
    pub transition: &'a Transition,
}

/// For each group the switches whose entries must be emptied before anything else is written, so that at no moment packets wait
/// for each other in a circle.
#[must_use]
pub fn mft_entries_to_clear(of: Replacement<'_>, groups: &[GroupEntries]) -> Vec<Vec<SwitchIdx>> {
    let none = vec![Vec::new(); groups.len()];
    let entries = changed_entries(of.topo, of.old, of.new);
    if entries.is_empty() {
        return none;
    }
    let ports = PortChannels::new(of.topo);
    let channels = VirtualChannels::new(&ports, of.vl_plan);
    let trees: Vec<Vec<PortSet>> = groups.iter().map(|g| by_switch(of.topo, g)).collect();
    let wanted_at = |group: usize, v: usize| {
        let ports = |v: usize| trees[group].get(v).copied().unwrap_or_default();
        dependencies_of_tree(of.topo, channels, groups[group].sl, v..=v, ports)
    };
    let wanted_by = |group: usize| -> Vec<Dependency> {
        let switches = groups[group].ports.iter().map(|(s, _)| s.index());
        switches.flat_map(|v| wanted_at(group, v)).collect()
    };
    let all: Vec<Dependency> = (0..groups.len()).flat_map(wanted_by).collect();
    if all.is_empty() || go_together(&of, channels, &entries, &all) {
        return none;
    }
    let mut moments = Vec::new();
    for found in moments_of(&of, channels, &entries) {
        let Some(mut moment) = RoutedDependencies::new(channels, found) else {
            // Nothing is known of such a moment: nothing may stand beside it.
            return groups.iter().map(|g| named(&g.ports)).collect();
        };
        // Who has room for all has room for any of them.
        if !moment.admit(&all) {
            moments.push(moment);
        }
    }
    let mut go = none;
    if moments.is_empty() {
        return go;
    }
    for (group, go) in go.iter_mut().enumerate() {
        if fits(&wanted_by(group), &mut moments) {
            continue;
        }
        for (s, _) in &groups[group].ports {
            if !fits(&wanted_at(group, s.index()), &mut moments) {
                go.push(*s);
            }
        }
    }
    go
}

/// Adds the dependencies to all moments, or to none.
fn fits(wanted: &[Dependency], moments: &mut [RoutedDependencies<'_>]) -> bool {
    let Some(full) = moments.iter_mut().position(|m| !m.admit(wanted)) else {
        return true;
    };
    for moment in &mut moments[..full] {
        moment.remove_last();
    }
    false
}

fn named(ports: &[(SwitchIdx, PortSet)]) -> Vec<SwitchIdx> {
    ports.iter().map(|(s, _)| *s).collect()
}

fn by_switch(topo: &Topology, group: &GroupEntries) -> Vec<PortSet> {
    let mut ports = vec![PortSet::new(); topo.num_switches()];
    for (s, set) in &group.ports {
        if let Some(ports) = ports.get_mut(s.index()) {
            // What leads out of the switch as it is now.
            let last = topo.num_ports(*s);
            *ports = set.iter().filter(|p| p.raw() <= last).collect::<PortSet>();
        }
    }
    ports
}

/// Whether it is clear from little that old entries, new ones and the groups are no circle together, in whatever order.
fn go_together(
    of: &Replacement<'_>,
    channels: VirtualChannels<'_>,
    entries: &[(Lid, usize)],
    groups: &[Dependency],
) -> bool {
    let few =
        BLOCK_LIDS + of.topo.num_switches() * of.topo.destinations().len() / ENTRIES_PER_CHANGE;
    let ledger = of
        .cache
        .verifier()
        .filter(|l| l.is_of(of.topo, of.new, of.vl_plan));
    let Some(ledger) = ledger.filter(|_| entries.len() <= few) else {
        return false;
    };
    if groups
        .iter()
        .any(|&(x, y)| channels.vl(x) != channels.vl(y))
    {
        return false;
    }
    let wait = |&(x, y): &Dependency| (channels.channel(x), channels.channel(y), channels.vl(x));
    let mut waits: Vec<Wait> = groups.iter().map(wait).collect();
    let (old, new) = rows(of);
    let both = Both {
        topo: of.topo,
        ports: channels.ports,
        old: &old,
        new: &new,
    };
    let (mixed, round) = in_any_mixture(&both, channels, entries);
    if !round.is_empty() {
        return false;
    }
    waits.extend(mixed);
    waits.sort_unstable();
    waits.dedup();
    ledger.has_room_for(&waits)
}

fn rows<'a>(of: &Replacement<'a>) -> (Vec<&'a Lft>, Vec<&'a Lft>) {
    let new: Vec<&Lft> = of.new.iter().map(Arc::as_ref).collect();
    let known = |v: usize| of.old.get(v).and_then(Option::as_deref);
    let old = new.iter().enumerate().map(|(v, is)| known(v).unwrap_or(is));
    (old.collect(), new)
}

/// What packets may wait for at each moment of the replacement, groups apart.
fn moments_of(
    of: &Replacement<'_>,
    channels: VirtualChannels<'_>,
    entries: &[(Lid, usize)],
) -> Vec<DependencySet> {
    let (mut old, new) = rows(of);
    if let Transition::Drain { first, .. } = of.transition {
        // Until then routes are only dropped.
        old = first.iter().map(Arc::as_ref).collect();
    }
    let changes = |d: &Destination| entries.binary_search_by_key(&d.lid, |e| e.0).is_ok();
    let (changed, same): (Vec<Destination>, Vec<Destination>) =
        of.topo.destinations().iter().copied().partition(changes);
    let fixed = dependencies_of_tables(of.topo, channels, &new, &same);
    let work = Work {
        topo: of.topo,
        channels,
        old,
        new,
        changed,
    };
    let with_fixed = |mut found: DependencySet| {
        found.union_with(&fixed);
        found
    };
    let Transition::Stages(stages) = of.transition else {
        let (found, _) = work.mixed(&work.changed, |_, _| Phase::Now);
        return vec![with_fixed(found)];
    };
    let mut stage_of: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (i, stage) in stages.iter().enumerate() {
        stage_of.extend(
            stage
                .iter()
                .map(|&(s, block)| ((s.index(), usize::from(block)), i)),
        );
    }
    let moment = |now: usize| {
        let (found, _) = work.mixed(&work.changed, |v, block| {
            match stage_of.get(&(v, block)).map(|stage| stage.cmp(&now)) {
                Some(core::cmp::Ordering::Less) => Phase::Done,
                Some(core::cmp::Ordering::Greater) => Phase::Later,
                Some(core::cmp::Ordering::Equal) | None => Phase::Now,
            }
        });
        with_fixed(found)
    };
    (0..stages.len()).map(moment).collect()
}
