//! The subnet as it was found: a petgraph graph of nodes and links, with indices by GUID and LID.
//!
//! One value of it exists per subnet manager, owned by [`crate::SubnetManager`]. It records what devices said and
//! decides nothing: what should be is computed in [`crate::plan`].

mod mft;
mod node;
mod paths;
pub mod plausible;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use petgraph::stable_graph::{EdgeIndex, NodeIndex, StableUnGraph};
use rustc_hash::FxHashMap;

use crate::location::PortName;

pub use mft::Mft;
pub use node::{Node, Port, VlTableOrigin};

/// A node of the subnet. It names one stay of one node: once that was removed it names nothing, also where its place was
/// taken by another node. So whatever is kept of a node, late answers included, can never mean a different one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIdx {
    place: u32,
    stay: u32,
}

impl NodeIdx {
    /// A small number that no other node of the subnet has now, for tables by node.
    #[must_use]
    pub const fn index(self) -> usize {
        self.place as usize
    }

    fn place(self) -> NodeIndex<u32> {
        NodeIndex::new(self.place as usize)
    }
}

/// A link of the subnet.
pub type LinkIdx = EdgeIndex<u32>;

/// A port: a node and a port number (0 is a switch's management port).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The node.
    pub node: NodeIdx,
    /// The port.
    pub port: PortNum,
}

impl PortRef {
    /// A port of a node.
    #[must_use]
    pub const fn new(node: NodeIdx, port: PortNum) -> Self {
        Self { node, port }
    }
}

/// A cable between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: PortRef,
    /// The other end; may be on the same node (a loopback).
    pub b: PortRef,
}

impl Link {
    /// The end that `p` is not; `p` itself for a plug that loops a port back to itself.
    #[must_use]
    pub fn other(&self, p: PortRef) -> PortRef {
        if self.a == p { self.b } else { self.a }
    }
}

/// Nodes, links, and where the SM sits.
#[derive(Debug, Clone, Default)]
pub struct Subnet {
    graph: StableUnGraph<Node, Link>,
    by_node_guid: FxHashMap<NodeGuid, NodeIdx>,
    by_port_guid: FxHashMap<PortGuid, PortRef>,
    local: Option<PortRef>,
    /// Nodes that ever came.
    stays: u32,
    /// Times that a node may have changed: each [`Node::revision`] is another.
    revisions: u64,
    /// Times that nodes came and went, or a GUID or the SM moved.
    guids_revision: u64,
    /// A link changed that known DR paths may lead over.
    paths_stale: bool,
    epoch: u32,
}

impl Subnet {
    /// The port that the SM uses.
    #[must_use]
    pub const fn local(&self) -> Option<PortRef> {
        self.local
    }

    /// Says which port the SM uses.
    pub fn set_local(&mut self, port: PortRef) {
        if self.local != Some(port) {
            self.guids_revision += 1;
            self.local = Some(port);
        }
    }

    /// The number of the last full sweep. Nodes and ports that it reached carry it.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// A full sweep begins: nodes and ports that it does not reach are of an earlier epoch.
    pub const fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Changes whenever a node comes or goes, or a GUID or the SM's port may be another.
    #[must_use]
    pub const fn guids_revision(&self) -> u64 {
        self.guids_revision
    }

    /// The graph itself, for general graph algorithms.
    #[must_use]
    pub const fn graph(&self) -> &StableUnGraph<Node, Link> {
        &self.graph
    }

    /// All nodes in the order in which they were found.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        self.graph.node_indices().map(|i| {
            let node = &self.graph[i];
            (Self::idx(i, node), node)
        })
    }

    /// All switches in the order in which they were found.
    pub fn switches(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        self.nodes().filter(|(_, node)| node.is_switch())
    }

    /// Indices of all nodes, in order.
    pub fn node_indices(&self) -> impl Iterator<Item = NodeIdx> + use<'_> {
        self.nodes().map(|(i, _)| i)
    }

    fn idx(place: NodeIndex<u32>, node: &Node) -> NodeIdx {
        NodeIdx {
            place: u32::try_from(place.index()).unwrap_or(u32::MAX),
            stay: node.stay,
        }
    }

    /// The node with this small number.
    #[must_use]
    pub fn at_place(&self, place: u32) -> Option<NodeIdx> {
        let place = NodeIndex::new(place as usize);
        let node = self.graph.node_weight(place)?;
        Some(Self::idx(place, node))
    }

    /// All links.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.graph.edge_weights()
    }

    /// Number of links.
    #[must_use]
    pub fn link_count(&self) -> usize {
        self.graph.edge_count()
    }

    /// Number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.graph.node_count()
    }

    /// A node, if it is still there.
    #[must_use]
    pub fn get(&self, node: NodeIdx) -> Option<&Node> {
        self.graph
            .node_weight(node.place())
            .filter(|n| n.stay == node.stay)
    }

    /// A node, if it is still there, to be changed; it has another revision from now.
    pub fn get_mut(&mut self, node: NodeIdx) -> Option<&mut Node> {
        let found = self
            .graph
            .node_weight_mut(node.place())
            .filter(|n| n.stay == node.stay)?;
        self.revisions += 1;
        found.revision = self.revisions;
        Some(found)
    }

    /// A port, if its node is still there.
    #[must_use]
    pub fn port(&self, p: PortRef) -> Option<&Port> {
        self.get(p.node)?.ports.get(p.port.index())
    }

    /// A port, if its node is still there, to be changed.
    pub fn port_mut(&mut self, p: PortRef) -> Option<&mut Port> {
        self.get_mut(p.node)?.ports.get_mut(p.port.index())
    }

    /// The node with this GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: NodeGuid) -> Option<NodeIdx> {
        self.by_node_guid.get(&guid).copied()
    }

    /// The end port with this GUID.
    #[must_use]
    pub fn port_by_guid(&self, guid: PortGuid) -> Option<PortRef> {
        self.by_port_guid.get(&guid).copied()
    }

    /// The end port that answers to a LID, its LMC considered. Linear in the number of end ports: for traps and
    /// queries by hand, not for loops.
    #[must_use]
    pub fn port_by_lid(&self, lid: Lid) -> Option<PortRef> {
        self.end_ports().find(|p| {
            self.port(*p).is_some_and(|port| {
                let (base, lmc) = (port.info().lid, port.info().lmc);
                base.is_unicast()
                    && lid.0 >= base.0
                    && u32::from(lid.0) < u32::from(base.0) + (1 << lmc.0)
            })
        })
    }

    /// All end ports: ports 0 of switches, and those ports of CAs and routers that were reached.
    pub fn end_ports(&self) -> impl Iterator<Item = PortRef> + '_ {
        self.nodes()
            .flat_map(|(idx, node)| node.end_ports().map(move |p| PortRef::new(idx, p)))
    }

    /// The link at a port.
    #[must_use]
    pub fn link_at(&self, p: PortRef) -> Option<&Link> {
        self.graph.edge_weight(self.port(p)?.link?)
    }

    /// The port at the other end of the cable.
    #[must_use]
    pub fn peer(&self, p: PortRef) -> Option<PortRef> {
        Some(self.link_at(p)?.other(p))
    }

    /// The LID by which a port is addressed: an external switch port's is port 0's.
    #[must_use]
    pub fn lid(&self, p: PortRef) -> Lid {
        let owner = self.port(self.owner(p));
        owner.map_or(Lid::NONE, |port| port.info().lid)
    }

    /// The port by whose LID and GUID a port goes: of an external switch port, port 0.
    #[must_use]
    pub fn owner(&self, p: PortRef) -> PortRef {
        match self.get(p.node) {
            Some(node) if node.is_switch() => PortRef::new(p.node, PortNum::ZERO),
            _ => p,
        }
    }

    /// The name of a port, for messages.
    #[must_use]
    pub fn port_name(&self, p: PortRef) -> PortName {
        PortName {
            node: self.get(p.node).map(Node::name),
            port: p.port,
        }
    }

    /// Adds a node; its GUID must be new.
    pub fn add_node(&mut self, mut node: Node) -> NodeIdx {
        let guid = node.info.node_guid;
        self.stays = self.stays.wrapping_add(1);
        node.stay = self.stays;
        self.revisions += 1;
        node.revision = self.revisions;
        self.guids_revision += 1;
        let place = self.graph.add_node(node);
        let idx = Self::idx(place, &self.graph[place]);
        self.by_node_guid.insert(guid, idx);
        idx
    }

    /// Says which port a port GUID belongs to.
    pub fn index_port_guid(&mut self, guid: PortGuid, at: PortRef) {
        if self.by_port_guid.insert(guid, at) != Some(at) {
            self.guids_revision += 1;
        }
    }

    /// Removes a node with its links.
    pub fn remove_node(&mut self, idx: NodeIdx) -> Option<Node> {
        self.get(idx)?;
        let edges: Vec<LinkIdx> = self
            .graph
            .edges(idx.place())
            .map(|e| petgraph::visit::EdgeRef::id(&e))
            .collect();
        for e in edges {
            self.remove_edge(e);
        }
        let node = self.graph.remove_node(idx.place())?;
        self.guids_revision += 1;
        self.by_node_guid.remove(&node.info.node_guid);
        for port in &node.ports {
            if self
                .by_port_guid
                .get(&port.guid)
                .is_some_and(|p| p.node == idx)
            {
                self.by_port_guid.remove(&port.guid);
            }
        }
        if self.local.is_some_and(|p| p.node == idx) {
            self.local = None;
        }
        Some(node)
    }

    /// Records a cable; whatever was linked to either end is unlinked first.
    pub fn connect(&mut self, a: PortRef, b: PortRef) {
        self.disconnect(a);
        self.disconnect(b);
        if self.port(a).is_none() || self.port(b).is_none() {
            return;
        }
        let e = self
            .graph
            .add_edge(a.node.place(), b.node.place(), Link { a, b });
        for p in [a, b] {
            if let Some(port) = self.port_mut(p) {
                port.link = Some(e);
            }
        }
    }

    /// Removes the cable at a port, if there is one, and tells where it led.
    pub fn disconnect(&mut self, p: PortRef) -> Option<PortRef> {
        let e = self.port(p)?.link?;
        let peer = self.graph.edge_weight(e)?.other(p);
        self.remove_edge(e);
        Some(peer)
    }

    fn remove_edge(&mut self, e: LinkIdx) {
        if let Some(link) = self.graph.remove_edge(e) {
            for p in [link.a, link.b] {
                if let Some(port) = self.port_mut(p) {
                    port.link = None;
                }
            }
        }
    }
}
