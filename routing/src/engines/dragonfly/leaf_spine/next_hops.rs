//! The next hops of shortest paths that go up, then down in an order of the switches.
//!
//! A switch may send up to any switch, and down to a switch that sends down as well. A switch with
//! next hops both up and down counts as one that sends up, so that each of its next hops may be
//! chosen independently.
//!
//! The first switch of the order can only send down. If no neighbour of it sends down, its shortest
//! path down is fixed: the switches along it send down too. All others have a path then: a switch
//! has a neighbour above it, to which it may send.

use crate::topology::graph::Graph;
use crate::topology::index_to_u8;

/// Hops of a switch that is not reached.
const UNREACHED: u32 = u32::MAX;

/// Next hops of a switch.
pub(super) struct NextHops {
    pub(super) from: usize,
    /// Slots that lead to the next hops.
    pub(super) slots: Vec<u8>,
    /// Whether the switch is a next hop of another switch.
    pub(super) is_transit: bool,
}

/// Next hops of all other switches to a destination, the nearest first, then by LID. `order` is the
/// position of each switch.
pub(super) fn next_hops(graph: &Graph, order: &[u32], dest: usize) -> Vec<NextHops> {
    let mut found = LegalHops::new(graph, order, &[dest]).search();
    if found.len() + 1 < graph.len() {
        let descent = descent(graph, order, dest);
        found = LegalHops::new(graph, order, &descent).search();
    }
    let mut is_transit = vec![false; graph.len()];
    for hops in &found {
        for &slot in &hops.slots {
            is_transit[graph.slots(hops.from)[usize::from(slot)].peer] = true;
        }
    }
    for hops in &mut found {
        hops.is_transit = is_transit[hops.from];
    }
    found
}

struct LegalHops<'a> {
    graph: &'a Graph,
    order: &'a [u32],
    /// The fixed switches, from the destination up: switch `k` has `k` hops.
    descent: &'a [usize],
    hops: Vec<u32>,
    /// Switches that only send down.
    sends_down: Vec<bool>,
}

impl<'a> LegalHops<'a> {
    fn new(graph: &'a Graph, order: &'a [u32], descent: &'a [usize]) -> Self {
        let mut hops = vec![UNREACHED; graph.len()];
        let mut sends_down = vec![false; graph.len()];
        for (length, &v) in (0u32..).zip(descent) {
            hops[v] = length;
            sends_down[v] = true;
        }
        Self {
            graph,
            order,
            descent,
            hops,
            sends_down,
        }
    }

    fn is_down(&self, from: usize, to: usize) -> bool {
        self.order[from] < self.order[to]
    }

    fn search(mut self) -> Vec<NextHops> {
        let graph = self.graph;
        let mut found = Vec::with_capacity(graph.len());
        let mut level = self.descent[..1].to_vec();
        for length in 1u32.. {
            let mut next_level: Vec<usize> = self
                .descent
                .get(length as usize)
                .copied()
                .into_iter()
                .collect();
            for &to in &level {
                for channel in graph.channels.leaving(to) {
                    let from = graph.head(channel);
                    let is_legal = self.sends_down[to] || !self.is_down(from, to);
                    if self.hops[from] == UNREACHED && is_legal {
                        self.hops[from] = length;
                        next_level.push(from);
                    }
                }
            }
            if next_level.is_empty() {
                break;
            }
            next_level.sort_unstable_by_key(|&v| graph.lid_rank[v]);
            for &from in &next_level {
                let must_descend = self.sends_down[from];
                let mut sends_up = false;
                let mut slots = Vec::new();
                for (slot, channel) in graph.channels.leaving(from).enumerate() {
                    let to = graph.head(channel);
                    if self.hops[to] != length - 1 {
                        continue;
                    }
                    let is_down = self.is_down(from, to);
                    if (is_down || !must_descend) && (self.sends_down[to] || !is_down) {
                        slots.push(index_to_u8(slot));
                        sends_up |= !is_down;
                    }
                }
                self.sends_down[from] = !sends_up;
                found.push(NextHops {
                    from,
                    slots,
                    is_transit: false,
                });
            }
            level = next_level;
        }
        found
    }
}

/// The switches of the shortest path down to a destination from the first switch of the order,
/// beginning with the destination.
fn descent(graph: &Graph, order: &[u32], dest: usize) -> Vec<usize> {
    let mut below = vec![None; graph.len()];
    let mut reached = vec![dest];
    let mut number = 0;
    while let Some(&v) = reached.get(number) {
        number += 1;
        for slot in graph.slots(v) {
            if order[slot.peer] < order[v] && below[slot.peer].is_none() {
                below[slot.peer] = Some(v);
                reached.push(slot.peer);
            }
        }
    }
    let first = reached.iter().copied().min_by_key(|&v| order[v]);
    let mut path: Vec<usize> = std::iter::successors(first, |&v| below[v]).collect();
    path.reverse();
    path
}
