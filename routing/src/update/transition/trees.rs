//! Multicast trees while an LFT update is incomplete.
//!
//! The trees of the new routes are deadlock-free together with the new routes. If a switch rejects
//! a block, the update stops between two phases, and switches forward by old and new entries until
//! it is repeated.

use super::changed_entries;
use super::groups::{Replacement, dependencies_by_phase};
use crate::channels::{
    DependencySet, RoutedDependencies, VlChannelNumbers, dependencies_of_ordered_trees,
    dependencies_of_spanning_tree,
};
use crate::multicast::grow_spanning_tree;
use crate::routing::TreeConstraint;

/// The constraint of trees that are deadlock-free together with the routes of every phase of the
/// update: `trees`, those of the new routes, if they are; otherwise a spanning tree on the same SL.
/// `None` if none is found.
#[must_use]
pub fn trees_in_all_phases(
    replacement: Replacement<'_>,
    trees: &TreeConstraint,
) -> Option<TreeConstraint> {
    let topo = replacement.topo;
    let ports = topo.port_channels();
    let channels = VlChannelNumbers::new(ports, replacement.vl_plan);
    let (sl, dependencies) = match trees {
        TreeConstraint::Search => return None,
        TreeConstraint::Ordered(order) => {
            (0, dependencies_of_ordered_trees(topo, channels, order, 0))
        }
        TreeConstraint::Within { up, sl } => {
            (*sl, dependencies_of_spanning_tree(topo, channels, up, *sl))
        }
    };
    let entries = changed_entries(topo, replacement.old, replacement.new);
    let phases = dependencies_by_phase(&replacement, channels, &entries);
    let is_acyclic = |phase: &DependencySet| {
        let mut with_trees = phase.clone();
        for dependency in &dependencies {
            with_trees.insert(&channels, *dependency);
        }
        with_trees.is_acyclic(&channels)
    };
    if phases.iter().all(is_acyclic) {
        return Some(trees.clone());
    }
    let mut graphs: Vec<RoutedDependencies<'_>> = phases
        .into_iter()
        .map(|phase| RoutedDependencies::new(channels, phase))
        .collect::<Option<_>>()?;
    let (up, sl) = grow_spanning_tree(topo, channels, &[sl], &mut graphs)?;
    Some(TreeConstraint::Within { up, sl })
}
