//! Next hops for all pairs of switches in dimension order.
//!
//! All packets to a switch follow one tree, independent of their source. Where dimension order
//! leads into a gap, packets either turn early (`torus-2QoS` next to a missing switch) or take a
//! detour to the nearest switch from which dimension order continues (`dor`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::coordinates::GridCoordinates;
use super::lines::{Lines, NONE};
use crate::topology::graph::Graph;

/// Treatment of gaps in dimension order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapRule {
    /// Turn to the next axis before a missing switch.
    EarlyTurns,
    /// Take a detour to a switch from which dimension order continues.
    Detours,
}

/// The slot of each switch towards each destination switch: a row of switches for each destination.
#[derive(Debug)]
pub(crate) struct GridPaths {
    n: usize,
    next: Vec<u8>,
    /// (switch, destination) pairs with a detour, by destination.
    pub(crate) detours: Vec<(usize, usize)>,
    /// A (switch, destination) pair without a path, if any.
    pub(crate) pair_without_path: Option<(usize, usize)>,
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
        let detours_by_dest: Vec<(Vec<usize>, Option<usize>)> = next
            .par_chunks_mut(n.max(1))
            .enumerate()
            .map_init(
                || (Vec::new(), Vec::new()),
                |(hops, stack), (dest, column)| {
                    for (s, next) in column.iter_mut().enumerate() {
                        *next = toward(coordinates, lines, gap_rule, s, dest);
                    }
                    if coordinates.is_complete {
                        return (Vec::new(), None);
                    }
                    count_hops(graph, column, dest, hops, stack);
                    let failed: Vec<usize> = (0..n).filter(|&s| hops[s] == UNREACHED).collect();
                    if gap_rule == GapRule::EarlyTurns {
                        return (Vec::new(), failed.first().copied());
                    }
                    connect_by_detours(graph, column, hops, &failed);
                    let unreached = failed.iter().copied().find(|&s| hops[s] == UNREACHED);
                    (failed, unreached)
                },
            )
            .collect();
        let pair_without_path = detours_by_dest
            .iter()
            .enumerate()
            .find_map(|(dest, (_, unreached))| unreached.map(|s| (s, dest)));
        let detours = detours_by_dest
            .into_iter()
            .enumerate()
            .flat_map(|(dest, (failed, _))| failed.into_iter().map(move |s| (s, dest)))
            .collect();
        Self {
            n,
            next,
            detours,
            pair_without_path,
        }
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

/// Not visited yet; on the current path; without a path to the destination.
const OPEN: usize = usize::MAX;
const BUSY: usize = usize::MAX - 1;
const UNREACHED: usize = usize::MAX - 2;

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

/// Computes the hops of each switch to the destination, [`UNREACHED`] if the slots do not lead
/// there.
fn count_hops(
    graph: &Graph,
    column: &[u8],
    dest: usize,
    hops: &mut Vec<usize>,
    stack: &mut Vec<usize>,
) {
    hops.clear();
    hops.resize(column.len(), OPEN);
    hops[dest] = 0;
    for start in 0..column.len() {
        let mut v = start;
        while hops[v] == OPEN {
            hops[v] = BUSY;
            stack.push(v);
            match graph.slots(v).get(usize::from(column[v])) {
                Some(slot) => v = slot.peer,
                None => break,
            }
        }
        let mut reached = if hops[v] == BUSY { UNREACHED } else { hops[v] };
        while let Some(v) = stack.pop() {
            reached = if reached == UNREACHED {
                UNREACHED
            } else {
                reached + 1
            };
            hops[v] = reached;
        }
    }
}

/// Connects the switches without a path to the nearest switch that has one.
fn connect_by_detours(graph: &Graph, column: &mut [u8], hops: &mut [usize], failed: &[usize]) {
    if failed.is_empty() {
        return;
    }
    let mut frontier = BinaryHeap::new();
    for &v in failed {
        column[v] = NONE;
        for slot in graph.slots(v).iter().filter(|s| hops[s.peer] != UNREACHED) {
            frontier.push(Reverse((hops[slot.peer], graph.lid_rank[slot.peer])));
        }
    }
    let mut last = None;
    while let Some(Reverse((far, rank))) = frontier.pop() {
        if last.replace((far, rank)) == Some((far, rank)) {
            continue;
        }
        let v = graph.by_lid[rank];
        for slot in graph.slots(v) {
            let u = slot.peer;
            if hops[u] != UNREACHED {
                continue;
            }
            let reverse = graph.slots(u).iter().position(|s| s.peer == v);
            column[u] = reverse.and_then(|k| u8::try_from(k).ok()).unwrap_or(NONE);
            hops[u] = far + 1;
            frontier.push(Reverse((far + 1, graph.lid_rank[u])));
        }
    }
}
