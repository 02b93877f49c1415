//! Why something cannot be taken out of service: what it would cut off. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::ids::PortNum;

use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::ports::limits::switch_port;
use crate::ports::link_stability::Parts;
use crate::report::maintenance_refusal::MaintenanceRefusal;

/// Why `new` cannot be taken out of service, besides what is.
pub(super) fn refusal(
    fabric: &ObservedFabric,
    present: impl Iterator<Item = MaintenanceTarget> + Clone,
    new: &Maintenance,
) -> Option<MaintenanceRefusal> {
    let node = fabric.node_by_guid(new.target.node());
    let is_switch = |n: NodeIdx| fabric.get(n).is_some_and(Node::is_switch);
    let Some(node) = node.filter(|n| is_switch(*n)) else {
        return Some(MaintenanceRefusal::NotASwitch);
    };
    let hosts: Vec<PortRef> = match new.target {
        MaintenanceTarget::Switch(_) => hosts_at(fabric, node),
        MaintenanceTarget::Link(guid, port) | MaintenanceTarget::Port(guid, port) => {
            let Some(p) = switch_port(fabric, (guid, port)) else {
                return Some(MaintenanceRefusal::NotASwitch);
            };
            match fabric.peer(p) {
                Some(peer) if is_switch(peer.node) => Vec::new(),
                Some(peer) => vec![peer],
                // A port without a link may be disabled.
                None if matches!(new.target, MaintenanceTarget::Port(..)) => return None,
                None => return Some(MaintenanceRefusal::NoLink),
            }
        }
    };
    if hosts.iter().any(|host| fabric.local() == Some(*host)) {
        return Some(MaintenanceRefusal::OwnPort);
    }
    let accepts_host = new.may_cut_off_host && matches!(new.target, MaintenanceTarget::Port(..));
    if !hosts.is_empty() && !accepts_host {
        let names = hosts.iter().filter_map(|host| name(fabric, host.node));
        return Some(MaintenanceRefusal::HostsConnected(names.collect()));
    }
    let is_drain_of_switch = matches!(new.target, MaintenanceTarget::Switch(_));
    let before = parts(fabric, present.clone(), is_drain_of_switch.then_some(node));
    let after = parts(fabric, present.chain([new.target]), None);
    if after.len() <= before.len() {
        return None;
    }
    let own_peer = fabric.local().and_then(|local| fabric.peer(local));
    let own = own_peer.map(|peer| peer.node);
    let others = after
        .iter()
        .filter(|part| !own.is_some_and(|own| part.contains(&own)));
    // Without the SM's own switch in a part, the largest one remains.
    let smaller = others.min_by_key(|part| part.len())?;
    let ports = smaller.iter().flat_map(|n| hosts_at(fabric, *n));
    let cut_off_hosts: BTreeSet<NodeIdx> = ports.map(|host| host.node).collect();
    let cut_off: Vec<NodeIdx> = if cut_off_hosts.is_empty() {
        smaller.clone()
    } else {
        cut_off_hosts.into_iter().collect()
    };
    let names = cut_off.into_iter().filter_map(|n| name(fabric, n));
    Some(MaintenanceRefusal::CutsOff(names.collect()))
}

/// The connected parts of the switches without the links of drained switches and ports; drained
/// switches, and `left_out`, are in none.
fn parts(
    fabric: &ObservedFabric,
    targets: impl Iterator<Item = MaintenanceTarget>,
    left_out: Option<NodeIdx>,
) -> Vec<Vec<NodeIdx>> {
    let mut without = Vec::new();
    let mut drained = BTreeSet::new();
    for target in targets {
        let Some(node) = fabric.node_by_guid(target.node()) else {
            continue;
        };
        let ports: Vec<PortNum> = match target.port() {
            Some(port) => vec![port],
            None => {
                drained.insert(node);
                let of_node = fabric.get(node).map(Node::physical_ports);
                of_node.into_iter().flatten().collect()
            }
        };
        let links = ports.into_iter().map(|port| PortRef::new(node, port));
        without.extend(links.filter_map(|p| Some((p, fabric.peer(p)?))));
    }
    let mut parts = Parts::new(fabric, &without);
    let mut by_root: BTreeMap<usize, Vec<NodeIdx>> = BTreeMap::new();
    for (n, _) in fabric.switches() {
        if !drained.contains(&n) && left_out != Some(n) {
            by_root.entry(parts.part_of(n)).or_default().push(n);
        }
    }
    by_root.into_values().collect()
}

/// The ports of hosts and routers that are connected to a switch.
fn hosts_at(fabric: &ObservedFabric, switch: NodeIdx) -> Vec<PortRef> {
    let Some(node) = fabric.get(switch) else {
        return Vec::new();
    };
    let peers = node
        .physical_ports()
        .filter_map(|port| fabric.peer(PortRef::new(switch, port)));
    peers
        .filter(|peer| !fabric.get(peer.node).is_some_and(Node::is_switch))
        .collect()
}

fn name(fabric: &ObservedFabric, n: NodeIdx) -> Option<String> {
    fabric.node_name(n).map(|name| name.to_string())
}
