//! VLs for pairs of switches that take detours.
//!
//! The turns of a detour violate dimension order. A pair with a detour in either direction gets a
//! virtual layer that stays acyclic with both of its paths: layer 0 with all other packets if
//! possible, otherwise an additional one.

use super::paths::GridPaths;
use crate::channels::{DependencySet, VirtualLayer};
use crate::topology::graph::Graph;
use crate::topology::{ChannelIndex, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Maximum number of pairs with detours; with more, dimension order is unsuitable.
const PAIRS_MAX: usize = 2_000_000;

/// Why no VLs can be assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VlError {
    /// At least this many additional VLs are required.
    TooFewVls(usize),
    /// Number of pairs that would take detours.
    TooManyPairs(usize),
    /// The work budget is exceeded.
    Budget,
}

/// A pair of switches, the lower index first, and its virtual layer.
pub(crate) type PairVl = (usize, usize, usize);

/// Assigns a virtual layer to every pair with a detour and end ports; also returns the number of
/// additional layers in use, at most `max_additional`. With `shares_layer_0`, layer 0 is used as
/// well, together with the packets in dimension order.
pub(crate) fn assign_vls(
    graph: &Graph,
    paths: &GridPaths,
    shares_layer_0: bool,
    max_additional: usize,
    budget: &WorkBudget,
) -> Result<(Vec<PairVl>, usize), VlError> {
    if paths.detours.is_empty() {
        return Ok((Vec::new(), 0));
    }
    if paths.detours.len() > PAIRS_MAX {
        return Err(VlError::TooManyPairs(paths.detours.len()));
    }
    let index = &graph.channels;
    // Index 0 is layer 0, even if it must not be used.
    let mut layers: Vec<Option<VirtualLayer>> = vec![if shares_layer_0 {
        VirtualLayer::from_dependencies(index, dimension_order_dependencies(graph, index, paths))
    } else {
        None
    }];
    let rank = |s: usize| graph.lid_rank[s];
    let mut pairs: Vec<(usize, usize)> = paths
        .detours
        .iter()
        .filter(|&&(s, d)| graph.hosts[s] > 0 || graph.hosts[d] > 0)
        .map(|&(s, d)| (rank(s).min(rank(d)), rank(s).max(rank(d))))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut assigned = Vec::with_capacity(pairs.len());
    let mut dependencies = Vec::new();
    for (low, high) in pairs {
        let a = graph.by_lid[low];
        let b = graph.by_lid[high];
        dependencies.clear();
        for (from, to) in [(a, b), (b, a)] {
            let channels: Vec<u32> = paths.channels(graph, from, to).map(index_to_u32).collect();
            dependencies.extend(channels.windows(2).map(|w| (w[0], w[1])));
        }
        let mut admits = |layer: &mut Option<VirtualLayer>| {
            layer
                .as_mut()
                .is_some_and(|layer| layer.admit_within(index, &dependencies, budget) == Ok(true))
        };
        let admitting = layers.iter_mut().position(&mut admits);
        budget.check().map_err(|BudgetExceeded| VlError::Budget)?;
        let layer = match admitting {
            Some(layer) => layer,
            None if layers.len() <= max_additional => {
                let mut empty_layer = Some(VirtualLayer::new(index));
                if !admits(&mut empty_layer) {
                    return Err(VlError::TooFewVls(max_additional + 1));
                }
                layers.push(empty_layer);
                layers.len() - 1
            }
            None => return Err(VlError::TooFewVls(max_additional + 1)),
        };
        assigned.push((a.min(b), a.max(b), layer));
    }
    Ok((assigned, layers.len() - 1))
}

/// Dependencies of all packets in dimension order.
fn dimension_order_dependencies(
    graph: &Graph,
    index: &ChannelIndex,
    paths: &GridPaths,
) -> DependencySet {
    let mut dependencies = DependencySet::empty(index);
    let mut takes_detour = vec![false; graph.len()];
    let mut remaining = paths.detours.as_slice();
    for dest in 0..graph.len() {
        let count = remaining.partition_point(|&(_, d)| d == dest);
        let failed = &remaining[..count];
        remaining = &remaining[count..];
        failed.iter().for_each(|&(s, _)| takes_detour[s] = true);
        for s in (0..graph.len()).filter(|&s| s != dest && !takes_detour[s]) {
            let mut channels = paths.channels(graph, s, dest);
            if let (Some(x), Some(y)) = (channels.next(), channels.next()) {
                dependencies.insert(index, (index_to_u32(x), index_to_u32(y)));
            }
        }
        failed.iter().for_each(|&(s, _)| takes_detour[s] = false);
    }
    dependencies
}
