//! Finds paths down and up for end ports above the leaves of a tree, on VLs of their own.
//!
//! Two roots of a tree have no up/down path between them. On one VL all such pairs must turn at the
//! same leaf (one of the few that precede some roots in the order), because turns at several leaves
//! form a credit loop. With an aggregation node in every switch, this leaf would carry most of the
//! pairs of switches.
//!
//! On a VL of their own such pairs may turn at any leaf: paths that descend, then climb, form no
//! credit loop, just like paths that climb, then descend. Switches of a level in the middle of a
//! tree also need paths that go down, up, and down again to their own level. All paths of one level
//! share a VL: the channels of their first descent are below the level and those of their last
//! descent above it, so these form no credit loop either. Both directions of a pair use the same
//! VL.
//!
//! In an incomplete tree some pairs have neither kind of path. These pairs, and those that they
//! pass through, follow the up/down order on VL 0. This module does not balance load: it defines
//! legal next hops for [`crate::paths::next_hops::hop_matrix::HopMatrix`].

use std::cmp::Reverse;

use fixedbitset::FixedBitSet;
use rayon::prelude::*;

use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::down_up_pairs::{DownUpPairs, NO_TRANSIT};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::structure::tree::DetectedTree;
use crate::topology::graph::Graph;
use crate::topology::index_to_u8;

/// Paths from all switches to one destination.
struct DestinationPaths<C> {
    /// Switches routed down and up, from the bottom: hops, and whether some path ends with a
    /// descent.
    down_up: Vec<(usize, C, bool)>,
    /// Switches through which down/up paths must not pass.
    no_transit: Vec<usize>,
}

/// Properties that all paths from a switch to a destination share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PathShape {
    climbs: bool,
    descends: bool,
    up_down: bool,
}

impl PathShape {
    /// The destination itself.
    const HERE: Self = Self {
        climbs: true,
        descends: true,
        up_down: true,
    };
    const NONE: Self = Self {
        climbs: false,
        descends: false,
        up_down: false,
    };

    /// Adds the paths through a neighbour with these properties.
    fn and(self, up: bool, next: Self) -> Self {
        Self {
            climbs: self.climbs && up && next.climbs,
            descends: self.descends && !up && next.descends,
            up_down: self.up_down && if up { next.up_down } else { next.descends },
        }
    }
}

/// Finds the pairs and enters them in `matrix`, if enough end ports are attached above the leaves
/// and enough VLs are usable. `busy` is a load that some link has in any case
/// ([`crate::paths::balance::load_balance::unavoidable_load`]).
pub(crate) fn find_down_up_pairs<C: HopCell>(
    graph: &Graph,
    tree: &DetectedTree,
    vls: u8,
    busy: u64,
    matrix: &mut HopMatrix<C>,
) {
    let n = graph.len();
    let non_leaves: Vec<usize> = (0..n).filter(|&v| tree.rank[v] > 0).collect();
    let with_hosts = non_leaves.iter().filter(|&&v| graph.hosts[v] > 0).count();
    if vls < 2 || with_hosts < 2 {
        return;
    }
    let mut down: Vec<usize> = (0..n).collect();
    down.sort_by_key(|&v| {
        let neighbours = Reverse(graph.slots(v).len());
        let rank = Reverse(tree.rank[v]);
        (rank, tree.outside_hops[v], neighbours, graph.lid_rank[v])
    });
    let mut position = vec![0; n];
    for (i, &v) in down.iter().enumerate() {
        position[v] = i;
    }
    let unreached: Vec<Vec<usize>> = non_leaves
        .par_chunks(64)
        .flat_map_iter(|dests| pairs_without_up_down_path(graph, tree, &down, &position, dests))
        .collect();
    if 4 * turning_pairs(graph, &non_leaves, &unreached) <= busy * max_leaf_degree(graph, tree) {
        return;
    }
    let Some((paths_by_dest, wanted)) =
        symmetric_paths(graph, tree, &position, matrix, &non_leaves, unreached)
    else {
        return;
    };
    let mut pairs = DownUpPairs {
        n,
        position,
        vl: vec![0; n * n],
        vls: 2,
        pairs: 0,
    };
    // VL 1 is for paths that descend, then climb. Each level with a final descent has a VL of its
    // own after it.
    let descending = non_leaves.iter().zip(&paths_by_dest);
    let mut levels: Vec<u32> = descending
        .filter(|(_, paths)| paths.down_up.iter().any(|v| v.2))
        .map(|(&d, _)| tree.rank[d])
        .collect();
    levels.sort_unstable();
    levels.dedup();
    // saturates: more VLs than a port can have.
    pairs.vls = u8::try_from(levels.len() + 2).unwrap_or(u8::MAX);
    if pairs.vls > vls || wanted == 0 {
        return;
    }
    let number = |d: usize| levels.binary_search(&tree.rank[d]).unwrap_or(0) + 2;
    for (&d, paths) in non_leaves.iter().zip(&paths_by_dest) {
        for &v in &paths.no_transit {
            pairs.vl[v * n + d] = NO_TRANSIT;
        }
    }
    for (&d, paths) in non_leaves.iter().zip(&paths_by_dest) {
        for &(v, cell, descends) in &paths.down_up {
            let vl = if descends { index_to_u8(number(d)) } else { 1 };
            // Both directions of a pair use the same VL.
            for at in [v * n + d, d * n + v] {
                pairs.vl[at] = pairs.vl[at].max(vl);
            }
            pairs.pairs += usize::from(v < d);
            matrix.set(v, d, cell);
        }
    }
    matrix.down_up = Some(pairs);
}

/// For each of up to 64 destinations, the switches above the leaves without an up/down path in the
/// tree.
fn pairs_without_up_down_path(
    graph: &Graph,
    tree: &DetectedTree,
    down: &[usize],
    position: &[usize],
    dests: &[usize],
) -> Vec<Vec<usize>> {
    let mut mask = vec![0u64; graph.len()];
    for (bit, &d) in dests.iter().enumerate() {
        mask[d] |= 1 << bit;
    }
    let mut spread = |v: usize, downward: bool| {
        let peers = graph.slots(v).iter().map(|s| s.peer);
        mask[v] |= peers
            .filter(|&p| (position[p] > position[v]) == downward)
            .fold(0, |m, p| m | mask[p]);
    };
    down.iter().rev().for_each(|&v| spread(v, true));
    down.iter().for_each(|&v| spread(v, false));
    let bits = 0..dests.len();
    bits.map(|bit| {
        let non_leaves = down.iter().copied().filter(|&v| tree.rank[v] > 0);
        non_leaves.filter(|&v| mask[v] >> bit & 1 == 0).collect()
    })
    .collect()
}

/// Number of pairs of end ports that would all have to turn at one leaf.
fn turning_pairs(graph: &Graph, non_leaves: &[usize], unreached: &[Vec<usize>]) -> u64 {
    let hosts = |v: usize| u64::from(graph.hosts[v]);
    let pairs = non_leaves.iter().zip(unreached);
    pairs
        .map(|(&d, from)| hosts(d) * from.iter().map(|&v| hosts(v)).sum::<u64>())
        .sum()
}

fn max_leaf_degree(graph: &Graph, tree: &DetectedTree) -> u64 {
    let leaves = (0..graph.len()).filter(|&v| tree.rank[v] == 0);
    let max_degree = leaves.map(|v| graph.slots(v).len() as u64).max();
    max_degree.unwrap_or(1)
}

/// Paths to all switches above the leaves, where every pair is routed down and up in both
/// directions or in neither, and the number of such pairs. `None` if this takes too many rounds
/// because the tree is too incomplete.
fn symmetric_paths<C: HopCell>(
    graph: &Graph,
    tree: &DetectedTree,
    position: &[usize],
    matrix: &HopMatrix<C>,
    non_leaves: &[usize],
    unreached: Vec<Vec<usize>>,
) -> Option<(Vec<DestinationPaths<C>>, usize)> {
    let mut row = vec![usize::MAX; graph.len()];
    for (i, &v) in non_leaves.iter().enumerate() {
        row[v] = i;
    }
    let mut pending: Vec<FixedBitSet> = unreached
        .into_iter()
        .map(|from| {
            let mut set = FixedBitSet::with_capacity(graph.len());
            set.extend(from);
            set
        })
        .collect();
    let unreached_sets: Vec<FixedBitSet> = pending.clone();
    let mut paths_by_dest: Vec<DestinationPaths<C>> = Vec::new();
    paths_by_dest.resize_with(non_leaves.len(), || DestinationPaths {
        down_up: Vec::new(),
        no_transit: Vec::new(),
    });
    let mut to_update: Vec<usize> = (0..non_leaves.len()).collect();
    for _ in 0..ROUNDS {
        let new_paths: Vec<(usize, DestinationPaths<C>)> = to_update
            .par_iter()
            .map(|&i| {
                let unreached = &unreached_sets[i];
                let from = pending[i].clone();
                (
                    i,
                    paths_to(
                        graph,
                        tree,
                        position,
                        matrix,
                        non_leaves[i],
                        unreached,
                        from,
                    ),
                )
            })
            .collect();
        let mut next: Vec<usize> = Vec::new();
        for (i, paths) in new_paths {
            let mut routed = FixedBitSet::with_capacity(graph.len());
            routed.extend(paths.down_up.iter().map(|v| v.0));
            for v in pending[i].difference(&routed).collect::<Vec<_>>() {
                let reverse = &mut pending[row[v]];
                if reverse.contains(non_leaves[i]) {
                    reverse.set(non_leaves[i], false);
                    next.push(row[v]);
                }
            }
            // A pair that was removed in this round for another destination stays removed.
            if !routed.is_subset(&pending[i]) {
                next.push(i);
            }
            pending[i].intersect_with(&routed);
            paths_by_dest[i] = paths;
        }
        if next.is_empty() {
            let pairs = pending.iter().map(|set| set.count_ones(..)).sum();
            return Some((paths_by_dest, pairs));
        }
        next.sort_unstable();
        next.dedup();
        to_update = next;
    }
    None
}

/// The paths to one destination. Switches in `from` are routed down and up if such a path exists
/// and no other path passes through them; `unreached` has all switches without an up/down path.
fn paths_to<C: HopCell>(
    graph: &Graph,
    tree: &DetectedTree,
    position: &[usize],
    matrix: &HopMatrix<C>,
    dest: usize,
    unreached: &FixedBitSet,
    mut from: FixedBitSet,
) -> DestinationPaths<C> {
    let n = graph.len();
    let mut paths = DestinationPaths {
        down_up: Vec::new(),
        no_transit: Vec::new(),
    };
    if unreached.is_clear() {
        return paths;
    }
    let mut by_distance: Vec<usize> = (0..n).filter(|&v| v != dest).collect();
    by_distance.sort_by_cached_key(|&v| (matrix.cell(v, dest).hops(), graph.lid_rank[v]));
    let mut shape = vec![PathShape::NONE; n];
    loop {
        // A switch that other paths pass through must follow the hop matrix.
        for &v in by_distance.iter().rev() {
            if from[v] {
                continue;
            }
            for slot in graph.slots(v) {
                if from[slot.peer] && matrix.is_next_hop(v, slot.peer, dest) {
                    from.set(slot.peer, false);
                }
            }
        }
        shape.fill(PathShape::NONE);
        shape[dest] = PathShape::HERE;
        for &v in &by_distance {
            if from[v] {
                continue;
            }
            let legal = graph
                .slots(v)
                .iter()
                .map(|s| s.peer)
                .filter(|&p| matrix.is_next_hop(v, p, dest));
            shape[v] = legal.fold(PathShape::HERE, |own, p| {
                own.and(position[p] < position[v], shape[p])
            });
        }
        let mut lowest_first: Vec<usize> = from.ones().collect();
        lowest_first.sort_unstable_by_key(|&v| Reverse(position[v]));
        let mut hops = vec![C::UNREACHED; n];
        let mut is_unreachable = false;
        paths.down_up.clear();
        for v in lowest_first {
            let below = || {
                let peers = graph
                    .slots(v)
                    .iter()
                    .map(|s| s.peer)
                    .filter(|&p| position[p] > position[v]);
                peers.filter_map(|p| {
                    let cell = if from[p] {
                        hops[p]
                    } else if shape[p].up_down {
                        matrix.cell(p, dest).without_flag()
                    } else {
                        C::UNREACHED
                    };
                    (cell != C::UNREACHED).then(|| (p, cell.farther()))
                })
            };
            let nearest = below().map(|(_, hops)| hops).min();
            let nearest_peers = below().filter(|&(_, hops)| Some(hops) == nearest);
            let climbs = nearest_peers.map(|(p, _)| p).all(|p| shape[p].climbs);
            let level = tree.rank[v] == tree.rank[dest] && tree.level_links == 0;
            match nearest {
                Some(nearest) if climbs || level => {
                    hops[v] = nearest;
                    shape[v].climbs = climbs;
                    paths.down_up.push((v, nearest, !climbs));
                }
                _ => {
                    from.set(v, false);
                    is_unreachable = true;
                }
            }
        }
        if !is_unreachable {
            break;
        }
    }
    let no_transit = (0..n).filter(|&v| v != dest && !from[v] && !shape[v].up_down);
    paths.no_transit.extend(no_transit);
    paths
}

/// Maximum number of rounds in which both directions are compared. Pairs that stay on VL 0 affect
/// few others.
const ROUNDS: usize = 64;
