//! For every switch and every destination switch: how far it is, and which neighbours may be the
//! next hop.
//!
//! One cell per pair, one or two bytes. Its low bits are the number of hops; its top bit says that
//! the first hop may climb. Rows are per source switch, so that everything is a sweep over whole
//! rows: a row is computed from its neighbours' rows, and next hops are found by comparing them.
//! Built once per engine run, then immutable.
//!
//! Up/down routing with one next hop per (switch, destination) must not let a packet climb after it
//! went down, whoever sent it. The rule: a switch that has a way down, and to which a switch above
//! must send packets for this destination, goes down. Any other switch may climb where that is no
//! longer than going down; where it may, no switch above sends it such packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::cell::{HopCell, Stop};
use super::down_up_pairs::DownUpPairs;
use super::graph::{Graph, Slot};

/// The matrix of cells.
#[derive(Debug)]
pub(crate) struct HopMatrix<C> {
    n: usize,
    cells: Vec<C>,
    /// Place of each switch from the top; `None` if there is no up and down.
    place: Option<Vec<usize>>,
    /// Hops that each slot counts as, by switch and neighbour, sorted; empty: one each.
    weights: Vec<(usize, usize, u16)>,
    /// Pairs that go down and up instead of up and down.
    pub(crate) down_up: Option<DownUpPairs>,
}

impl<C: HopCell> HopMatrix<C> {
    /// Shortest paths, whatever their turns.
    pub(crate) fn shortest(graph: &Graph) -> Result<Self, Stop> {
        let n = graph.len();
        let mut cells = vec![C::FAR; n * n];
        // 64 destinations at a time, one bit each. Cables go both ways: the row of a destination is
        // its column.
        cells
            .par_chunks_mut((64 * n).max(1))
            .enumerate()
            .for_each(|(word, rows)| {
                let (mut seen, mut edge, mut next) = (vec![0u64; n], vec![0u64; n], vec![0u64; n]);
                for bit in 0..rows.len() / n {
                    let s = word * 64 + bit;
                    edge[s] = 1 << bit;
                    seen[s] = 1 << bit;
                    rows[bit * n + s] = C::HERE;
                }
                let mut hops = C::HERE;
                let mut alive = true;
                while alive {
                    alive = false;
                    hops = hops.farther();
                    for v in 0..n {
                        next[v] =
                            graph.slots(v).iter().fold(0, |m, slot| m | edge[slot.peer]) & !seen[v];
                    }
                    for v in 0..n {
                        seen[v] |= next[v];
                        alive |= next[v] != 0;
                        for bit in Bits(next[v]) {
                            rows[bit * n + v] = hops;
                        }
                    }
                    std::mem::swap(&mut edge, &mut next);
                }
            });
        Self {
            n,
            cells,
            place: None,
            weights: Vec::new(),
            down_up: None,
        }
        .checked()
    }

    /// Shortest up/down paths for this order of switches, from the top.
    pub(crate) fn up_down(graph: &Graph, order: &[usize]) -> Result<Self, Stop> {
        let n = graph.len();
        let mut place = vec![0; n];
        for (i, &v) in order.iter().enumerate() {
            place[v] = i;
        }
        let mut cells = vec![C::FAR; n * n];
        for &v in order.iter().rev() {
            cells[v * n + v] = C::HERE;
            for slot in graph.slots(v).iter().filter(|s| place[s.peer] > place[v]) {
                let (row, below) = two_rows(&mut cells, n, v, slot.peer);
                for (cell, &b) in row.iter_mut().zip(below) {
                    *cell = (*cell).min(b.farther());
                }
            }
        }
        // From the top: rows above are final, the own row still holds ways down only.
        let mut climb = vec![C::FAR; n];
        let mut wanted = vec![false; n];
        for &v in order {
            climb.fill(C::FAR.climb());
            wanted.fill(false);
            for slot in graph.slots(v).iter().filter(|s| place[s.peer] < place[v]) {
                let (row, above) = two_rows(&mut cells, n, v, slot.peer);
                let sums = climb.iter_mut().zip(&mut wanted);
                for ((own, &a), (up, wanted)) in row.iter().zip(above).zip(sums) {
                    *up = (*up).min(a.climb());
                    *wanted |= a == own.farther();
                }
            }
            let sums = climb.iter().zip(&wanted);
            for (own, (&up, &wanted)) in cells[v * n..][..n].iter_mut().zip(sums) {
                let free = !wanted && up.down() <= *own;
                *own = if *own == C::FAR || free { up } else { *own };
            }
        }
        Self {
            n,
            cells,
            place: Some(place),
            weights: Vec::new(),
            down_up: None,
        }
        .checked()
    }

    /// On a connected graph a cell at the limit means that the type was too small.
    fn checked(self) -> Result<Self, Stop> {
        let limit = C::FAR.hops() - 1;
        let fits = self.cells.par_iter().all(|c| c.hops() < limit);
        if fits {
            Ok(self)
        } else {
            Err(Stop::CellOverflow)
        }
    }

    /// Cells of one source, by destination.
    pub(crate) fn row(&self, v: usize) -> &[C] {
        &self.cells[v * self.n..][..self.n]
    }

    /// The cell of one pair.
    pub(crate) fn cell(&self, v: usize, dest: usize) -> C {
        self.cells[v * self.n + dest]
    }

    /// Enters the cell of one pair.
    pub(crate) fn set(&mut self, v: usize, dest: usize, cell: C) {
        self.cells[v * self.n + dest] = cell;
    }

    /// Whether the cable from `v` to `peer` leads up.
    fn is_up(&self, v: usize, peer: usize) -> bool {
        self.place
            .as_ref()
            .is_some_and(|place| place[peer] < place[v])
    }

    /// Hops that the way from a switch to a neighbour counts as.
    fn weight(&self, v: usize, peer: usize) -> usize {
        let at = self
            .weights
            .binary_search_by_key(&(v, peer), |&(v, peer, _)| (v, peer));
        at.map_or(1, |at| usize::from(self.weights[at].2))
    }

    /// Whether `peer` may be the next hop of its neighbour `v` towards `dest`.
    pub(crate) fn is_next_hop(&self, v: usize, peer: usize, dest: usize) -> bool {
        let (own, next) = (self.cell(v, dest), self.cell(peer, dest));
        if !self.weights.is_empty() {
            return own.hops() == next.hops() + self.weight(v, peer);
        }
        if let Some(pairs) = &self.down_up {
            let nearer = own.hops() == next.hops() + 1;
            if let Some(may) = pairs.is_next_hop(v, peer, dest, nearer) {
                return may;
            }
        }
        if self.is_up(v, peer) {
            by_climbing(own, next)
        } else {
            by_descending(own, next)
        }
    }

    /// Calls `mark` for every destination, in order, with whether the neighbour in `slot` may be
    /// the next hop.
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

    /// Hops of all paths between end ports, each counted once per ordered pair of end ports.
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
    /// Shortest paths where the ways from a switch to a neighbour count as several hops: (switch, neighbour, hops).
    pub(crate) fn weighted(
        graph: &Graph,
        mut weights: Vec<(usize, usize, u16)>,
    ) -> Result<Self, Stop> {
        weights.sort_unstable();
        weights.dedup_by_key(|&mut (v, peer, _)| (v, peer));
        let n = graph.len();
        let mut matrix = Self {
            n,
            cells: vec![u16::FAR; n * n],
            place: None,
            weights,
            down_up: None,
        };
        for dest in 0..n {
            let mut queue = BinaryHeap::from([Reverse((0, dest))]);
            matrix.cells[dest * n + dest] = 0;
            while let Some(Reverse((hops, at))) = queue.pop() {
                if hops > matrix.cell(at, dest).hops() {
                    continue;
                }
                for slot in graph.slots(at) {
                    let farther = hops + matrix.weight(slot.peer, at);
                    if farther < matrix.cell(slot.peer, dest).hops() {
                        matrix.cells[slot.peer * n + dest] =
                            u16::try_from(farther).map_err(|_| Stop::CellOverflow)?;
                        queue.push(Reverse((farther, slot.peer)));
                    }
                }
            }
        }
        matrix.checked()
    }
}

/// A cell that may climb does, to whatever is one hop nearer.
#[inline(always)]
fn by_climbing<C: HopCell>(own: C, next: C) -> bool {
    own == next.climb()
}

/// Every cell may descend, to a neighbour that is one hop nearer and descends too.
#[inline(always)]
fn by_descending<C: HopCell>(own: C, next: C) -> bool {
    own.down() == next.farther()
}

/// A row to write and another to read.
fn two_rows<C>(cells: &mut [C], n: usize, write: usize, read: usize) -> (&mut [C], &[C]) {
    if write < read {
        let (low, high) = cells.split_at_mut(read * n);
        (&mut low[write * n..][..n], &high[..n])
    } else {
        let (low, high) = cells.split_at_mut(write * n);
        (&mut high[..n], &low[read * n..][..n])
    }
}

/// Numbers of the set bits of a word, ascending.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
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
