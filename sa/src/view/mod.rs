//! The subnet as answers need it: flat, immutable, with indices by LID and GUID.
//!
//! Made from the observed fabric after a sweep (`build`), shared by all threads that answer, replaced by the next one. What did
//! not change since the view before is shared with it, so that a lost link costs what it changed. It decides nothing.

mod build;
mod end_ports;
mod forwarding;
pub mod persist;
mod service_levels;
mod system_images;

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType};
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, Lmc, MKey, NodeGuid, PKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{LastRun, Lft};

pub use build::{ObservedFabric, ObservedNode, ObservedPort, ViewExtras};
use end_ports::EndPortTable;
pub use end_ports::GidChanges;
use forwarding::ForwardingNode;
pub use forwarding::HopPort;
use service_levels::ServiceLevels;

use super::aliases::AliasTables;
use super::message::partition_number;
use super::pkey_set::PKeySet;
use super::settings::SaSettings;
use super::vl_tables::ReadVlTables;
use crate::routing_origin::RoutingOrigin;
use crate::tables::mft::MftBlocks;
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;

/// An end port of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndPortIdx(u32);

impl EndPortIdx {
    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of the view: the slot of its node and its number on it. It does not move when other nodes come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortIdx(u32);

impl PortIdx {
    /// No port.
    const NONE: Self = Self(u32::MAX);

    /// A port, by the slot of its node and its number.
    #[must_use]
    pub const fn new(node: u32, num: PortNum) -> Self {
        Self(node << 8 | num.0 as u32)
    }

    /// NodeSlot of its node.
    #[must_use]
    pub const fn node(self) -> u32 {
        self.0 >> 8
    }

    /// Its number on its node.
    #[must_use]
    pub const fn num(self) -> PortNum {
        PortNum((self.0 & 0xFF) as u8)
    }
}

/// A node.
#[derive(Debug, Clone)]
pub struct NodeView {
    /// Its GUID.
    pub guid: NodeGuid,
    /// CA, switch or router.
    pub node_type: NodeType,
    /// NodeInfo without its reserved end; PortGUID and LocalPortNum are of whichever port was reached first.
    pub info: [u8; 40],
    /// NodeDescription.
    pub description: [u8; 64],
    /// What only switches have.
    pub switch: Option<SwitchView>,
    /// SLtoVLMappingTables that are known.
    pub sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
    /// Ports by number: from a switch's port 0, or the unused slot before port 1, on. Empty where there is no node.
    ports: Arc<[PortView]>,
}

impl NodeView {
    /// Its ports by number: from a switch's port 0, or the unused slot before port 1, on.
    pub fn ports(&self) -> impl Iterator<Item = &PortView> {
        self.ports.iter()
    }

    /// Whether an answer from one is an answer from the other.
    fn same(&self, other: &Self) -> bool {
        let switch = match (&self.switch, &other.switch) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        switch
            && (self.guid, self.node_type) == (other.guid, other.node_type)
            && self.info == other.info
            && self.description == other.description
            && self.sl_to_vl == other.sl_to_vl
            && Arc::ptr_eq(&self.ports, &other.ports)
    }
}

/// What only switches have.
#[derive(Debug, Clone)]
pub struct SwitchView {
    /// SwitchInfo as far as it goes.
    pub info: [u8; 20],
    /// The forwarding table that is in it; `None` where that is not known.
    pub lft: Option<Arc<Lft>>,
    /// Blocks of its multicast forwarding table, as far as they are known.
    pub mft: Arc<MftBlocks>,
}

impl SwitchView {
    /// The same tables, not only equal ones: whoever changes one makes a new one.
    fn same(&self, other: &Self) -> bool {
        let lft = match (&self.lft, &other.lft) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        lft && self.info == other.info && Arc::ptr_eq(&self.mft, &other.mft)
    }
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortView {
    /// PortInfo as last answered.
    pub raw: PortInfoBytes,
    /// Whether it ever answered.
    pub has_port_info: bool,
    /// Number on its node.
    pub num: PortNum,
    /// Its node.
    pub node: u32,
    /// MTU that packets through it may have.
    pub mtu: MtuCode,
    /// NodeSlot of its rate among all rates, slowest first.
    pub rate_rank: u8,
    /// Its P_Key table, as far as it is known.
    pub pkeys: PKeyTable,
    /// A switch port that checks the P_Keys of packets.
    pub enforces_partitions: bool,
    /// Blocks of VLArbitrationTable that are known.
    pub vl_arbitration: Arc<[(u8, [u8; 64])]>,
    /// The port at the other end of the cable.
    peer: PortIdx,
    /// The link runs at FDR10, which `rate_rank` counts and PortInfo does not show.
    fdr10: bool,
}

/// An end port: what has a LID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndPort {
    /// The port.
    pub port: PortIdx,
    /// Its node.
    pub node: u32,
    /// GUID.
    pub guid: PortGuid,
    /// Base LID.
    pub lid: Lid,
    /// It has 2^LMC LIDs.
    pub lmc: Lmc,
    /// Its P_Keys; `None` where they are not known, which hides nothing (rule 7.9).
    pub pkeys: Option<PKeySet>,
}

impl EndPort {
    /// Number of LIDs.
    #[must_use]
    pub const fn lids(&self) -> u16 {
        1 << self.lmc.0
    }
}

/// The subnet as answers need it; by default an empty one.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Settings that answers depend on.
    pub settings: SaSettings,
    /// The SM's own port.
    pub local: Option<EndPortIdx>,
    /// Subnet managers, this one first.
    pub managers: Vec<SmInfoRecord>,
    /// By their slot in the subnet, which they keep as long as they are there.
    nodes: Arc<[NodeSlot]>,
    end_ports: Arc<EndPortTable>,
    service_levels: ServiceLevels,
    /// Where the routing in force comes from; none of one of the past.
    origin: Option<Arc<RoutingOrigin>>,
    aliases: Arc<AliasTables>,
    read_vl_tables: Arc<ReadVlTables>,
    /// What the subnet's own index of GUIDs was like.
    guids_revision: u64,
}

/// A slot in the subnet and who is there.
#[derive(Debug, Clone)]
struct NodeSlot {
    node: Arc<NodeView>,
    forwarding: ForwardingNode,
    /// Changes whenever something of the node in the subnet may have changed.
    revision: u64,
}

impl View {
    /// Whether a request with this SM_Key may be answered: without one, or with ours (rule 7.1).
    #[must_use]
    pub fn accepts_sm_key(&self, key: MKey) -> bool {
        key == MKey::NONE || key == self.settings.sm_key
    }

    /// The same with other multicast forwarding tables. What does not change is shared with this view.
    #[must_use]
    pub fn with_multicast_tables<'a>(
        &self,
        tables: impl Iterator<Item = (NodeGuid, &'a Arc<MftBlocks>)>,
    ) -> Self {
        let mut view = self.clone();
        for (guid, blocks) in tables {
            let Some(at) = self.by_node_guid(guid) else {
                continue;
            };
            let has = view.node(at).switch.as_ref().map(|s| &s.mft);
            if has.is_none_or(|mft| Arc::ptr_eq(mft, blocks)) {
                continue;
            }
            let slot = &mut Arc::make_mut(&mut view.nodes)[at as usize];
            if let Some(switch) = &mut Arc::make_mut(&mut slot.node).switch {
                switch.mft = Arc::clone(blocks);
            }
        }
        view
    }

    /// The same with other alias GUIDs.
    #[must_use]
    pub fn with_aliases(&self, aliases: Arc<AliasTables>) -> Self {
        Self {
            aliases,
            ..self.clone()
        }
    }

    /// The same with tables of lanes that were read meanwhile.
    #[must_use]
    pub fn with_read_vl_tables(&self, read_vl_tables: Arc<ReadVlTables>) -> Self {
        Self {
            read_vl_tables,
            ..self.clone()
        }
    }

    /// The routing in force and its origin; `None` where nothing is routed, or the view itself was restored.
    #[must_use]
    pub fn routing(&self) -> Option<(&Arc<LastRun>, &RoutingOrigin)> {
        let ServiceLevels::Routed { run, .. } = &self.service_levels else {
            return None;
        };
        Some((run, self.origin.as_deref()?))
    }

    /// The GUID of each switch of the routing in force, in its order.
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

    /// Whether [`Self::routing`] is that of another view, so that it need not be kept again.
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

    /// Tables of lanes that were read because a client asked.
    #[must_use]
    pub fn read_vl_tables(&self) -> &ReadVlTables {
        &self.read_vl_tables
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeView> {
        let there = self.nodes.iter().filter(|p| !p.node.ports.is_empty());
        there.map(|p| &*p.node)
    }

    /// All end ports, in the order of their nodes.
    #[must_use]
    pub fn end_ports(&self) -> &[EndPort] {
        self.end_ports.all()
    }

    /// Indices of all end ports.
    pub fn end_port_indices(&self) -> impl Iterator<Item = EndPortIdx> + use<> {
        (0..u32::try_from(self.end_ports.all().len()).unwrap_or(u32::MAX)).map(EndPortIdx)
    }

    /// An end port.
    #[must_use]
    pub fn end_port(&self, at: EndPortIdx) -> &EndPort {
        &self.end_ports.all()[at.index()]
    }

    /// A port.
    #[must_use]
    pub fn port(&self, at: PortIdx) -> &PortView {
        &self.node(at.node()).ports[at.num().index()]
    }

    /// The node of a port or end port.
    #[must_use]
    pub fn node(&self, node: u32) -> &NodeView {
        &self.nodes[node as usize].node
    }

    /// Whether a node forwards packets.
    #[must_use]
    pub fn is_switch(&self, node: u32) -> bool {
        self.nodes[node as usize].forwarding.is_switch()
    }

    /// Where packets for a LID leave a switch; `None` if that is not known, or at any other node.
    #[must_use]
    pub fn output_port(&self, node: u32, lid: Lid) -> Option<PortNum> {
        self.nodes[node as usize].forwarding.output_port(lid)
    }

    /// A port of a node, as packets meet it.
    #[must_use]
    pub fn hop_port(&self, node: u32, num: PortNum) -> Option<HopPort> {
        self.nodes[node as usize].forwarding.port(num.index())
    }

    /// The ports of a node that can have a record: a switch's from port 0 on, others' from port 1 on.
    pub fn ports_of_node(&self, node: u32) -> impl Iterator<Item = (PortIdx, &PortView)> {
        let n = self.node(node);
        let from = if n.switch.is_some() { 0 } else { 1 };
        let ports = n.ports.iter().skip(from);
        ports.map(move |p| (PortIdx::new(node, p.num), p))
    }

    /// A port of a node by its number.
    #[must_use]
    pub fn port_by_num(&self, node: u32, num: PortNum) -> Option<PortIdx> {
        let n = self.nodes.get(node as usize)?;
        (num.index() < n.node.ports.len()).then(|| PortIdx::new(node, num))
    }

    /// The port at the other end of the cable.
    #[must_use]
    pub fn peer(&self, at: PortIdx) -> Option<PortIdx> {
        Some(self.port(at).peer).filter(|p| *p != PortIdx::NONE)
    }

    /// The end port that answers to a LID.
    #[must_use]
    pub fn by_lid(&self, lid: Lid) -> Option<EndPortIdx> {
        self.end_ports.by_lid(lid)
    }

    /// The end port with this GUID, its own or an alias.
    #[must_use]
    pub fn by_guid(&self, guid: PortGuid) -> Option<EndPortIdx> {
        let own = self.end_ports.by_guid(guid);
        own.or_else(|| self.end_ports.by_guid(self.aliases.owner(guid)?))
    }

    /// The node with this GUID.
    #[must_use]
    pub fn by_node_guid(&self, guid: NodeGuid) -> Option<u32> {
        self.end_ports.by_node_guid(guid)
    }

    /// The end port with this GID, if its prefix is the subnet's or the default one (rule 7.7).
    #[must_use]
    pub fn by_gid(&self, gid: Gid) -> Option<EndPortIdx> {
        if !self.is_local_prefix(gid.prefix()) {
            return None;
        }
        self.by_guid(gid.guid())
    }

    /// Whether a prefix stands for this subnet.
    #[must_use]
    pub fn is_local_prefix(&self, prefix: GidPrefix) -> bool {
        prefix == self.settings.prefix || prefix == GidPrefix::DEFAULT
    }

    /// The GID of an end port.
    #[must_use]
    pub fn gid(&self, at: EndPortIdx) -> Gid {
        Gid::new(self.settings.prefix, self.end_port(at).guid)
    }

    /// The end ports of a node.
    pub fn end_ports_of_node(&self, node: u32) -> impl Iterator<Item = EndPortIdx> {
        let lids = self.ports_of_node(node).filter(|(_, p)| p.has_port_info);
        lids.filter_map(|(p, _)| self.end_port_at(p))
    }

    /// The end port that a port is, if it is one.
    #[must_use]
    pub fn end_port_at(&self, at: PortIdx) -> Option<EndPortIdx> {
        let port = self.port(at);
        let is_switch = self.node(port.node).switch.is_some();
        if is_switch != (port.num == PortNum::ZERO) {
            return None;
        }
        self.end_ports.at_port(at)
    }

    /// The end port by whose LID a port goes: of a switch port, port 0.
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

    /// Whether two end ports may know of each other (rule 7.9).
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

    /// Whether a port is a member of a key's partition, in any way.
    #[must_use]
    pub fn is_partition_member(&self, at: EndPortIdx, key: PKey) -> bool {
        let keys = &self.end_port(at).pkeys;
        partition_number(key) != 0 && keys.as_ref().is_none_or(|keys| keys.has_partition(key))
    }

    /// The SL of packets from an end port to a LID, and whether another would do too: on one lane the routing is safe on any.
    #[must_use]
    pub fn path_sl(&self, from: EndPortIdx, to: Lid) -> (Sl, bool) {
        if let Some(same) = self.service_levels.uniform() {
            return same;
        }
        let port = self.end_port(from).port;
        let enters = if self.is_switch(port.node()) {
            Some(port)
        } else {
            self.hop_port(port.node(), port.num())
                .and_then(HopPort::peer)
        };
        self.service_levels.sl(enters.map(PortIdx::node), to)
    }

    /// Whether packets of groups may have this SL: on one lane any, otherwise the one that the trees are proven for.
    #[must_use]
    pub fn allows_multicast_sl(&self, sl: Sl) -> bool {
        self.multicast_sl().is_none_or(|only| only == sl)
    }

    /// The SL that packets of groups must have; `None` where any will do.
    #[must_use]
    pub fn multicast_sl(&self) -> Option<Sl> {
        self.service_levels.multicast_sl()
    }
}
