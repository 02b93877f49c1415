//! Nodes and cables that are added, as additions to a graph.

use std::collections::BTreeMap;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::what_if::{AddedEquipment, CableEnd};
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};
use ferrosm_routing::{AddedEndPort, AddedSwitch, Additions, Loss, SwitchIdx};

use super::RoutedFabric;

/// Longest name of an added node: that of a NodeDescription.
const NAME_LEN_MAX: usize = 64;

/// Most nodes, and most cables, that are added.
const ADDED_MAX: usize = 20_000;
/// Most external ports of a switch.
const SWITCH_PORTS_MAX: u8 = 254;

/// Nodes and cables that are added.
#[derive(Debug, Clone, Default)]
pub(super) struct AddedElements {
    /// Names of nodes, and of both ends of cables.
    pub(super) names: Vec<String>,
    pub(super) additions: Additions,
}

/// A node that a cable is at.
#[derive(Debug, Clone)]
struct CabledNode {
    name: String,
    kind: CabledNodeKind,
}

#[derive(Debug, Clone, Copy)]
enum CabledNodeKind {
    Switch(SwitchIdx),
    /// A CA or router of the fabric, by its slot.
    Host(u32),
    AddedHost,
}

impl AddedElements {
    /// Finds the ends of cables, and gives added nodes numbers and LIDs that are free.
    ///
    /// # Errors
    /// A node is unknown, a port is used by another cable, or there are too many.
    pub(super) fn find(
        fabric: RoutedFabric<'_>,
        added: &AddedEquipment,
        loss: &Loss,
    ) -> Result<Self, ApiError> {
        if added.nodes.len().max(added.cables.len()) > ADDED_MAX {
            return Err(invalid(format!(
                "at most {ADDED_MAX} nodes and {ADDED_MAX} cables can be added"
            )));
        }
        let mut search = Search::new(fabric, loss);
        for node in &added.nodes {
            let guid = guid_of(&node.guid)?;
            let snapshot = fabric.snapshot;
            if snapshot.by_node_guid(NodeGuid(guid)).is_some() {
                return Err(invalid(format!("node {} is in the fabric", node.guid)));
            }
            search.add_node(guid, node.name.clone(), node.switch)?;
        }
        for cable in &added.cables {
            search.add_cable(&cable.a, &cable.b)?;
        }
        let mut found = search.found;
        // A switch has at least one port.
        for switch in &mut found.additions.switches {
            switch.num_ports = switch.num_ports.max(1);
        }
        Ok(found)
    }
}

struct Search<'a> {
    fabric: RoutedFabric<'a>,
    loss: &'a Loss,
    nodes: BTreeMap<u64, CabledNode>,
    /// Ports of switches with an added cable.
    used: BTreeMap<(SwitchIdx, PortNum), String>,
    next_lid: u16,
    found: AddedElements,
}

impl<'a> Search<'a> {
    fn new(fabric: RoutedFabric<'a>, loss: &'a Loss) -> Self {
        let graph = fabric.basis.graph();
        let mut nodes = BTreeMap::new();
        let switches: BTreeMap<u32, SwitchIdx> = graph
            .switches()
            .zip(fabric.basis.nodes())
            .map(|(s, node)| (node.slot(), s))
            .collect();
        for slot in fabric.snapshot.slots() {
            let node = fabric.snapshot.node(slot);
            let kind = match (node.is_switch(), switches.get(&slot)) {
                (true, Some(s)) => CabledNodeKind::Switch(*s),
                // A switch that is not routed.
                (true, None) => continue,
                (false, _) => CabledNodeKind::Host(slot),
            };
            let name = node.name();
            nodes.insert(node.guid.0, CabledNode { name, kind });
        }
        Self {
            fabric,
            loss,
            nodes,
            used: BTreeMap::new(),
            next_lid: 1,
            found: AddedElements::default(),
        }
    }

    fn add_node(&mut self, guid: u64, name: String, is_switch: bool) -> Result<(), ApiError> {
        if name.len() > NAME_LEN_MAX {
            return Err(invalid(format!("a name has at most {NAME_LEN_MAX} bytes")));
        }
        self.found.names.push(name.clone());
        let kind = match is_switch {
            true => {
                let lid = self.free_lid()?;
                let switches = &mut self.found.additions.switches;
                let number = self.fabric.basis.graph().num_switches() + switches.len();
                switches.push(AddedSwitch { num_ports: 0, lid });
                CabledNodeKind::Switch(SwitchIdx::from_index(number))
            }
            false => CabledNodeKind::AddedHost,
        };
        self.nodes.insert(guid, CabledNode { name, kind });
        Ok(())
    }

    fn add_cable(&mut self, a: &CableEnd, b: &CableEnd) -> Result<(), ApiError> {
        let [at_a, at_b] = [self.node(a)?, self.node(b)?];
        let name = format!("{}/{} - {}/{}", at_a.name, a.port, at_b.name, b.port);
        match (at_a.kind, at_b.kind) {
            (CabledNodeKind::Switch(s), CabledNodeKind::Switch(t)) => {
                let ends = [(s, PortNum(a.port)), (t, PortNum(b.port))];
                for end in ends {
                    self.use_port(end, &name)?;
                }
                self.found.additions.links.push(ends);
            }
            (CabledNodeKind::Switch(s), host) => {
                self.add_end_port((s, PortNum(a.port)), host, b.port, &name)?;
            }
            (host, CabledNodeKind::Switch(t)) => {
                self.add_end_port((t, PortNum(b.port)), host, a.port, &name)?;
            }
            (
                CabledNodeKind::Host(_) | CabledNodeKind::AddedHost,
                CabledNodeKind::Host(_) | CabledNodeKind::AddedHost,
            ) => {
                return Err(invalid(format!(
                    "no end of the cable {name} is at a switch"
                )));
            }
        }
        self.found.names.push(name);
        Ok(())
    }

    fn add_end_port(
        &mut self,
        at: (SwitchIdx, PortNum),
        host: CabledNodeKind,
        port: u8,
        name: &str,
    ) -> Result<(), ApiError> {
        self.use_port(at, name)?;
        let snapshot = self.fabric.snapshot;
        let known = match host {
            CabledNodeKind::Host(slot) => snapshot
                .port_by_num(slot, PortNum(port))
                .and_then(|port| snapshot.end_port_at(port))
                .map(|at| snapshot.end_port(at)),
            CabledNodeKind::Switch(_) | CabledNodeKind::AddedHost => None,
        };
        let end_port = match known.filter(|end_port| end_port.lid.is_unicast()) {
            Some(end_port) => AddedEndPort {
                at,
                lid: end_port.lid,
                count: end_port.num_lids(),
            },
            None => AddedEndPort {
                at,
                lid: self.free_lid()?,
                count: 1,
            },
        };
        self.found.additions.end_ports.push(end_port);
        Ok(())
    }

    /// A switch port gets a cable.
    fn use_port(&mut self, at: (SwitchIdx, PortNum), name: &str) -> Result<(), ApiError> {
        let (s, port) = at;
        let graph = self.fabric.basis.graph();
        let number = s.index().checked_sub(graph.num_switches());
        let added = number.and_then(|n| self.found.additions.switches.get_mut(n));
        let is_valid = match added {
            Some(switch) => {
                switch.num_ports = switch.num_ports.max(port.0);
                port.0 <= SWITCH_PORTS_MAX
            }
            None => port.0 <= graph.num_ports(s),
        };
        if !is_valid || port == PortNum::ZERO {
            return Err(invalid(format!("{name}: the switch has no port {port}")));
        }
        let is_lost = self.loss.includes_end_port(s, port)
            || (number.is_none()
                && graph
                    .neighbor(s, port)
                    .is_some_and(|(peer, peer_port)| self.loss.includes_end_port(peer, peer_port)));
        let has_cable = number.is_none() && {
            let mut ends = graph.end_ports(s).iter();
            graph.neighbor(s, port).is_some() || ends.any(|end| end.port == port)
        };
        if has_cable && !is_lost {
            let message = format!("{name}: port {port} of the switch has another cable");
            return Err(ApiError::new(
                ErrorKind::Conflict,
                message,
                "Remove that cable first (--without).",
            ));
        }
        match self.used.insert(at, name.to_owned()) {
            None => Ok(()),
            Some(other) => Err(invalid(format!("{name} and {other} are at one port"))),
        }
    }

    fn node(&self, end: &CableEnd) -> Result<CabledNode, ApiError> {
        let found = self.nodes.get(&guid_of(&end.guid)?);
        found.cloned().ok_or_else(|| {
            ApiError::new(
                ErrorKind::NotFound,
                format!("no routed node has the GUID {}", end.guid),
                "`ferrosm nodes` lists the nodes; others belong into `nodes`.",
            )
        })
    }

    fn free_lid(&mut self) -> Result<Lid, ApiError> {
        let graph = self.fabric.basis.graph();
        while Lid(self.next_lid).is_unicast() {
            let lid = Lid(self.next_lid);
            self.next_lid += 1;
            if graph.destination(lid).is_none() {
                return Ok(lid);
            }
        }
        Err(invalid("no LID is free for what is added".to_owned()))
    }
}

fn guid_of(text: &str) -> Result<u64, ApiError> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let guid = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    guid.ok_or_else(|| {
        invalid(format!(
            "`{text}` is no node GUID such as 0x0002c90300a1b2c3"
        ))
    })
}

fn invalid(message: String) -> ApiError {
    ApiError::new(ErrorKind::InvalidRequest, message, "")
}
