//! How far above the leaves each switch is.
//!
//! A leaf is a switch on which a crowd of end ports hangs, for this fabric: an aggregation node in every switch or a
//! few servers on a spine are no crowd. All other switches are as high as their nearest leaf is far, except those that
//! hang below others without a crowd of their own (a leaf with two hosts or none, a chain of switches behind a spine):
//! they are farther from the crowd than their neighbours, so they are below them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use crate::engine::graph::Graph;

/// Not reached.
pub(super) const FAR: u32 = u32::MAX;

/// Levels of all switches.
#[derive(Debug)]
pub(super) struct Ranks {
    /// By switch: 0 is a leaf.
    pub(super) rank: Vec<u32>,
    /// By switch: how far it hangs outside of the tree proper. Among switches of one rank, smaller is higher.
    pub(super) hanging: Vec<u32>,
}

/// Levels from the graph. `weight` is the number of end ports that count on each switch, `crowd` whether that is a crowd.
pub(super) fn found(graph: &Graph, weight: &[u32], crowd: &[bool]) -> Ranks {
    if acyclic(graph) {
        return of_acyclic(graph, weight);
    }
    let n = graph.len();
    let mut rank = distances(graph, (0..n).filter(|&v| crowd[v]));
    let total: u64 = (0..n)
        .filter(|&v| crowd[v])
        .map(|v| u64::from(weight[v]))
        .sum();
    let sum = distance_sums(graph, weight, crowd);
    let mut hanging = vec![0; n];
    // Half a hop farther from the crowd than the mean of the neighbours: below them. A switch above them is nearer, even
    // one that has lost a fifth of its cables.
    let mut below: Vec<usize> = (0..n)
        .filter(|&v| {
            let slots = graph.slots(v);
            let around: u128 = slots.iter().map(|s| u128::from(sum[s.peer])).sum();
            let count = slots.len() as u128;
            !crowd[v]
                && count > 0
                && 2 * u128::from(sum[v]) * count >= 2 * around + u128::from(total) * count
        })
        .collect();
    below.sort_unstable_by_key(|&v| (sum[v], graph.lid_rank[v]));
    for &v in &below {
        let nearer = || {
            graph
                .slots(v)
                .iter()
                .map(|s| s.peer)
                .filter(|&p| sum[p] < sum[v])
        };
        if let Some(above) = nearer().map(|p| rank[p]).min() {
            rank[v] = above.saturating_sub(1);
            let out = nearer().map(|p| hanging[p]).min().unwrap_or(0);
            hanging[v] = if above == 0 { out + 1 } else { out };
        }
    }
    Ranks { rank, hanging }
}

/// Levels below given roots.
pub(super) fn below_roots(graph: &Graph, roots: &[usize]) -> Ranks {
    let depth = distances(graph, roots.iter().copied());
    let deepest = depth
        .iter()
        .copied()
        .filter(|&d| d != FAR)
        .max()
        .unwrap_or(0);
    Ranks {
        rank: depth.iter().map(|&d| deepest - d.min(deepest)).collect(),
        hanging: vec![0; graph.len()],
    }
}

/// Hops to the nearest of some switches.
pub(crate) fn distances(graph: &Graph, from: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut hops = vec![FAR; graph.len()];
    let mut queue: VecDeque<usize> = from.collect();
    queue.iter().for_each(|&v| hops[v] = 0);
    while let Some(v) = queue.pop_front() {
        for slot in graph.slots(v) {
            if hops[slot.peer] == FAR {
                hops[slot.peer] = hops[v] + 1;
                queue.push_back(slot.peer);
            }
        }
    }
    hops
}

/// For each switch, the hops to all end ports of crowds, added up. 64 crowds at a time.
fn distance_sums(graph: &Graph, weight: &[u32], crowd: &[bool]) -> Vec<u64> {
    let n = graph.len();
    let mut sum = vec![0u64; n];
    let sources: Vec<usize> = (0..n).filter(|&v| crowd[v]).collect();
    let (mut seen, mut edge, mut next) = (vec![0u64; n], vec![0u64; n], vec![0u64; n]);
    for word in sources.chunks(64) {
        seen.fill(0);
        edge.fill(0);
        for (bit, &v) in word.iter().enumerate() {
            edge[v] |= 1 << bit;
            seen[v] |= 1 << bit;
        }
        let (mut hops, mut alive) = (0u64, true);
        while alive {
            alive = false;
            hops += 1;
            for v in 0..n {
                next[v] = graph.slots(v).iter().fold(0, |m, s| m | edge[s.peer]) & !seen[v];
            }
            for v in 0..n {
                seen[v] |= next[v];
                alive |= next[v] != 0;
                let mut bits = next[v];
                while bits != 0 {
                    sum[v] += hops * u64::from(weight[word[bits.trailing_zeros() as usize]]);
                    bits &= bits - 1;
                }
            }
            std::mem::swap(&mut edge, &mut next);
        }
    }
    sum
}

/// Whether the switches form no circle, parallel cables aside.
fn acyclic(graph: &Graph) -> bool {
    graph.num_slots() + 2 == 2 * graph.len()
}

/// Levels where there is one way between any two switches: heights over the deepest switch below, under the switch in
/// the middle.
fn of_acyclic(graph: &Graph, weight: &[u32]) -> Ranks {
    let n = graph.len();
    // Leaves are taken off until one switch is left; of two, the more crowded one is below.
    let mut degree: Vec<usize> = (0..n).map(|v| graph.slots(v).len()).collect();
    let mut rank = vec![0u32; n];
    let mut edge: BTreeSet<(u32, Reverse<u32>, usize)> = BTreeSet::new();
    let key = |v: usize, rank: u32| (rank, Reverse(weight[v]), graph.lid_rank[v]);
    for v in (0..n).filter(|&v| degree[v] <= 1) {
        edge.insert(key(v, 0));
    }
    let mut gone = vec![false; n];
    while let Some((height, .., place)) = edge.pop_first() {
        let v = graph.by_lid[place];
        gone[v] = true;
        for slot in graph.slots(v) {
            let up = slot.peer;
            if !gone[up] {
                if degree[up] <= 1 {
                    edge.remove(&key(up, rank[up]));
                }
                rank[up] = rank[up].max(height + 1);
                degree[up] -= 1;
                if degree[up] <= 1 {
                    edge.insert(key(up, rank[up]));
                }
            }
        }
    }
    Ranks {
        rank,
        hanging: vec![0; n],
    }
}
