//! A topology as a plain graph: one edge between two switches, however many cables there are.
//!
//! Vertices are numbered by LID, so whatever is found in it does not depend on the order in which switches were
//! discovered. Owned by one search for a structure.

use crate::topology::{SwitchIdx, Topology};

/// The graph, in compressed rows.
#[derive(Debug)]
pub(crate) struct Plain {
    /// The switch of each vertex.
    pub(crate) switch: Vec<usize>,
    /// The two vertices of each edge, the lower first.
    pub(crate) edges: Vec<(usize, usize)>,
    base: Vec<usize>,
    /// Neighbour and edge.
    neighbours: Vec<(usize, usize)>,
}

impl Plain {
    pub(crate) fn new(topo: &Topology) -> Self {
        let switch: Vec<usize> = topo.by_lid().into_iter().map(SwitchIdx::index).collect();
        let mut vertex = vec![0; switch.len()];
        for (v, &s) in switch.iter().enumerate() {
            vertex[s] = v;
        }
        let mut edges = Vec::new();
        for (v, &s) in switch.iter().enumerate() {
            let peers = topo.links(SwitchIdx::at(s)).iter();
            edges.extend(
                peers
                    .map(|l| (v, vertex[l.peer.index()]))
                    .filter(|(a, b)| a < b),
            );
        }
        edges.sort_unstable();
        edges.dedup();
        let mut ends: Vec<(usize, usize, usize)> = edges
            .iter()
            .enumerate()
            .flat_map(|(e, &(a, b))| [(a, b, e), (b, a, e)])
            .collect();
        ends.sort_unstable();
        let base = (0..=switch.len())
            .map(|v| ends.partition_point(|end| end.0 < v))
            .collect();
        Self {
            switch,
            edges,
            base,
            neighbours: ends.into_iter().map(|(_, b, e)| (b, e)).collect(),
        }
    }

    /// How many vertices there are.
    pub(crate) fn len(&self) -> usize {
        self.switch.len()
    }

    /// Neighbours with the edges to them, ascending.
    pub(crate) fn neighbours(&self, v: usize) -> &[(usize, usize)] {
        &self.neighbours[self.base[v]..self.base[v + 1]]
    }

    /// Whether every vertex can be reached from every other.
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
