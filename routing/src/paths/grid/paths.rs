//! Next hops for all pairs of switches in dimension order.
//!
//! All packets to a switch follow one tree, independent of their source. Where dimension order
//! leads into a gap, packets either turn early (`torus-2QoS` next to a missing switch), or the
//! engine finds other next hops (`dor`).

use rayon::prelude::*;

use super::coordinates::GridCoordinates;
use super::lines::{Lines, NONE};
use crate::topology::graph::Graph;
use crate::topology::index_to_u8;

/// Treatment of gaps in dimension order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapRule {
    /// Turn to the next axis before a missing switch.
    EarlyTurns,
    /// No next hop.
    Open,
}

/// The slot of each switch towards each destination switch: a row of switches for each destination.
#[derive(Debug)]
pub(crate) struct GridPaths {
    n: usize,
    next: Vec<u8>,
    /// By destination: switches that dimension order does not connect to it.
    pub(crate) unconnected: Vec<Vec<usize>>,
}

impl GridPaths {
    pub(crate) fn new(
        graph: &Graph,
        coordinates: &GridCoordinates,
        lines: &[Lines],
        gap_rule: GapRule,
    ) -> Self {
        let n = graph.len();
        let mut next = vec![NONE; n * n];
        let unconnected = next
            .par_chunks_mut(n.max(1))
            .enumerate()
            .map_init(
                || ReachingSwitches::new(n),
                |order, (dest, column)| {
                    for (s, next) in column.iter_mut().enumerate() {
                        *next = toward(coordinates, lines, gap_rule, s, dest);
                    }
                    if coordinates.is_complete {
                        return Vec::new();
                    }
                    order.follow(graph, column, dest);
                    (0..n).filter(|&s| !order.reaches(s)).collect()
                },
            )
            .collect();
        Self {
            n,
            next,
            unconnected,
        }
    }

    /// A (switch, destination) pair without a path in dimension order, if any.
    pub(crate) fn unconnected_pair(&self) -> Option<(usize, usize)> {
        let mut by_dest = self.unconnected.iter().enumerate();
        by_dest.find_map(|(dest, sources)| Some((*sources.first()?, dest)))
    }

    /// Number of pairs that dimension order does not connect.
    pub(crate) fn num_unconnected(&self) -> usize {
        self.unconnected.iter().map(Vec::len).sum()
    }

    /// Slots towards one switch, by switch.
    pub(crate) fn column(&self, dest: usize) -> &[u8] {
        &self.next[dest * self.n..][..self.n]
    }

    /// Slot of a switch towards another.
    pub(crate) fn slot(&self, s: usize, dest: usize) -> Option<usize> {
        let slot = self.next[dest * self.n + s];
        (slot != NONE).then_some(usize::from(slot))
    }

    pub(crate) fn set_slot(&mut self, s: usize, dest: usize, slot: usize) {
        self.next[dest * self.n + s] = index_to_u8(slot);
    }

    /// Channels (slots of the whole graph) on a path.
    pub(crate) fn channels<'a>(
        &'a self,
        graph: &'a Graph,
        from: usize,
        dest: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let mut v = from;
        std::iter::from_fn(move || {
            let k = self.slot(v, dest)?;
            let channel = graph.first_slot(v) + k;
            v = graph.slots(v)[k].peer;
            Some(channel)
        })
    }
}

/// Slot in dimension order.
fn toward(
    coordinates: &GridCoordinates,
    lines: &[Lines],
    gap_rule: GapRule,
    s: usize,
    dest: usize,
) -> u8 {
    for (axis, lines) in lines.iter().enumerate() {
        let a = coordinates.along(s, axis);
        let b = coordinates.along(dest, axis);
        if a == b {
            continue;
        }
        let line = coordinates.line(s, axis);
        let slot = lines.next(line, a, b);
        let may_turn_early =
            gap_rule == GapRule::EarlyTurns && coordinates.switch_on_line(axis, line, b).is_none();
        if slot != NONE || !may_turn_early {
            return slot;
        }
    }
    NONE
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathVisit {
    Open,
    Unconnected,
    Reaches,
}

/// The switches that reach a destination, each after the next switch on its path. Working memory
/// for one destination at a time.
#[derive(Debug)]
pub(crate) struct ReachingSwitches {
    pub(crate) switches: Vec<usize>,
    visits: Vec<PathVisit>,
    path: Vec<usize>,
}

impl ReachingSwitches {
    pub(crate) fn new(switches: usize) -> Self {
        Self {
            switches: Vec::with_capacity(switches),
            visits: vec![PathVisit::Open; switches],
            path: Vec::new(),
        }
    }

    pub(crate) fn reaches(&self, v: usize) -> bool {
        self.visits[v] == PathVisit::Reaches
    }

    /// Follows the slots of all switches.
    pub(crate) fn follow(&mut self, graph: &Graph, column: &[u8], dest: usize) {
        self.visits.fill(PathVisit::Open);
        self.visits[dest] = PathVisit::Reaches;
        self.switches.clear();
        self.switches.push(dest);
        for start in 0..column.len() {
            let mut v = start;
            while self.visits[v] == PathVisit::Open {
                // Also the mark of the current path, which may lead to itself.
                self.visits[v] = PathVisit::Unconnected;
                self.path.push(v);
                if let Some(slot) = graph.slots(v).get(usize::from(column[v])) {
                    v = slot.peer;
                }
            }
            let visit = self.visits[v];
            while let Some(v) = self.path.pop() {
                self.visits[v] = visit;
                if visit == PathVisit::Reaches {
                    self.switches.push(v);
                }
            }
        }
    }
}
