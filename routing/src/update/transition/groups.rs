//! Installed MFT entries that must be cleared before an LFT update.
//!
//! Multicast trees are deadlock-free together with the routes for which they were computed. During
//! an LFT update, multicast packets still follow the old trees and may wait for packets on new
//! routes. This module either verifies that this is deadlock-free or returns the MFT entries to
//! clear before the first LFT write. It keeps whole groups if possible, then single switches of a
//! group.

use ferrosm_mad::ids::Lid;

use super::local::{ChannelDependency, MixedTables};
use super::{
    ENTRIES_PER_CHANGE, Phase, Transition, Update, changed_entries, dependencies_in_any_order,
};
use crate::channels::{
    Dependency, DependencySet, RoutedDependencies, VlChannelNumbers, admit_in_all,
    dependencies_of_tables, dependencies_of_tree,
};
use crate::reroute_cache::RerouteCache;
use crate::tables::{BLOCK_LIDS, Lft, Tables};
use crate::topology::{Destination, PortSet, SwitchIdx, Topology};
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

/// An LFT update: arguments and result of [`super::plan_with`].
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// The graph.
    pub topo: &'a Topology,
    /// Installed tables; `None` if unknown.
    pub old: &'a [Option<Arc<Lft>>],
    pub new: &'a Tables,
    /// VL plan of both.
    pub vl_plan: &'a VlPlan,
    /// Cache of the run that computed `new`.
    pub cache: &'a RerouteCache,
    /// The order of writes.
    pub transition: &'a Transition,
}

/// For each group, the switches whose MFT entries must be cleared before the LFT update, so that no
/// credit loop can form.
#[must_use]
pub fn mft_entries_to_clear(
    replacement: Replacement<'_>,
    groups: &[GroupEntries],
) -> Vec<Vec<SwitchIdx>> {
    let none = vec![Vec::new(); groups.len()];
    let entries = changed_entries(replacement.topo, replacement.old, replacement.new);
    if entries.is_empty() {
        return none;
    }
    let ports = replacement.topo.port_channels();
    let channels = VlChannelNumbers::new(ports, replacement.vl_plan);
    let trees: Vec<Vec<PortSet>> = groups
        .iter()
        .map(|g| by_switch(replacement.topo, g))
        .collect();
    let dependencies_at = |group: usize, v: usize| {
        let ports = |v: usize| trees[group].get(v).copied().unwrap_or_default();
        dependencies_of_tree(replacement.topo, channels, groups[group].sl, v..=v, ports)
    };
    let dependencies_of = |group: usize| -> Vec<Dependency> {
        let switches = groups[group].ports.iter().map(|(s, _)| s.index());
        switches.flat_map(|v| dependencies_at(group, v)).collect()
    };
    let dependencies: Vec<Dependency> = (0..groups.len()).flat_map(dependencies_of).collect();
    if dependencies.is_empty() || is_safe_locally(&replacement, channels, &entries, &dependencies) {
        return none;
    }
    let mut phases = Vec::new();
    for phase_dependencies in dependencies_by_phase(&replacement, channels, &entries) {
        let Some(mut phase) = RoutedDependencies::new(channels, phase_dependencies) else {
            // The routes alone have a cycle in this phase: clear all groups.
            return groups.iter().map(|g| switches_of(&g.ports)).collect();
        };
        // A phase that admits all groups admits any of them.
        if !phase.admit(&dependencies) {
            phases.push(phase);
        }
    }
    let mut to_clear = none;
    if phases.is_empty() {
        return to_clear;
    }
    for (group, switches) in to_clear.iter_mut().enumerate() {
        if admit_in_all(&dependencies_of(group), &mut phases) {
            continue;
        }
        for (s, _) in &groups[group].ports {
            if !admit_in_all(&dependencies_at(group, s.index()), &mut phases) {
                switches.push(*s);
            }
        }
    }
    to_clear
}

fn switches_of(ports: &[(SwitchIdx, PortSet)]) -> Vec<SwitchIdx> {
    ports.iter().map(|(s, _)| *s).collect()
}

fn by_switch(topo: &Topology, group: &GroupEntries) -> Vec<PortSet> {
    let mut ports = vec![PortSet::new(); topo.num_switches()];
    for (s, set) in &group.ports {
        if let Some(ports) = ports.get_mut(s.index()) {
            // Only ports that the switch has.
            let last = topo.num_ports(*s);
            *ports = set.iter().filter(|p| p.raw() <= last).collect::<PortSet>();
        }
    }
    ports
}

/// Whether the changed entries alone show that old entries, new entries and the groups form no
/// cycle in any order.
fn is_safe_locally(
    replacement: &Replacement<'_>,
    channels: VlChannelNumbers<'_>,
    entries: &[(Lid, usize)],
    groups: &[Dependency],
) -> bool {
    let max_entries = BLOCK_LIDS
        + replacement.topo.num_switches() * replacement.topo.destinations().len()
            / ENTRIES_PER_CHANGE;
    let verifier = replacement
        .cache
        .verifier()
        .filter(|v| v.has_verified(replacement.topo, replacement.new, replacement.vl_plan));
    let Some(verifier) = verifier.filter(|_| entries.len() <= max_entries) else {
        return false;
    };
    if groups
        .iter()
        .any(|&(x, y)| channels.vl(x) != channels.vl(y))
    {
        return false;
    }
    let dependency =
        |&(x, y): &Dependency| (channels.channel(x), channels.channel(y), channels.vl(x));
    let mut dependencies: Vec<ChannelDependency> = groups.iter().map(dependency).collect();
    let (old, new) = rows(replacement);
    let mixed = MixedTables {
        topo: replacement.topo,
        ports: channels.ports,
        old: &old,
        new: &new,
    };
    let (of_routes, looping) = dependencies_in_any_order(&mixed, channels, entries);
    if !looping.is_empty() {
        return false;
    }
    dependencies.extend(of_routes);
    dependencies.sort_unstable();
    dependencies.dedup();
    verifier.stays_acyclic_with(&dependencies)
}

fn rows<'a>(replacement: &Replacement<'a>) -> (Vec<&'a Lft>, Vec<&'a Lft>) {
    let new: Vec<&Lft> = replacement.new.iter().map(Arc::as_ref).collect();
    let old_table = |v: usize| replacement.old.get(v).and_then(Option::as_deref);
    let old = new
        .iter()
        .enumerate()
        .map(|(v, new_row)| old_table(v).unwrap_or(new_row));
    (old.collect(), new)
}

/// Dependencies of the routes in each phase of the update, without the groups.
pub(super) fn dependencies_by_phase(
    replacement: &Replacement<'_>,
    channels: VlChannelNumbers<'_>,
    entries: &[(Lid, usize)],
) -> Vec<DependencySet> {
    let (mut old, new) = rows(replacement);
    if let Transition::Drain { first, .. } = replacement.transition {
        // While the `first` tables are written, entries only change to DROP.
        old = first.iter().map(Arc::as_ref).collect();
    }
    let changes = |d: &Destination| entries.binary_search_by_key(&d.lid, |e| e.0).is_ok();
    let (changed, unchanged): (Vec<Destination>, Vec<Destination>) = replacement
        .topo
        .destinations()
        .iter()
        .copied()
        .partition(changes);
    let fixed = dependencies_of_tables(replacement.topo, channels, &new, &unchanged);
    let update = Update {
        topo: replacement.topo,
        channels,
        channels_before: None,
        old,
        new,
        changed,
    };
    let with_fixed = |mut dependencies: DependencySet| {
        dependencies.union_with(&fixed);
        dependencies
    };
    let Transition::Stages(stages) = replacement.transition else {
        let (dependencies, _) = update.dependencies(&update.changed, |_, _| Phase::Now);
        return vec![with_fixed(dependencies)];
    };
    let mut stage_of: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (i, stage) in stages.iter().enumerate() {
        stage_of.extend(
            stage
                .iter()
                .map(|&(s, block)| ((s.index(), usize::from(block)), i)),
        );
    }
    let phase = |current: usize| {
        let (dependencies, _) = update.dependencies(&update.changed, |v, block| {
            match stage_of.get(&(v, block)).map(|stage| stage.cmp(&current)) {
                Some(core::cmp::Ordering::Less) => Phase::Done,
                Some(core::cmp::Ordering::Greater) => Phase::Later,
                Some(core::cmp::Ordering::Equal) | None => Phase::Now,
            }
        });
        with_fixed(dependencies)
    };
    (0..stages.len()).map(phase).collect()
}
