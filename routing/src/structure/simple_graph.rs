//! A topology as a simple graph: one edge between two switches for any number of parallel links.
//!
//! Vertices are numbered by LID, so that results do not depend on the discovery order.

use crate::topology::Topology;

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
        let graph = topo.graph();
        let switch = graph.by_lid.clone();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (v, &s) in switch.iter().enumerate() {
            let neighbours = graph.slots(s).iter().map(|slot| graph.lid_rank[slot.peer]);
            edges.extend(neighbours.filter(|&u| v < u).map(|u| (v, u)));
        }
        edges.sort_unstable();
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
}
