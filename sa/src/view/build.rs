//! Builds a [`View`] from the observed fabric and the previous view. Pure; takes time linear in the
//! ports of nodes that changed and in the number of all nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeDescription, NodeInfo, NodeType, PortInfo};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum};
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{Lft, VerifiedRun};

use super::end_ports::EndPortTable;
use super::forwarding::ForwardingNode;
use super::service_levels::ServiceLevels;
use super::system_images;
use super::{EndPort, NodeSlot, NodeView, PortIdx, PortView, SwitchView, View};
use crate::aliases::AliasTables;
use crate::pkey_set::PKeySet;
use crate::routing_origin::RoutingOrigin;
use crate::settings::SaSettings;
use crate::tables::mft::MftBlocks;
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::tables::vl_arbitration::VlArbitrationBlocks;

/// A node as the SM observed it.
#[derive(Debug)]
pub struct ObservedNode<'a, P> {
    /// Slot of the node: unchanged while it is in the subnet.
    pub slot: u32,
    /// Changes whenever the node may have changed; unique among nodes.
    pub revision: u64,
    /// NodeInfo.
    pub info: &'a NodeInfo,
    /// NodeDescription.
    pub description: &'a NodeDescription,
    /// SwitchInfo of a switch.
    pub switch_info: Option<&'a [u8; 64]>,
    /// The last known forwarding table of a switch.
    pub lft: Option<&'a Arc<Lft>>,
    /// Known blocks of the multicast forwarding table.
    pub mft: &'a Arc<MftBlocks>,
    /// Known SLtoVLMappingTables.
    pub sl_to_vl: &'a BTreeMap<SlToVlSelector, [u8; 8]>,
    /// Its ports by number, from 0.
    pub ports: P,
}

/// A port as the SM observed it.
#[derive(Debug)]
pub struct ObservedPort<'a> {
    /// GUID of an end port.
    pub guid: PortGuid,
    /// PortInfo.
    pub raw: &'a PortInfoBytes,
    /// Whether PortInfo was ever read.
    pub has_port_info: bool,
    /// Whether it is an end port of the subnet.
    pub is_end_port: bool,
    /// The link runs at FDR10, which PortInfo shows as QDR.
    pub fdr10: bool,
    /// Known blocks of the P_Key table.
    pub pkeys: &'a PKeyTable,
    /// A switch port that enforces partitions.
    pub enforces_partitions: bool,
    /// Known blocks of VLArbitrationTable.
    pub vl_arbitration: &'a VlArbitrationBlocks,
    /// The port at the other end of the link.
    pub peer: Option<PortIdx>,
}

/// The fabric as the SM observed it.
pub trait ObservedFabric {
    /// All nodes, by slot.
    fn nodes(
        &self,
    ) -> impl Iterator<Item = ObservedNode<'_, impl Iterator<Item = ObservedPort<'_>> + Clone>>;
    /// The end port with this GUID.
    fn port_by_guid(&self, guid: PortGuid) -> Option<PortIdx>;
    /// The P_Keys of an end port; `None` if unknown.
    fn pkeys(&self, port: PortIdx) -> Option<PKeySet>;
    /// The SM's port.
    fn local(&self) -> Option<PortIdx>;
    /// Changes whenever a node joins or leaves, a GUID changes or the SM moves to another port.
    fn guids_revision(&self) -> u64;
}

/// Contents of a view other than the observed fabric.
#[derive(Debug, Clone, Default)]
pub struct ViewExtras {
    /// The installed routing, and the slot of each of its switches.
    pub run: Option<(Arc<VerifiedRun>, Vec<usize>)>,
    /// Origin of that routing.
    pub origin: Option<Arc<RoutingOrigin>>,
    /// SMInfoRecords of all SMs, this one first.
    pub sms: Vec<SmInfoRecord>,
    /// Alias GUIDs.
    pub aliases: Arc<AliasTables>,
}

/// Builds a view from the fabric and the previous view.
struct ViewBuilder<'a, F> {
    fabric: &'a F,
    previous: Option<&'a View>,
}

impl View {
    /// Builds the view of a fabric.
    ///
    /// `previous` is the last view of the same fabric. Unchanged parts are shared with it: a node
    /// whose revision is the same is reused without comparison. It must be `None` if
    /// [`ObservedFabric::pkeys`] may return other P_Keys for such a node.
    #[must_use]
    pub fn new(
        fabric: &impl ObservedFabric,
        settings: SaSettings,
        extras: ViewExtras,
        previous: Option<&Self>,
    ) -> Self {
        let builder = ViewBuilder { fabric, previous };
        let nodes = builder.nodes();
        let end_ports = builder.end_ports(&nodes);
        Self {
            settings,
            local: fabric.local().and_then(|port| end_ports.at_port(port)),
            sms: extras.sms,
            aliases: extras.aliases,
            service_levels: ServiceLevels::from_run(extras.run, nodes.len()),
            origin: extras.origin,
            nodes: nodes.into(),
            end_ports,
            guids_revision: fabric.guids_revision(),
        }
    }
}

/// The ports of an observed node.
trait Ports<'a>: Iterator<Item = ObservedPort<'a>> + Clone {}

impl<'a, T: Iterator<Item = ObservedPort<'a>> + Clone> Ports<'a> for T {}

impl<F: ObservedFabric> ViewBuilder<'_, F> {
    /// The slot in the previous view.
    fn previous_slot(&self, slot: u32) -> Option<&NodeSlot> {
        self.previous?.nodes.get(slot as usize)
    }

    fn nodes(&self) -> Vec<NodeSlot> {
        let vacant = NodeSlot::new(Arc::new(NodeView::vacant()), Arc::default(), 0, None);
        let slots = self.previous.map_or(0, |previous| previous.nodes.len());
        let mut nodes: Vec<NodeSlot> = Vec::with_capacity(slots);
        for node in self.fabric.nodes() {
            let previous = self.previous_slot(node.slot);
            nodes.resize(node.slot as usize, vacant.clone());
            nodes.push(match previous {
                Some(unchanged) if unchanged.revision == node.revision => unchanged.clone(),
                _ => updated_slot(&node, previous),
            });
        }
        nodes
    }

    /// The end port table, shared with the previous view if no end port changed.
    fn end_ports(&self, nodes: &[NodeSlot]) -> Arc<EndPortTable> {
        if let Some(previous) = self.previous
            && previous.guids_revision == self.fabric.guids_revision()
            && self.fabric.nodes().all(|node| {
                self.is_unchanged(&node) || self.has_same_end_ports(&node, previous, nodes)
            })
        {
            return Arc::clone(&previous.end_ports);
        }
        let mut end_ports = EndPortTable::with_capacity(nodes.len());
        for node in self.fabric.nodes() {
            end_ports.insert_node(node.info.node_guid, node.slot);
            let mut add = |end_port: EndPort| {
                // If two ports have the same GUID, the fabric's index decides which one the GUID
                // refers to.
                let is_indexed = self.fabric.port_by_guid(end_port.guid) == Some(end_port.port);
                end_ports.push(end_port, is_indexed);
            };
            match self.previous {
                Some(previous) if self.is_unchanged(&node) => {
                    let unchanged = previous.end_ports.of_node(node.slot);
                    unchanged.iter().cloned().for_each(&mut add);
                }
                _ => self.end_ports_of(&node).for_each(&mut add),
            }
        }
        Arc::new(end_ports)
    }

    /// Whether the end ports of a node equal those of the previous view. Unless the node, its
    /// system image GUID or its ports changed, the P_Keys of its end ports are the same, and only
    /// GUIDs are compared.
    fn has_same_end_ports<'n>(
        &self,
        node: &ObservedNode<'n, impl Ports<'n>>,
        previous: &View,
        nodes: &[NodeSlot],
    ) -> bool {
        let slot = node.slot as usize;
        let previous_end_ports = previous.end_ports.of_node(node.slot);
        let slots = previous.nodes.get(slot).zip(nodes.get(slot));
        let Some((before, now)) = slots else {
            return false;
        };
        if system_images::system_image_guid(&before.node)
            != system_images::system_image_guid(&now.node)
        {
            return false;
        }
        if !Arc::ptr_eq(&before.ports, &now.ports) || before.node.info != now.node.info {
            let end_ports = previous_end_ports.iter().cloned();
            return self.end_ports_of(node).eq(end_ports);
        }
        let observed = end_ports(node).map(|(num, port)| (num, port.guid));
        observed.eq(previous_end_ports.iter().map(|e| (e.port.num(), e.guid)))
    }

    /// Whether a node has the revision that it had in the previous view.
    fn is_unchanged<P>(&self, node: &ObservedNode<'_, P>) -> bool {
        let previous = self.previous_slot(node.slot);
        previous.is_some_and(|p| p.revision == node.revision)
    }

    fn end_ports_of<'n>(
        &self,
        node: &ObservedNode<'n, impl Ports<'n>>,
    ) -> impl Iterator<Item = EndPort> {
        let slot = node.slot;
        end_ports(node).map(move |(num, port)| {
            let info = PortInfo::decode(port.raw);
            let at = PortIdx::new(slot, num);
            let (lid, lmc) = unicast_lids(info.lid, info.lmc);
            EndPort {
                port: at,
                node: slot,
                guid: port.guid,
                lid,
                lmc,
                pkeys: self.fabric.pkeys(at),
            }
        })
    }
}

/// Base LID and LMC as far as all their LIDs are unicast: a device may report any values.
fn unicast_lids(lid: Lid, lmc: Lmc) -> (Lid, Lmc) {
    let last = u32::from(lid.0) + (1 << lmc.0) - 1;
    if !lid.is_unicast() {
        (Lid(0), Lmc(0))
    } else if last > u32::from(Lid::UNICAST_MAX.0) {
        (lid, Lmc(0))
    } else {
        (lid, lmc)
    }
}

/// The slot of a changed node, sharing unchanged parts with the previous view.
fn updated_slot<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
    previous: Option<&NodeSlot>,
) -> NodeSlot {
    // Most nodes with a new revision have unchanged ports; this is detected without allocation.
    let reusable = previous.filter(|p| has_same_ports(node, &p.ports));
    let ports = reusable.map_or_else(
        || numbered(node).map(|p| port_view(node, p)).collect(),
        |p| Arc::clone(&p.ports),
    );
    let view = node_view(node);
    let view = match previous {
        Some(previous) if view.has_same_contents(&previous.node) => Arc::clone(&previous.node),
        _ => Arc::new(view),
    };
    NodeSlot::new(view, ports, node.revision, previous)
}

/// Whether the ports of a node equal those of the previous view.
fn has_same_ports<'n>(node: &ObservedNode<'n, impl Ports<'n>>, previous: &[PortView]) -> bool {
    let is_unchanged = |port: ObservedPort<'_>, previous_port: &PortView| {
        *port.raw == previous_port.raw
            && (port.has_port_info, port.fdr10, port.enforces_partitions)
                == (
                    previous_port.has_port_info,
                    previous_port.fdr10,
                    previous_port.enforces_partitions,
                )
            && *port.pkeys == previous_port.pkeys
            && *port.vl_arbitration == previous_port.vl_arbitration
            && port.peer.unwrap_or(PortIdx::NONE) == previous_port.peer
    };
    let mut ports = node.ports.clone();
    let mut previous_ports = previous.iter();
    previous_ports.all(|previous_port| {
        ports
            .next()
            .is_some_and(|port| is_unchanged(port, previous_port))
    }) && ports.next().is_none()
}

/// All ports with their numbers.
fn numbered<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
) -> impl Iterator<Item = (PortNum, ObservedPort<'n>)> {
    (0u8..).map(PortNum).zip(node.ports.clone())
}

/// End ports with their numbers: port 0 of a switch, the connected ports of a CA or router.
fn end_ports<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
) -> impl Iterator<Item = (PortNum, ObservedPort<'n>)> {
    let ports_max = match node.info.node_type {
        NodeType::Switch => 1,
        _ => usize::MAX,
    };
    let ports = numbered(node).take(ports_max);
    ports.filter(|(_, port)| port.is_end_port)
}

impl NodeSlot {
    pub(super) fn new(
        node: Arc<NodeView>,
        ports: Arc<[PortView]>,
        revision: u64,
        previous: Option<&Self>,
    ) -> Self {
        let previous = previous.map(|previous| &previous.forwarding);
        let forwarding = ForwardingNode::new(&node, &ports, previous);
        Self {
            node,
            ports,
            forwarding,
            revision,
        }
    }
}

impl NodeView {
    /// An unused slot.
    fn vacant() -> Self {
        Self {
            guid: NodeGuid(0),
            node_type: NodeType::Ca,
            info: [0; 40],
            description: [0; 64],
            switch: None,
            sl_to_vl: BTreeMap::new(),
        }
    }
}

fn node_view<P>(node: &ObservedNode<'_, P>) -> NodeView {
    let mut info = [0; 40];
    info.copy_from_slice(&node.info.encode()[..40]);
    let switch = (node.info.node_type == NodeType::Switch).then(|| {
        let mut raw = [0; 20];
        if let Some(read) = node.switch_info {
            raw.copy_from_slice(&read[..20]);
        }
        SwitchView {
            info: raw,
            lft: node.lft.cloned(),
            mft: Arc::clone(node.mft),
        }
    });
    NodeView {
        guid: node.info.node_guid,
        node_type: node.info.node_type,
        info,
        description: node.description.encode(),
        switch,
        sl_to_vl: node.sl_to_vl.clone(),
    }
}

fn port_view<P>(node: &ObservedNode<'_, P>, (num, port): (PortNum, ObservedPort<'_>)) -> PortView {
    let is_switch_port_0 = node.info.node_type == NodeType::Switch && num == PortNum::ZERO;
    let info = PortInfo::decode(port.raw);
    PortView {
        raw: port.raw.clone(),
        has_port_info: port.has_port_info,
        num,
        node: node.slot,
        mtu: mtu(&info, is_switch_port_0),
        rate_rank: rate_rank(info.mbps(port.fdr10), is_switch_port_0),
        pkeys: port.pkeys.clone(),
        enforces_partitions: port.enforces_partitions,
        vl_arbitration: port.vl_arbitration.clone(),
        peer: port.peer.unwrap_or(PortIdx::NONE),
        fdr10: port.fdr10,
    }
}

/// MTU of packets through a port: the link's NeighborMTU; for a switch's port 0 its MTUCap
/// (docs/sm-behaviour.md 11.5).
fn mtu(info: &PortInfo, is_switch_port_0: bool) -> MtuCode {
    let mtu = if is_switch_port_0 {
        info.mtu_cap
    } else {
        info.neighbor_mtu
    };
    if mtu == MtuCode(0) {
        info.mtu_cap.max(MtuCode::Mtu256)
    } else {
        mtu
    }
}

/// Index of the port's rate in [`RateCode::ASCENDING`]. A switch's port 0 has no link but may
/// report a rate; without one it gets the highest rate, so that it does not limit paths.
fn rate_rank(mbps: Option<u32>, is_switch_port_0: bool) -> u8 {
    match mbps {
        Some(mbps) => narrow_rank(RateCode::at_most(mbps)),
        None if is_switch_port_0 => narrow_rank(RateCode::G1600),
        None => 0,
    }
}

fn narrow_rank(code: RateCode) -> u8 {
    code.rank().and_then(|i| u8::try_from(i).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_ports_have_unicast_lids_only() {
        for (reported, expected) in [
            ((0xBF80, 7), (0xBF80, 7)),
            ((0xBF81, 7), (0xBF81, 0)),
            ((0xBFFF, 0), (0xBFFF, 0)),
            ((0xBFFF, 1), (0xBFFF, 0)),
            ((0xC000, 0), (0, 0)),
            ((0xFFFF, 7), (0, 0)),
            ((0, 3), (0, 0)),
        ] {
            let (lid, lmc) = unicast_lids(Lid(reported.0), Lmc(reported.1));
            assert_eq!((lid.0, lmc.0), expected, "{reported:x?}");
        }
    }
}
