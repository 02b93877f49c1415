//! The GUIDs of one graph, built together with it for each routing run.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_routing::{RemainingTopology, SwitchIdx};

/// The switches, end ports and LIDs of one graph, by GUID.
#[derive(Debug, Clone, Default)]
pub struct GuidIndex {
    switches: BTreeMap<u64, (SwitchIdx, u8)>,
    num_ports: Vec<u8>,
    end_ports: BTreeMap<u64, EndPortEntry>,
    /// By node GUID of a CA or router: an attached switch.
    nodes: BTreeMap<u64, SwitchIdx>,
    /// Owner of each LID.
    by_lid: BTreeMap<u16, (u64, u16)>,
}

/// An end port.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndPortEntry {
    /// Base LID; 0 is none.
    pub lid: Lid,
    /// Number of LIDs.
    pub count: u16,
    /// The attached switch, or the switch itself.
    pub switch: SwitchIdx,
}

impl GuidIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a switch of the graph: its node GUID, port 0 GUID and LIDs.
    pub fn add_switch(
        &mut self,
        at: SwitchIdx,
        num_ports: u8,
        node: NodeGuid,
        port0: PortGuid,
        lid: (Lid, Lmc),
    ) {
        // Node GUIDs have precedence over port GUIDs.
        self.switches.insert(node.0, (at, num_ports));
        self.switches.entry(port0.0).or_insert((at, num_ports));
        if self.num_ports.len() <= at.index() {
            self.num_ports.resize(at.index() + 1, 0);
        }
        self.num_ports[at.index()] = num_ports;
        self.insert_end_port(at, port0, lid);
        self.end_ports
            .entry(node.0)
            .or_insert_with(|| EndPortEntry {
                lid: lid.0,
                count: lid_count(lid.1),
                switch: at,
            });
    }

    /// Adds an end port of a CA or router that is attached to a switch.
    pub fn add_end_port(&mut self, on: SwitchIdx, node: NodeGuid, port: PortGuid, lid: (Lid, Lmc)) {
        self.nodes.entry(node.0).or_insert(on);
        self.insert_end_port(on, port, lid);
    }

    fn insert_end_port(&mut self, on: SwitchIdx, port: PortGuid, (lid, lmc): (Lid, Lmc)) {
        let count = lid_count(lmc);
        self.end_ports.insert(
            port.0,
            EndPortEntry {
                lid,
                count,
                switch: on,
            },
        );
        if lid.is_unicast() {
            self.by_lid.insert(lid.raw(), (port.0, count));
        }
    }

    /// The GUIDs of what remains of the graph after a loss.
    #[must_use]
    pub(crate) fn after_loss(&self, remaining: &RemainingTopology) -> Self {
        let topo = &remaining.topology;
        let has_lid = |lid: Lid| topo.destination(lid).is_some();
        let switches = self.switches.iter().filter_map(|(guid, (s, num_ports))| {
            let s = remaining.find(*s)?;
            Some((*guid, (s, *num_ports)))
        });
        let end_ports = self.end_ports.iter().filter_map(|(guid, end_port)| {
            let switch = remaining.find(end_port.switch)?;
            let is_present = has_lid(end_port.lid) || !end_port.lid.is_unicast();
            is_present.then_some((
                *guid,
                EndPortEntry {
                    switch,
                    ..*end_port
                },
            ))
        });
        let nodes = self.nodes.iter();
        let by_lid = self.by_lid.iter().filter(|(lid, _)| has_lid(Lid(**lid)));
        Self {
            switches: switches.collect(),
            num_ports: topo.switches().map(|s| topo.num_ports(s)).collect(),
            end_ports: end_ports.collect(),
            nodes: nodes
                .filter_map(|(guid, s)| Some((*guid, remaining.find(*s)?)))
                .collect(),
            by_lid: by_lid.map(|(lid, owner)| (*lid, *owner)).collect(),
        }
    }

    pub(super) fn find_switch(&self, guid: u64) -> Option<(SwitchIdx, u8)> {
        self.switches.get(&guid).copied()
    }

    /// The end port with this port GUID; of a switch also by its node GUID.
    pub(super) fn find_end_port(&self, guid: u64) -> Option<EndPortEntry> {
        self.end_ports.get(&guid).copied()
    }

    /// Whether a CA or router has this node GUID.
    pub(super) fn is_node(&self, guid: u64) -> bool {
        self.nodes.contains_key(&guid)
    }

    /// Number of external ports of each switch, by index in the graph.
    pub(super) fn num_ports(&self) -> &[u8] {
        &self.num_ports
    }

    /// The switch to which a CA or router is attached, by node GUID or port GUID.
    pub(super) fn attached_switch(&self, guid: u64) -> Option<SwitchIdx> {
        let switch_of_end_port = || self.end_ports.get(&guid).map(|e| e.switch);
        self.nodes.get(&guid).copied().or_else(switch_of_end_port)
    }

    /// The base LID of an end port, if it has one.
    pub(super) fn lid(&self, guid: PortGuid) -> Option<Lid> {
        let lid = self.end_ports.get(&guid.0)?.lid;
        lid.is_unicast().then_some(lid)
    }

    /// The GUID of the current owner of a LID.
    pub(super) fn owner(&self, lid: u16) -> Option<u64> {
        let (base, (guid, count)) = self.by_lid.range(..=lid).next_back()?;
        (lid - base < *count).then_some(*guid)
    }

    pub(super) fn top_lid(&self) -> u16 {
        let last = self.by_lid.iter().next_back();
        last.map_or(0, |(lid, (_, count))| lid.saturating_add(count - 1))
    }
}

fn lid_count(lmc: Lmc) -> u16 {
    1 << lmc.0.min(7)
}
