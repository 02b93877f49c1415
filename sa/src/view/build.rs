//! Builds a [`View`] from the observed fabric and the previous view. Pure; takes time linear in the ports of nodes that changed and
//! in the number of all nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeDescription, NodeInfo, NodeType, PortInfo};
use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{LastRun, Lft};

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
use crate::vl_tables::ReadVlTables;

/// A node as the subnet manager observed it.
#[derive(Debug)]
pub struct ObservedNode<'a, P> {
    /// A small number that it keeps as long as it is in the subnet.
    pub slot: u32,
    /// Changes whenever the node may have changed; no other node ever has the same.
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
    /// Its ports by number, from 0 on.
    pub ports: P,
}

/// A port as the subnet manager observed it.
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
    /// A switch port that checks the P_Keys of packets.
    pub enforces_partitions: bool,
    /// Known blocks of VLArbitrationTable.
    pub vl_arbitration: &'a Arc<[(u8, [u8; 64])]>,
    /// The port at the other end of the link.
    pub peer: Option<PortIdx>,
}

/// The fabric as the subnet manager observed it.
pub trait ObservedFabric {
    /// All nodes, by slot.
    fn nodes(
        &self,
    ) -> impl Iterator<Item = ObservedNode<'_, impl Iterator<Item = ObservedPort<'_>> + Clone>>;
    /// The end port with this GUID.
    fn port_by_guid(&self, guid: PortGuid) -> Option<PortIdx>;
    /// The P_Keys of an end port; `None` where they are not known.
    fn pkeys(&self, port: PortIdx) -> Option<PKeySet>;
    /// The port that the subnet manager uses.
    fn local(&self) -> Option<PortIdx>;
    /// Changes whenever a node joins or leaves, a GUID changes or the subnet manager moves to another port.
    fn guids_revision(&self) -> u64;
}

/// What a view shows that is not in the fabric itself.
#[derive(Debug, Clone, Default)]
pub struct ViewExtras {
    /// The routing in force, and the slot of each of its switches.
    pub run: Option<(Arc<LastRun>, Vec<usize>)>,
    /// Where that routing comes from.
    pub origin: Option<Arc<RoutingOrigin>>,
    /// Subnet managers, this one first.
    pub managers: Vec<SmInfoRecord>,
    /// Alias GUIDs.
    pub aliases: Arc<AliasTables>,
    /// Tables of lanes that were read because a client asked.
    pub read_vl_tables: Arc<ReadVlTables>,
}

/// A view to be made, and the one before.
struct ViewBuilder<'a, F> {
    fabric: &'a F,
    previous: Option<&'a View>,
}

impl View {
    /// The view of a fabric.
    ///
    /// `before` is the last view of the same fabric. What did not change is shared with it: nodes with the same revision are not
    /// looked at. It must be `None` if [`ObservedFabric::pkeys`] would now give other keys for such a node.
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
            managers: extras.managers,
            aliases: extras.aliases,
            read_vl_tables: extras.read_vl_tables,
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
    /// What the view before has at a slot.
    fn previous_slot(&self, slot: u32) -> Option<&NodeSlot> {
        self.previous?.nodes.get(slot as usize)
    }

    fn nodes(&self) -> Vec<NodeSlot> {
        let vacant = NodeSlot::new(Arc::new(NodeView::vacant()), 0, None);
        let mut nodes: Vec<NodeSlot> = Vec::new();
        for node in self.fabric.nodes() {
            let before = self.previous_slot(node.slot);
            nodes.resize(node.slot as usize, vacant.clone());
            nodes.push(match before {
                Some(same) if same.revision == node.revision => same.clone(),
                _ => NodeSlot::new(
                    updated_node(&node, before.map(|p| &p.node)),
                    node.revision,
                    before,
                ),
            });
        }
        nodes
    }

    /// The end ports: those of the view before, if none of them changed.
    fn end_ports(&self, nodes: &[NodeSlot]) -> Arc<EndPortTable> {
        if let Some(before) = self.previous
            && before.guids_revision == self.fabric.guids_revision()
            && self.fabric.nodes().all(|node| {
                self.is_unchanged(&node) || self.has_same_end_ports(&node, before, nodes)
            })
        {
            return Arc::clone(&before.end_ports);
        }
        let mut ends = EndPortTable::with_capacity(nodes.len());
        for node in self.fabric.nodes() {
            ends.insert_node(node.info.node_guid, node.slot);
            let mut add = |end: EndPort| {
                // A GUID that two ports claim stays with the port that the fabric indexed.
                let named = self.fabric.port_by_guid(end.guid) == Some(end.port);
                ends.push(end, named);
            };
            match self.previous {
                Some(before) if self.is_unchanged(&node) => {
                    let same = before.end_ports.of_node(node.slot);
                    same.iter().cloned().for_each(&mut add);
                }
                _ => self.end_ports_of(&node).for_each(&mut add),
            }
        }
        Arc::new(ends)
    }

    /// Whether the end ports of a node are those of the view before. Their P_Keys follow from what the node and its ports say.
    fn has_same_end_ports<'n>(
        &self,
        node: &ObservedNode<'n, impl Ports<'n>>,
        before: &View,
        nodes: &[NodeSlot],
    ) -> bool {
        let slot = node.slot as usize;
        let ends = before.end_ports.of_node(node.slot);
        let slots = before.nodes.get(slot).zip(nodes.get(slot));
        let Some((was, is)) = slots.map(|(was, is)| (&was.node, &is.node)) else {
            return false;
        };
        if system_images::system_image_guid(was) != system_images::system_image_guid(is) {
            return false;
        }
        if !Arc::ptr_eq(&was.ports, &is.ports) || was.info != is.info {
            return self.end_ports_of(node).eq(ends.iter().cloned());
        }
        let there = end_ports(node).map(|(num, port)| (num, port.guid));
        there.eq(ends.iter().map(|e| (e.port.num(), e.guid)))
    }

    /// Whether nobody has touched a node since the view before.
    fn is_unchanged<P>(&self, node: &ObservedNode<'_, P>) -> bool {
        let before = self.previous_slot(node.slot);
        before.is_some_and(|p| p.revision == node.revision)
    }

    fn end_ports_of<'n>(
        &self,
        node: &ObservedNode<'n, impl Ports<'n>>,
    ) -> impl Iterator<Item = EndPort> {
        let slot = node.slot;
        end_ports(node).map(move |(num, port)| {
            let info = PortInfo::decode(port.raw);
            let at = PortIdx::new(slot, num);
            EndPort {
                port: at,
                node: slot,
                guid: port.guid,
                lid: info.lid,
                lmc: info.lmc,
                pkeys: self.fabric.pkeys(at),
            }
        })
    }
}

/// A node that may have changed, with as much of what was there before as is still so.
fn updated_node<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
    before: Option<&Arc<NodeView>>,
) -> Arc<NodeView> {
    // Most nodes that were touched say what they said: that is seen without making anything.
    let kept = before.filter(|b| has_same_ports(node, &b.ports));
    let ports = kept.map_or_else(
        || numbered(node).map(|p| port_view(node, p)).collect(),
        |b| Arc::clone(&b.ports),
    );
    let view = node_view(node, ports);
    match before {
        Some(before) if view.same(before) => Arc::clone(before),
        _ => Arc::new(view),
    }
}

/// Whether the ports of a node are as they were.
fn has_same_ports<'n>(node: &ObservedNode<'n, impl Ports<'n>>, before: &[PortView]) -> bool {
    let same = |port: ObservedPort<'_>, was: &PortView| {
        *port.raw == was.raw
            && (port.has_port_info, port.fdr10, port.enforces_partitions)
                == (was.has_port_info, was.fdr10, was.enforces_partitions)
            && *port.pkeys == was.pkeys
            && *port.vl_arbitration == was.vl_arbitration
            && port.peer.unwrap_or(PortIdx::NONE) == was.peer
    };
    let mut ports = node.ports.clone();
    let mut each = before.iter();
    each.all(|was| ports.next().is_some_and(|port| same(port, was))) && ports.next().is_none()
}

fn numbered<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
) -> impl Iterator<Item = (PortNum, ObservedPort<'n>)> {
    (0u8..).map(PortNum).zip(node.ports.clone())
}

fn end_ports<'n>(
    node: &ObservedNode<'n, impl Ports<'n>>,
) -> impl Iterator<Item = (PortNum, ObservedPort<'n>)> {
    let most = match node.info.node_type {
        NodeType::Switch => 1,
        _ => usize::MAX,
    };
    let ports = numbered(node).take(most);
    ports.filter(|(_, port)| port.is_end_port)
}

impl NodeSlot {
    pub(super) fn new(node: Arc<NodeView>, revision: u64, before: Option<&Self>) -> Self {
        let forwarding = ForwardingNode::new(&node, before.map(|b| (&*b.node, &b.forwarding)));
        Self {
            node,
            forwarding,
            revision,
        }
    }
}

impl NodeView {
    /// Nobody.
    fn vacant() -> Self {
        Self {
            guid: NodeGuid(0),
            node_type: NodeType::Ca,
            info: [0; 40],
            description: [0; 64],
            switch: None,
            sl_to_vl: BTreeMap::new(),
            ports: Arc::default(),
        }
    }
}

fn node_view<P>(node: &ObservedNode<'_, P>, ports: Arc<[PortView]>) -> NodeView {
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
        ports,
    }
}

fn port_view<P>(node: &ObservedNode<'_, P>, (num, port): (PortNum, ObservedPort<'_>)) -> PortView {
    let own = node.info.node_type == NodeType::Switch && num == PortNum::ZERO;
    let info = PortInfo::decode(port.raw);
    PortView {
        raw: port.raw.clone(),
        has_port_info: port.has_port_info,
        num,
        node: node.slot,
        mtu: mtu(&info, own),
        rate_rank: rate_rank(info.mbps(port.fdr10), own),
        pkeys: port.pkeys.clone(),
        enforces_partitions: port.enforces_partitions,
        vl_arbitration: Arc::clone(port.vl_arbitration),
        peer: port.peer.unwrap_or(PortIdx::NONE),
        fdr10: port.fdr10,
    }
}

/// What packets through a port may be as long as: the link's MTU; of a switch's own port what it can take (rule 11.5).
fn mtu(info: &PortInfo, own: bool) -> MtuCode {
    let link = if own { info.mtu_cap } else { info.neighbor_mtu };
    if link == MtuCode(0) {
        info.mtu_cap.max(MtuCode::Mtu256)
    } else {
        link
    }
}

/// NodeSlot of the rate of a port among all. A switch's own port says a rate although it has no cable; one that says none limits
/// nothing that its links do not.
fn rate_rank(mbps: Option<u32>, own: bool) -> u8 {
    match mbps {
        Some(mbps) => rank(RateCode::at_most(mbps)),
        None if own => rank(RateCode::G1600),
        None => 0,
    }
}

fn rank(code: RateCode) -> u8 {
    code.rank().and_then(|i| u8::try_from(i).ok()).unwrap_or(0)
}
