//! Detection of fabrics of diameter 2: at most two hops between all switches with end ports.

use std::fmt;

use crate::topology::Topology;

/// Percentage of the pairs that may be more than two hops apart because links are missing.
const DISTANT_PERCENT_MAX: usize = 40;

/// Distances between the switches with end ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiameterTwo {
    /// Number of switches with end ports.
    pub switches: usize,
    /// Number of ordered pairs of them.
    pub pairs: usize,
    /// Number of pairs that are more than two hops apart.
    pub distant: usize,
}

impl DiameterTwo {
    /// Whether all pairs are at most two hops apart.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.distant == 0
    }

    /// Whether most pairs are at most two hops apart, and some are two.
    #[must_use]
    pub const fn is_near(&self) -> bool {
        self.switches > 2 && self.distant * 100 <= self.pairs * DISTANT_PERCENT_MAX
    }
}

impl fmt::Display for DiameterTwo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete() {
            return write!(f, "diameter 2: {} switches with hosts", self.switches);
        }
        write!(
            f,
            "near diameter 2: {} switches with hosts, {:.1} % of the pairs are more than two hops apart",
            self.switches,
            self.distant as f64 * 100.0 / self.pairs as f64
        )
    }
}

/// Counts the pairs of switches with end ports that are more than two hops apart.
#[must_use]
pub fn diameter_two(topo: &Topology) -> DiameterTwo {
    let graph = topo.graph();
    let n = graph.len();
    let with_hosts: Vec<usize> = (0..n).filter(|&v| graph.hosts[v] > 0).collect();
    // By switch: the last switch from which it was reached.
    let mut reached_from = vec![usize::MAX; n];
    let mut near = 0;
    for &from in &with_hosts {
        reached_from[from] = from;
        for first in graph.slots(from) {
            for second in std::iter::once(first).chain(graph.slots(first.peer)) {
                if std::mem::replace(&mut reached_from[second.peer], from) != from
                    && graph.hosts[second.peer] > 0
                {
                    near += 1;
                }
            }
        }
    }
    let pairs = with_hosts.len() * with_hosts.len().saturating_sub(1);
    DiameterTwo {
        switches: with_hosts.len(),
        pairs,
        distant: pairs - near,
    }
}
