//! Plan of a fabric: nodes and links before GUIDs, speeds and order are assigned.

use ferrosm_mad::attr::NodeType;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Maximum number of host ports: their GUIDs must fit before the next node's.
pub(super) const MAX_HOST_PORTS: usize = 15;

/// A port in a plan; numbers above 254 are rejected before the fabric is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlanPort {
    pub(super) node: usize,
    pub(super) port: usize,
}

/// A node in a plan.
#[derive(Debug, Clone)]
pub(super) struct PlanNode {
    pub(super) kind: NodeType,
    pub(super) name: String,
    pub(super) ports: usize,
    /// Number of ports with a link, including dropped links.
    pub(super) used: usize,
    /// The switch that contains an aggregation CA.
    pub(super) inside: Option<usize>,
}

impl PlanNode {
    /// Whether it is a host, where programs and the SM can run.
    pub(super) fn is_host(&self) -> bool {
        self.kind == NodeType::Ca && self.inside.is_none()
    }
}

/// Nodes and links of a planned fabric.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) nodes: Vec<PlanNode>,
    pub(super) links: Vec<(PlanPort, PlanPort)>,
}

impl Plan {
    pub(super) fn add(&mut self, kind: NodeType, name: String, ports: usize) -> usize {
        self.nodes.push(PlanNode {
            kind,
            name,
            ports,
            used: 0,
            inside: None,
        });
        self.nodes.len() - 1
    }

    pub(super) fn switch(&mut self, name: String, ports: usize) -> usize {
        self.add(NodeType::Switch, name, ports)
    }

    /// Adds a host to a switch.
    pub(super) fn host(&mut self, name: &str, switch: usize) -> usize {
        let host = self.add(NodeType::Ca, format!("{name} mlx5_0"), 1);
        self.link(host, switch);
        host
    }

    /// Connects the next ports of two nodes; a node without a free port gets one more.
    pub(super) fn link(&mut self, a: usize, b: usize) {
        let a = self.next_port(a);
        let b = self.next_port(b);
        self.links.push((a, b));
    }

    /// The next port of a node, added if none is free.
    pub(super) fn next_port(&mut self, node: usize) -> PlanPort {
        let n = &mut self.nodes[node];
        n.used += 1;
        n.ports = n.ports.max(n.used);
        PlanPort { node, port: n.used }
    }

    pub(super) fn is_switch(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeType::Switch
    }

    /// Whether a link connects two different switches.
    pub(super) fn is_trunk(&self, link: (PlanPort, PlanPort)) -> bool {
        link.0.node != link.1.node && self.is_switch(link.0.node) && self.is_switch(link.1.node)
    }

    /// Number of hosts attached to each node.
    pub(super) fn hosts_on(&self) -> Vec<usize> {
        let mut count = vec![0; self.nodes.len()];
        for (a, b) in &self.links {
            if self.nodes[a.node].is_host() {
                count[b.node] += 1;
            }
            if self.nodes[b.node].is_host() {
                count[a.node] += 1;
            }
        }
        count
    }
}

/// A random number below `bound`, equal on all machines. The bias of bound / 2^64 is negligible.
pub(super) fn below(rng: &mut ChaCha8Rng, bound: usize) -> usize {
    let wide = u128::from(rng.next_u64()) * (bound as u128);
    usize::try_from(wide >> 64).unwrap_or(0)
}

/// Fisher-Yates.
pub(super) fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, i + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn random_numbers_cover_the_range_below_the_bound() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[below(&mut rng, 5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
