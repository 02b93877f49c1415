//! The published form of the observed fabric: immutable, with indices by LID and GUID.
//!
//! The SM builds a snapshot from the observed fabric after each sweep (`build`). All threads that
//! reply to clients share it. Unchanged parts are shared with the previous snapshot, so the cost of
//! a snapshot is proportional to the changes.

mod build;
mod delta;
mod end_ports;
mod forwarding;
mod links;
pub mod persist;
mod restore;
mod service_levels;
mod system_images;

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeDescription, NodeInfo, NodeType, PortInfo, SwitchInfo};
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, Lmc, NodeGuid, PKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{Lft, VerifiedRun};
use serde::{Deserialize, Serialize};

pub use build::SnapshotExtras;
pub use delta::{EarlierTables, SnapshotDelta};
pub use end_ports::EndPortChanges;
use end_ports::EndPortTable;
use forwarding::ForwardingNode;
pub use forwarding::HopPort;
pub use links::{ReportedLink, SnapshotLink};
pub use service_levels::InstalledRouting;
use service_levels::ServiceLevels;

use crate::aliases::AliasTables;
use crate::location::{NodeName, PortName};
use crate::observed::PortRef;
use crate::pkey_set::{PKeySet, partition_number};
use crate::routing_origin::RoutingOrigin;
use crate::tables::mft::MftBlocks;
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::tables::vl_arbitration::VlArbitrationBlocks;

/// An end port of the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndPortIdx(u32);

impl EndPortIdx {
    /// As an array index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    #[expect(
        clippy::expect_used,
        reason = "a saturated index would name another end port"
    )]
    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("an index of at most 32 bits"))
    }
}

/// A port of the snapshot: the slot of its node and its port number. Stable while the node is in
/// the subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortIdx(u32);

impl PortIdx {
    /// No port.
    const NONE: Self = Self(u32::MAX);

    /// The port with this number of the node in a slot.
    #[must_use]
    pub const fn new(node: u32, num: PortNum) -> Self {
        Self(node << 8 | num.0 as u32)
    }

    /// Slot of its node.
    #[inline]
    #[must_use]
    pub const fn node(self) -> u32 {
        self.0 >> 8
    }

    /// Its port number.
    #[inline]
    #[must_use]
    pub const fn num(self) -> PortNum {
        PortNum((self.0 & 0xFF) as u8)
    }
}

impl From<PortRef> for PortIdx {
    fn from(port: PortRef) -> Self {
        Self::new(port.node.slot(), port.port)
    }
}

/// A node. Its tables are serialized separately ([`persist`]), because they change separately.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SnapshotNode {
    pub guid: NodeGuid,
    /// CA, switch or router.
    pub node_type: NodeType,
    /// NodeInfo without the reserved bytes; PortGUID and LocalPortNum are those of the port that
    /// was discovered first.
    #[serde(with = "ferrosm_mad::octets")]
    pub info: [u8; 40],
    /// NodeDescription.
    #[serde(with = "ferrosm_mad::octets")]
    pub description: [u8; 64],
    /// Switch-specific data.
    pub switch: Option<SnapshotSwitch>,
    /// Known SLtoVLMappingTables.
    #[serde(skip)]
    pub sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
}

impl SnapshotNode {
    /// Whether it is a switch.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// NodeInfo.
    #[must_use]
    pub fn node_info(&self) -> NodeInfo {
        NodeInfo::decode(&padded(&self.info))
    }

    /// SwitchInfo of a switch.
    #[must_use]
    pub fn switch_info(&self) -> Option<SwitchInfo> {
        let switch = self.switch.as_ref()?;
        Some(SwitchInfo::decode(&padded(&switch.info)))
    }

    /// NodeDescription.
    #[must_use]
    pub const fn node_description(&self) -> NodeDescription {
        NodeDescription::decode(&self.description)
    }

    /// NodeDescription without quotation marks.
    #[must_use]
    pub fn name(&self) -> String {
        self.node_description().unquoted()
    }

    /// The LFT that a switch has; `None` if unknown.
    #[must_use]
    pub fn installed_lft(&self) -> Option<&Arc<Lft>> {
        let switch = self.switch.as_ref()?;
        switch.lft.as_ref().filter(|_| switch.is_lft_installed)
    }

    /// Whether both result in the same replies.
    fn has_same_contents(&self, other: &Self) -> bool {
        let switch = match (&self.switch, &other.switch) {
            (Some(a), Some(b)) => a.has_same_contents(b),
            (None, None) => true,
            _ => false,
        };
        switch
            && (self.guid, self.node_type) == (other.guid, other.node_type)
            && self.info == other.info
            && self.description == other.description
            && self.sl_to_vl == other.sl_to_vl
    }
}

/// Switch-specific data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SnapshotSwitch {
    /// SwitchInfo without the reserved bytes.
    #[serde(with = "ferrosm_mad::octets")]
    pub info: [u8; 20],
    /// The installed LFT, or the last known one; `None` if unknown.
    #[serde(skip)]
    pub lft: Option<Arc<Lft>>,
    /// Whether the switch has this LFT: false after it rejected blocks of another one.
    #[serde(skip)]
    pub is_lft_installed: bool,
    /// Known blocks of the MFT.
    #[serde(skip)]
    pub mft: Arc<MftBlocks>,
}

impl SnapshotSwitch {
    /// Whether SwitchInfo is equal and the tables are shared. Tables are immutable: a changed table
    /// is a new allocation.
    fn has_same_contents(&self, other: &Self) -> bool {
        let lft = match (&self.lft, &other.lft) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        lft && self.is_lft_installed == other.is_lft_installed
            && self.info == other.info
            && Arc::ptr_eq(&self.mft, &other.mft)
    }
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotPort {
    /// PortInfo as last read.
    #[serde(with = "ferrosm_mad::octets")]
    pub raw: PortInfoBytes,
    /// Whether PortInfo was ever read.
    pub has_port_info: bool,
    pub num: PortNum,
    /// Slot of its node.
    pub node: u32,
    /// MTU of packets through the port.
    pub mtu: MtuCode,
    /// Index of its rate in `RateCode::ASCENDING`.
    pub rate_rank: u8,
    /// Known blocks of the P_Key table.
    pub pkeys: PKeyTable,
    /// A switch port that enforces partitions.
    pub enforces_partitions: bool,
    /// Known blocks of VLArbitrationTable.
    pub vl_arbitration: VlArbitrationBlocks,
    /// The port at the other end of the link.
    peer: PortIdx,
    /// The link runs at FDR10, which `rate_rank` includes and PortInfo does not report.
    fdr10: bool,
}

// A fabric of 10,000 hosts has 80,000 ports, and two snapshots while one replaces the other.
const _: () = assert!(size_of::<SnapshotPort>() <= 40);

/// An end port: owner of LIDs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndPort {
    pub port: PortIdx,
    /// Slot of its node.
    pub node: u32,
    pub guid: PortGuid,
    /// Base LID.
    pub lid: Lid,
    /// It has 2^LMC LIDs.
    pub lmc: Lmc,
    /// Its P_Keys; `None` if unknown: its records are then visible to all clients
    /// (docs/sm-behaviour.md 7.9).
    pub pkeys: Option<PKeySet>,
}

impl EndPort {
    /// Number of LIDs.
    #[must_use]
    pub const fn num_lids(&self) -> u16 {
        1 << self.lmc.0
    }
}

/// An end port as its device reports it, for lists and dumps. LIDs may have any value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedEndPort {
    pub num: PortNum,
    pub guid: PortGuid,
    /// Base LID; 0 for none.
    pub lid: Lid,
    /// It has 2^LMC LIDs.
    pub lmc: Lmc,
}

/// A snapshot of the subnet; empty by default.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Subnet prefix: the upper half of GIDs.
    pub prefix: GidPrefix,
    /// The SM's own port.
    pub local: Option<EndPortIdx>,
    /// SMInfoRecords of all SMs, this one first.
    pub sms: Vec<SmInfoRecord>,
    nodes: Arc<[NodeSlot]>,
    links: Arc<[SnapshotLink]>,
    end_ports: Arc<EndPortTable>,
    service_levels: ServiceLevels,
    /// Origin of the installed routing; `None` in a restored snapshot.
    origin: Option<Arc<RoutingOrigin>>,
    aliases: Arc<AliasTables>,
    /// [`crate::observed::ObservedFabric::guids_revision`] of the fabric.
    guids_revision: u64,
}

/// A slot and its node.
#[derive(Debug, Clone)]
struct NodeSlot {
    node: Arc<SnapshotNode>,
    /// By port number. Entry 0 is port 0 of a switch, and unused for other nodes. Empty for an
    /// unused slot.
    ports: Arc<[SnapshotPort]>,
    forwarding: ForwardingNode,
    /// Changes whenever the observed node may have changed.
    revision: u64,
}

impl Snapshot {
    /// A copy with other MFTs.
    #[must_use]
    pub fn with_multicast_tables<'a>(
        &self,
        tables: impl Iterator<Item = (NodeGuid, &'a Arc<MftBlocks>)>,
    ) -> Self {
        let mut snapshot = self.clone();
        for (guid, blocks) in tables {
            let Some(at) = self.by_node_guid(guid) else {
                continue;
            };
            let mft_of_node = snapshot.node(at).switch.as_ref().map(|s| &s.mft);
            if mft_of_node.is_none_or(|mft| Arc::ptr_eq(mft, blocks)) {
                continue;
            }
            let slot = &mut Arc::make_mut(&mut snapshot.nodes)[at as usize];
            if let Some(switch) = &mut Arc::make_mut(&mut slot.node).switch {
                switch.mft = Arc::clone(blocks);
            }
        }
        snapshot
    }

    /// A copy with other alias GUIDs.
    #[must_use]
    pub fn with_aliases(&self, aliases: Arc<AliasTables>) -> Self {
        Self {
            aliases,
            ..self.clone()
        }
    }

    /// The installed routing and its origin; `None` without a routing, or in a restored snapshot.
    #[must_use]
    pub fn routing(&self) -> Option<(&Arc<VerifiedRun>, &RoutingOrigin)> {
        let ServiceLevels::Routed { run, .. } = &self.service_levels else {
            return None;
        };
        Some((run, self.origin.as_deref()?))
    }

    /// The installed routing, if all its switches are present; `None` in a restored snapshot.
    #[must_use]
    pub fn installed_routing(&self) -> Option<InstalledRouting<'_>> {
        let routing = self.service_levels.installed()?;
        let present = self.slots().filter(|slot| routing.switch(*slot).is_some());
        (present.count() == routing.run.topo.num_switches()).then_some(routing)
    }

    /// The GUID of each switch of the installed routing, in the routing's order.
    #[must_use]
    pub fn routed_switches(&self) -> Vec<NodeGuid> {
        let ServiceLevels::Routed { run, switches } = &self.service_levels else {
            return Vec::new();
        };
        let mut guids = vec![NodeGuid(0); run.topo.num_switches()];
        for (switch, slot) in switches.iter().zip(self.nodes.iter()) {
            if let Some(guid) = switch.and_then(|s| guids.get_mut(s.index())) {
                *guid = slot.node.guid;
            }
        }
        guids
    }

    /// Whether both snapshots have the same routing, so that it need not be persisted again.
    #[must_use]
    pub fn shares_routing_with(&self, other: &Self) -> bool {
        match (&self.service_levels, &other.service_levels) {
            (ServiceLevels::Routed { run: a, .. }, ServiceLevels::Routed { run: b, .. }) => {
                Arc::ptr_eq(a, b) && self.origin == other.origin
            }
            _ => false,
        }
    }

    /// Alias GUIDs.
    #[must_use]
    pub const fn aliases(&self) -> &Arc<AliasTables> {
        &self.aliases
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &SnapshotNode> {
        let occupied = self.nodes.iter().filter(|p| !p.ports.is_empty());
        occupied.map(|p| &*p.node)
    }

    /// The slots of all nodes, ascending.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        let occupied = (0u32..).zip(self.nodes.iter());
        occupied
            .filter(|(_, p)| !p.ports.is_empty())
            .map(|(slot, _)| slot)
    }

    /// The slots of this snapshot whose nodes or ports another one does not share.
    pub fn slots_changed_in<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = u32> + 's {
        self.slots().filter(|slot| {
            let own = &self.nodes[*slot as usize];
            let other = other.nodes.get(*slot as usize);
            other.is_none_or(|other| {
                !Arc::ptr_eq(&own.ports, &other.ports) || !Arc::ptr_eq(&own.node, &other.node)
            })
        })
    }

    /// All end ports, by slot and port.
    #[inline]
    #[must_use]
    pub fn end_ports(&self) -> &[EndPort] {
        self.end_ports.as_slice()
    }

    /// Indices of all end ports.
    pub fn end_port_indices(&self) -> impl Iterator<Item = EndPortIdx> + use<> {
        (0..self.end_ports.as_slice().len()).map(EndPortIdx::from_index)
    }

    /// An end port.
    #[inline]
    #[must_use]
    pub fn end_port(&self, at: EndPortIdx) -> &EndPort {
        &self.end_ports.as_slice()[at.index()]
    }

    /// A port.
    #[inline]
    #[must_use]
    pub fn port(&self, at: PortIdx) -> &SnapshotPort {
        &self.ports(at.node())[at.num().index()]
    }

    /// The node in a slot.
    #[inline]
    #[must_use]
    pub fn node(&self, node: u32) -> &SnapshotNode {
        &self.nodes[node as usize].node
    }

    /// The ports of a node by port number. Entry 0 is port 0 of a switch, and unused for other
    /// nodes.
    #[inline]
    #[must_use]
    pub fn ports(&self, node: u32) -> &[SnapshotPort] {
        &self.nodes[node as usize].ports
    }

    /// Whether a node forwards packets.
    #[inline]
    #[must_use]
    pub fn is_switch(&self, node: u32) -> bool {
        self.nodes[node as usize].forwarding.is_switch()
    }

    /// The output port of a switch for a LID; `None` if unknown or not a switch.
    #[inline]
    #[must_use]
    pub fn output_port(&self, node: u32, lid: Lid) -> Option<PortNum> {
        self.nodes[node as usize].forwarding.output_port(lid)
    }

    /// Forwarding properties of a port.
    #[inline]
    #[must_use]
    pub fn hop_port(&self, node: u32, num: PortNum) -> Option<HopPort> {
        self.nodes[node as usize].forwarding.port(num.index())
    }

    /// The ports of a node that can have records: from port 0 of a switch, from port 1 of other
    /// nodes.
    pub fn ports_of_node(&self, node: u32) -> impl Iterator<Item = (PortIdx, &SnapshotPort)> {
        let from = if self.node(node).switch.is_some() {
            0
        } else {
            1
        };
        let ports = self.ports(node).iter().skip(from);
        ports.map(move |p| (PortIdx::new(node, p.num), p))
    }

    /// A port of a node, by port number.
    #[must_use]
    pub fn port_by_num(&self, node: u32, num: PortNum) -> Option<PortIdx> {
        let n = self.nodes.get(node as usize)?;
        (num.index() < n.ports.len()).then(|| PortIdx::new(node, num))
    }

    /// The port at the other end of the link.
    #[inline]
    #[must_use]
    pub fn peer(&self, at: PortIdx) -> Option<PortIdx> {
        Some(self.port(at).peer).filter(|p| *p != PortIdx::NONE)
    }

    /// The end port that owns a LID.
    #[inline]
    #[must_use]
    pub fn by_lid(&self, lid: Lid) -> Option<EndPortIdx> {
        self.end_ports.by_lid(lid)
    }

    /// The end port with this GUID or alias GUID.
    #[must_use]
    pub fn by_guid(&self, guid: PortGuid) -> Option<EndPortIdx> {
        let owner = self.end_ports.by_guid(guid);
        owner.or_else(|| self.end_ports.by_guid(self.aliases.owner(guid)?))
    }

    /// The node with this GUID.
    #[must_use]
    pub fn by_node_guid(&self, guid: NodeGuid) -> Option<u32> {
        self.end_ports.by_node_guid(guid)
    }

    /// The end port with this GID, if it has the subnet's prefix or the default prefix
    /// (docs/sm-behaviour.md 7.7).
    #[must_use]
    #[inline]
    pub fn by_gid(&self, gid: Gid) -> Option<EndPortIdx> {
        if !self.is_local_prefix(gid.prefix()) {
            return None;
        }
        self.by_guid(gid.guid())
    }

    /// Whether a prefix denotes this subnet.
    #[must_use]
    #[inline]
    pub fn is_local_prefix(&self, prefix: GidPrefix) -> bool {
        prefix == self.prefix || prefix == GidPrefix::DEFAULT
    }

    /// The name of an end port, for messages.
    #[must_use]
    pub fn port_name(&self, at: EndPortIdx) -> PortName {
        let end_port = self.end_port(at);
        let node = self.node(end_port.node);
        PortName {
            node: Some(NodeName {
                description: NodeDescription::decode(&node.description),
                guid: node.guid,
            }),
            port: end_port.port.num(),
        }
    }

    /// The GID of an end port.
    #[must_use]
    pub fn gid(&self, at: EndPortIdx) -> Gid {
        Gid::new(self.prefix, self.end_port(at).guid)
    }

    /// The end ports of a node.
    pub fn end_ports_of_node(&self, node: u32) -> impl Iterator<Item = EndPortIdx> {
        let ports = self.ports_of_node(node).filter(|(_, p)| p.has_port_info);
        ports.filter_map(|(p, _)| self.end_port_at(p))
    }

    /// The end ports of a node, as it reports them.
    pub fn reported_end_ports(&self, node: u32) -> impl Iterator<Item = ReportedEndPort> {
        let end_ports = self.end_ports.of_node(node).iter();
        end_ports.map(|end_port| {
            let raw = &self.port(end_port.port).raw;
            ReportedEndPort {
                num: end_port.port.num(),
                guid: end_port.guid,
                lid: PortInfo::lid.read(raw),
                lmc: PortInfo::lmc.read(raw),
            }
        })
    }

    /// The end port whose LID addresses a port, as its node reports it. If its PortInfo is unknown,
    /// it has the node's GUID and no LID.
    #[must_use]
    pub fn reported_lid_owner(&self, at: PortIdx) -> ReportedEndPort {
        let node = self.node(at.node());
        let num = if node.is_switch() {
            PortNum::ZERO
        } else {
            at.num()
        };
        let unknown = ReportedEndPort {
            num,
            guid: PortGuid(node.guid.0),
            lid: Lid::NONE,
            lmc: Lmc(0),
        };
        let mut end_ports = self.reported_end_ports(at.node());
        end_ports.find(|e| e.num == num).unwrap_or(unknown)
    }

    /// The end port at a port; `None` if the port is not an end port.
    #[must_use]
    pub fn end_port_at(&self, at: PortIdx) -> Option<EndPortIdx> {
        let port = self.port(at);
        let is_switch = self.node(port.node).switch.is_some();
        if is_switch != (port.num == PortNum::ZERO) {
            return None;
        }
        self.end_ports.at_port(at)
    }

    /// The end port whose LID addresses a port: port 0 for a switch port.
    #[must_use]
    pub fn lid_owner(&self, at: PortIdx) -> Option<EndPortIdx> {
        let port = self.port(at);
        let node = self.node(port.node);
        if node.switch.is_some() {
            self.end_port_at(PortIdx::new(port.node, PortNum::ZERO))
        } else {
            self.end_port_at(at)
        }
    }

    /// Whether the records of two end ports are visible to each other (docs/sm-behaviour.md 7.9).
    #[must_use]
    pub fn share_partition(&self, a: EndPortIdx, b: EndPortIdx) -> bool {
        if a == b {
            return true;
        }
        match (&self.end_port(a).pkeys, &self.end_port(b).pkeys) {
            (Some(x), Some(y)) => x.shares_partition(y),
            _ => true,
        }
    }

    /// Whether a port is a full or limited member of a P_Key's partition.
    #[must_use]
    pub fn is_partition_member(&self, at: EndPortIdx, key: PKey) -> bool {
        let keys = &self.end_port(at).pkeys;
        partition_number(key) != 0 && keys.as_ref().is_none_or(|keys| keys.has_partition(key))
    }

    /// The SL of packets from an end port to a LID, and whether any other SL is allowed: with one
    /// VL every SL is free of deadlock.
    #[must_use]
    pub fn path_sl(&self, from: EndPortIdx, to: Lid) -> (Sl, bool) {
        if let Some(uniform_sl) = self.service_levels.uniform() {
            return uniform_sl;
        }
        let port = self.end_port(from).port;
        let entry = if self.is_switch(port.node()) {
            Some(port)
        } else {
            self.hop_port(port.node(), port.num())
                .and_then(HopPort::peer)
        };
        self.service_levels.sl(entry.map(PortIdx::node), to)
    }

    /// Whether multicast packets may have this SL: any with one VL, otherwise the SL that the trees
    /// were verified for.
    #[must_use]
    pub fn allows_multicast_sl(&self, sl: Sl) -> bool {
        self.multicast_sl().is_none_or(|group_sl| group_sl == sl)
    }

    /// The SL that multicast packets must have; `None` if any is allowed.
    #[must_use]
    pub fn multicast_sl(&self) -> Option<Sl> {
        self.service_levels.multicast_sl()
    }
}

/// An attribute without its reserved bytes, extended by zeros.
fn padded(bytes: &[u8]) -> [u8; 64] {
    let mut attribute = [0; 64];
    attribute[..bytes.len()].copy_from_slice(bytes);
    attribute
}
