//! The observed fabric: a petgraph graph of nodes and links, indexed by GUID and LID.
//!
//! Each subnet manager owns one. It contains what devices reported, not what is wanted.

mod departed;
mod exclusion;
mod mft;
mod node;
mod paths;
pub mod plausible;
mod rejections;
mod removal;
mod written;

use core::num::NonZeroU32;

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use petgraph::stable_graph::{EdgeIndex, NodeIndex, StableUnGraph};
use rustc_hash::FxHashMap;

use crate::location::{NodeName, PortName};
use departed::DepartedNodes;

pub use exclusion::ExclusionReason;
pub use mft::Mft;
pub use node::{KeptSettings, Node, Port, PortKind, SpeedQuery, TableCaps};
pub use paths::STABLE_AFTER;
pub use rejections::{DeviceTable, RejectionEffect, Rejections};
pub use removal::NodeRemovalReason;
pub use written::{VlTableOrigin, WrittenLft, WrittenVls};

/// A node of the subnet. It becomes invalid when the node is removed, also if another node gets its
/// index. So late responses never apply to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIdx {
    index: u32,
    generation: NonZeroU32,
}

impl NodeIdx {
    /// A dense index, unique among the present nodes, for tables by node.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// A node that is in no fabric, for predictions. Its index follows `last`.
    #[must_use]
    pub const fn imagined(last: u32, number: u32) -> Self {
        Self {
            index: last.saturating_add(number).saturating_add(1),
            generation: NonZeroU32::MAX,
        }
    }

    /// The same index, as snapshots store it.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.index
    }

    fn graph_index(self) -> NodeIndex<u32> {
        NodeIndex::new(self.index as usize)
    }
}

/// A link by its ends, the lower one first. It is the same after a node was removed and has
/// returned.
pub type LinkKey = [(NodeGuid, PortNum); 2];

/// A link of the subnet.
pub type LinkIdx = EdgeIndex<u32>;

/// A port: a node and a port number (0 is a switch's management port).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    pub node: NodeIdx,
    pub port: PortNum,
}

impl PortRef {
    /// A port of a node.
    #[must_use]
    pub const fn new(node: NodeIdx, port: PortNum) -> Self {
        Self { node, port }
    }
}

/// A link between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: PortRef,
    /// The other end, which may be at the same node (loopback).
    pub b: PortRef,
}

impl Link {
    /// The other end than `p`; `p` itself for a loopback plug.
    #[must_use]
    pub fn other(&self, p: PortRef) -> PortRef {
        if self.a == p { self.b } else { self.a }
    }
}

/// Nodes and links, and the port of the SM.
#[derive(Debug, Clone, Default)]
pub struct ObservedFabric {
    /// Nodes are boxed, so that the spare capacity of the graph is small.
    graph: StableUnGraph<Box<Node>, Link>,
    by_node_guid: FxHashMap<NodeGuid, NodeIdx>,
    by_port_guid: FxHashMap<PortGuid, PortRef>,
    local: Option<PortRef>,
    /// The generation of the node added last.
    last_generation: u32,
    /// Counts changes of nodes; source of [`Node::revision`].
    revisions: u64,
    /// Counts added and removed nodes, and changes of port GUIDs or of the SM port.
    guids_revision: u64,
    /// A link of known DR paths may have changed.
    paths_stale: bool,
    full_sweep_number: u32,
    departed: DepartedNodes,
}

impl ObservedFabric {
    /// The port of the SM.
    #[must_use]
    pub const fn local(&self) -> Option<PortRef> {
        self.local
    }

    /// Sets the port of the SM.
    pub fn set_local(&mut self, port: PortRef) {
        if self.local != Some(port) {
            self.guids_revision += 1;
            self.local = Some(port);
        }
    }

    /// The number of the last full sweep, stored in `seen` of the nodes and ports that it reached.
    #[must_use]
    pub const fn full_sweep_number(&self) -> u32 {
        self.full_sweep_number
    }

    /// Numbers the full sweep that starts: nodes and ports that it does not reach retain an earlier
    /// number. It tries again what devices did not accept before, which no reader of
    /// [`Node::revision`] depends on.
    pub fn begin_full_sweep(&mut self) {
        self.full_sweep_number += 1;
        for node in self.graph.node_weights_mut() {
            node.forget_refusals();
        }
    }

    /// Changes whenever a node is added or removed, or a port GUID or the SM port may have changed.
    #[must_use]
    pub const fn guids_revision(&self) -> u64 {
        self.guids_revision
    }

    /// All nodes, by index.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        self.graph.node_indices().map(|i| {
            let node: &Node = &self.graph[i];
            (Self::idx(i, node), node)
        })
    }

    /// All switches, by index.
    pub fn switches(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        self.nodes().filter(|(_, node)| node.is_switch())
    }

    /// Indices of all nodes, in order.
    pub fn node_indices(&self) -> impl Iterator<Item = NodeIdx> + use<'_> {
        self.nodes().map(|(i, _)| i)
    }

    #[expect(
        clippy::expect_used,
        reason = "a saturated index would name another node"
    )]
    fn idx(index: NodeIndex<u32>, node: &Node) -> NodeIdx {
        NodeIdx {
            index: u32::try_from(index.index()).expect("an index of at most 32 bits"),
            generation: node.generation,
        }
    }

    /// The node with this [`NodeIdx::index`].
    #[must_use]
    pub fn node_at_index(&self, index: u32) -> Option<NodeIdx> {
        let index = NodeIndex::new(index as usize);
        let node = self.graph.node_weight(index)?;
        Some(Self::idx(index, node))
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

    /// A node, if it is present.
    #[must_use]
    pub fn get(&self, node: NodeIdx) -> Option<&Node> {
        let node_data = self.graph.node_weight(node.graph_index())?;
        (node_data.generation == node.generation).then_some(node_data)
    }

    /// A node for modification, if it is present. Increments its revision.
    pub fn get_mut(&mut self, node: NodeIdx) -> Option<&mut Node> {
        let node_data = self
            .graph
            .node_weight_mut(node.graph_index())
            .filter(|n| n.generation == node.generation)?;
        self.revisions += 1;
        node_data.revision = self.revisions;
        Some(node_data)
    }

    /// A port, if its node is present.
    #[must_use]
    pub fn port(&self, p: PortRef) -> Option<&Port> {
        self.get(p.node)?.ports.get(p.port.index())
    }

    /// A port for modification, if its node is present.
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

    /// The end port whose LID range (base LID and LMC) contains a LID. Takes time linear in the
    /// number of end ports.
    #[must_use]
    pub fn port_by_lid(&self, lid: Lid) -> Option<PortRef> {
        self.end_ports().find(|p| {
            self.port(*p).is_some_and(|port| {
                let base = PortInfo::lid.read(&port.raw);
                let lmc = PortInfo::lmc.read(&port.raw);
                base.is_unicast()
                    && lid.0 >= base.0
                    && u32::from(lid.0) < u32::from(base.0) + (1 << lmc.0)
            })
        })
    }

    /// All end ports: ports 0 of switches, and the discovered ports of CAs and routers.
    pub fn end_ports(&self) -> impl Iterator<Item = PortRef> + '_ {
        self.nodes()
            .flat_map(|(idx, node)| node.end_ports().map(move |p| PortRef::new(idx, p)))
    }

    /// The link at a port.
    #[must_use]
    pub fn link_at(&self, p: PortRef) -> Option<&Link> {
        self.graph.edge_weight(self.port(p)?.link?)
    }

    /// The port at the other end of the link.
    #[must_use]
    pub fn peer(&self, p: PortRef) -> Option<PortRef> {
        Some(self.link_at(p)?.other(p))
    }

    /// Identifies the link between two ports.
    pub fn link_key(&self, a: PortRef, b: PortRef) -> Option<LinkKey> {
        let end = |p: PortRef| Some((self.get(p.node)?.info.node_guid, p.port));
        let mut ends = [end(a)?, end(b)?];
        ends.sort_unstable();
        Some(ends)
    }

    /// The LID of a port; for an external switch port, that of port 0.
    #[must_use]
    pub fn lid(&self, p: PortRef) -> Lid {
        let owner = self.port(self.owner(p));
        owner.map_or(Lid::NONE, |port| PortInfo::lid.read(&port.raw))
    }

    /// The end port whose LID and GUID identify a port: for an external switch port, port 0.
    #[must_use]
    pub fn owner(&self, p: PortRef) -> PortRef {
        match self.get(p.node) {
            Some(node) if node.is_switch() => PortRef::new(p.node, PortNum::ZERO),
            _ => p,
        }
    }

    /// The name of a node that is or was in the subnet, for messages.
    #[must_use]
    pub fn node_name(&self, n: NodeIdx) -> Option<NodeName> {
        let present = self.get(n).map(Node::name);
        present.or_else(|| self.departed.name(n))
    }

    /// The name of a port, for messages.
    #[must_use]
    pub fn port_name(&self, p: PortRef) -> PortName {
        PortName {
            node: self.node_name(p.node),
            port: p.port,
        }
    }

    /// Adds a node; its GUID must be new.
    pub fn add_node(&mut self, mut node: Node) -> NodeIdx {
        let guid = node.info.node_guid;
        let next = NonZeroU32::new(self.last_generation.wrapping_add(1));
        node.generation = next.unwrap_or(NonZeroU32::MIN);
        self.last_generation = node.generation.get();
        self.revisions += 1;
        node.revision = self.revisions;
        self.guids_revision += 1;
        let index = self.graph.add_node(Box::new(node));
        let idx = Self::idx(index, &self.graph[index]);
        self.by_node_guid.insert(guid, idx);
        idx
    }

    /// Indexes a port by its GUID.
    pub fn index_port_guid(&mut self, guid: PortGuid, at: PortRef) {
        if self.by_port_guid.insert(guid, at) != Some(at) {
            self.guids_revision += 1;
        }
    }

    /// Removes a node with its links. Messages may name it later.
    pub fn remove_node(&mut self, idx: NodeIdx) -> Option<Node> {
        let node = self.take_node(idx)?;
        self.departed.add(idx, node.name());
        Some(node)
    }

    /// Removes a node with its links, which no message names. Returns whether it was present.
    pub fn discard_node(&mut self, idx: NodeIdx) -> bool {
        self.take_node(idx).is_some()
    }

    fn take_node(&mut self, idx: NodeIdx) -> Option<Node> {
        self.get(idx)?;
        let edges: Vec<LinkIdx> = self
            .graph
            .edges(idx.graph_index())
            .map(|e| petgraph::visit::EdgeRef::id(&e))
            .collect();
        for e in edges {
            self.remove_edge(e);
        }
        let node = self.graph.remove_node(idx.graph_index())?;
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
        Some(*node)
    }

    /// Adds a link, after removing the links of both ports.
    pub fn connect(&mut self, a: PortRef, b: PortRef) {
        self.disconnect(a);
        self.disconnect(b);
        if self.port(a).is_none() || self.port(b).is_none() {
            return;
        }
        let e = self
            .graph
            .add_edge(a.node.graph_index(), b.node.graph_index(), Link { a, b });
        for p in [a, b] {
            if let Some(port) = self.port_mut(p) {
                port.link = Some(e);
            }
        }
    }

    /// Removes the link of a port. Returns the port at its other end.
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
