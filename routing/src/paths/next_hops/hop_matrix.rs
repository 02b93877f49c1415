//! Distance between every pair of switches, and the legal next hops.
//!
//! One cell per pair, one or two bytes: the low bits are the number of hops, the top bit is set if
//! the path may start with a hop up. Rows are per source switch, so all operations work on whole
//! rows: a row is computed from its neighbours' rows, and next hops are found by comparing rows.
//! Built once per engine run, then immutable.
//!
//! With one next hop per (switch, destination), up/down routing must prevent a packet from climbing
//! after a descent, whatever its source. Rule: a switch with a descending path descends if a switch
//! above must forward packets for this destination to it. Any other switch may climb if that is no
//! longer than descending; no switch above forwards such packets to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::cell::{EngineStop, HopCell};
use super::down_up_pairs::DownUpPairs;
use crate::topology::graph::{Graph, Slot};

/// The distance of every pair of switches.
#[derive(Debug)]
pub(crate) struct HopMatrix<C> {
    n: usize,
    cells: Vec<C>,
    /// Position of each switch in the up/down order, from the root; `None` if paths are not
    /// restricted to up/down.
    position: Option<Vec<usize>>,
    /// Weight of each slot in hops, by switch and neighbour, sorted; empty if every slot counts as
    /// one hop.
    weights: Vec<(usize, usize, u16)>,
    /// Pairs that are routed down and up instead of up and down.
    pub(crate) down_up: Option<DownUpPairs>,
}

impl<C: HopCell> HopMatrix<C> {
    /// Shortest paths without an up/down restriction.
    pub(crate) fn shortest(graph: &Graph) -> Result<Self, EngineStop> {
        let n = graph.len();
        let mut cells = vec![C::UNREACHED; n * n];
        // 64 destinations at a time, one bit each. Links are bidirectional, so the row of a
        // destination equals its column.
        cells
            .par_chunks_mut((64 * n).max(1))
            .enumerate()
            .for_each(|(word, rows)| {
                let mut visited = vec![0u64; n];
                let mut frontier = vec![0u64; n];
                let mut next = vec![0u64; n];
                for bit in 0..rows.len() / n {
                    let s = word * 64 + bit;
                    frontier[s] = 1 << bit;
                    visited[s] = 1 << bit;
                    rows[bit * n + s] = C::HERE;
                }
                let mut hops = C::HERE;
                let mut has_frontier = true;
                while has_frontier {
                    has_frontier = false;
                    hops = hops.farther();
                    for v in 0..n {
                        next[v] = graph
                            .slots(v)
                            .iter()
                            .fold(0, |m, slot| m | frontier[slot.peer])
                            & !visited[v];
                    }
                    for v in 0..n {
                        visited[v] |= next[v];
                        has_frontier |= next[v] != 0;
                        for bit in SetBits(next[v]) {
                            rows[bit * n + v] = hops;
                        }
                    }
                    std::mem::swap(&mut frontier, &mut next);
                }
            });
        Self {
            n,
            cells,
            position: None,
            weights: Vec::new(),
            down_up: None,
        }
        .checked()
    }

    /// Shortest up/down paths in this order of the switches, from the root down.
    pub(crate) fn up_down(graph: &Graph, order: &[usize]) -> Result<Self, EngineStop> {
        let n = graph.len();
        let mut position = vec![0; n];
        for (i, &v) in order.iter().enumerate() {
            position[v] = i;
        }
        let mut cells = vec![C::UNREACHED; n * n];
        for &v in order.iter().rev() {
            cells[v * n + v] = C::HERE;
            for slot in graph
                .slots(v)
                .iter()
                .filter(|s| position[s.peer] > position[v])
            {
                let (row, child_row) = two_rows(&mut cells, n, v, slot.peer);
                for (cell, &b) in row.iter_mut().zip(child_row) {
                    *cell = (*cell).min(b.farther());
                }
            }
        }
        // From the root down: rows above are final, the switch's own row still has descending paths
        // only.
        let mut climb = vec![C::UNREACHED; n];
        let mut must_descend = vec![false; n];
        for &v in order {
            climb.fill(C::UNREACHED.climb());
            must_descend.fill(false);
            for slot in graph
                .slots(v)
                .iter()
                .filter(|s| position[s.peer] < position[v])
            {
                let (row, parent_row) = two_rows(&mut cells, n, v, slot.peer);
                let sums = climb.iter_mut().zip(&mut must_descend);
                for ((own, &a), (up, must_descend)) in row.iter().zip(parent_row).zip(sums) {
                    *up = (*up).min(a.climb());
                    *must_descend |= a == own.farther();
                }
            }
            let sums = climb.iter().zip(&must_descend);
            for (own, (&up, &must_descend)) in cells[v * n..][..n].iter_mut().zip(sums) {
                let may_climb = !must_descend && up.without_flag() <= *own;
                *own = if *own == C::UNREACHED || may_climb {
                    up
                } else {
                    *own
                };
            }
        }
        Self {
            n,
            cells,
            position: Some(position),
            weights: Vec::new(),
            down_up: None,
        }
        .checked()
    }

    /// On a connected graph, a cell at the limit means that the cell type is too narrow.
    fn checked(self) -> Result<Self, EngineStop> {
        let limit = C::UNREACHED.hops() - 1;
        let fits = self.cells.par_iter().all(|c| c.hops() < limit);
        if fits {
            Ok(self)
        } else {
            Err(EngineStop::CellOverflow)
        }
    }

    /// Cells of one source by destination.
    pub(crate) fn row(&self, v: usize) -> &[C] {
        &self.cells[v * self.n..][..self.n]
    }

    /// Cell of a pair.
    pub(crate) fn cell(&self, v: usize, dest: usize) -> C {
        self.cells[v * self.n + dest]
    }

    /// Sets the cell of a pair.
    pub(crate) fn set(&mut self, v: usize, dest: usize, cell: C) {
        self.cells[v * self.n + dest] = cell;
    }

    /// Whether `peer` is above `v`.
    fn is_up(&self, v: usize, peer: usize) -> bool {
        self.position
            .as_ref()
            .is_some_and(|position| position[peer] < position[v])
    }

    /// Weight of the links from a switch to a neighbour, in hops.
    fn weight(&self, v: usize, peer: usize) -> usize {
        let found = self
            .weights
            .binary_search_by_key(&(v, peer), |&(v, peer, _)| (v, peer));
        found.map_or(1, |i| usize::from(self.weights[i].2))
    }

    /// Whether `peer` is a legal next hop of its neighbour `v` towards `dest`.
    pub(crate) fn is_next_hop(&self, v: usize, peer: usize, dest: usize) -> bool {
        let cell = self.cell(v, dest);
        let next = self.cell(peer, dest);
        if !self.weights.is_empty() {
            return cell.hops() == next.hops() + self.weight(v, peer);
        }
        if let Some(pairs) = &self.down_up {
            let nearer = cell.hops() == next.hops() + 1;
            if let Some(is_next_hop) = pairs.is_next_hop(v, peer, dest, nearer) {
                return is_next_hop;
            }
        }
        if self.is_up(v, peer) {
            by_climbing(cell, next)
        } else {
            by_descending(cell, next)
        }
    }

    /// Calls `mark` for every destination in order, with whether the neighbour in `slot` is a legal
    /// next hop.
    #[inline(always)]
    pub(crate) fn next_hops(&self, v: usize, slot: Slot, mut mark: impl FnMut(usize, bool)) {
        if self.down_up.is_some() {
            return (0..self.n).for_each(|d| mark(d, self.is_next_hop(v, slot.peer, d)));
        }
        let pairs = self.row(v).iter().zip(self.row(slot.peer)).enumerate();
        if self.is_up(v, slot.peer) {
            pairs.for_each(|(d, (&own, &next))| mark(d, by_climbing(own, next)));
        } else {
            pairs.for_each(|(d, (&own, &next))| mark(d, by_descending(own, next)));
        }
    }

    /// Hops of all paths between end ports, per ordered pair of end ports.
    pub(crate) fn host_hops(&self, graph: &Graph) -> u64 {
        (0..self.n)
            .into_par_iter()
            .filter(|&v| graph.hosts[v] > 0)
            .map(|v| {
                let row = self.row(v).iter().zip(&graph.hosts);
                u64::from(graph.hosts[v])
                    * row
                        .map(|(c, &h)| c.hops() as u64 * u64::from(h))
                        .sum::<u64>()
            })
            .sum()
    }
}

impl HopMatrix<u16> {
    /// Shortest paths with weighted links: (switch, neighbour, hops).
    pub(crate) fn weighted(
        graph: &Graph,
        mut weights: Vec<(usize, usize, u16)>,
    ) -> Result<Self, EngineStop> {
        weights.sort_unstable();
        weights.dedup_by_key(|&mut (v, peer, _)| (v, peer));
        let n = graph.len();
        let mut matrix = Self {
            n,
            cells: vec![u16::UNREACHED; n * n],
            position: None,
            weights,
            down_up: None,
        };
        for dest in 0..n {
            let mut queue = BinaryHeap::from([Reverse((0, dest))]);
            matrix.cells[dest * n + dest] = 0;
            while let Some(Reverse((hops, v))) = queue.pop() {
                if hops > matrix.cell(v, dest).hops() {
                    continue;
                }
                for slot in graph.slots(v) {
                    let farther = hops + matrix.weight(slot.peer, v);
                    if farther < matrix.cell(slot.peer, dest).hops() {
                        matrix.cells[slot.peer * n + dest] =
                            u16::try_from(farther).map_err(|_| EngineStop::CellOverflow)?;
                        queue.push(Reverse((farther, slot.peer)));
                    }
                }
            }
        }
        matrix.checked()
    }
}

/// A path that starts with a climb goes to any neighbour above that is one hop nearer.
#[inline(always)]
fn by_climbing<C: HopCell>(cell: C, next: C) -> bool {
    cell == next.climb()
}

/// Any path may descend to a neighbour that is one hop nearer and descends as well.
#[inline(always)]
fn by_descending<C: HopCell>(cell: C, next: C) -> bool {
    cell.without_flag() == next.farther()
}

/// One row to write and another to read.
fn two_rows<C>(cells: &mut [C], n: usize, write: usize, read: usize) -> (&mut [C], &[C]) {
    if write < read {
        let (low, high) = cells.split_at_mut(read * n);
        (&mut low[write * n..][..n], &high[..n])
    } else {
        let (low, high) = cells.split_at_mut(write * n);
        (&mut high[..n], &low[read * n..][..n])
    }
}

/// Indices of the set bits of a word, ascending.
pub(crate) struct SetBits(pub(crate) u64);

impl Iterator for SetBits {
    type Item = usize;
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            bit
        })
    }
}
