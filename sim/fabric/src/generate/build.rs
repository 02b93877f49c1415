//! Builds the description of a fabric from a checked plan.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use super::extras::TopologyOptions;
use super::plan::{Plan, PlanNode, PlanPort, below, shuffle};
use crate::hardware;
use crate::index::index_to_u8;
use crate::spec::{FabricSpec, LinkSpec, NodeOptions, NodeSpec, PortAt};

/// Distance between node GUIDs, with room for port GUIDs.
const GUID_STRIDE: u64 = 16;
const SWITCH_GUIDS: u64 = 0x0002_c903_0000_0000;
const CA_GUIDS: u64 = 0x0002_c904_0000_0000;

/// Assigns GUIDs, device IDs, speeds and the order of nodes.
pub(super) fn build(plan: &Plan, options: &TopologyOptions, fastest: LinkSpeed) -> FabricSpec {
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
        // The SM attaches to the first record.
        if let Some(first_host) = order.iter().position(|n| plan.nodes[*n].is_host()) {
            order.swap(0, first_host);
        }
    } else {
        order.sort_by_key(|n| record_rank(&plan.nodes[*n]));
    }
    let mut position = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        position[*node] = at;
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
    let at = |port: PlanPort| PortAt {
        node: position[port.node],
        port: index_to_u8(port.port),
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
    let base_guid = guid(node);
    let num_ports = index_to_u8(n.ports);
    let port_guids: Vec<PortGuid> = if n.kind == NodeType::Switch {
        vec![PortGuid(base_guid)]
    } else {
        (1..=u64::from(num_ports))
            .map(|p| PortGuid(base_guid + p))
            .collect()
    };
    NodeSpec {
        kind: n.kind,
        description: n.name.clone(),
        node_guid: NodeGuid(base_guid),
        // An aggregation CA has the system image GUID of its switch.
        system_image_guid: SystemImageGuid(n.inside.map_or(base_guid, guid)),
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
