//! Devices that do not respond: ports that are worth another query, and an SM that reaches none.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{Node, ObservedFabric, Port, PortRef};

use super::owners::duplicate_owner;
use crate::event::NoLinkReason;

/// Ports with a link and an unknown or excluded neighbour, which may respond by now.
pub(crate) fn silent_ports(fabric: &ObservedFabric) -> BTreeSet<PortRef> {
    let local = fabric.local();
    let mut ports = BTreeSet::new();
    for (n, node) in fabric.nodes() {
        for num in node.physical_ports() {
            let p = PortRef::new(n, num);
            let Some(port) = node.ports.get(num.index()) else {
                continue;
            };
            if port.link.is_none() && port.is_up() {
                ports.insert(p);
            }
            // The port on the other side asks again.
            if port.exclusion.is_some() {
                ports.extend(fabric.peer(p));
            }
        }
    }
    ports.retain(|p| {
        let is_switch = fabric.get(p.node).is_some_and(Node::is_switch);
        let is_up = fabric.port(*p).is_some_and(Port::is_up);
        is_up && (is_switch || local == Some(*p))
    });
    ports
}

/// Switch ports connected to the node whose GUID a node behind `p` uses as well.
pub(crate) fn ports_to_guid_owner(fabric: &ObservedFabric, p: PortRef) -> Vec<PortRef> {
    let exclusion_reason = |p: PortRef| fabric.port(p)?.exclusion.as_deref().copied();
    let reason = exclusion_reason(p).or_else(|| fabric.peer(p).and_then(exclusion_reason));
    let Some(owner) = reason.and_then(|reason| duplicate_owner(fabric, reason)) else {
        return Vec::new();
    };
    let node = fabric.get(owner.node);
    node.into_iter()
        .flat_map(Node::physical_ports)
        .filter_map(|port| fabric.peer(PortRef::new(owner.node, port)))
        .filter(|peer| fabric.get(peer.node).is_some_and(Node::is_switch))
        .collect()
}

/// Why an SM at this CA port reaches no device although its port has a link. It neither becomes
/// nor, if it knows another SM, stays master, because it would serve only itself: with an outdated
/// M_Key, for example, while the SM that handed over to it could still serve the subnet.
pub(crate) fn isolation(fabric: &ObservedFabric, local: PortRef) -> Option<NoLinkReason> {
    if fabric.get(local.node).is_some_and(Node::is_switch) {
        return None;
    }
    let is_known = fabric.port(local).is_some_and(|port| port.known);
    let name = fabric.port_name(local);
    if !is_known {
        return Some(NoLinkReason::PortSilent(name));
    }
    let is_alone = fabric.peer(local).is_none();
    is_alone.then_some(NoLinkReason::NeighbourSilent(name))
}
