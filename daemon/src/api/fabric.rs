//! Nodes, ports and links of a published fabric.

use ferrosm_api::fabric::{Link, LinkEnd, LinkState, Node, Place, Port, Presence};
use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_fabric::snapshot::{
    EndPortIdx, PortIdx, ReportedLink, Snapshot, SnapshotLink, SnapshotPort,
};
use ferrosm_mad::attr::{LinkRate, PhysState, PortInfo, PortState};
use ferrosm_mad::ids::{NodeGuid, PortNum};

use serde_json::Value;

use super::history::{LinkChanges, LinkKey, NodeChange, link_key};
use super::list::Row;
use super::maintenance;
use super::names::{end_port_name, link_end, node_kind, node_location, port_location};
use super::published::FabricState;
use super::rfc3339;

/// All nodes that are in the subnet, then those that were.
pub(super) fn nodes(fabric: &FabricState) -> impl Iterator<Item = Node> + '_ {
    node_rows(fabric).map(|row| row())
}

/// Where the data of a row of nodes is.
enum NodeRow<'f> {
    Present(u32),
    Absent(NodeGuid, &'f NodeChange),
}

/// The rows of [`nodes`].
pub(super) fn node_rows(fabric: &FabricState) -> impl Iterator<Item = impl FnOnce() -> Node> {
    let present = fabric.snapshot.slots().map(NodeRow::Present);
    let absent = fabric
        .history
        .absent_nodes()
        .map(|(guid, node)| NodeRow::Absent(guid, node));
    present.chain(absent).map(move |row| {
        move || match row {
            NodeRow::Present(slot) => present_node(fabric, slot),
            NodeRow::Absent(guid, node) => absent_node(guid, node),
        }
    })
}

fn present_node(fabric: &FabricState, slot: u32) -> Node {
    let snapshot = &*fabric.snapshot;
    let change = fabric.history.node(snapshot.node(slot).guid);
    Node {
        since: change.map(|change| rfc3339(change.since)),
        ..node_of_snapshot(snapshot, slot)
    }
}

/// A node of a snapshot, without its history.
pub(crate) fn node_of_snapshot(snapshot: &Snapshot, slot: u32) -> Node {
    let node = snapshot.node(slot);
    let lids = snapshot.reported_end_ports(slot).map(|port| port.lid.0);
    Node {
        guid: node.guid.to_string(),
        name: node.name(),
        location: node_location(snapshot, slot),
        kind: node_kind(node.node_type),
        lids: lids.filter(|lid| *lid != 0).collect(),
        ports: node.node_info().num_ports,
        ports_linked: snapshot.linked_ports(slot).count(),
        state: Presence::Present,
        since: None,
    }
}

fn absent_node(guid: NodeGuid, node: &NodeChange) -> Node {
    Node {
        guid: guid.to_string(),
        name: node.name.clone(),
        location: node.location.clone(),
        kind: node.kind,
        lids: Vec::new(),
        ports: 0,
        ports_linked: 0,
        state: Presence::Absent,
        since: Some(rfc3339(node.since)),
    }
}

/// A port whose PortInfo was read.
pub(super) struct PortRow<'f> {
    snapshot: &'f Snapshot,
    at: PortIdx,
}

/// The rows of all ports whose PortInfo was read: of switches with port 0, of other nodes from
/// port 1.
pub(super) fn port_rows(snapshot: &Snapshot) -> impl Iterator<Item = PortRow<'_>> {
    let all = snapshot
        .slots()
        .flat_map(|slot| snapshot.ports_of_node(slot));
    all.filter(|(_, port)| port.has_port_info)
        .map(|(at, _)| PortRow { snapshot, at })
}

impl Row for PortRow<'_> {
    type Object = Option<Port>;

    fn object(self) -> Option<Port> {
        port(self.snapshot, self.at)
    }

    fn field(&self, name: &str) -> Option<Value> {
        let snapshot = self.snapshot;
        let port = snapshot.port(self.at);
        let end_port = || snapshot.end_port_at(self.at);
        Some(match name {
            "name" => snapshot.node(self.at.node()).name().into(),
            "port" => port.num.0.into(),
            "lid" => end_port()
                .map_or(0, |at| snapshot.end_port(at).lid.0)
                .into(),
            "state" => PortInfo::port_state.read(&port.raw).to_string().into(),
            "physical_state" => PortInfo::port_physical_state
                .read(&port.raw)
                .to_string()
                .into(),
            _ => return None,
        })
    }
}

/// A port; `None` if its PortInfo was not read.
pub(super) fn port(snapshot: &Snapshot, at: PortIdx) -> Option<Port> {
    let port = snapshot.port(at);
    if !port.has_port_info {
        return None;
    }
    let node = snapshot.node(at.node());
    let end_port = snapshot.end_port_at(at);
    let peer = snapshot.peer(at);
    let rate = peer.map(|peer| snapshot.reported_link(SnapshotLink { a: at, b: peer }));
    Some(Port {
        guid: end_port.map_or_else(
            || node.guid.to_string(),
            |at| snapshot.end_port(at).guid.to_string(),
        ),
        name: node.name(),
        location: port_location(snapshot, at),
        port: port.num.0,
        lid: end_port.map_or(0, |at| snapshot.end_port(at).lid.0),
        lmc: end_port.map_or(0, |at| snapshot.end_port(at).lmc.0),
        state: PortInfo::port_state.read(&port.raw).to_string(),
        physical_state: PortInfo::port_physical_state.read(&port.raw).to_string(),
        rate: rate.map_or_else(String::new, |rate| rate.to_string()),
        mtu: port.mtu.bytes().unwrap_or(0),
        peer: peer.map(|peer| link_end(snapshot, peer)),
    })
}

/// The links that are up, then those that went down.
pub(super) fn links<'a>(
    fabric: &'a FabricState,
    maintenance: &'a [Maintenance],
) -> impl Iterator<Item = Link> + 'a {
    link_rows(fabric, maintenance).map(|row| row())
}

/// Where the data of a row of links is.
enum LinkRow<'f> {
    Up(SnapshotLink),
    Down(&'f LinkKey, &'f LinkChanges),
}

/// The rows of [`links`].
pub(super) fn link_rows<'a>(
    fabric: &'a FabricState,
    maintenance: &'a [Maintenance],
) -> impl Iterator<Item = impl FnOnce() -> Link + 'a> + 'a {
    let up = fabric.snapshot.links().iter();
    let down = fabric.history.down_links();
    up.map(|link| LinkRow::Up(*link))
        .chain(down.map(|(key, changes)| LinkRow::Down(key, changes)))
        .map(move |row| {
            move || match row {
                LinkRow::Up(link) => link_that_is_up(fabric, maintenance, link),
                LinkRow::Down(key, changes) => down_link(fabric, maintenance, key, changes),
            }
        })
}

/// The links that run below the width or speed that both ports have enabled.
pub(super) fn degraded_links<'a>(
    fabric: &'a FabricState,
    maintenance: &'a [Maintenance],
) -> impl Iterator<Item = (SnapshotLink, Link)> + 'a {
    let up = fabric.snapshot.links().iter();
    let degraded = up.filter(|link| {
        let rates = LinkRates::of(&fabric.snapshot, **link);
        rates.state() == LinkState::Degraded
    });
    degraded.map(|link| (*link, link_that_is_up(fabric, maintenance, *link)))
}

/// The links that went down.
pub(super) fn down_links<'a>(
    fabric: &'a FabricState,
    maintenance: &'a [Maintenance],
) -> impl Iterator<Item = (LinkKey, Link)> + 'a {
    let down = fabric.history.down_links();
    down.map(|(key, changes)| (*key, down_link(fabric, maintenance, key, changes)))
}

fn down_link(
    fabric: &FabricState,
    maintenance: &[Maintenance],
    key: &LinkKey,
    changes: &LinkChanges,
) -> Link {
    let snapshot = &*fabric.snapshot;
    let in_maintenance = maintenance_of(maintenance, key);
    let [a, b] = [0, 1].map(|i| LinkEnd {
        guid: key[i].0.to_string(),
        name: changes.names[i].clone(),
        port: key[i].1.0,
    });
    let disabled = key.iter().any(|(guid, num)| {
        let slot = snapshot.by_node_guid(*guid);
        let port = slot.and_then(|slot| snapshot.port_by_num(slot, *num));
        port.is_some_and(|at| is_disabled(snapshot.port(at)))
    });
    let note = match in_maintenance {
        Some(entry) => maintenance::note(entry),
        None if disabled => "a port is disabled, not by ferrosm".to_owned(),
        None => String::new(),
    };
    Link {
        a,
        b,
        state: LinkState::Down,
        rate: String::new(),
        possible_rate: changes.rate.clone(),
        mbps: 0,
        since: Some(rfc3339(changes.since)),
        times_down: changes.times_down,
        maintenance: in_maintenance.map(maintenance::kind),
        note,
    }
}

fn is_disabled(port: &SnapshotPort) -> bool {
    port.has_port_info && PortInfo::port_physical_state.read(&port.raw) == PhysState::Disabled
}

/// What is done to a link by command.
fn maintenance_of<'a>(maintenance: &'a [Maintenance], key: &LinkKey) -> Option<&'a Maintenance> {
    let is_end = |entry: &&Maintenance| {
        let node = entry.target.node();
        let port = entry.target.port();
        key.iter()
            .any(|end| Some(*end) == port.map(|port| (node, port)))
    };
    maintenance.iter().find(is_end)
}

/// Rates of a link that is up, and whether it is Active.
struct LinkRates {
    reported: ReportedLink,
    active: Option<LinkRate>,
    possible: Option<LinkRate>,
    is_active: bool,
}

impl LinkRates {
    fn of(snapshot: &Snapshot, link: SnapshotLink) -> Self {
        let reported = snapshot.reported_link(link);
        let infos = [link.a, link.b].map(|at| PortInfo::decode(&snapshot.port(at).raw));
        let [info_a, info_b] = &infos;
        let active = reported.width.zip(reported.speed);
        Self {
            reported,
            active: active.map(|(width, speed)| LinkRate { width, speed }),
            possible: info_a.best_rate_with(info_b),
            is_active: infos
                .iter()
                .all(|info| info.port_state == PortState::Active),
        }
    }

    fn state(&self) -> LinkState {
        let rates = self.active.zip(self.possible);
        let is_degraded = rates.is_some_and(|(active, possible)| {
            active.width.0 < possible.width.0 || (active.speed as u8) < possible.speed as u8
        });
        if !self.is_active {
            LinkState::NotActive
        } else if is_degraded {
            LinkState::Degraded
        } else {
            LinkState::Up
        }
    }
}

fn link_that_is_up(fabric: &FabricState, maintenance: &[Maintenance], link: SnapshotLink) -> Link {
    let snapshot = &*fabric.snapshot;
    let key = link_key(snapshot, link.a, link.b);
    let changes = fabric.history.link(&key);
    let in_maintenance = maintenance_of(maintenance, &key);
    Link {
        since: changes.map(|changes| rfc3339(changes.since)),
        times_down: changes.map_or(0, |changes: &LinkChanges| changes.times_down),
        maintenance: in_maintenance.map(maintenance::kind),
        note: in_maintenance.map_or_else(String::new, maintenance::note),
        ..link_of_snapshot(snapshot, link)
    }
}

/// A link of a snapshot, without its history.
pub(crate) fn link_of_snapshot(snapshot: &Snapshot, link: SnapshotLink) -> Link {
    let rates = LinkRates::of(snapshot, link);
    Link {
        a: link_end(snapshot, link.a),
        b: link_end(snapshot, link.b),
        state: rates.state(),
        rate: rates.reported.to_string(),
        possible_rate: rates.possible.map_or_else(String::new, |rate| {
            format!("{}x{}", rate.width.0, rate.speed.name())
        }),
        mbps: rates.active.map_or(0, LinkRate::mbps),
        since: None,
        times_down: 0,
        maintenance: None,
        note: String::new(),
    }
}

/// Where an end port is, and what it has.
///
/// `switch_port` is the port of a switch that is meant; what it is connected to is shown.
pub(super) fn place(snapshot: &Snapshot, at: EndPortIdx, switch_port: Option<PortNum>) -> Place {
    let end_port = snapshot.end_port(at);
    let is_switch = snapshot.node(end_port.node).is_switch();
    let meant = switch_port
        .filter(|_| is_switch)
        .map_or(end_port.port, |number| PortIdx::new(end_port.node, number));
    let peer = snapshot.peer(meant);
    let p_keys = end_port.pkeys.as_ref();
    Place {
        port: end_port_name(snapshot, at),
        kind: node_kind(snapshot.node(end_port.node).node_type),
        number: meant.num().0,
        lid: end_port.lid.0,
        lmc: end_port.lmc.0,
        gid: snapshot.gid(at).to_string(),
        attached_to: peer.map(|peer| link_end(snapshot, peer)),
        p_keys: p_keys.map(|keys| keys.as_slice().iter().map(ToString::to_string).collect()),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use ferrosm_sim::generate;

    use super::*;
    use crate::offline::spec;

    /// What rows show is what their objects have.
    #[test]
    fn rows_of_ports_show_the_fields_of_their_objects() {
        let fabric = spec::observed(&generate::from_spec("fat-tree:4").unwrap());
        let snapshot = spec::snapshot(&fabric, None, None);
        let mut shown = 0;
        for row in port_rows(&snapshot) {
            let at = row.at;
            let object = serde_json::to_value(port(&snapshot, at).unwrap()).unwrap();
            for (name, value) in object.as_object().unwrap() {
                if let Some(field) = row.field(name) {
                    assert_eq!(field, *value, "{name} of {object}");
                    shown += 1;
                }
            }
        }
        assert!(shown > 100, "{shown}");
    }
}
