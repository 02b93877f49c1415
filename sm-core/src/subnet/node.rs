//! Nodes and ports: the last that each device said of itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{
    LinkSpeed, NodeDescription, NodeInfo, NodeType, PortInfo, PortState, SwitchInfo,
};
use ferrosm_mad::ids::{MKey, PortGuid, PortNum};
use ferrosm_mad::smp::DrPath;
use ferrosm_mad::time::Instant;
use ferrosm_routing::Lft;

use super::LinkIdx;
use super::mft::Mft;
use crate::location::NodeName;
use crate::sa::vl_tables::NodeVlTables;
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;

/// A switch, CA or router.
#[derive(Debug, Clone)]
pub struct Node {
    /// NodeInfo, as it answered at the port by which it was first reached.
    pub info: NodeInfo,
    /// NodeDescription; empty until it was read.
    pub description: NodeDescription,
    /// SwitchInfo of a switch; raw, so that unknown bits survive a Set.
    pub switch_raw: Option<[u8; 64]>,
    /// Ports by number; entry 0 is a switch's management port and unused elsewhere.
    pub ports: Vec<Port>,
    /// The way to it.
    pub path: DrPath,
    /// Its agent does not know the modifier of extended speeds.
    pub plain_port_info: bool,
    /// How often it refused that: once for each port that was asked before the first refusal came.
    pub(crate) port_info_refusals: u16,
    /// The forwarding table that is known to be in the switch; `None` where that is not known.
    pub installed: Option<Arc<Lft>>,
    /// The last known forwarding table, while `installed` is `None` because blocks were not accepted: these hold their old entries.
    pub last_known: Option<Arc<Lft>>,
    /// The forwarding table that should be in the switch.
    pub wanted: Option<Arc<Lft>>,
    /// The multicast forwarding table of a switch.
    pub mft: Mft,
    /// SLtoVLMappingTables that this SM has written.
    pub sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
    /// Tables of lanes that were read because a client asked.
    pub read_lanes: Arc<NodeVlTables>,
    /// What VL tables it has that this SM did not write.
    pub vl_origin: VlTableOrigin,
    /// The fingerprint of its VL tables ([`crate::plan::vls::FabricVlPlan::fingerprint`]) when all of them were last in place.
    pub vl_fingerprint: Option<u64>,
    /// It refused the short forms of them.
    pub plain_sl_to_vl: bool,
    /// Its place in the order that the wanted table was made with, if the engine has one.
    pub order: Option<u32>,
    /// The sweep that saw it last.
    pub seen: u32,
    /// Tells this stay in the subnet from others.
    pub(super) stay: u32,
    /// Tells one state of it from others ([`Self::revision`]).
    pub(super) revision: u64,
    /// Whether `description` is what the node says now.
    pub described: bool,
}

/// Where the VL tables of a device come from that this SM did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VlTableOrigin {
    /// Not decided since the device was discovered or lost its tables.
    Unknown,
    /// Power-up tables: SL 0 travels on VL 0.
    PowerUp,
    /// Another SM may have written them.
    Foreign,
}

/// A port.
#[derive(Debug, Clone)]
pub struct Port {
    /// GUID of an end port; 0 on external switch ports.
    pub guid: PortGuid,
    /// PortInfo as last answered; raw, so that unknown bits survive a Set. All zero until it was read.
    pub raw: PortInfoBytes,
    /// Whether `raw` was ever read.
    pub known: bool,
    /// The cable.
    pub link: Option<LinkIdx>,
    /// Who was behind it before the cable went down, or was given up for want of a usable answer.
    pub last_peer: Option<super::PortRef>,
    /// When its link was last seen to have lost its state.
    pub fell: Option<Instant>,
    /// The sweep that saw it last.
    pub seen: u32,
    /// Fingerprint of the last Set and of what the port said after it: a device that does not take a value is not asked
    /// again until something changes.
    pub asked: Option<u64>,
    /// It was armed after its far end was asked for: who is behind it has to be asked once more when something changed
    /// there, because a cable that was exchanged in between left no trace.
    pub unproven: bool,
    /// The link runs at FDR10, which PortInfo shows as QDR.
    pub fdr10: bool,
    /// How often its link was restarted because the ends disagreed, since they last agreed.
    pub restarts: u8,
    /// Its P_Keys: of an end port its own, of a switch port those that it checks packets by.
    pub keys: PKeyTable,
    /// Its P_Key table fits the end port behind it, so that it may check packets by it.
    pub checks_keys: bool,
    /// Blocks of VLArbitrationTable that this SM has written.
    pub vl_arbitration: Arc<[(u8, [u8; 64])]>,
    /// Why it is left out of the subnet, if it is.
    pub quarantine: Option<crate::report::QuarantineReason>,
}

impl Default for Port {
    fn default() -> Self {
        Self {
            guid: PortGuid(0),
            raw: PortInfoBytes::default(),
            known: false,
            link: None,
            last_peer: None,
            fell: None,
            seen: 0,
            asked: None,
            unproven: false,
            fdr10: false,
            restarts: 0,
            keys: PKeyTable::default(),
            checks_keys: false,
            vl_arbitration: Arc::default(),
            quarantine: None,
        }
    }
}

impl Port {
    /// Stores a block of VLArbitrationTable that this SM has written.
    pub(crate) fn put_vl_arbitration(&mut self, block: u8, table: [u8; 64]) {
        let others = self.vl_arbitration.iter().filter(|(b, _)| *b != block);
        self.vl_arbitration = others.copied().chain([(block, table)]).collect();
    }

    /// A block of VLArbitrationTable is not known any more.
    pub(crate) fn forget_vl_arbitration(&mut self, block: u8) {
        if self.vl_arbitration.iter().any(|(b, _)| *b == block) {
            let others = self.vl_arbitration.iter().filter(|(b, _)| *b != block);
            self.vl_arbitration = others.copied().collect();
        }
    }

    /// PortInfo as last answered; all zero until it was read.
    #[must_use]
    pub fn info(&self) -> PortInfo {
        PortInfo::decode(&self.raw)
    }

    /// PortInfo.M_Key: the first eight bytes (IBA vol. 1, 14.2.5.6). Every request looks it up.
    #[must_use]
    pub fn m_key(&self) -> MKey {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.raw[..8]);
        MKey::new(u64::from_be_bytes(bytes))
    }

    /// Speed of a lane of the link, FDR10 told from QDR.
    #[must_use]
    pub fn speed(&self) -> Option<LinkSpeed> {
        self.info().speed_with(self.fdr10)
    }

    /// Speed of the link in Mb/s; `None` where PortInfo shows none.
    #[must_use]
    pub fn mbps(&self) -> Option<u32> {
        self.info().mbps(self.fdr10)
    }

    /// State of the link layer.
    #[must_use]
    pub fn state(&self) -> PortState {
        PortState(self.raw[32] & 0x0F)
    }

    /// Whether the link is trained: Initialize or better.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.known && self.state().0 >= PortState::Initialize.0
    }
}

impl Node {
    /// A node that has said who it is and nothing else.
    #[must_use]
    pub fn new(info: NodeInfo, path: DrPath) -> Self {
        let ports = vec![Port::default(); usize::from(info.num_ports) + 1];
        Self {
            info,
            description: NodeDescription::default(),
            switch_raw: None,
            ports,
            path,
            plain_port_info: false,
            port_info_refusals: 0,
            installed: None,
            last_known: None,
            wanted: None,
            mft: Mft::default(),
            sl_to_vl: BTreeMap::new(),
            read_lanes: Arc::default(),
            vl_origin: VlTableOrigin::Unknown,
            vl_fingerprint: None,
            plain_sl_to_vl: false,
            order: None,
            seen: 0,
            stay: 0,
            revision: 0,
            described: false,
        }
    }

    /// Stores PortInfo of a port, if there is such a port. Equal bytes of this or the neighbouring ports are shared.
    pub fn store_port_info(&mut self, num: PortNum, bytes: &[u8; 64]) {
        let index = num.index();
        let nearby = index.saturating_sub(1)..self.ports.len().min(index + 2);
        let nearby = self.ports.get(nearby).unwrap_or_default();
        let raw = PortInfoBytes::shared(bytes, nearby.iter().map(|port| &port.raw));
        if let Some(port) = self.ports.get_mut(index) {
            port.raw = raw;
        }
    }

    /// Its name, for messages.
    #[must_use]
    pub const fn name(&self) -> NodeName {
        NodeName {
            description: self.description,
            guid: self.info.node_guid,
        }
    }

    /// Whether the device may know Mellanox ExtendedPortInfo (rule 3.17; the devices that OpenSM asks too).
    #[must_use]
    pub const fn may_know_fdr10(&self) -> bool {
        self.info.vendor_id == 0x2C9
            && matches!(
                self.info.device_id,
                0x1003..=0x101B | 0xC738..=0xC73B | 0xC839 | 0xCB20 | 0xCF08 | 0xCF09 | 0xD2F0
            )
    }

    /// Nothing is known any more of the tables in it: it was restarted, or somebody else was in charge.
    pub fn forget_tables(&mut self) {
        self.installed = None;
        self.last_known = None;
        self.mft.forget();
        self.sl_to_vl.clear();
        self.read_lanes = Arc::default();
        self.vl_origin = VlTableOrigin::Unknown;
        self.vl_fingerprint = None;
        for port in &mut self.ports {
            port.vl_arbitration = Arc::default();
            port.keys.invalidate();
        }
    }

    /// Another number whenever it may have changed; no other node of the subnet ever has the same.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.info.node_type == NodeType::Switch
    }

    /// SwitchInfo, if it is a switch and has answered.
    #[must_use]
    pub fn switch_info(&self) -> Option<SwitchInfo> {
        self.switch_raw.as_ref().map(SwitchInfo::decode)
    }

    /// Numbers of the end ports that were reached.
    pub fn end_ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let all: core::ops::Range<usize> = if self.is_switch() {
            0..1
        } else {
            1..self.ports.len()
        };
        all.map(|p| PortNum(u8::try_from(p).unwrap_or(u8::MAX)))
            .filter(|num| self.is_end_port(*num))
    }

    /// Whether a port is an end port that was reached.
    #[must_use]
    pub fn is_end_port(&self, num: PortNum) -> bool {
        let port = self.ports.get(num.index());
        self.is_switch() == (num == PortNum::ZERO)
            && port.is_some_and(|port| port.known && port.quarantine.is_none())
    }

    /// Numbers of the ports that cables go to.
    pub fn physical_ports(&self) -> impl Iterator<Item = PortNum> + use<> {
        (1..=self.info.num_ports).map(PortNum)
    }
}
