//! The plan that shapes draw and options change: nodes and cables without GUIDs, speeds and order.

use ferrosm_mad::attr::NodeType;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Ports of a host, whose GUIDs must fit before the next node's.
pub(super) const HOST_PORTS: usize = 15;

/// A port of a plan; numbers above 254 are refused before the fabric is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlanPort {
    pub(super) node: usize,
    pub(super) port: usize,
}

/// A node of a plan.
#[derive(Debug, Clone)]
pub(super) struct PlanNode {
    pub(super) kind: NodeType,
    pub(super) name: String,
    pub(super) ports: usize,
    /// Ports 1 to `used` are cabled or were.
    pub(super) used: usize,
    /// The switch that an aggregation CA sits in.
    pub(super) inside: Option<usize>,
}

impl PlanNode {
    /// A place where programs run, and a subnet manager too.
    pub(super) fn is_host(&self) -> bool {
        self.kind == NodeType::Ca && self.inside.is_none()
    }
}

/// Nodes and cables before they have GUIDs, speeds and an order.
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

    /// A new host on a switch.
    pub(super) fn host(&mut self, name: &str, switch: usize) -> usize {
        let host = self.add(NodeType::Ca, format!("{name} mlx5_0"), 1);
        self.link(host, switch);
        host
    }

    /// A cable between the next ports of two nodes; a node without a free port grows.
    pub(super) fn link(&mut self, a: usize, b: usize) {
        let a = self.next_port(a);
        let b = self.next_port(b);
        self.links.push((a, b));
    }

    /// The next port of a node, which grows where it has none.
    pub(super) fn next_port(&mut self, node: usize) -> PlanPort {
        let n = &mut self.nodes[node];
        n.used += 1;
        n.ports = n.ports.max(n.used);
        PlanPort { node, port: n.used }
    }

    pub(super) fn is_switch(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeType::Switch
    }

    /// Whether a cable joins two different switches.
    pub(super) fn is_trunk(&self, link: (PlanPort, PlanPort)) -> bool {
        link.0.node != link.1.node && self.is_switch(link.0.node) && self.is_switch(link.1.node)
    }

    /// For each node, the number of hosts cabled to it.
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

/// A number below `bound`, the same on every machine; the bias of one in 2^64 / bound does not
/// matter here.
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
    fn drawn_numbers_stay_below_their_bound_and_reach_it() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[below(&mut rng, 5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
