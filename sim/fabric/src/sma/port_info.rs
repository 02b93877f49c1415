//! PortInfo: Get and Set (IBA 14.2.5.6, 7.2.7).
//!
//! A Set is applied only if all its fields are valid.

use ferrosm_mad::attr::{CapMask, MtuCode, PhysState, PortInfo, PortState};
use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;

use super::{AttributeData, SmaRequest};
use crate::fabric::Fabric;
use crate::spec::{AgentModel, NodeIdx, NodeOptions};

/// LinkRoundTripLatency of a trained link, and of one that has not been measured.
const ROUND_TRIP: u32 = 4;
const NOT_MEASURED: u32 = 0x00FF_FFFF;
/// LinkSpeedExtEnabled that disables extended speeds.
const EXTENDED_SPEEDS_DISABLED: u8 = 30;
/// LinkSpeedActive of QDR.
const QDR: u8 = 4;

/// Byte of LocalPortNum.
const LOCAL_PORT_NUM: usize = 28;
/// Byte of ClientReregister, its most significant bit.
const CLIENT_REREGISTER: usize = 51;
/// Bytes of LinkRoundTripLatency.
const LINK_ROUND_TRIP_LATENCY: core::ops::Range<usize> = 57..60;

/// Kind of port, which determines the PortInfo fields that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortKind {
    /// A port of a CA or router.
    Ca,
    BasePort0,
    EnhancedPort0,
    SwitchExternal,
}

impl PortKind {
    /// Whether the port has the fields of an end port: LID, M_Key, GID prefix and others.
    const fn has_address(self) -> bool {
        !matches!(self, Self::SwitchExternal)
    }

    /// Whether the port has the state and the settings of a link.
    const fn has_link(self) -> bool {
        matches!(self, Self::Ca | Self::SwitchExternal)
    }
}

impl Fabric {
    pub(super) fn port_info_attribute(
        &mut self,
        r: &SmaRequest,
        key_matches: bool,
        data: &mut AttributeData,
    ) -> Status {
        let agent = self.nodes[r.node].options.agent;
        let has_extended_bit = r.modifier & PortInfo::EXTENDED_SPEEDS_MOD != 0;
        if has_extended_bit && agent == AgentModel::UnsupportedExtendedSpeeds {
            return Status::BAD_METHOD_ATTR;
        }
        let rejections = &mut self.nodes[r.node].options.port_info_rejections;
        if !r.set && *rejections > 0 {
            *rejections -= 1;
            return Status::BAD_FIELD;
        }
        let number = if agent == AgentModel::RejectsExtendedSpeeds {
            r.modifier
        } else {
            r.modifier & !PortInfo::EXTENDED_SPEEDS_MOD
        };
        let Some(slot) = self.port_info_slot(r, number) else {
            return Status::BAD_FIELD;
        };
        let hides_speeds = agent == AgentModel::OnRequest && !has_extended_bit;
        let mut reregister = false;
        let mut status = Status::OK;
        if r.set {
            let mut requested = PortInfo::decode(data);
            if hides_speeds || agent.predates_extended_speeds() {
                requested.link_speed_ext_enabled = 0;
                requested.link_speed_ext_enabled2 = 0;
            }
            status = self.set_port_info(r, slot, &requested);
            reregister = requested.client_reregister && status.is_ok();
        }
        let port = &self.ports[slot];
        *data = port.info;
        data[LOCAL_PORT_NUM] = r.in_port;
        if !key_matches && port.m_key_protect() != 0 {
            data[..8].fill(0);
        }
        let kind = self.port_kind(r, slot);
        if reregister && kind.has_address() && self.capabilities(r).has(CapMask::CLIENT_REREGISTER)
        {
            // The reply still contains the bit (o14-12.2.1); afterwards it reads as 0.
            data[CLIENT_REREGISTER] |= 0x80;
        }
        if kind.has_link() && self.capabilities(r).has(CapMask::LINK_ROUND_TRIP_LATENCY) {
            let latency = if self.cable_ends[slot].up {
                ROUND_TRIP
            } else {
                NOT_MEASURED
            };
            data[LINK_ROUND_TRIP_LATENCY].copy_from_slice(&latency.to_be_bytes()[1..]);
        }
        if hides_speeds {
            hide_extended_speeds(data);
        }
        status
    }

    /// Slot of the port with this number; on a CA, 0 is the port that the request is addressed to.
    fn port_info_slot(&self, r: &SmaRequest, number: u32) -> Option<usize> {
        let node = &self.nodes[r.node];
        if !node.is_switch() && number == 0 {
            return Some(r.end_slot);
        }
        (number <= node.num_ports.into()).then_some(node.base + number as usize)
    }

    /// The deviations of a node from its hardware model.
    pub fn node_options_mut(&mut self, node: NodeIdx) -> Option<&mut NodeOptions> {
        Some(&mut self.nodes.get_mut(node)?.options)
    }

    /// Makes Sets of PortInfo ignore OperationalVLs on all ports of a node.
    pub fn ignore_operational_vls(&mut self, node: NodeIdx) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.options.ignores_operational_vls = true;
        }
    }

    fn port_kind(&self, r: &SmaRequest, slot: usize) -> PortKind {
        let node = &self.nodes[r.node];
        match (node.is_switch(), slot == node.base) {
            (false, _) => PortKind::Ca,
            (true, false) => PortKind::SwitchExternal,
            (true, true) if node.enhanced_port0 => PortKind::EnhancedPort0,
            (true, true) => PortKind::BasePort0,
        }
    }

    fn set_port_info(&mut self, r: &SmaRequest, slot: usize, requested: &PortInfo) -> Status {
        let kind = self.port_kind(r, slot);
        let current = PortInfo::decode(&self.ports[slot].info);
        if !is_legal(kind, requested, &current) {
            return Status::BAD_FIELD;
        }
        let mut next = current;
        if kind.has_address() {
            set_address(&mut next, requested);
        }
        if kind != PortKind::BasePort0 {
            set_link(&mut next, requested);
            if self.nodes[r.node].options.ignores_operational_vls {
                next.operational_vls = current.operational_vls;
            }
        }
        if kind == PortKind::SwitchExternal {
            next.vl_stall_count = requested.vl_stall_count;
            next.hoq_life = requested.hoq_life;
            if let Some(switch) = &self.nodes[r.node].switch {
                let caps = &switch.info;
                next.partition_enforcement_inbound =
                    requested.partition_enforcement_inbound && caps.inbound_enforcement_cap;
                next.partition_enforcement_outbound =
                    requested.partition_enforcement_outbound && caps.outbound_enforcement_cap;
                next.filter_raw_inbound =
                    requested.filter_raw_inbound && caps.filter_raw_inbound_cap;
                next.filter_raw_outbound =
                    requested.filter_raw_outbound && caps.filter_raw_outbound_cap;
            }
        }
        let port = &mut self.ports[slot];
        if kind.has_address()
            && requested.client_reregister
            && current.capability_mask.has(CapMask::CLIENT_REREGISTER)
        {
            port.reregisters += 1;
        }
        if next.m_key != current.m_key {
            // The lease belonged to the old M_Key.
            port.lease = None;
        }
        next.encode_onto(&mut port.info);
        match (requested.port_state, requested.port_physical_state) {
            (PortState::Armed | PortState::Active, _) => {
                let node = &self.nodes[r.node];
                let hangs = |(port, max): (u8, PortState)| {
                    node.base + usize::from(port) == slot && requested.port_state > max
                };
                if !node.options.max_port_state.is_some_and(hangs) {
                    port.set_state(requested.port_state);
                }
            }
            (_, phys @ (PhysState::Sleep | PhysState::Polling | PhysState::Disabled)) => {
                self.port_down(slot, phys);
            }
            (PortState::Down, _) => {
                let phys = port.down_default();
                self.port_down(slot, phys);
            }
            _ if kind.has_link() && !self.cable_ends[slot].up => {
                // The enabled speeds and widths may have changed, so the link may train.
                self.start_training(self.cable_ends[slot].link);
            }
            _ => {}
        }
        Status::OK
    }
}

/// Rewrites PortInfo for requesters without extended speeds: an active extended speed reads as QDR.
fn hide_extended_speeds(data: &mut AttributeData) {
    let mut info = PortInfo::decode(data);
    if info.link_speed_ext_active != 0 || info.link_speed_ext_active2 != 0 {
        info.link_speed_active = QDR;
    }
    info.link_speed_ext_active = 0;
    info.link_speed_ext_supported = 0;
    info.link_speed_ext_enabled = 0;
    info.link_speed_ext_active2 = 0;
    info.link_speed_ext_supported2 = 0;
    info.link_speed_ext_enabled2 = 0;
    info.encode_onto(data);
}

fn is_legal(kind: PortKind, requested: &PortInfo, current: &PortInfo) -> bool {
    let address = !kind.has_address() || address_is_legal(kind, requested);
    let link = kind == PortKind::BasePort0 || link_is_legal(requested, current);
    let state = if kind.has_link() {
        transition_is_legal(requested, current)
    } else {
        requested.port_state == PortState::NoChange
            && requested.port_physical_state == PhysState::NoChange
    };
    address && link && state
}

fn address_is_legal(kind: PortKind, requested: &PortInfo) -> bool {
    let lid_mask = (1u16 << requested.lmc.0) - 1;
    requested.lid.is_unicast()
        && requested.lid.0 & lid_mask == 0
        && Lid(requested.lid.0 | lid_mask).is_unicast()
        && (requested.master_sm_lid == Lid::NONE || requested.master_sm_lid.is_unicast())
        && (kind != PortKind::BasePort0 || requested.lmc.0 == 0)
}

fn link_is_legal(requested: &PortInfo, current: &PortInfo) -> bool {
    // `unchanged` and `all` are the codes for no change and for all supported values.
    let is_valid = |requested: u8, unchanged: u8, all: u8, supported: u8| {
        requested == unchanged || requested == all || requested & !supported == 0
    };
    (MtuCode::Mtu256..=current.mtu_cap).contains(&requested.neighbor_mtu)
        && requested.operational_vls <= current.vl_cap
        && requested.link_down_default_state <= 2
        && is_valid(
            requested.link_width_enabled,
            0,
            0xFF,
            current.link_width_supported,
        )
        && is_valid(
            requested.link_speed_enabled,
            0,
            15,
            current.link_speed_supported,
        )
        && (requested.link_speed_ext_enabled == EXTENDED_SPEEDS_DISABLED
            || is_valid(
                requested.link_speed_ext_enabled,
                0,
                31,
                current.link_speed_ext_supported,
            ))
        && is_valid(
            requested.link_speed_ext_enabled2,
            0,
            7,
            current.link_speed_ext_supported2,
        )
}

/// Valid transitions: any to Down, Initialize to Armed, Armed to Active. Armed to Armed and Active
/// to Active are invalid.
fn transition_is_legal(requested: &PortInfo, current: &PortInfo) -> bool {
    let phys_is_legal = match requested.port_physical_state {
        PhysState::NoChange => true,
        PhysState::Sleep | PhysState::Polling | PhysState::Disabled => {
            matches!(requested.port_state, PortState::NoChange | PortState::Down)
        }
        _ => false,
    };
    phys_is_legal
        && match requested.port_state {
            PortState::NoChange | PortState::Down => true,
            PortState::Armed => current.port_state == PortState::Initialize,
            PortState::Active => current.port_state == PortState::Armed,
            _ => false,
        }
}

fn set_address(next: &mut PortInfo, requested: &PortInfo) {
    next.m_key = requested.m_key;
    next.gid_prefix = requested.gid_prefix;
    next.lid = requested.lid;
    next.master_sm_lid = requested.master_sm_lid;
    next.m_key_lease_period = requested.m_key_lease_period;
    next.m_key_protect_bits = requested.m_key_protect_bits;
    next.lmc = requested.lmc;
    next.master_sm_sl = requested.master_sm_sl;
    next.init_type = requested.init_type;
    next.subnet_timeout = requested.subnet_timeout;
    if next
        .capability_mask
        .has(CapMask::MULTICAST_PKEY_TRAP_SUPPRESSION)
    {
        next.multicast_pkey_trap_suppression = requested.multicast_pkey_trap_suppression;
    }
    for (counter, written) in [
        (&mut next.m_key_violations, requested.m_key_violations),
        (&mut next.p_key_violations, requested.p_key_violations),
        (&mut next.q_key_violations, requested.q_key_violations),
    ] {
        // Writing zero clears the counter; other values are ignored.
        if written == 0 {
            *counter = 0;
        }
    }
}

fn set_link(next: &mut PortInfo, requested: &PortInfo) {
    next.neighbor_mtu = requested.neighbor_mtu;
    next.vl_high_limit = requested.vl_high_limit;
    next.local_phy_errors = requested.local_phy_errors;
    next.overrun_errors = requested.overrun_errors;
    if requested.operational_vls != 0 {
        next.operational_vls = requested.operational_vls;
    }
    if requested.link_down_default_state != 0 {
        next.link_down_default_state = requested.link_down_default_state;
    }
    for (enabled, requested, all, supported) in [
        (
            &mut next.link_width_enabled,
            requested.link_width_enabled,
            0xFF,
            next.link_width_supported,
        ),
        (
            &mut next.link_speed_enabled,
            requested.link_speed_enabled,
            15,
            next.link_speed_supported,
        ),
        (
            &mut next.link_speed_ext_enabled,
            requested.link_speed_ext_enabled,
            31,
            next.link_speed_ext_supported,
        ),
        (
            &mut next.link_speed_ext_enabled2,
            requested.link_speed_ext_enabled2,
            7,
            next.link_speed_ext_supported2,
        ),
    ] {
        if requested == all {
            *enabled = supported;
        } else if requested != 0 {
            *enabled = requested;
        }
    }
    if requested.link_speed_ext_enabled == EXTENDED_SPEEDS_DISABLED {
        next.link_speed_ext_enabled = 0;
    }
}
