//! How nodes and ports are named, and where they are.

use ferrosm_api::fabric::{LinkEnd, NodeKind};
use ferrosm_api::object::ObjectName;
use ferrosm_fabric::snapshot::{EndPortIdx, PortIdx, Snapshot};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortNum;

/// An end port, named in all ways.
pub(super) fn end_port_name(snapshot: &Snapshot, at: EndPortIdx) -> ObjectName {
    let end_port = snapshot.end_port(at);
    ObjectName {
        guid: end_port.guid.to_string(),
        name: snapshot.node(end_port.node).name(),
        location: port_location(snapshot, end_port.port),
    }
}

pub(super) fn link_end(snapshot: &Snapshot, at: PortIdx) -> LinkEnd {
    let node = snapshot.node(at.node());
    LinkEnd {
        guid: node.guid.to_string(),
        name: node.name(),
        port: at.num().0,
    }
}

/// Where a node is: its name for a switch, otherwise the port at the other end of its first link.
pub(super) fn node_location(snapshot: &Snapshot, slot: u32) -> String {
    let node = snapshot.node(slot);
    let first = snapshot.linked_ports(slot).next();
    match first {
        Some((_, peer)) if !node.is_switch() => link_end(snapshot, peer).location(),
        Some(_) | None => node.name(),
    }
}

/// Where a port is: for a switch its name, and the number of a physical port; for a host the port
/// at the other end of its link, or the host's own without a link.
pub(super) fn port_location(snapshot: &Snapshot, at: PortIdx) -> String {
    let is_switch = snapshot.is_switch(at.node());
    match snapshot.peer(at) {
        Some(peer) if !is_switch => link_end(snapshot, peer).location(),
        _ if at.num() == PortNum::ZERO => snapshot.node(at.node()).name(),
        Some(_) | None => link_end(snapshot, at).location(),
    }
}

pub(crate) const fn node_kind(node_type: NodeType) -> NodeKind {
    match node_type {
        NodeType::Switch => NodeKind::Switch,
        NodeType::Router => NodeKind::Router,
        _ => NodeKind::Ca,
    }
}
