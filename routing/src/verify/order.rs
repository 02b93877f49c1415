//! An order of the nodes of a graph without circles in which every node stands before those that it waits for, kept as
//! dependencies come (Pearce and Kelly 2007). Those that go need no work.

use super::counts::Graph;

/// Each node's place.
#[derive(Debug, Clone)]
pub(super) struct Order {
    place: Vec<u32>,
}

impl Order {
    /// An order of a graph; `None` if there is a circle in it.
    pub(super) fn new(graph: &Graph<'_>) -> Option<Self> {
        let n = graph.nodes();
        let mut waits = vec![0u32; n];
        for node in 0..n {
            graph.before(node, |first| waits[first] += 1);
        }
        let mut place = vec![0; n];
        let mut ready: Vec<usize> = (0..n).filter(|&node| waits[node] == 0).collect();
        // From the end, those that wait for nobody; level by level, so that what comes later mostly fits.
        let (mut next, mut at) = (n, 0);
        while let Some(&node) = ready.get(at) {
            at += 1;
            next -= 1;
            place[node] = u32::try_from(next).unwrap_or(u32::MAX);
            graph.before(node, |first| {
                waits[first] -= 1;
                if waits[first] == 0 {
                    ready.push(first);
                }
            });
        }
        (next == 0).then_some(Self { place })
    }

    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.place.as_slice())
    }

    /// Makes room for dependencies that were added to the graph; `false` if they close a circle.
    pub(super) fn add(&mut self, graph: &Graph<'_>, fresh: &[(u32, u32)]) -> bool {
        // All of them are in the graph at once. Those that already fit are never followed against the order, and each of
        // the others is made to fit in turn, with what the ones after it ask for left out of sight.
        let misfit = |place: &[u32], &(a, b): &(u32, u32)| place[a as usize] >= place[b as usize];
        let mut left: Vec<(u32, u32)> = fresh
            .iter()
            .copied()
            .filter(|e| misfit(&self.place, e))
            .collect();
        left.reverse();
        let mut hidden: std::collections::BTreeSet<(u32, u32)> = left.iter().copied().collect();
        while let Some((first, second)) = left.pop() {
            hidden.remove(&(first, second));
            if misfit(&self.place, &(first, second))
                && !self.fit(graph, &hidden, first as usize, second as usize)
            {
                return false;
            }
        }
        true
    }

    /// Moves what must stand before `first` in front of what must stand behind `second`.
    fn fit(
        &mut self,
        graph: &Graph<'_>,
        hidden: &std::collections::BTreeSet<(u32, u32)>,
        first: usize,
        second: usize,
    ) -> bool {
        let seen = |a: usize, b: usize| {
            let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
            hidden.is_empty() || !hidden.contains(&(number(a), number(b)))
        };
        let (low, high) = (self.place[second], self.place[first]);
        let mut circle = first == second;
        let place = &self.place;
        let behind = collect(second, |node, open| {
            graph.after(node, |next| {
                circle |= next == first && seen(node, next);
                if place[next] < high && seen(node, next) {
                    open.push(next);
                }
            });
        });
        if circle {
            return false;
        }
        let before = collect(first, |node, open| {
            graph.before(node, |prev| {
                if place[prev] > low && seen(prev, node) {
                    open.push(prev);
                }
            });
        });
        let by_place = |mut nodes: Vec<usize>| {
            nodes.sort_unstable_by_key(|&node| place[node]);
            nodes
        };
        let nodes: Vec<usize> = by_place(before)
            .into_iter()
            .chain(by_place(behind))
            .collect();
        let mut places: Vec<u32> = nodes.iter().map(|&node| place[node]).collect();
        places.sort_unstable();
        for (node, place) in nodes.into_iter().zip(places) {
            self.place[node] = place;
        }
        true
    }
}

/// All nodes that are reached from one, itself included.
fn collect(from: usize, mut next: impl FnMut(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut found = std::collections::BTreeSet::from([from]);
    let mut open = vec![from];
    let mut more = Vec::new();
    while let Some(node) = open.pop() {
        next(node, &mut more);
        open.extend(more.drain(..).filter(|&n| found.insert(n)));
    }
    found.into_iter().collect()
}
