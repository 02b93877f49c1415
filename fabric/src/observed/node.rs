//! Nodes and ports, as devices reported them last.

use core::num::{NonZeroU32, NonZeroU64};
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{
    CapMask, LinkSpeed, MtuCode, NodeDescription, NodeInfo, NodeType, PortInfo, PortState,
    SwitchInfo,
};
use ferrosm_mad::ids::{Lid, MKey, PortGuid, PortNum};
use ferrosm_mad::smp::DrPath;
use ferrosm_mad::time::Instant;
use ferrosm_routing::Lft;

use super::LinkIdx;
use super::exclusion::ExclusionReason;
use super::mft::Mft;
use super::rejections::{DeviceTable, Rejections};
use super::written::{WrittenLft, WrittenVls};
use crate::location::NodeName;
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::tables::vl_arbitration::VlArbitrationBlocks;

/// A switch, CA or router.
#[derive(Debug, Clone)]
pub struct Node {
    /// NodeInfo, read at the port by which the node was discovered.
    pub info: NodeInfo,
    /// NodeDescription; empty until it is read.
    pub description: NodeDescription,
    /// SwitchInfo of a switch; raw, to preserve unknown bits in Sets.
    pub switch_raw: Option<[u8; 64]>,
    /// Table sizes that the switch reported before, until a full sweep confirms the present ones.
    /// They count where they are larger.
    earlier_caps: TableCaps,
    /// EnhancedPort0 as it counts while the last SwitchInfo differs from the one before.
    earlier_enhanced_port0: Option<bool>,
    /// The last Get(SwitchInfo) returned a LinearFDBTop: the switch had tables. Responses to Sets
    /// do not count, because a Set may reach another device while cables are exchanged.
    pub had_lft_top: bool,
    /// Ports by number; entry 0 is a switch's management port and unused elsewhere.
    pub ports: Vec<Port>,
    pub path: DrPath,
    /// The linear forwarding table of a switch.
    pub lft: WrittenLft,
    /// The multicast forwarding table of a switch.
    pub mft: Mft,
    /// SLtoVL tables.
    pub vls: WrittenVls,
    /// Tables that it rejected.
    pub rejections: Rejections,
    /// How PortInfo of its ports is requested, where not as [`SpeedQuery::Extended`]. Not a field
    /// of [`Port`], because each request asks.
    speed_queries: BTreeMap<PortNum, SpeedQuery>,
    /// End ports with settings of another SM that wait for consent. Not a field of [`Port`],
    /// because most fabrics have none.
    kept_settings: BTreeMap<PortNum, KeptSettings>,
    /// Its VL tables are those of another SM and wait for consent.
    pub keeps_vl_tables: bool,
    /// The number of the last full sweep that reached it.
    pub seen: u32,
    /// Distinguishes nodes that successively have the same index in the graph.
    pub(super) generation: NonZeroU32,
    /// See [`Self::revision`].
    pub(super) revision: u64,
    /// Whether `description` is current.
    pub is_description_current: bool,
    /// A switch that did not respond to the last read. It may forward, and keeps its tables.
    pub is_unresponsive: bool,
}

/// Whether PortInfo of a port is requested with the modifier bit of extended speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpeedQuery {
    /// Yes, unless CapabilityMask says that extended speeds are not supported.
    #[default]
    Extended,
    /// A request with the bit failed: the next one is without.
    PlainOnce,
    /// The last Get was without the bit, the next one is with it. Sets are without it.
    ExtendedAgain,
    /// Requests with the bit failed repeatedly: none has it until the next full sweep.
    Plain,
}

impl SpeedQuery {
    /// The device may know the bit now.
    fn ask_again(&mut self) {
        if *self == Self::Plain {
            *self = Self::ExtendedAgain;
        }
    }
}

/// Which settings of an end port stay as they are, because another SM configured them and their
/// change waits for consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptSettings {
    /// PortInfo.LMC.
    pub lmc: bool,
    /// PortInfo.M_Key, with its protection bits and lease period.
    pub m_key: bool,
}

/// The sizes of a switch's forwarding tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableCaps {
    /// Entries of the LFT: it can hold LID 0 to `lft - 1`.
    pub lft: u16,
    /// Entries of the MFT.
    pub mft: u16,
}

impl TableCaps {
    const fn reported(info: &SwitchInfo) -> Self {
        Self {
            lft: info.linear_fdb_cap,
            mft: info.multicast_fdb_cap,
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            lft: self.lft.max(other.lft),
            mft: self.mft.max(other.mft),
        }
    }
}

/// A port.
#[derive(Debug, Clone)]
pub struct Port {
    /// GUID of an end port; 0 on external switch ports.
    pub guid: PortGuid,
    /// The last PortInfo; raw, to preserve unknown bits in Sets. All zero until it is read.
    pub raw: PortInfoBytes,
    /// Whether PortInfo was read.
    pub known: bool,
    pub link: Option<LinkIdx>,
    /// The peer before the link went down, or was removed for lack of a valid response.
    pub last_peer: Option<super::PortRef>,
    /// When the link counts as stable again, after its state fell.
    pub stable_from: Instant,
    /// The number of the last full sweep that reached it.
    pub seen: u32,
    /// Fingerprint of the last Set and of the PortInfo after it: a value that the device does not
    /// accept is not written again until something changes.
    pub written_fingerprint: Option<NonZeroU64>,
    /// The device rejected a Set(PortInfo) with link parameters and has accepted none since.
    /// NeighborMTU and OperationalVLs are then written in any port state.
    pub params_rejected: bool,
    /// The port was armed after its peer was queried. After a change of state the peer is queried
    /// again, because a cable that was exchanged in between leaves no trace.
    pub peer_unverified: bool,
    /// The routes avoid its link, which flaps or does not become active.
    pub is_avoided: bool,
    /// The link runs at FDR10, which PortInfo shows as QDR.
    pub fdr10: bool,
    /// Bounces of its link since its ends last agreed.
    pub bounces: u8,
    /// The P_Key table: of an end port, or the enforcement table of a switch port.
    pub pkeys: PKeyTable,
    /// Its P_Key table covers the end port behind it, so that it may enforce P_Keys.
    pub enforces_p_keys: bool,
    /// The P_Key table of the end port behind it waits for consent: whether it enforces P_Keys
    /// stays as it is.
    pub keeps_enforcement: bool,
    /// Known blocks of VLArbitrationTable: written by this SM or an earlier one, or read.
    pub vl_arbitration: VlArbitrationBlocks,
    /// Why a device is excluded from the subnet. On a port of a switch, the device is the node
    /// behind the port. On a port of a CA or router, it is the port itself.
    pub exclusion: Option<Box<ExclusionReason>>,
}

// A fabric of 10,000 hosts has 80,000 ports.
const _: () = assert!(size_of::<Port>() <= 88);

impl Default for Port {
    fn default() -> Self {
        Self {
            guid: PortGuid(0),
            raw: PortInfoBytes::default(),
            known: false,
            link: None,
            last_peer: None,
            stable_from: Instant::START,
            seen: 0,
            written_fingerprint: None,
            params_rejected: false,
            peer_unverified: false,
            is_avoided: false,
            fdr10: false,
            bounces: 0,
            pkeys: PKeyTable::default(),
            enforces_p_keys: false,
            keeps_enforcement: false,
            vl_arbitration: VlArbitrationBlocks::default(),
            exclusion: None,
        }
    }
}

impl Port {
    /// The last PortInfo; all zero until it is read.
    #[must_use]
    pub fn info(&self) -> PortInfo {
        PortInfo::decode(&self.raw)
    }

    /// PortInfo.M_Key: the first eight bytes (IBA vol. 1, 14.2.5.6). Read for every request.
    #[must_use]
    pub fn m_key(&self) -> MKey {
        PortInfo::m_key.read(&self.raw)
    }

    /// Whether PortInfo reports an SM.
    #[must_use]
    pub fn has_sm(&self) -> bool {
        self.capability_mask().has(CapMask::IS_SM)
    }

    /// Link speed per physical lane, with FDR10 distinguished from QDR.
    #[must_use]
    pub fn speed(&self) -> Option<LinkSpeed> {
        self.info().speed_with(self.fdr10)
    }

    /// Speed of the link in Mb/s; `None` if PortInfo reports none.
    #[must_use]
    pub fn mbps(&self) -> Option<u32> {
        self.info().mbps(self.fdr10)
    }

    /// PortState.
    #[must_use]
    pub fn state(&self) -> PortState {
        PortInfo::port_state.read(&self.raw)
    }

    /// PortInfo.LocalPortNum. Compared with each response to Set(PortInfo).
    #[must_use]
    pub fn local_port_num(&self) -> PortNum {
        PortInfo::local_port_num.read(&self.raw)
    }

    /// PortInfo.NeighborMTU and PortInfo.OperationalVLs. Read for both ends of each link in each
    /// sweep.
    #[must_use]
    pub fn link_values(&self) -> (MtuCode, u8) {
        (
            PortInfo::neighbor_mtu.read(&self.raw),
            PortInfo::operational_vls.read(&self.raw),
        )
    }

    /// PortInfo.CapabilityMask. Read for each request of PortInfo.
    #[must_use]
    pub fn capability_mask(&self) -> CapMask {
        PortInfo::capability_mask.read(&self.raw)
    }

    /// Whether the link is up: Initialize, Armed or Active.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.known && self.state().0 >= PortState::Initialize.0
    }
}

impl Node {
    /// A node of which only NodeInfo is known.
    #[must_use]
    pub fn new(info: NodeInfo, path: DrPath) -> Self {
        let ports = vec![Port::default(); usize::from(info.num_ports) + 1];
        Self {
            info,
            description: NodeDescription::default(),
            switch_raw: None,
            earlier_caps: TableCaps::default(),
            earlier_enhanced_port0: None,
            had_lft_top: false,
            ports,
            path,
            lft: WrittenLft::default(),
            mft: Mft::default(),
            vls: WrittenVls::default(),
            rejections: Rejections::default(),
            speed_queries: BTreeMap::new(),
            kept_settings: BTreeMap::new(),
            keeps_vl_tables: false,
            seen: 0,
            generation: NonZeroU32::MIN,
            revision: 0,
            is_description_current: false,
            is_unresponsive: false,
        }
    }

    /// Whether it keeps a table: it rejects Sets, or the contents wait for consent.
    #[must_use]
    pub fn keeps(&self, table: DeviceTable) -> bool {
        self.rejections.keeps(table) || self.waits_for_consent(table)
    }

    /// Whether it keeps any table.
    #[must_use]
    pub fn keeps_any(&self) -> bool {
        self.keeps_vl_tables || self.rejections.next_retry().is_some()
    }

    /// Whether a table may be written: the node does not keep it, or rejected it long ago.
    #[must_use]
    pub fn may_write(&self, table: DeviceTable, now: Instant) -> bool {
        self.rejections.may_write(table, now) && !self.waits_for_consent(table)
    }

    const fn waits_for_consent(&self, table: DeviceTable) -> bool {
        match table {
            DeviceTable::SlToVl(_) | DeviceTable::VlArbitration(_) => self.keeps_vl_tables,
            DeviceTable::Lft(_) | DeviceTable::Mft | DeviceTable::PKeys(_) => false,
        }
    }

    /// Which settings of an end port wait for consent.
    #[must_use]
    pub fn kept_settings(&self, port: PortNum) -> KeptSettings {
        self.kept_settings.get(&port).copied().unwrap_or_default()
    }

    /// Sets which settings of an end port wait for consent.
    pub fn keep_settings(&mut self, port: PortNum, kept: KeptSettings) {
        if kept == KeptSettings::default() {
            self.kept_settings.remove(&port);
        } else {
            self.kept_settings.insert(port, kept);
        }
    }

    /// Stores PortInfo of a port, if there is such a port. Equal bytes of this or the neighbouring
    /// ports are shared.
    pub fn store_port_info(&mut self, num: PortNum, bytes: &[u8; 64]) {
        let index = num.index();
        let nearby = self
            .ports
            .get(index.saturating_sub(1)..self.ports.len().min(index + 2))
            .unwrap_or_default();
        let raw = PortInfoBytes::shared(bytes, nearby.iter().map(|port| &port.raw));
        if let Some(port) = self.ports.get_mut(index) {
            let before = port.state();
            port.raw = raw;
            // Also if the response to the Set that armed it was lost or reports an error.
            let was_inactive = matches!(before, PortState::Down | PortState::Initialize);
            port.peer_unverified |= was_inactive && port.state() >= PortState::Armed;
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

    /// Whether the device may support Mellanox ExtendedPortInfo (docs/sm-behaviour.md 3.17; the
    /// devices of OpenSM's `osm_subnet.c`).
    #[must_use]
    pub const fn may_know_fdr10(&self) -> bool {
        const MELLANOX: u32 = 0x2C9;
        const BULL: u32 = 0x119F;
        match self.info.vendor_id {
            MELLANOX => matches!(
                self.info.device_id,
                0x1003..=0x101B
                    | 0xA2D2
                    | 0xC738..=0xC73B
                    | 0xC839
                    | 0xCB20
                    | 0xCF08
                    | 0xCF09
                    | 0xD2F0
            ),
            BULL => matches!(
                self.info.device_id,
                0x1B02 | 0x1B33 | 0x1B40 | 0x1B41 | 0x1B50 | 0x1B60 | 0x1B61 | 0x1B73 | 0x1B83 | 0x1B93 | 0x1B94
                    | 0x1BA0
                    | 0x1BB4
                    | 0x1BB5
                    | 0x1BC4..=0x1BC6
                    | 0x1BD0..=0x1BD5
                    | 0x1BF0
            ),
            _ => false,
        }
    }

    /// Discards what is known of its tables, because it was reset or another SM was master.
    pub fn forget_tables(&mut self) {
        self.lft.forget();
        self.mft.forget();
        // Another firmware may accept optimized tables.
        self.vls = WrittenVls::default();
        self.rejections.retry_soon();
        for port in (0..=self.info.num_ports).map(PortNum) {
            self.forget_port_tables(port);
        }
    }

    /// Discards what is known of the tables of one port: an end port that may have been reset,
    /// alone or with its device.
    pub fn forget_port_tables(&mut self, num: PortNum) {
        self.vls.sl_to_vl.remove(&SlToVlSelector::EndPort(num));
        self.vls.fingerprint = None;
        if let Some(port) = self.ports.get_mut(num.index()) {
            port.vl_arbitration = VlArbitrationBlocks::default();
            port.pkeys.invalidate();
            port.written_fingerprint = None;
        }
        if let Some(query) = self.speed_queries.get_mut(&num) {
            query.ask_again();
        }
    }

    /// Whether a request of PortInfo has the modifier bit of extended speeds: only where
    /// CapabilityMask does not exclude it. Switch port 0, whose CapabilityMask counts for all ports
    /// of its switch, has no link and is read without, so that no agent fails to reply.
    #[must_use]
    pub fn asks_extended_speeds(&self, num: PortNum, is_set: bool) -> bool {
        if self.is_switch() && num == PortNum::ZERO {
            return false;
        }
        let is_asked = match self.speed_query(num) {
            SpeedQuery::Extended => true,
            SpeedQuery::ExtendedAgain => !is_set,
            SpeedQuery::PlainOnce | SpeedQuery::Plain => false,
        };
        is_asked && self.supports_extended_speeds(num) != Some(false)
    }

    /// Whether CapabilityMask says that a port supports extended speeds; `None` before it is read.
    #[must_use]
    pub fn supports_extended_speeds(&self, num: PortNum) -> Option<bool> {
        let of_mask = if self.is_switch() { PortNum::ZERO } else { num };
        let port = self.ports.get(of_mask.index()).filter(|port| port.known)?;
        Some(port.capability_mask().has(CapMask::EXTENDED_SPEEDS))
    }

    /// How PortInfo of a port is requested.
    #[must_use]
    pub fn speed_query(&self, num: PortNum) -> SpeedQuery {
        self.speed_queries.get(&num).copied().unwrap_or_default()
    }

    /// Changes how PortInfo of a port is requested.
    pub fn set_speed_query(&mut self, num: PortNum, query: SpeedQuery) {
        if query == SpeedQuery::Extended {
            self.speed_queries.remove(&num);
        } else {
            self.speed_queries.insert(num, query);
        }
    }

    /// Forgets what the device did not accept: it may do so now.
    pub fn forget_refusals(&mut self) {
        for port in &mut self.ports {
            port.written_fingerprint = None;
        }
        self.speed_queries
            .values_mut()
            .for_each(SpeedQuery::ask_again);
    }

    /// Changes whenever the node may have changed; unique among all nodes of the subnet.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.info.node_type == NodeType::Switch
    }

    /// SwitchInfo, if it is a switch and was read.
    #[must_use]
    pub fn switch_info(&self) -> Option<SwitchInfo> {
        self.switch_raw.as_ref().map(SwitchInfo::decode)
    }

    /// Stores SwitchInfo. A table that shrinks counts as before until a full sweep (`confirms`)
    /// reads the smaller size again: one wrong value must not take routes away. EnhancedPort0, on
    /// which the LMC depends, counts as before until it is reported twice in succession. Returns
    /// whether a table has shrunk in this way just now.
    pub fn store_switch_info(&mut self, data: &[u8; 64], confirms: bool) -> bool {
        let is_enhanced = SwitchInfo::enhanced_port0.read(data);
        let was_enhanced = self.switch_info().map(|info| info.enhanced_port0);
        let counted_as_enhanced = self.has_enhanced_port0();
        let differs = was_enhanced.is_some_and(|was| was != is_enhanced);
        self.earlier_enhanced_port0 = differs.then_some(counted_as_enhanced);
        let new = TableCaps::reported(&SwitchInfo::decode(data));
        let before = self.switch_info().as_ref().map(TableCaps::reported);
        let counted = self.table_caps();
        let is_confirmed = confirms && before == Some(new);
        self.earlier_caps = if is_confirmed {
            TableCaps::default()
        } else {
            counted
        };
        self.switch_raw = Some(*data);
        if self.table_caps().lft < counted.lft {
            self.lft.discard();
        }
        before == Some(counted) && self.table_caps() != new
    }

    /// Whether it is a switch with an enhanced port 0.
    #[must_use]
    pub fn has_enhanced_port0(&self) -> bool {
        let reported = || self.switch_info().is_some_and(|info| info.enhanced_port0);
        self.earlier_enhanced_port0.unwrap_or_else(reported)
    }

    /// The sizes of its forwarding tables; 0 unless it is a switch and was read.
    #[must_use]
    pub fn table_caps(&self) -> TableCaps {
        let reported = self.switch_info().as_ref().map(TableCaps::reported);
        self.earlier_caps.max(reported.unwrap_or_default())
    }

    /// The LFT by which the switch forwards, as far as it is known. That of a switch which does not
    /// respond is the last known one.
    #[must_use]
    pub fn lft_in_use(&self) -> Option<&Arc<Lft>> {
        let last_known = || self.lft.last_known.as_ref();
        let is_kept = self.is_unresponsive;
        let installed = self.lft.installed.as_ref();
        installed.or_else(|| last_known().filter(|_| is_kept))
    }

    /// The LinearFDBTop that it should have if `top` is the highest LID in use.
    #[must_use]
    pub fn lft_top(&self, top: Lid) -> Lid {
        Lid(top.0.min(self.table_caps().lft.saturating_sub(1)))
    }

    /// Numbers of the end ports that were discovered.
    pub fn end_ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let all_ports: core::ops::Range<usize> = if self.is_switch() {
            0..1
        } else {
            1..self.ports.len()
        };
        all_ports
            .map(PortNum::from_index)
            .filter(|num| self.is_end_port(*num))
    }

    /// Whether a port is an end port that was discovered.
    #[must_use]
    pub fn is_end_port(&self, num: PortNum) -> bool {
        let port = self.ports.get(num.index());
        self.is_switch() == (num == PortNum::ZERO)
            && port.is_some_and(|port| port.known && port.exclusion.is_none())
    }

    /// End ports that were discovered and are excluded.
    pub fn excluded_end_ports(&self) -> impl Iterator<Item = &Port> {
        let is_end_port = |(number, _): &(usize, &Port)| self.is_switch() == (*number == 0);
        let end_ports = self.ports.iter().enumerate().filter(is_end_port);
        end_ports
            .map(|(_, port)| port)
            .filter(|port| port.known && port.exclusion.is_some())
    }

    /// Numbers of the physical ports.
    pub fn physical_ports(&self) -> impl Iterator<Item = PortNum> + use<> {
        (1..=self.info.num_ports).map(PortNum)
    }

    /// The kind of a port.
    #[must_use]
    pub fn port_kind(&self, port: PortNum) -> PortKind {
        match (self.is_switch(), port) {
            (false, _) => PortKind::EndPort,
            (true, PortNum::ZERO) if self.has_enhanced_port0() => PortKind::EnhancedPort0,
            (true, PortNum::ZERO) => PortKind::BasePort0,
            (true, _) => PortKind::External,
        }
    }
}

/// Kinds of ports with different writable fields (IBA vol. 1, 14.2.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// Port of a CA or router.
    EndPort,
    /// Enhanced switch port 0: behaves as an end port.
    EnhancedPort0,
    /// Base switch port 0.
    BasePort0,
    /// External switch port.
    External,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Set that arms a port may be executed although its response is lost.
    #[test]
    fn peer_of_a_port_that_is_found_armed_is_unverified() {
        let read_states = |states: [PortState; 2]| {
            let info = NodeInfo {
                num_ports: 1,
                ..NodeInfo::default()
            };
            let mut node = Node::new(info, DrPath::LOCAL);
            for port_state in states {
                let info = PortInfo {
                    port_state,
                    ..PortInfo::default()
                };
                node.store_port_info(PortNum(1), &info.encode());
            }
            node.ports[1].peer_unverified
        };
        for armed in [PortState::Armed, PortState::Active] {
            assert!(read_states([PortState::Initialize, armed]));
            assert!(!read_states([PortState::Armed, armed]));
        }
        assert!(!read_states([PortState::Down, PortState::Initialize]));
    }
}
