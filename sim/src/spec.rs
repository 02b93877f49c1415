//! A fabric on paper: what generators make, readers read, and [`crate::fabric`] is built from.
//!
//! Nothing here has state; it is data that can be printed, compared and drawn from a seed.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

/// Index of a node in [`FabricSpec::nodes`].
pub type NodeIdx = usize;

/// A port of a fabric on paper: node and port number (0 is a switch's management port).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortAt {
    /// The node.
    pub node: NodeIdx,
    /// The port.
    pub port: u8,
}

/// Nodes and the cables between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FabricSpec {
    /// In the order of the file or generator; the first is where a subnet manager attaches by default.
    pub nodes: Vec<NodeSpec>,
    /// Each cable once.
    pub links: Vec<LinkSpec>,
}

/// A node as it leaves the factory, and what it may remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// CA, switch or router.
    pub kind: NodeType,
    /// NodeDescription.
    pub description: String,
    /// Node GUID.
    pub node_guid: NodeGuid,
    /// System image GUID.
    pub system_image_guid: SystemImageGuid,
    /// Physical ports.
    pub num_ports: u8,
    /// GUIDs of the end ports: a switch's port 0 alone, a CA's or router's ports 1, 2, ...
    pub port_guids: Vec<PortGuid>,
    /// LID and LMC that each end port (as in `port_guids`) comes up with; LID 0 is none.
    pub lids: Vec<(Lid, Lmc)>,
    /// A switch's port 0 is enhanced.
    pub enhanced_port0: bool,
    /// Vendor.
    pub vendor_id: u32,
    /// Product.
    pub device_id: u16,
}

/// A cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// One end.
    pub a: PortAt,
    /// The other end; may be the same port (a loopback plug).
    pub b: PortAt,
    /// Lanes.
    pub width: LinkWidth,
    /// Speed of a lane.
    pub speed: LinkSpeed,
}
