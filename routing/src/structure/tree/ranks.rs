//! Levels of switches.
//!
//! A leaf is an edge switch: one with many end ports, compared with the others of the fabric. An
//! aggregation node in every switch, or a few servers on a spine, do not count. The level of other
//! switches is the distance to the nearest leaf, except for switches with few or no end ports that
//! hang below other switches (a leaf with two hosts, a chain of switches behind a spine): they are
//! farther from the end ports than their neighbours, so they rank below these.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::topology::graph::Graph;

/// Not reached from any source.
pub(super) const UNREACHED: u32 = u32::MAX;

/// Levels of all switches.
#[derive(Debug)]
pub(super) struct Ranks {
    /// Level, by switch; 0 for leaves.
    pub(super) rank: Vec<u32>,
    /// Hops below rank 0, by switch, for switches that hang below a leaf; 0 for all others. Among
    /// switches of one rank, the one with fewer hops is higher.
    pub(super) outside_hops: Vec<u32>,
}

/// Detects the levels. `weight`: number of compute end ports of each switch; `is_edge`: whether it
/// is an edge switch.
pub(super) fn detect(graph: &Graph, weight: &[u32], is_edge: &[bool]) -> Ranks {
    if is_acyclic(graph) {
        return detect_acyclic(graph, weight);
    }
    let n = graph.len();
    let mut rank = distances(graph, (0..n).filter(|&v| is_edge[v]));
    let total: u64 = (0..n)
        .filter(|&v| is_edge[v])
        .map(|v| u64::from(weight[v]))
        .sum();
    let sum = distance_sums(graph, weight, is_edge);
    let mut outside_hops = vec![0; n];
    // A switch that is at least half a hop farther from the edge switches than its neighbours on
    // average is below them. A switch above its neighbours is nearer to the edge switches than they
    // are, even if it has lost a fifth of its links.
    let mut children: Vec<usize> = (0..n)
        .filter(|&v| {
            let slots = graph.slots(v);
            let neighbour_sum: u128 = slots.iter().map(|s| u128::from(sum[s.peer])).sum();
            let count = slots.len() as u128;
            !is_edge[v]
                && count > 0
                && 2 * u128::from(sum[v]) * count >= 2 * neighbour_sum + u128::from(total) * count
        })
        .collect();
    children.sort_unstable_by_key(|&v| (sum[v], graph.lid_rank[v]));
    for &v in &children {
        let nearer = || {
            graph
                .slots(v)
                .iter()
                .map(|s| s.peer)
                .filter(|&p| sum[p] < sum[v])
        };
        if let Some(parent_rank) = nearer().map(|p| rank[p]).min() {
            rank[v] = parent_rank.saturating_sub(1);
            let hops = nearer().map(|p| outside_hops[p]).min().unwrap_or(0);
            outside_hops[v] = if parent_rank == 0 { hops + 1 } else { hops };
        }
    }
    Ranks { rank, outside_hops }
}

/// Levels below configured roots.
pub(super) fn below_roots(graph: &Graph, roots: &[usize]) -> Ranks {
    let depth = distances(graph, roots.iter().copied());
    let deepest = depth
        .iter()
        .copied()
        .filter(|&d| d != UNREACHED)
        .max()
        .unwrap_or(0);
    Ranks {
        rank: depth.iter().map(|&d| deepest - d.min(deepest)).collect(),
        outside_hops: vec![0; graph.len()],
    }
}

/// Hops to the nearest source switch.
pub(crate) fn distances(graph: &Graph, from: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut hops = vec![UNREACHED; graph.len()];
    let mut queue: VecDeque<usize> = from.collect();
    queue.iter().for_each(|&v| hops[v] = 0);
    while let Some(v) = queue.pop_front() {
        for slot in graph.slots(v) {
            if hops[slot.peer] == UNREACHED {
                hops[slot.peer] = hops[v] + 1;
                queue.push_back(slot.peer);
            }
        }
    }
    hops
}

/// Sum of the hops from each switch to all end ports of edge switches. Evaluates 64 edge switches
/// at a time.
fn distance_sums(graph: &Graph, weight: &[u32], is_edge: &[bool]) -> Vec<u64> {
    let n = graph.len();
    let mut sum = vec![0u64; n];
    let sources: Vec<usize> = (0..n).filter(|&v| is_edge[v]).collect();
    let mut visited = vec![0u64; n];
    let mut frontier = vec![0u64; n];
    let mut next = vec![0u64; n];
    for word in sources.chunks(64) {
        visited.fill(0);
        frontier.fill(0);
        for (bit, &v) in word.iter().enumerate() {
            frontier[v] |= 1 << bit;
            visited[v] |= 1 << bit;
        }
        let mut hops = 0u64;
        let mut has_frontier = true;
        while has_frontier {
            has_frontier = false;
            hops += 1;
            for v in 0..n {
                next[v] = graph.slots(v).iter().fold(0, |m, s| m | frontier[s.peer]) & !visited[v];
            }
            for v in 0..n {
                visited[v] |= next[v];
                has_frontier |= next[v] != 0;
                let mut bits = next[v];
                while bits != 0 {
                    sum[v] += hops * u64::from(weight[word[bits.trailing_zeros() as usize]]);
                    bits &= bits - 1;
                }
            }
            std::mem::swap(&mut frontier, &mut next);
        }
    }
    sum
}

/// Whether the graph has no cycle, apart from parallel links.
fn is_acyclic(graph: &Graph) -> bool {
    graph.num_slots() + 2 == 2 * graph.len()
}

/// Levels of an acyclic graph with the central switch as the root: the height of each switch above
/// its deepest descendant.
fn detect_acyclic(graph: &Graph, weight: &[u32]) -> Ranks {
    let n = graph.len();
    // Remove switches with at most one neighbour until one switch remains; of the last two, the one
    // with more end ports is below.
    let mut degree: Vec<usize> = (0..n).map(|v| graph.slots(v).len()).collect();
    let mut rank = vec![0u32; n];
    let mut frontier: BTreeSet<(u32, Reverse<u32>, usize)> = BTreeSet::new();
    let key = |v: usize, rank: u32| (rank, Reverse(weight[v]), graph.lid_rank[v]);
    for v in (0..n).filter(|&v| degree[v] <= 1) {
        frontier.insert(key(v, 0));
    }
    let mut removed = vec![false; n];
    while let Some((height, .., lid_rank)) = frontier.pop_first() {
        let v = graph.by_lid[lid_rank];
        removed[v] = true;
        for slot in graph.slots(v) {
            let up = slot.peer;
            if !removed[up] {
                if degree[up] <= 1 {
                    frontier.remove(&key(up, rank[up]));
                }
                rank[up] = rank[up].max(height + 1);
                degree[up] -= 1;
                if degree[up] <= 1 {
                    frontier.insert(key(up, rank[up]));
                }
            }
        }
    }
    Ranks {
        rank,
        outside_hops: vec![0; n],
    }
}
