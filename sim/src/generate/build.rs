//! The plan that shapes draw and options change, and the fabric made of it.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::extras::Options;
use super::hardware;
use crate::spec::{FabricSpec, LinkSpec, NodeOptions, NodeSpec, PortAt};

/// GUIDs of nodes are this far apart, so that GUIDs of ports fit between.
const GUID_STRIDE: u64 = 16;
/// Ports of a host, whose GUIDs must fit before the next node's.
pub(super) const HOST_PORTS: usize = 15;
const SWITCH_GUIDS: u64 = 0x0002_c903_0000_0000;
const CA_GUIDS: u64 = 0x0002_c904_0000_0000;

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

/// Gives a checked plan its GUIDs, device numbers, speeds and order.
pub(super) fn build(plan: &Plan, options: &Options, fastest: LinkSpeed) -> FabricSpec {
    let mut rng = options.rng("build");
    let count = plan.nodes.len();
    let speeds: Vec<LinkSpeed> = if options.mixed_speeds {
        let known: Vec<_> = hardware::GENERATIONS
            .into_iter()
            .filter(|s| *s <= fastest)
            .collect();
        (0..count)
            .map(|_| {
                known
                    .get(below(&mut rng, known.len()))
                    .copied()
                    .unwrap_or(fastest)
            })
            .collect()
    } else {
        vec![fastest; count]
    };
    let mut order: Vec<usize> = (0..count).collect();
    let mut numbers: Vec<u64> = (0..count as u64).collect();
    if options.shuffle {
        shuffle(&mut rng, &mut order);
        shuffle(&mut rng, &mut numbers);
        // The first record is where a subnet manager attaches.
        if let Some(first_host) = order.iter().position(|n| plan.nodes[*n].is_host()) {
            order.swap(0, first_host);
        }
    } else {
        order.sort_by_key(|n| record_rank(&plan.nodes[*n]));
    }
    let mut place = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        place[*node] = at;
    }
    let guid = |node: usize| {
        let base = if plan.is_switch(node) {
            SWITCH_GUIDS
        } else {
            CA_GUIDS
        };
        base + numbers[node] * GUID_STRIDE
    };
    let nodes = order
        .iter()
        .map(|n| node_spec(plan, *n, speeds[*n], &guid))
        .collect();
    let at = |end: PlanPort| PortAt {
        node: place[end.node],
        port: u8::try_from(end.port).unwrap_or(u8::MAX),
    };
    let links = plan
        .links
        .iter()
        .map(|(a, b)| LinkSpec {
            a: at(*a),
            b: at(*b),
            width: LinkWidth(4),
            speed: speeds[a.node].min(speeds[b.node]),
        })
        .collect();
    let mut spec = FabricSpec { nodes, links };
    spec.normalise();
    spec
}

fn record_rank(node: &PlanNode) -> u8 {
    match (node.kind, node.inside) {
        (NodeType::Ca, None) => 0,
        (NodeType::Switch, _) => 1,
        (NodeType::Router, _) => 2,
        _ => 3,
    }
}

fn node_spec(plan: &Plan, node: usize, speed: LinkSpeed, guid: &dyn Fn(usize) -> u64) -> NodeSpec {
    let n = &plan.nodes[node];
    let own = guid(node);
    let num_ports = u8::try_from(n.ports).unwrap_or(u8::MAX);
    let port_guids: Vec<PortGuid> = if n.kind == NodeType::Switch {
        vec![PortGuid(own)]
    } else {
        (1..=u64::from(num_ports))
            .map(|p| PortGuid(own + p))
            .collect()
    };
    NodeSpec {
        kind: n.kind,
        description: n.name.clone(),
        node_guid: NodeGuid(own),
        // An aggregation CA belongs to the chassis of its switch.
        system_image_guid: SystemImageGuid(n.inside.map_or(own, guid)),
        num_ports,
        lids: vec![(Lid::NONE, Lmc(0)); port_guids.len()],
        port_guids,
        enhanced_port0: n.kind == NodeType::Switch,
        vendor_id: hardware::VENDOR,
        device_id: if n.inside.is_some() {
            hardware::AGGREGATION_DEVICE
        } else {
            hardware::device(n.kind, speed)
        },
        options: NodeOptions::default(),
    }
}
