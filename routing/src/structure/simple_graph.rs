//! A topology as a simple graph: one edge between two switches for any number of parallel links.
//!
//! Vertices are numbered by LID, so that results do not depend on the discovery order.

use crate::topology::{SwitchIdx, Topology};

/// The graph, in compressed sparse rows.
#[derive(Debug)]
pub(crate) struct SimpleGraph {
    /// The switch of each vertex.
    pub(crate) switch: Vec<usize>,
    /// The two vertices of each edge, the lower first.
    pub(crate) edges: Vec<(usize, usize)>,
    base: Vec<usize>,
    /// Neighbours with the edges to them.
    neighbours: Vec<(usize, usize)>,
}

impl SimpleGraph {
    pub(crate) fn new(topo: &Topology) -> Self {
        let switch: Vec<usize> = topo.by_lid().into_iter().map(SwitchIdx::index).collect();
        let mut vertex = vec![0; switch.len()];
        for (v, &s) in switch.iter().enumerate() {
            vertex[s] = v;
        }
        let mut edges = Vec::new();
        for (v, &s) in switch.iter().enumerate() {
            edges.extend(
                topo.links(SwitchIdx::from_index(s))
                    .iter()
                    .map(|l| (v, vertex[l.peer.index()]))
                    .filter(|(a, b)| a < b),
            );
        }
        edges.sort_unstable();
        edges.dedup();
        let mut adjacent: Vec<(usize, usize, usize)> = edges
            .iter()
            .enumerate()
            .flat_map(|(e, &(a, b))| [(a, b, e), (b, a, e)])
            .collect();
        adjacent.sort_unstable();
        let base = (0..=switch.len())
            .map(|v| adjacent.partition_point(|entry| entry.0 < v))
            .collect();
        Self {
            switch,
            edges,
            base,
            neighbours: adjacent.into_iter().map(|(_, b, e)| (b, e)).collect(),
        }
    }

    /// Number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.switch.len()
    }

    /// Neighbours with the edges to them, ascending.
    pub(crate) fn neighbours(&self, v: usize) -> &[(usize, usize)] {
        &self.neighbours[self.base[v]..self.base[v + 1]]
    }

    /// Whether the graph is connected.
    pub(crate) fn connected(&self) -> bool {
        let mut seen = vec![false; self.len()];
        let mut stack: Vec<usize> = (0..self.len()).take(1).collect();
        let mut count = 0;
        while let Some(v) = stack.pop() {
            if !std::mem::replace(&mut seen[v], true) {
                count += 1;
                stack.extend(self.neighbours(v).iter().map(|&(p, _)| p));
            }
        }
        count == self.len()
    }
}
