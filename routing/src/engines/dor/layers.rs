//! Additional virtual layers for pairs of switches whose detours close a credit loop.
//!
//! Both paths of a pair use the layer: they have the same SL.

use super::vls::{PairSl, SwitchPair};
use crate::channels::VirtualLayer;
use crate::paths::grid::paths::GridPaths;
use crate::topology::graph::Graph;
use crate::topology::{index_to_u8, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Maximum number of pairs; with more, dimension order is unsuitable.
const PAIRS_MAX: usize = 200_000;

/// Why no layers can be assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LayerError {
    /// At least this many additional layers are required.
    TooFewVls(usize),
    /// Number of pairs that need a layer.
    TooManyPairs(usize),
    /// The work budget is exceeded.
    Budget,
}

/// Assigns one of at most `layers_max` layers to every pair that has end ports, with the SLs from
/// `first_sl`.
pub(super) fn assign(
    graph: &Graph,
    paths: &GridPaths,
    pairs: &[SwitchPair],
    layers_max: usize,
    first_sl: usize,
    budget: &WorkBudget,
) -> Result<Vec<PairSl>, LayerError> {
    if pairs.len() > PAIRS_MAX {
        return Err(LayerError::TooManyPairs(pairs.len()));
    }
    let index = &graph.channels;
    let mut layers: Vec<VirtualLayer> = Vec::new();
    let rank = |s: usize| graph.lid_rank[s];
    let mut ranks: Vec<(usize, usize)> = pairs
        .iter()
        .filter(|pair| graph.hosts[pair.low] > 0 || graph.hosts[pair.high] > 0)
        .map(|pair| (rank(pair.low), rank(pair.high)))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    ranks.sort_unstable();
    let mut assigned = Vec::with_capacity(ranks.len());
    let mut dependencies = Vec::new();
    for (low, high) in ranks {
        let a = graph.by_lid[low];
        let b = graph.by_lid[high];
        dependencies.clear();
        for (from, to) in [(a, b), (b, a)] {
            let channels: Vec<u32> = paths.channels(graph, from, to).map(index_to_u32).collect();
            dependencies.extend(channels.windows(2).map(|w| (w[0], w[1])));
        }
        let admits =
            |layer: &mut VirtualLayer| layer.admit_within(index, &dependencies, budget) == Ok(true);
        let admitting = layers.iter_mut().position(admits);
        budget
            .check()
            .map_err(|BudgetExceeded| LayerError::Budget)?;
        let layer = match admitting {
            Some(layer) => layer,
            None if layers.len() < layers_max => {
                let mut empty_layer = VirtualLayer::new(index);
                if !admits(&mut empty_layer) {
                    return Err(LayerError::TooFewVls(layers_max + 1));
                }
                layers.push(empty_layer);
                layers.len() - 1
            }
            None => return Err(LayerError::TooFewVls(layers_max + 1)),
        };
        assigned.push(PairSl {
            pair: SwitchPair {
                low: a.min(b),
                high: a.max(b),
            },
            sl: index_to_u8(first_sl + layer),
        });
    }
    Ok(assigned)
}
