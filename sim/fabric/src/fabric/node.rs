//! State of nodes and ports, and its power-on values.
//!
//! Owned and changed by [`super::Fabric`] only. A port's PortInfo is stored as the 64 bytes of the
//! attribute, so that a Get is a copy.

use ferrosm_mad::attr::{
    CapMask, CapMask2, LinkSpeed, LinkWidth, MtuCode, NodeType, PhysState, PortInfo, PortState,
    SwitchInfo,
};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, NodeGuid, PortGuid, PortNum, SystemImageGuid};
use ferrosm_mad::time::Instant;

use super::counters::NodeCounters;
use super::emulation::Emulator;
use crate::hardware::HardwareCaps;
use crate::spec::{NodeOptions, NodeSpec};

/// SubnetTimeOut after power-on: about 1 s.
const SUBNET_TIMEOUT: u8 = 18;
/// SwitchInfo.LifeTimeValue after power-on: about 1 s.
const LIFE_TIME: u8 = 18;

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct ModelNode {
    pub(crate) kind: NodeType,
    pub(crate) powered: bool,
    pub(crate) num_ports: u8,
    /// Slot of port 0; unused for CAs and routers.
    pub(crate) base: usize,
    pub(crate) guid: NodeGuid,
    pub(crate) system_image_guid: SystemImageGuid,
    pub(crate) vendor_id: u32,
    pub(crate) device_id: u16,
    pub(crate) options: NodeOptions,
    pub(crate) caps: HardwareCaps,
    pub(crate) enhanced_port0: bool,
    pub(crate) description: [u8; 64],
    pub(crate) switch: Option<Box<Switch>>,
    pub(crate) max_speed: LinkSpeed,
    pub(crate) counters: NodeCounters,
    pub(crate) emulator: Option<Box<Emulator>>,
    pub(crate) trap_tid: u64,
}

impl ModelNode {
    pub(crate) fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Size of a port's P_Key table.
    pub(crate) fn pkey_cap(&self, port: u8) -> u16 {
        if self.is_switch() && port != 0 {
            self.caps.partition_enforcement_cap
        } else {
            self.caps.partition_cap
        }
    }

    /// The port that owns the addresses and keys for packets received by `port`.
    pub(crate) fn end_port(&self, port: u8) -> u8 {
        if self.is_switch() { 0 } else { port }
    }
}

/// State of a switch.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(crate) info: SwitchInfo,
    /// Written LFT entries; all others are 0xFF.
    pub(crate) lft: Vec<u8>,
    /// Written MFT entries: `positions` masks per MLID from 0xC000 on.
    pub(crate) mft: Vec<u16>,
    /// Number of 16-port groups.
    pub(crate) positions: usize,
}

impl Switch {
    pub(crate) fn new(spec: &NodeSpec) -> Self {
        let caps = spec.caps();
        let enforces = caps.partition_enforcement_cap != 0;
        Self {
            info: SwitchInfo {
                linear_fdb_cap: caps.linear_fdb_cap,
                multicast_fdb_cap: caps.multicast_fdb_cap,
                default_multicast_primary_port: PortNum::DROP,
                default_multicast_not_primary_port: PortNum::DROP,
                life_time_value: LIFE_TIME,
                optimized_sl_to_vl: caps.optimized_sl_to_vl,
                partition_enforcement_cap: caps.partition_enforcement_cap,
                inbound_enforcement_cap: enforces,
                outbound_enforcement_cap: enforces,
                filter_raw_inbound_cap: true,
                filter_raw_outbound_cap: true,
                enhanced_port0: spec.enhanced_port0,
                multicast_fdb_top: 0xBFFF,
                ..SwitchInfo::default()
            },
            lft: Vec::new(),
            mft: Vec::new(),
            positions: usize::from(spec.num_ports) / 16 + 1,
        }
    }

    /// Output port for `lid`: port 0 is the switch itself, 0xFF drops.
    #[inline]
    pub(crate) fn egress(&self, lid: Lid) -> u8 {
        if lid.0 > self.info.linear_fdb_top {
            return 0xFF;
        }
        self.lft.get(usize::from(lid.0)).copied().unwrap_or(0xFF)
    }
}

/// A port.
#[derive(Debug, Clone)]
pub(crate) struct ModelPort {
    pub(crate) info: [u8; 64],
    pub(crate) guid: PortGuid,
    /// Number of programs that opened the port.
    pub(crate) clients: u8,
    pub(crate) led: bool,
    /// FDR10 is active.
    pub(crate) fdr10: bool,
    /// FDR10 is enabled (Mellanox ExtendedPortInfo).
    pub(crate) fdr10_enabled: bool,
    /// NoticeToggle of the notice at the head of the queue.
    pub(crate) notice_toggle: bool,
    /// Earliest time of the next trap.
    pub(crate) trap_gate: Instant,
    /// End of the M_Key lease, if it is running.
    pub(crate) lease: Option<Instant>,
    /// Times that ClientReregister was set.
    pub(crate) reregisters: u32,
    pub(crate) tables: Option<Box<PortTables>>,
}

/// Tables that are not written on most ports.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortTables {
    /// Blocks; if empty, the power-on table.
    pub(crate) pkeys: Vec<[u8; 64]>,
    /// By input port; if empty, the power-on table; a single table applies to all inputs.
    pub(crate) sl_to_vl: Vec<[u8; 8]>,
    /// Low priority blocks 0 and 1, high priority blocks 0 and 1.
    pub(crate) vl_arb: [Option<Box<[u8; 64]>>; 4],
    /// Alias GUIDs; entry 0 is unused.
    pub(crate) guids: Vec<u64>,
    /// Enabled FEC modes at FDR, EDR, HDR and NDR; `None`: all supported modes.
    pub(crate) fec: Option<[u16; 4]>,
}

/// Power-on default: SL n maps to VL n modulo 8.
pub(crate) const POWER_ON_SL_TO_VL: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67];

/// One low and one high priority entry for each of eight VLs.
pub(crate) fn power_on_vl_arb(block: usize) -> [u8; 64] {
    let mut b = [0; 64];
    for vl in 0..8u8 {
        let i = usize::from(vl) * 2;
        b[i] = vl;
        b[i + 1] = if block < 2 { 4 } else { 0 };
    }
    b
}

impl ModelPort {
    pub(crate) fn state(&self) -> PortState {
        PortInfo::port_state.read(&self.info)
    }

    pub(crate) fn set_state(&mut self, state: PortState) {
        PortInfo::port_state.write(&mut self.info, state);
    }

    pub(crate) fn phys(&self) -> PhysState {
        PortInfo::port_physical_state.read(&self.info)
    }

    pub(crate) fn set_phys(&mut self, phys: PhysState) {
        PortInfo::port_physical_state.write(&mut self.info, phys);
    }

    /// Physical state after the link went down: LinkDownDefaultState.
    pub(crate) fn down_default(&self) -> PhysState {
        match PhysState(PortInfo::link_down_default_state.read(&self.info)) {
            PhysState::Sleep => PhysState::Sleep,
            _ => PhysState::Polling,
        }
    }

    pub(crate) fn lid(&self) -> Lid {
        PortInfo::lid.read(&self.info)
    }

    pub(crate) fn lmc(&self) -> u8 {
        PortInfo::lmc.read(&self.info).raw()
    }

    pub(crate) fn owns(&self, lid: Lid) -> bool {
        let base = self.lid();
        base.is_unicast() && lid.0 >> self.lmc() == base.0 >> self.lmc()
    }

    pub(crate) fn m_key(&self) -> u64 {
        PortInfo::m_key.read(&self.info).expose()
    }

    pub(crate) fn m_key_protect(&self) -> u8 {
        PortInfo::m_key_protect_bits.read(&self.info)
    }

    pub(crate) fn tables_mut(&mut self) -> &mut PortTables {
        self.tables.get_or_insert_with(Box::default)
    }

    pub(crate) fn update(&mut self, change: impl FnOnce(&mut PortInfo)) {
        let mut info = PortInfo::decode(&self.info);
        change(&mut info);
        info.encode_onto(&mut self.info);
    }
}

/// Bits of all speeds up to `max`: legacy, extended and second extended field.
pub(crate) fn speed_masks(max: LinkSpeed) -> (u8, u8, u8) {
    match max {
        LinkSpeed::Sdr => (1, 0, 0),
        LinkSpeed::Ddr => (3, 0, 0),
        LinkSpeed::Qdr | LinkSpeed::Fdr10 => (7, 0, 0),
        LinkSpeed::Fdr => (7, 1, 0),
        LinkSpeed::Edr => (7, 3, 0),
        LinkSpeed::Hdr => (7, 7, 0),
        LinkSpeed::Ndr => (7, 15, 0),
        LinkSpeed::Xdr => (7, 15, 1),
    }
}

/// Power-on state of a port: no LID, no link, everything supported is enabled.
pub(crate) fn power_on_port(node: &NodeSpec, port: u8, max: LinkSpeed, widths: u8) -> ModelPort {
    let is_switch = node.kind == NodeType::Switch;
    let end_port = !is_switch || port == 0;
    let index = if is_switch {
        0
    } else {
        usize::from(port).saturating_sub(1)
    };
    let guid = node.port_guids.get(index).copied().unwrap_or_default();
    let caps = node.caps();
    let max = if node.options.agent.predates_extended_speeds() {
        max.min(LinkSpeed::Qdr)
    } else {
        max
    };
    let (speeds, ext, ext2) = speed_masks(max);
    let mut info = PortInfo {
        vl_cap: caps.vl_cap,
        operational_vls: caps.vl_cap,
        mtu_cap: caps.mtu_cap,
        neighbor_mtu: caps.mtu_cap.min(MtuCode::Mtu2048),
        port_state: PortState::Down,
        port_physical_state: PhysState::Polling,
        link_down_default_state: 2,
        local_phy_errors: 8,
        overrun_errors: 8,
        link_width_supported: widths,
        link_width_enabled: widths,
        link_width_active: LinkWidth(4).bit(),
        link_speed_supported: speeds,
        link_speed_enabled: speeds,
        link_speed_active: 1,
        link_speed_ext_supported: ext,
        link_speed_ext_enabled: ext,
        link_speed_ext_supported2: ext2,
        link_speed_ext_enabled2: ext2,
        vl_arbitration_high_cap: caps.vl_arb_high_cap,
        vl_arbitration_low_cap: caps.vl_arb_low_cap,
        ..PortInfo::default()
    };
    if is_switch && port == 0 {
        info.port_state = PortState::Active;
        info.port_physical_state = PhysState::LinkUp;
        if !node.enhanced_port0 {
            info.neighbor_mtu = caps.mtu_cap;
        }
    }
    if end_port {
        (info.capability_mask, info.capability_mask2) = capabilities(node, &caps, max);
        info.gid_prefix = GidPrefix::DEFAULT;
        info.guid_cap = caps.guid_cap;
        info.subnet_timeout = SUBNET_TIMEOUT;
        info.resp_time_value = 16;
    }
    ModelPort {
        info: info.encode(),
        guid,
        clients: 0,
        led: false,
        fdr10: false,
        fdr10_enabled: true,
        notice_toggle: false,
        trap_gate: Instant::START,
        lease: None,
        reregisters: 0,
        tables: None,
    }
}

/// CapabilityMask and CapabilityMask2 of an end port: those of the hardware model and of its
/// speeds.
fn capabilities(node: &NodeSpec, caps: &HardwareCaps, max: LinkSpeed) -> (CapMask, CapMask2) {
    const EXTENDED_SPEED_BITS: u32 = CapMask::EXTENDED_SPEEDS | CapMask::CAP_MASK2;
    let mut mask = caps.capability_mask;
    if node.options.agent.predates_extended_speeds() {
        return (CapMask(mask & !EXTENDED_SPEED_BITS), CapMask2(0));
    }
    if max > LinkSpeed::Fdr10 {
        mask |= EXTENDED_SPEED_BITS & !node.options.fewer_capabilities;
    }
    let mask2 = (caps.capability_mask2 | cap_mask2(max)) & !node.options.fewer_capabilities2;
    (CapMask(mask), CapMask2(mask2))
}

/// Sets an end port's persisted LID.
pub(crate) fn restore_lid(port: &mut ModelPort, lid: Lid, lmc: Lmc) {
    if lid.is_unicast() {
        port.update(|info| {
            info.lid = lid;
            info.lmc = lmc;
        });
    }
}

fn cap_mask2(max: LinkSpeed) -> u16 {
    let mut mask = 0;
    if max >= LinkSpeed::Hdr {
        mask |= CapMask2::LINK_WIDTH_2X | CapMask2::LINK_SPEED_HDR;
    }
    if max >= LinkSpeed::Ndr {
        mask |= CapMask2::LINK_SPEED_NDR;
    }
    if max >= LinkSpeed::Xdr {
        mask |= CapMask2::EXTENDED_SPEEDS_2 | CapMask2::LINK_SPEED_XDR;
    }
    mask
}

/// Supported widths of hardware of generation `max` with links of the widths `used`.
pub(crate) fn width_mask(max: LinkSpeed, used: u8) -> u8 {
    let two = if max >= LinkSpeed::Hdr {
        LinkWidth(2).bit()
    } else {
        0
    };
    LinkWidth(1).bit() | LinkWidth(4).bit() | two | used
}
