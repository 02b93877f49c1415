//! A fabric on paper: what generators make, readers read, and [`crate::fabric`] is built from.
//!
//! Nothing here has state; it is data that can be printed, compared and drawn from a seed.

use ferrosm_mad::attr::{CapMask, LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use crate::generate::hardware::{self, Caps};

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
    /// In the order of the file or generator; the first is where a subnet manager attaches by
    /// default.
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
    /// How it differs from others of its product.
    pub options: NodeOptions,
}

/// How an agent takes bit 31 of PortInfo's modifier, with which a requester says that it
/// understands extended speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AgentModel {
    /// Shows the extended speeds to everybody.
    #[default]
    Current,
    /// Shows and takes them only with the bit; without it an extended speed reads as QDR.
    OnRequest,
    /// Older than the bit: does not look at it, has no extended speeds.
    IgnoresExtendedSpeeds,
    /// Older than the bit: takes it for a port that does not exist, has no extended speeds.
    RefusesExtendedSpeeds,
}

impl AgentModel {
    /// Whether it was made before there were extended speeds.
    #[must_use]
    pub const fn is_old(self) -> bool {
        matches!(
            self,
            Self::IgnoresExtendedSpeeds | Self::RefusesExtendedSpeeds
        )
    }
}

/// How a node differs from others of its product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeOptions {
    /// How its agent takes PortInfo's modifier.
    pub agent: AgentModel,
    /// Bits of CapabilityMask that it has beyond its product's. The agent serves Notice,
    /// LinkSpeedWidthPairsTable, LinkRoundTripLatency and MulticastPKeyTrapSuppressionEnabled only
    /// with their bits.
    pub more_capabilities: u32,
    /// Bits of CapabilityMask that it lacks.
    pub fewer_capabilities: u32,
    /// Bits of CapabilityMask2 that it has beyond its product's, such as IsSetNodeDescription.
    pub more_capabilities2: u16,
    /// Bits of CapabilityMask2 that it lacks.
    pub fewer_capabilities2: u16,
    /// Sizes in place of its product's.
    pub caps: Option<Caps>,
    /// A storage target runs on it: IsDeviceManagementSupported is set, and an I/O unit answers.
    pub srp_target: bool,
    /// Sets of PortInfo succeed and leave OperationalVLs of its ports as they are.
    pub keeps_operational_vls: bool,
}

impl NodeSpec {
    /// Sizes and capabilities: the options' or the product's.
    #[must_use]
    pub fn caps(&self) -> Caps {
        let caps = self
            .options
            .caps
            .unwrap_or_else(|| hardware::caps(self.kind, self.vendor_id, self.device_id));
        let o = &self.options;
        let more = if o.srp_target {
            CapMask::DEVICE_MANAGEMENT
        } else {
            0
        } | o.more_capabilities;
        Caps {
            capability_mask: (caps.capability_mask | more) & !o.fewer_capabilities,
            capability_mask2: (caps.capability_mask2 | o.more_capabilities2)
                & !o.fewer_capabilities2,
            ..caps
        }
    }
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

impl PortAt {
    /// A port of a node.
    #[must_use]
    pub const fn new(node: NodeIdx, port: u8) -> Self {
        Self { node, port }
    }
}

impl FabricSpec {
    /// Puts the links into the one order that generators and readers produce: the lower end first,
    /// sorted by it.
    pub fn normalise(&mut self) {
        for link in &mut self.links {
            if link.b < link.a {
                core::mem::swap(&mut link.a, &mut link.b);
            }
        }
        self.links.sort_by_key(|link| (link.a, link.b));
    }

    /// Nodes that are switches.
    #[must_use]
    pub fn switch_count(&self) -> usize {
        self.nodes
            .iter()
            .filter(|n| n.kind == NodeType::Switch)
            .count()
    }

    /// Nodes that are channel adapters, aggregation nodes included.
    #[must_use]
    pub fn ca_count(&self) -> usize {
        self.nodes.iter().filter(|n| n.kind == NodeType::Ca).count()
    }
}

/// The parts of the fabric that cables hold together, each with its nodes in rising order, in the
/// order of their first nodes. A subnet manager reaches only the part that it is attached to.
#[must_use]
pub fn connected_components(spec: &FabricSpec) -> Vec<Vec<NodeIdx>> {
    let mut sets = DisjointSets::new(spec.nodes.len());
    for link in &spec.links {
        sets.join(link.a.node, link.b.node);
    }
    let mut island_of_root = vec![None; spec.nodes.len()];
    let mut islands: Vec<Vec<NodeIdx>> = Vec::new();
    for node in 0..spec.nodes.len() {
        let root = sets.root(node);
        let island = *island_of_root[root].get_or_insert_with(|| {
            islands.push(Vec::new());
            islands.len() - 1
        });
        islands[island].push(node);
    }
    islands
}

/// Union-find over indices.
pub(crate) struct DisjointSets(Vec<usize>);

impl DisjointSets {
    /// Every index alone.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The representative of an index.
    pub(crate) fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// Puts two together; false where they were already.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cables_between_four_hosts_are_two_islands() {
        let text = "back-to-back";
        let mut spec = crate::generate::from_spec(text).unwrap();
        let again = spec.clone();
        for link in again.links {
            let (a, b) = (
                PortAt {
                    node: link.a.node + 2,
                    ..link.a
                },
                PortAt {
                    node: link.b.node + 2,
                    ..link.b
                },
            );
            spec.links.push(LinkSpec { a, b, ..link });
        }
        spec.nodes.extend(again.nodes);
        assert_eq!(connected_components(&spec), [vec![0, 1], vec![2, 3]]);
    }
}
