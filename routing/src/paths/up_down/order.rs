//! Up/down orders of the switches, derived from the structure.
//!
//! Every order starts with one root and continues with neighbours of switches already placed. So
//! the root is the only switch without a neighbour above it and every switch has an ascending path
//! to the root. Up/down routing in such an order connects every pair of a connected graph and is
//! free of credit loops on one VL.
//!
//! A good order places the spines of a tree before its leaves. The criterion is the mean distance
//! to all end ports, which is smaller in the middle of a fabric regardless of the hosts attached
//! there. It is rounded and ties are broken by LID, so one lost link or one rebooting host does not
//! reverse the order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::messages::SwitchOrderStrategy;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::structure::tree::{DetectedTree, distances};
use crate::topology::graph::Graph;

/// Rounding steps of the mean distance per hop.
const STEPS_PER_HOP: u64 = 4;

/// Distance of each switch to the end ports.
#[derive(Debug)]
pub(crate) struct Closeness {
    /// Sum of the hops to all end ports (to all switches, if there are no end ports).
    sum: Vec<u64>,
    /// Mean, rounded to quarters of a hop.
    class: Vec<u32>,
    /// Whether at least half the mean number of end ports per switch is attached here; among
    /// equals, such switches are placed lower.
    many_hosts: Vec<bool>,
}

impl Closeness {
    pub(crate) fn new<C: HopCell>(graph: &Graph, shortest: &HopMatrix<C>) -> Self {
        let n = graph.len();
        let hosts: u64 = graph.hosts.iter().map(|&h| u64::from(h)).sum();
        let weight = |s: usize| {
            if hosts == 0 {
                1
            } else {
                u64::from(graph.hosts[s])
            }
        };
        let total = if hosts == 0 { n as u64 } else { hosts };
        let sum: Vec<u64> = (0..n)
            .map(|v| {
                shortest
                    .row(v)
                    .iter()
                    .enumerate()
                    .map(|(s, c)| weight(s) * c.hops() as u64)
                    .sum()
            })
            .collect();
        // saturates: an average number of steps, which orders switches.
        let class = sum
            .iter()
            .map(|s| u32::try_from((STEPS_PER_HOP * s + total / 2) / total).unwrap_or(u32::MAX))
            .collect();
        let many_hosts = graph
            .hosts
            .iter()
            .map(|&h| h > 0 && 2 * u64::from(h) * n as u64 >= hosts)
            .collect();
        Self {
            sum,
            class,
            many_hosts,
        }
    }

    /// All switches from the root down. `before` is each switch's position in the previous order,
    /// used by [`SwitchOrderStrategy::Previous`] only.
    pub(crate) fn order(
        &self,
        graph: &Graph,
        strategy: SwitchOrderStrategy,
        before: &[Option<u32>],
    ) -> Vec<usize> {
        // Smaller keys come first. Breadth-first order compares the depth first.
        let key = |v: usize, depth: usize| {
            let first = match strategy {
                SwitchOrderStrategy::BreadthFirst => depth,
                SwitchOrderStrategy::Previous => before
                    .get(v)
                    .copied()
                    .flatten()
                    .map_or(usize::MAX, |position| position as usize),
                SwitchOrderStrategy::CentreFirst
                | SwitchOrderStrategy::CentreFirstExact
                | SwitchOrderStrategy::Levels
                | SwitchOrderStrategy::Roots => 0,
            };
            let close = match strategy {
                SwitchOrderStrategy::CentreFirstExact | SwitchOrderStrategy::BreadthFirst => {
                    self.sum[v]
                }
                SwitchOrderStrategy::CentreFirst
                | SwitchOrderStrategy::Levels
                | SwitchOrderStrategy::Roots
                | SwitchOrderStrategy::Previous => u64::from(self.class[v]),
            };
            (first, close, self.many_hosts[v])
        };
        order_by_key(graph, key)
    }
}

/// Orders by the levels of a tree, the highest first; switches behind a leaf come after it. Some
/// leaves must precede spines to keep the order connected: those with the most neighbours.
pub(crate) fn by_levels(graph: &Graph, tree: &DetectedTree) -> Vec<usize> {
    order_by_key(graph, |v, _| {
        let neighbours = Reverse(graph.slots(v).len());
        (Reverse(tree.rank[v]), tree.outside_hops[v], neighbours)
    })
}

/// Orders by the distance from some switches, the farthest or the nearest first.
pub(crate) fn by_distance(
    graph: &Graph,
    from: impl Iterator<Item = usize>,
    farthest_first: bool,
) -> Vec<usize> {
    let hops = distances(graph, from);
    order_by_key(graph, |v, _| {
        if farthest_first {
            u32::MAX - hops[v]
        } else {
            hops[v]
        }
    })
}

/// Orders the spines before the leaves, by their distance from the first spine. A leaf precedes
/// spines only if no other path leads to them; all of these that are its neighbours come before
/// those behind them.
pub(crate) fn spines_first(graph: &Graph, is_leaf: &[bool]) -> Vec<usize> {
    order_by_key(graph, |v, depth| {
        (is_leaf[v], depth, Reverse(graph.slots(v).len()))
    })
}

/// Orders all switches from one root by ascending key, where each has a neighbour placed before it.
/// The key is a function of a switch and its depth.
fn order_by_key<K: Ord>(graph: &Graph, key: impl Fn(usize, usize) -> K) -> Vec<usize> {
    let entry = |v: usize, depth: usize| Reverse((key(v, depth), depth, graph.lid_rank[v]));
    let mut placed = vec![false; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    let mut frontier = BinaryHeap::new();
    if let Some(top) = (0..graph.len()).max_by_key(|&v| entry(v, 0)) {
        frontier.push(entry(top, 0));
        placed[top] = true;
    }
    while let Some(Reverse((_, depth, rank))) = frontier.pop() {
        let v = graph.by_lid[rank];
        order.push(v);
        for slot in graph.slots(v) {
            if !std::mem::replace(&mut placed[slot.peer], true) {
                frontier.push(entry(slot.peer, depth + 1));
            }
        }
    }
    order
}
