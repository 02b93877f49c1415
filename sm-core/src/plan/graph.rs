//! The graph that engines route, and the GUIDs in it: built in the same way for the observed fabric
//! and for a fabric file.

use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum};
use ferrosm_routing::{SwitchIdx, Topology, TopologyBuilder};

use super::routing_hints::GuidIndex;

/// Builds the graph of a fabric whose nodes the caller names by `N`.
#[derive(Debug)]
pub struct GraphBuilder<N> {
    topology: TopologyBuilder,
    guid_index: GuidIndex,
    /// The switch of each node, by the node's dense index.
    index: Vec<Option<SwitchIdx>>,
    nodes: Vec<N>,
}

/// The graph of a fabric.
#[derive(Debug)]
pub struct FabricGraph<N> {
    /// Switches, links, and the LIDs behind each port.
    pub topology: Topology,
    /// The GUIDs of the graph.
    pub guid_index: GuidIndex,
    /// The node of each switch of the graph.
    pub nodes: Vec<N>,
}

/// A switch, or the end port of a CA or router.
#[derive(Debug, Clone, Copy)]
pub struct GraphNode {
    /// Node GUID.
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

impl<N> Default for GraphBuilder<N> {
    fn default() -> Self {
        Self {
            topology: TopologyBuilder::new(),
            guid_index: GuidIndex::new(),
            index: Vec::new(),
            nodes: Vec::new(),
        }
    }
}

impl<N> GraphBuilder<N> {
    /// Adds a switch; `node_index` is the dense index of its node.
    pub fn add_switch(&mut self, node: N, node_index: usize, num_ports: u8, switch: GraphNode) {
        let (lid, lmc) = switch.lids;
        let s = self.topology.switch(num_ports, lid);
        self.topology.switch_lids(s, lid_count(lmc));
        self.guid_index
            .add_switch(s, num_ports, switch.guid, switch.port_guid, switch.lids);
        if self.index.len() <= node_index {
            self.index.resize(node_index + 1, None);
        }
        self.index[node_index] = Some(s);
        self.nodes.push(node);
    }

    /// The switch that was added with this node index.
    #[must_use]
    pub fn switch(&self, node_index: usize) -> Option<SwitchIdx> {
        self.index.get(node_index).copied().flatten()
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

    /// The graph.
    #[must_use]
    pub fn build(self) -> FabricGraph<N> {
        FabricGraph {
            topology: self.topology.build(),
            guid_index: self.guid_index,
            nodes: self.nodes,
        }
    }
}

/// Number of LIDs of a port; a fabric file may contain any LMC.
fn lid_count(lmc: Lmc) -> u16 {
    1 << lmc.0.min(7)
}
