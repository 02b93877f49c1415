//! The desired PortInfo of a port (docs/sm-behaviour.md 3.1 to 3.22).
//!
//! A Set writes every read-write field, so it starts from the last PortInfo of the port and changes
//! only what the SM decides; unknown bits are preserved. PortState and PortPhysicalState are
//! NoChange; callers set them.

use ferrosm_fabric::observed::{ObservedFabric, Port, PortKind, PortRef};
use ferrosm_mad::attr::{CapMask, MtuCode, NodeType, PhysState, PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, Sl};

use crate::config::SmConfig;
use crate::ports::limits::{enabled_rates, mtu_limit};

const POLLING: u8 = 2;

/// The settings of an end port that do not depend on its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPortAddress {
    /// Base LID.
    pub lid: Lid,
    /// LMC: the port has 2^LMC LIDs.
    pub lmc: Lmc,
    /// LID of the master SM.
    pub sm_lid: Lid,
    /// SL of packets to the master SM.
    pub sm_sl: Sl,
}

/// NeighborMTU and OperationalVLs of a link: the smaller capability of its two ends
/// (docs/sm-behaviour.md 3.10 and 3.11), and at most `limit`.
fn link_values(
    info: &PortInfo,
    peer: Option<&PortInfo>,
    cfg: &SmConfig,
    limit: Option<MtuCode>,
) -> (MtuCode, u8) {
    let possible = peer.map_or(info.neighbor_mtu, |p| info.mtu_cap.min(p.mtu_cap));
    let mtu = limit.map_or(possible, |limit| possible.min(limit));
    let vls = peer
        .map_or(info.vl_cap, |p| info.vl_cap.min(p.vl_cap))
        .min(cfg.max_operational_vls);
    (mtu.max(MtuCode::Mtu256), vls.max(1))
}

/// Whether the two ends of a link have, or would get, different NeighborMTU or OperationalVLs: both
/// are Armed or Active and differ, or one is and differs from the values planned for the other end,
/// which is in Initialize. `limit` is that of the MTU of the link.
#[must_use]
pub fn has_link_mismatch(a: &Port, b: &Port, cfg: &SmConfig, limit: Option<MtuCode>) -> bool {
    // `initializing` would get other values than `armed` has.
    let will_differ = |armed: &Port, initializing: &Port| {
        let (near, far) = (armed.info(), initializing.info());
        initializing.is_up() && armed.link_values() != link_values(&near, Some(&far), cfg, limit)
    };
    let is_armed = |p: &Port| p.state() >= PortState::Armed;
    match (is_armed(a), is_armed(b)) {
        (true, true) => a.link_values() != b.link_values(),
        (true, false) => will_differ(a, b),
        (false, true) => will_differ(b, a),
        (false, false) => false,
    }
}

/// The PortInfo to write to a port; `None` if the port is absent or was never read.
///
/// `address` is for end ports; `reregister` sets ClientReregister.
#[must_use]
pub fn wanted_port_info(
    fabric: &ObservedFabric,
    at: PortRef,
    address: Option<EndPortAddress>,
    cfg: &SmConfig,
    reregister: bool,
) -> Option<[u8; 64]> {
    let node = fabric.get(at.node)?;
    let port = node.ports.get(at.port.index()).filter(|p| p.known)?;
    let now = port.info();
    let mut want = neutral(&now);
    let peer = fabric.peer(at);
    let peer_port = peer.and_then(|p| fabric.port(p)).filter(|p| p.known);
    let kind = node.port_kind(at.port);
    let limit = mtu_limit(fabric, cfg, at);

    if kind != PortKind::External {
        let address = address?;
        if !node.kept_settings(at.port).m_key {
            want.m_key = cfg.m_key;
            want.m_key_lease_period = cfg.m_key_lease_period_s;
            want.m_key_protect_bits = cfg.m_key_protect_bits;
        }
        want.gid_prefix = cfg.subnet_prefix;
        want.lid = address.lid;
        want.lmc = if kind == PortKind::BasePort0 {
            Lmc(0)
        } else {
            address.lmc
        };
        want.master_sm_lid = address.sm_lid;
        want.master_sm_sl = address.sm_sl;
        want.subnet_timeout = cfg.subnet_timeout;
        want.client_reregister = reregister && now.capability_mask.has(CapMask::CLIENT_REREGISTER);
    }
    if kind != PortKind::BasePort0 {
        want.local_phy_errors = cfg.local_phy_errors;
        want.overrun_errors = cfg.overrun_errors;
        if kind == PortKind::EnhancedPort0 {
            want.neighbor_mtu = now.mtu_cap.max(MtuCode::Mtu256);
            want.operational_vls = now.vl_cap.min(cfg.max_operational_vls).max(1);
        } else if port.state().0 < PortState::Armed.0
            || port.params_rejected
            || limit.is_some()
            || peer_port.is_some_and(|far| has_link_mismatch(port, far, cfg, limit))
        {
            // As OpenSM does (osm_link_mgr.c), a mismatch is corrected on the Active link: bouncing
            // it would be an outage.
            let peer_info = peer_port.map(Port::info);
            (want.neighbor_mtu, want.operational_vls) =
                link_values(&now, peer_info.as_ref(), cfg, limit);
        }
        if let Some(rates) = enabled_rates(fabric, cfg, at, &now) {
            want.link_width_enabled = rates.widths;
            want.link_speed_enabled = rates.speeds;
            want.link_speed_ext_enabled = rates.extended_speeds;
        }
    }
    if kind == PortKind::External
        && let Some(peer_node) = peer.and_then(|p| fabric.get(p.node))
    {
        let leaf = peer_node.info.node_type != NodeType::Switch;
        // Ports between switches do not enforce P_Keys (docs/sm-behaviour.md 9.7).
        let checks = leaf && port.enforces_p_keys;
        let switch_info = node.switch_info().unwrap_or_default();
        let enforcement = cfg.partitions.enforcement();
        if !port.keeps_enforcement {
            want.partition_enforcement_inbound =
                checks && enforcement.inbound() && switch_info.inbound_enforcement_cap;
            want.partition_enforcement_outbound =
                checks && enforcement.outbound() && switch_info.outbound_enforcement_cap;
        }
        want.hoq_life = if leaf {
            cfg.leaf_hoq_life
        } else {
            cfg.hoq_life
        };
        want.vl_stall_count = if leaf {
            cfg.leaf_vl_stall_count
        } else {
            cfg.vl_stall_count
        };
    }
    let mut raw = *port.raw;
    want.encode_onto(&mut raw);
    Some(raw)
}

/// The PortInfo of a port in the form of [`wanted_port_info`]: if both are equal, nothing has to be
/// written.
#[must_use]
pub fn current_port_info(port: &Port) -> [u8; 64] {
    let mut raw = *port.raw;
    neutral(&port.info()).encode_onto(&mut raw);
    raw
}

/// `raw` with a port state to set.
#[must_use]
pub fn with_port_state(mut raw: [u8; 64], state: PortState) -> [u8; 64] {
    let mut info = PortInfo::decode(&raw);
    info.port_state = state;
    info.encode_onto(&mut raw);
    raw
}

/// PortInfo with neutral values in fields that must not be written as read (docs/sm-behaviour.md
/// 3.1).
fn neutral(info: &PortInfo) -> PortInfo {
    PortInfo {
        port_state: PortState::NoChange,
        port_physical_state: PhysState::NoChange,
        link_down_default_state: POLLING,
        client_reregister: false,
        ..*info
    }
}

/// Whether a port carries data, or will once it is configured: its link is up and both ends were
/// read.
#[must_use]
pub fn can_carry_traffic(fabric: &ObservedFabric, p: PortRef) -> bool {
    let Some(node) = fabric.get(p.node) else {
        return false;
    };
    let Some(port) = node.ports.get(p.port.index()) else {
        return false;
    };
    let live = match node.port_kind(p.port) {
        PortKind::BasePort0 => false,
        PortKind::EnhancedPort0 => true,
        PortKind::EndPort | PortKind::External => {
            let peer_port = fabric.peer(p).and_then(|far| fabric.port(far));
            port.exclusion.is_none() && peer_port.is_some_and(Port::is_up)
        }
    };
    live && port.is_up()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, SwitchInfo};
    use ferrosm_mad::ids::{MKey, NodeGuid, PortGuid};
    use ferrosm_mad::smp::DrPath;

    use ferrosm_fabric::observed::Node;
    use ferrosm_mad::ids::PortNum;

    use super::*;
    use ferrosm_fabric::observed::NodeIdx;

    const ADDRESS: EndPortAddress = EndPortAddress {
        lid: Lid(8),
        lmc: Lmc(2),
        sm_lid: Lid(1),
        sm_sl: Sl(0),
    };

    fn port_info(state: PortState, mtu_cap: MtuCode, vl_cap: u8) -> PortInfo {
        PortInfo {
            port_state: state,
            port_physical_state: PhysState::LinkUp,
            mtu_cap,
            neighbor_mtu: MtuCode::Mtu256,
            vl_cap,
            operational_vls: 1,
            capability_mask: CapMask(CapMask::CLIENT_REREGISTER),
            ..PortInfo::default()
        }
    }

    /// Port 1 of a CA linked to port 1 of a switch, and the two nodes.
    fn linked_nodes(
        ca: &PortInfo,
        switch: &PortInfo,
        enhanced: bool,
    ) -> (ObservedFabric, NodeIdx, NodeIdx) {
        let mut fabric = ObservedFabric::default();
        let mut add = |node_type, guid: u64, info: &PortInfo| {
            let node_info = NodeInfo {
                node_type,
                num_ports: 1,
                node_guid: NodeGuid(guid),
                port_guid: PortGuid(guid),
                ..NodeInfo::default()
            };
            let mut node = Node::new(node_info, DrPath::LOCAL);
            let is_switch = node_type == NodeType::Switch;
            let switch_info = SwitchInfo {
                enhanced_port0: enhanced,
                ..SwitchInfo::default()
            };
            node.switch_raw = is_switch.then(|| switch_info.encode());
            for port in &mut node.ports {
                port.known = true;
                port.raw = info.encode().into();
            }
            fabric.add_node(node)
        };
        let a = add(NodeType::Ca, 1, ca);
        let b = add(NodeType::Switch, 2, switch);
        fabric.connect(PortRef::new(a, PortNum(1)), PortRef::new(b, PortNum(1)));
        (fabric, a, b)
    }

    fn wanted_of(fabric: &ObservedFabric, at: PortRef, reregister: bool) -> PortInfo {
        let cfg = SmConfig {
            m_key: MKey::new(7),
            ..SmConfig::default()
        };
        PortInfo::decode(&wanted_port_info(fabric, at, Some(ADDRESS), &cfg, reregister).unwrap())
    }

    /// A CA of MTU 4096 and 15 VLs on a switch of MTU 2048 and 8 VLs: both ends get 2048 and 8 VLs,
    /// the CA its address and M_Key, the switch port the lifetimes of a port to a CA; no port state
    /// changes.
    #[test]
    fn settings_depend_on_the_kind_of_port() {
        let init = |mtu, vls| port_info(PortState::Initialize, mtu, vls);
        let (fabric, ca, switch) = linked_nodes(
            &init(MtuCode::Mtu4096, 5),
            &init(MtuCode::Mtu2048, 4),
            false,
        );
        let ca = wanted_of(&fabric, PortRef::new(ca, PortNum(1)), true);
        let external = wanted_of(&fabric, PortRef::new(switch, PortNum(1)), true);
        for end in [&ca, &external] {
            assert_eq!(
                (end.neighbor_mtu, end.operational_vls),
                (MtuCode::Mtu2048, 4)
            );
            assert_eq!(end.port_state, PortState::NoChange);
            assert_eq!(end.port_physical_state, PhysState::NoChange);
        }
        assert_eq!((ca.lid, ca.lmc, ca.master_sm_lid), (Lid(8), Lmc(2), Lid(1)));
        assert!(ca.client_reregister && ca.m_key == MKey::new(7));
        assert_eq!((external.lid, external.m_key), (Lid(0), MKey::NONE));
        assert!(!external.client_reregister);
        assert_eq!((external.hoq_life, external.vl_stall_count), (16, 7));
        let port0 = wanted_of(&fabric, PortRef::new(switch, PortNum::ZERO), false);
        assert_eq!(
            (port0.lid, port0.lmc, port0.neighbor_mtu),
            (Lid(8), Lmc(0), MtuCode::Mtu256)
        );
    }

    /// An enhanced port 0 gets 2^LMC LIDs and the MTU of its own capability.
    #[test]
    fn enhanced_port_0_is_configured_as_end_port() {
        let info = port_info(PortState::Active, MtuCode::Mtu2048, 4);
        let (fabric, _, switch) = linked_nodes(&info, &info, true);
        let port0 = wanted_of(&fabric, PortRef::new(switch, PortNum::ZERO), false);
        assert_eq!(
            (port0.lmc, port0.neighbor_mtu, port0.operational_vls),
            (Lmc(2), MtuCode::Mtu2048, 4)
        );
    }

    /// docs/sm-behaviour.md 3.12.
    #[test]
    fn mtu_and_vls_of_an_armed_port_are_preserved() {
        let info = port_info(PortState::Armed, MtuCode::Mtu4096, 5);
        let (fabric, ca, _) = linked_nodes(&info, &info, false);
        let ca = wanted_of(&fabric, PortRef::new(ca, PortNum(1)), false);
        assert_eq!((ca.neighbor_mtu, ca.operational_vls), (MtuCode::Mtu256, 1));
    }

    /// Two Active ends with different values get the values of the link without a change of state.
    #[test]
    fn mismatched_active_link_is_rewritten() {
        let info = port_info(PortState::Active, MtuCode::Mtu2048, 4);
        let other = PortInfo {
            operational_vls: 3,
            ..info
        };
        let (fabric, ca, switch) = linked_nodes(&info, &other, false);
        for node in [ca, switch] {
            let end = wanted_of(&fabric, PortRef::new(node, PortNum(1)), false);
            let values = (end.neighbor_mtu, end.operational_vls);
            assert_eq!(values, (MtuCode::Mtu2048, 4));
            assert_eq!(end.port_state, PortState::NoChange);
        }
    }

    /// Two Active ends that differ, and an Armed end that differs from the plan for the other end,
    /// are a mismatch; two equal ends and two ends in Initialize are none.
    #[test]
    fn link_mismatch_is_detected() {
        let port = |state, mtu| Port {
            known: true,
            raw: PortInfo {
                neighbor_mtu: mtu,
                ..port_info(state, MtuCode::Mtu2048, 1)
            }
            .encode()
            .into(),
            ..Port::default()
        };
        let (small, big) = (MtuCode::Mtu256, MtuCode::Mtu2048);
        let (init, armed, active) = (PortState::Initialize, PortState::Armed, PortState::Active);
        for (a, b, expected) in [
            ((active, small), (active, big), true),
            ((active, small), (active, small), false),
            ((armed, small), (init, big), true),
            ((armed, big), (init, small), false),
            ((init, small), (init, big), false),
            ((armed, small), (PortState::Down, big), false),
        ] {
            let (a, b) = (port(a.0, a.1), port(b.0, b.1));
            let cfg = SmConfig::default();
            assert_eq!(has_link_mismatch(&a, &b, &cfg, None), expected);
            assert_eq!(has_link_mismatch(&b, &a, &cfg, None), expected);
        }
    }
}
