//! A topological order of the channel dependency graph, maintained as dependencies are added
//! (Pearce and Kelly 2007). Removed dependencies need no update.

use super::counts::CountedGraph;
use crate::topology::index_to_u32;

/// A topological order: each node is before the nodes that it depends on.
#[derive(Debug, Clone)]
pub(super) struct NodeOrder {
    position: Vec<u32>,
}

impl NodeOrder {
    /// Orders a graph; `None` if it has a cycle.
    pub(super) fn new(graph: &CountedGraph<'_>) -> Option<Self> {
        let n = graph.nodes();
        let mut num_dependencies = vec![0u32; n];
        for node in 0..n {
            graph.before(node, |first| num_dependencies[first] += 1);
        }
        let mut position = vec![0; n];
        let mut ready: Vec<usize> = (0..n).filter(|&node| num_dependencies[node] == 0).collect();
        // Positions are assigned from the end: nodes without dependencies first, level by level, so
        // that most dependencies added afterwards agree with the order.
        let mut next = n;
        let mut at = 0;
        while let Some(&node) = ready.get(at) {
            at += 1;
            next -= 1;
            position[node] = index_to_u32(next);
            graph.before(node, |first| {
                num_dependencies[first] -= 1;
                if num_dependencies[first] == 0 {
                    ready.push(first);
                }
            });
        }
        (next == 0).then_some(Self { position })
    }

    /// Memory use, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.position.as_slice())
    }

    /// Updates the order for dependencies that were added to the graph; `false` if they close a
    /// cycle.
    pub(super) fn add(
        &mut self,
        graph: &CountedGraph<'_>,
        new_dependencies: &[(u32, u32)],
    ) -> bool {
        // All of them are in the graph already. Those that agree with the order need no work. The
        // others are processed in turn, each while the ones after it are hidden.
        let violates =
            |position: &[u32], &(a, b): &(u32, u32)| position[a as usize] >= position[b as usize];
        let mut pending: Vec<(u32, u32)> = new_dependencies
            .iter()
            .copied()
            .filter(|e| violates(&self.position, e))
            .collect();
        pending.reverse();
        let mut hidden: std::collections::BTreeSet<(u32, u32)> = pending.iter().copied().collect();
        while let Some((first, second)) = pending.pop() {
            hidden.remove(&(first, second));
            if violates(&self.position, &(first, second))
                && !self.reorder(graph, &hidden, first as usize, second as usize)
            {
                return false;
            }
        }
        true
    }

    /// Moves the predecessors of `first` before the successors of `second`; `false` if the
    /// dependency closes a cycle.
    fn reorder(
        &mut self,
        graph: &CountedGraph<'_>,
        hidden: &std::collections::BTreeSet<(u32, u32)>,
        first: usize,
        second: usize,
    ) -> bool {
        let is_visible = |a: usize, b: usize| {
            hidden.is_empty() || !hidden.contains(&(index_to_u32(a), index_to_u32(b)))
        };
        let low = self.position[second];
        let high = self.position[first];
        let mut cycle = first == second;
        let position = &self.position;
        let successors = collect(second, |node, open| {
            graph.after(node, |next| {
                cycle |= next == first && is_visible(node, next);
                if position[next] < high && is_visible(node, next) {
                    open.push(next);
                }
            });
        });
        if cycle {
            return false;
        }
        let predecessors = collect(first, |node, open| {
            graph.before(node, |prev| {
                if position[prev] > low && is_visible(prev, node) {
                    open.push(prev);
                }
            });
        });
        let by_position = |mut nodes: Vec<usize>| {
            nodes.sort_unstable_by_key(|&node| position[node]);
            nodes
        };
        let nodes: Vec<usize> = by_position(predecessors)
            .into_iter()
            .chain(by_position(successors))
            .collect();
        let mut positions: Vec<u32> = nodes.iter().map(|&node| position[node]).collect();
        positions.sort_unstable();
        for (node, position) in nodes.into_iter().zip(positions) {
            self.position[node] = position;
        }
        true
    }
}

/// All nodes reachable from one, itself included.
fn collect(from: usize, mut next: impl FnMut(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut reached = std::collections::BTreeSet::from([from]);
    let mut open = vec![from];
    let mut more = Vec::new();
    while let Some(node) = open.pop() {
        next(node, &mut more);
        open.extend(more.drain(..).filter(|&n| reached.insert(n)));
    }
    reached.into_iter().collect()
}
