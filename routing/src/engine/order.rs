//! Which end of a link is up: orders of all switches from one top switch downwards, found from the
//! structure.
//!
//! Every order here starts with one switch and goes on with neighbours of switches already placed.
//! So the top switch is the only one with no neighbour above it, every switch has an ascending path
//! to it, and up/down routing over the order connects every pair on any connected graph, without a
//! cycle of dependencies, on one lane.
//!
//! Good orders place the spines of a tree before its leaves. What tells them apart is closeness:
//! the mean distance to all end ports. It is smaller in the middle of a fabric, whatever hangs on
//! the switches there. It is rounded, and ties are broken by LID, so that one lost cable or one
//! host that reboots does not turn the fabric upside down.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cell::HopCell;
use super::graph::Graph;
use super::hop_matrix::HopMatrix;
use crate::structure::tree::{Tree, distances};

/// Steps of rounded closeness per hop.
const STEPS_PER_HOP: u64 = 4;

/// A way to order switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Of the neighbours of placed switches, the one closest to the end ports is next.
    CentreFirst,
    /// As `CentreFirst`, without rounding closeness.
    CentreFirstExact,
    /// Breadth first from the switch that is closest to the end ports.
    BreadthFirst,
    /// The levels of a tree.
    Levels,
    /// From the roots that the operator gave.
    Roots,
    /// As in the run before, as far as its switches are still there and connected; new ones come last.
    Kept,
}

impl Strategy {
    /// Those that need no memory, the preferred first.
    pub(crate) const FRESH: [Self; 3] = [
        Self::CentreFirst,
        Self::CentreFirstExact,
        Self::BreadthFirst,
    ];

    /// For notes.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::CentreFirst => "centre first",
            Self::CentreFirstExact => "centre first, exact",
            Self::BreadthFirst => "breadth first",
            Self::Levels => "by levels",
            Self::Roots => "from the given roots",
            Self::Kept => "as before",
        }
    }
}

/// How close each switch is to the end ports.
#[derive(Debug)]
pub(crate) struct Closeness {
    /// Sum of hops to all end ports (to all switches, where there are no end ports).
    sum: Vec<u64>,
    /// The mean, rounded to quarters of a hop.
    class: Vec<u32>,
    /// Whether many end ports hang here, for this fabric: among equals, those are below.
    crowded: Vec<bool>,
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
                let row = shortest.row(v).iter().enumerate();
                row.map(|(s, c)| weight(s) * c.hops() as u64).sum()
            })
            .collect();
        let class = sum
            .iter()
            .map(|s| u32::try_from((STEPS_PER_HOP * s + total / 2) / total).unwrap_or(u32::MAX))
            .collect();
        let crowded = graph
            .hosts
            .iter()
            .map(|&h| h > 0 && 2 * u64::from(h) * n as u64 >= hosts)
            .collect();
        Self {
            sum,
            class,
            crowded,
        }
    }

    /// All switches, top first. `before` is each switch's place in the last order; only [`Strategy::Kept`] looks at it.
    pub(crate) fn order(
        &self,
        graph: &Graph,
        strategy: Strategy,
        before: &[Option<u32>],
    ) -> Vec<usize> {
        // Small keys first. Breadth-first order compares the depth before anything else.
        let key = |v: usize, depth: usize| {
            let first = match strategy {
                Strategy::BreadthFirst => depth,
                Strategy::Kept => before
                    .get(v)
                    .copied()
                    .flatten()
                    .map_or(usize::MAX, |place| place as usize),
                Strategy::CentreFirst
                | Strategy::CentreFirstExact
                | Strategy::Levels
                | Strategy::Roots => 0,
            };
            let close = match strategy {
                Strategy::CentreFirstExact | Strategy::BreadthFirst => self.sum[v],
                Strategy::CentreFirst | Strategy::Levels | Strategy::Roots | Strategy::Kept => {
                    u64::from(self.class[v])
                }
            };
            (first, close, self.crowded[v])
        };
        grown(graph, key)
    }
}

/// The levels of a tree, the highest first; what hangs behind a leaf comes after it. The few leaves that come before
/// spines, so that all of these hang together, are those with most neighbours.
pub(crate) fn by_levels(graph: &Graph, tree: &Tree) -> Vec<usize> {
    grown(graph, |v, _| {
        let neighbours = Reverse(graph.slots(v).len());
        (Reverse(tree.rank[v]), tree.hanging[v], neighbours)
    })
}

/// The farthest from some switches first, or the nearest.
pub(crate) fn by_distance(
    graph: &Graph,
    from: impl Iterator<Item = usize>,
    farthest_first: bool,
) -> Vec<usize> {
    let hops = distances(graph, from);
    grown(graph, |v, _| {
        if farthest_first {
            u32::MAX - hops[v]
        } else {
            hops[v]
        }
    })
}

/// All switches from one top switch, small keys first as far as every one hangs on one before it. Keys are made of a
/// switch and its depth.
fn grown<K: Ord>(graph: &Graph, key: impl Fn(usize, usize) -> K) -> Vec<usize> {
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
