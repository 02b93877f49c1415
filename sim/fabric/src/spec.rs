//! Description of a fabric: produced by generators and file readers, input of [`crate::fabric`].
//!
//! Plain data without state.

use ferrosm_mad::attr::{CapMask, LinkSpeed, LinkWidth, NodeType, PortState};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use crate::hardware::{self, HardwareCaps};

/// Index of a node in [`FabricSpec::nodes`].
pub type NodeIdx = usize;

/// A port: node and port number (0 is the management port of a switch).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortAt {
    pub node: NodeIdx,
    pub port: u8,
}

/// Nodes and links of a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FabricSpec {
    /// Nodes in the order of the file or generator. By default the SM attaches to the first one.
    pub nodes: Vec<NodeSpec>,
    pub links: Vec<LinkSpec>,
}

/// A node's hardware and its persistent settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// CA, switch or router.
    pub kind: NodeType,
    /// NodeDescription.
    pub description: String,
    pub node_guid: NodeGuid,
    pub system_image_guid: SystemImageGuid,
    /// Number of physical ports.
    pub num_ports: u8,
    /// GUIDs of the end ports: port 0 of a switch, ports 1, 2, ... of a CA or router.
    pub port_guids: Vec<PortGuid>,
    /// Persisted LID and LMC of each end port, in the order of `port_guids`; LID 0: none.
    pub lids: Vec<(Lid, Lmc)>,
    /// Whether port 0 of a switch is an enhanced port 0.
    pub enhanced_port0: bool,
    pub vendor_id: u32,
    pub device_id: u16,
    /// Differences from the hardware model's defaults.
    pub options: NodeOptions,
}

/// How an SMA handles bit 31 of PortInfo's attribute modifier, by which a requester announces
/// support of extended speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AgentModel {
    /// Reports extended speeds to all requesters.
    #[default]
    Current,
    /// Reports and accepts extended speeds only if the bit is set; otherwise reports an extended
    /// speed as QDR.
    OnRequest,
    /// No extended speeds; ignores the bit.
    IgnoresExtendedSpeeds,
    /// No extended speeds; interprets the bit as part of the port number and rejects the request.
    RejectsExtendedSpeeds,
    /// No extended speeds; rejects requests with the bit as unsupported (status 0x0C).
    UnsupportedExtendedSpeeds,
    /// No extended speeds; does not reply to requests with the bit.
    SilentOnExtendedSpeeds,
}

impl AgentModel {
    /// Whether the SMA predates extended speeds.
    #[must_use]
    pub const fn predates_extended_speeds(self) -> bool {
        matches!(
            self,
            Self::IgnoresExtendedSpeeds
                | Self::RejectsExtendedSpeeds
                | Self::UnsupportedExtendedSpeeds
                | Self::SilentOnExtendedSpeeds
        )
    }
}

/// Differences of a node from its hardware model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeOptions {
    /// How its SMA handles PortInfo's attribute modifier.
    pub agent: AgentModel,
    /// Additional CapabilityMask bits. The SMA implements Notice, LinkSpeedWidthPairsTable,
    /// LinkRoundTripLatency and MulticastPKeyTrapSuppressionEnabled only with their bits.
    pub more_capabilities: u32,
    /// Cleared CapabilityMask bits.
    pub fewer_capabilities: u32,
    /// Additional CapabilityMask2 bits, such as IsSetNodeDescription.
    pub more_capabilities2: u16,
    /// Cleared CapabilityMask2 bits.
    pub fewer_capabilities2: u16,
    /// Hardware limits that replace those of the model.
    pub caps: Option<HardwareCaps>,
    /// The node runs an SRP target: IsDeviceManagementSupported is set, and an I/O unit replies.
    pub srp_target: bool,
    /// Sets of PortInfo succeed but do not change OperationalVLs.
    pub ignores_operational_vls: bool,
    /// Its host has two RDMA devices for it, one with QP0 and one with QP1.
    pub separate_smi: bool,
    /// The next Gets of PortInfo that are rejected with status 0x1C.
    pub port_info_rejections: u8,
    /// At this port, Sets of PortState above this state succeed without a change: it hangs in it.
    pub max_port_state: Option<(u8, PortState)>,
}

impl NodeSpec {
    /// Hardware limits and capabilities, with the options applied.
    #[must_use]
    pub fn caps(&self) -> HardwareCaps {
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
        HardwareCaps {
            capability_mask: (caps.capability_mask | more) & !o.fewer_capabilities,
            capability_mask2: (caps.capability_mask2 | o.more_capabilities2)
                & !o.fewer_capabilities2,
            ..caps
        }
    }
}

/// A link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// One port.
    pub a: PortAt,
    /// The other port; the same port for a loopback plug.
    pub b: PortAt,
    /// Number of lanes.
    pub width: LinkWidth,
    /// Speed per lane.
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
    /// Sorts the links as generators and readers do: the lower port first.
    pub fn normalise(&mut self) {
        for link in &mut self.links {
            if link.b < link.a {
                core::mem::swap(&mut link.a, &mut link.b);
            }
        }
        self.links.sort_by_key(|link| (link.a, link.b));
    }

    /// Number of switches.
    #[must_use]
    pub fn switch_count(&self) -> usize {
        self.nodes
            .iter()
            .filter(|n| n.kind == NodeType::Switch)
            .count()
    }

    /// Number of CAs, including SHARP aggregation nodes.
    #[must_use]
    pub fn ca_count(&self) -> usize {
        self.nodes.iter().filter(|n| n.kind == NodeType::Ca).count()
    }
}

/// Connected components of the fabric, each with its nodes in ascending order, ordered by their
/// first node. An SM reaches only its own component.
#[must_use]
pub fn connected_components(spec: &FabricSpec) -> Vec<Vec<NodeIdx>> {
    let mut sets = DisjointSets::new(spec.nodes.len());
    for link in &spec.links {
        sets.join(link.a.node, link.b.node);
    }
    let mut component_of_root = vec![None; spec.nodes.len()];
    let mut components: Vec<Vec<NodeIdx>> = Vec::new();
    for node in 0..spec.nodes.len() {
        let root = sets.root(node);
        let component = *component_of_root[root].get_or_insert_with(|| {
            components.push(Vec::new());
            components.len() - 1
        });
        components[component].push(node);
    }
    components
}

/// Union-find.
pub(crate) struct DisjointSets(Vec<usize>);

impl DisjointSets {
    /// Each index in its own set.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The representative of an index's set.
    pub(crate) fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// Merges two sets; returns whether they were different.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let a = self.root(a);
        let b = self.root(b);
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_links_between_four_hosts_are_two_components() {
        let text = "back-to-back";
        let mut spec = crate::generate::from_spec(text).unwrap();
        let copy = spec.clone();
        for link in copy.links {
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
        spec.nodes.extend(copy.nodes);
        assert_eq!(connected_components(&spec), [vec![0, 1], vec![2, 3]]);
    }
}
