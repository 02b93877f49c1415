//! Builds the input of routing: the graph that engines route, and the GUIDs in it.
//!
//! The graph is no copy of the observed fabric. It has the links and switches that may be routed,
//! with the LIDs, VLs and rates that count for the routing: in the SM those that are planned, and
//! offline those of the fabric file.

use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum};
use ferrosm_routing::{SwitchIdx, Topology, TopologyBuilder};

use crate::config::hints::GuidIndex;

/// Builds a graph. Nodes are identified by their index in the fabric.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    topology: TopologyBuilder,
    guid_index: GuidIndex,
    /// By index of the node.
    switches: Vec<Option<SwitchIdx>>,
}

/// A switch, or the end port of a CA or router.
#[derive(Debug, Clone, Copy)]
pub struct GraphNode {
    pub guid: NodeGuid,
    /// GUID of the port; for a switch, that of port 0.
    pub port_guid: PortGuid,
    /// Base LID and LMC.
    pub lids: (Lid, Lmc),
}

/// A switch port with a link.
#[derive(Debug, Clone, Copy)]
pub struct LinkEnd {
    /// The port.
    pub at: (SwitchIdx, PortNum),
    /// Data VLs that the port operates, where known.
    pub vls: Option<u8>,
    /// Speed of the link, where known.
    pub mbps: Option<u32>,
}

impl GraphBuilder {
    /// Adds the switch with this index in the fabric. Switches of the graph are numbered in the
    /// order in which they are added.
    pub fn add_switch(&mut self, node_index: usize, num_ports: u8, switch: GraphNode) {
        let (lid, lmc) = switch.lids;
        let s = self.topology.switch(num_ports, lid);
        self.topology.switch_lids(s, lid_count(lmc));
        self.guid_index
            .add_switch(s, num_ports, switch.guid, switch.port_guid, switch.lids);
        if self.switches.len() <= node_index {
            self.switches.resize(node_index + 1, None);
        }
        self.switches[node_index] = Some(s);
    }

    /// The switch that was added with this index.
    #[must_use]
    pub fn switch(&self, node_index: usize) -> Option<SwitchIdx> {
        self.switches.get(node_index).copied().flatten()
    }

    /// Adds a link between two switches.
    pub fn add_link(&mut self, a: LinkEnd, b: LinkEnd) {
        self.topology.link(a.at, b.at);
        self.limit(a);
        self.limit(b);
    }

    /// Adds an end port of a CA or router that is attached to a switch.
    pub fn add_end_port(&mut self, on: LinkEnd, end_port: GraphNode) {
        let (lid, lmc) = end_port.lids;
        self.topology.end_port(on.at, lid, lid_count(lmc));
        self.guid_index
            .add_end_port(on.at.0, end_port.guid, end_port.port_guid, end_port.lids);
        self.limit(on);
    }

    fn limit(&mut self, link_end: LinkEnd) {
        if let Some(vls) = link_end.vls {
            self.topology.vls(link_end.at, vls);
        }
        if let Some(mbps) = link_end.mbps {
            self.topology.rate(link_end.at, mbps);
        }
    }

    /// The graph and its GUIDs.
    #[must_use]
    pub fn build(self) -> (Topology, GuidIndex) {
        (self.topology.build(), self.guid_index)
    }
}

/// Number of LIDs of a port; a fabric file may contain any LMC.
fn lid_count(lmc: Lmc) -> u16 {
    1 << lmc.0.min(7)
}
