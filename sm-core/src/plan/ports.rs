//! What PortInfo of a port should be (behaviour rules 3.1 to 3.22).
//!
//! A Set writes every read-write field, so each starts from what the port said last and changes only what the SM decides;
//! unknown bits survive. States are the caller's: everything here has PortState and PortPhysicalState NoChange.

use ferrosm_mad::attr::{CapMask, MtuCode, NodeType, PhysState, PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, PortNum, Sl};

use crate::config::SmConfig;
use crate::subnet::{Node, Port, PortRef, Subnet};

const POLLING: u8 = 2;

/// What a port's SM decides apart from the port's own link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Base LID.
    pub lid: Lid,
    /// 2^LMC LIDs.
    pub lmc: Lmc,
    /// LID of the SM.
    pub sm_lid: Lid,
}

/// The kinds of port that differ in what is written (wire reference 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// Port of a CA or router.
    EndPort,
    /// Management port of a switch that behaves as an end port.
    EnhancedPort0,
    /// Management port of a switch that does not.
    BasePort0,
    /// Switch port with a cable.
    External,
}

/// The kind of a port.
#[must_use]
pub fn kind_of(node: &Node, port: PortNum) -> PortKind {
    match (node.is_switch(), port) {
        (false, _) => PortKind::EndPort,
        (true, PortNum::ZERO) => {
            if node.switch_info().is_some_and(|s| s.enhanced_port0) {
                PortKind::EnhancedPort0
            } else {
                PortKind::BasePort0
            }
        }
        (true, _) => PortKind::External,
    }
}

/// MTU and lanes that a link should run with: the smaller of what its ends can (rules 3.10, 3.11).
fn link_values(own: &PortInfo, peer: Option<&PortInfo>, cfg: &SmConfig) -> (MtuCode, u8) {
    let mtu = peer.map_or(own.neighbor_mtu, |p| own.mtu_cap.min(p.mtu_cap));
    let vls = peer
        .map_or(own.vl_cap, |p| own.vl_cap.min(p.vl_cap))
        .min(cfg.max_operational_vls);
    (mtu.max(MtuCode::Mtu256), vls.max(1))
}

/// Whether a link cannot go on as it is, because MTU and lanes must not change from Armed on (rule 3.12): both ends are up
/// and disagree, or one is up with values that the other, which still has to come up, will not be given.
#[must_use]
pub fn must_restart(a: &Port, b: &Port, cfg: &SmConfig) -> bool {
    let values = |p: &PortInfo| (p.neighbor_mtu, p.operational_vls);
    let (ia, ib) = (a.info(), b.info());
    let is_up = |p: &Port| p.state() >= PortState::Armed;
    match (is_up(a), is_up(b)) {
        (true, true) => values(&ia) != values(&ib),
        (true, false) => b.is_up() && values(&ia) != link_values(&ia, Some(&ib), cfg),
        (false, true) => a.is_up() && values(&ib) != link_values(&ib, Some(&ia), cfg),
        (false, false) => false,
    }
}

/// The PortInfo to write to a port; `None` where the port is not there or has never answered.
///
/// `address` is for end ports; `reregister` asks the host to repeat its registrations.
#[must_use]
pub fn wanted(
    subnet: &Subnet,
    at: PortRef,
    address: Option<Address>,
    cfg: &SmConfig,
    reregister: bool,
) -> Option<[u8; 64]> {
    let node = subnet.get(at.node)?;
    let port = node.ports.get(at.port.index()).filter(|p| p.known)?;
    let now = port.info();
    let mut want = neutral(&now);
    let peer = subnet.peer(at);
    let peer_port = peer.and_then(|p| subnet.port(p)).filter(|p| p.known);
    let kind = kind_of(node, at.port);

    if kind != PortKind::External {
        let address = address?;
        want.m_key = cfg.m_key;
        want.m_key_lease_period = cfg.m_key_lease_period_s;
        want.m_key_protect_bits = cfg.m_key_protect_bits;
        want.gid_prefix = cfg.subnet_prefix;
        want.lid = address.lid;
        want.lmc = if kind == PortKind::BasePort0 {
            Lmc(0)
        } else {
            address.lmc
        };
        want.master_sm_lid = address.sm_lid;
        want.master_sm_sl = Sl(0);
        want.subnet_timeout = cfg.subnet_timeout;
        want.client_reregister = reregister && now.capability_mask.has(CapMask::CLIENT_REREGISTER);
    }
    if kind != PortKind::BasePort0 {
        want.local_phy_errors = cfg.local_phy_errors;
        want.overrun_errors = cfg.overrun_errors;
        if kind == PortKind::EnhancedPort0 {
            want.neighbor_mtu = now.mtu_cap.max(MtuCode::Mtu256);
            want.operational_vls = now.vl_cap.min(cfg.max_operational_vls).max(1);
        } else if port.state().0 < PortState::Armed.0 {
            let peer_info = peer_port.map(Port::info);
            (want.neighbor_mtu, want.operational_vls) = link_values(&now, peer_info.as_ref(), cfg);
        }
    }
    if kind == PortKind::External
        && let Some(far) = peer.and_then(|p| subnet.get(p.node))
    {
        let leaf = far.info.node_type != NodeType::Switch;
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
    let mut raw = port.raw;
    want.encode_onto(&mut raw);
    Some(raw)
}

/// What a port said, in the form in which [`wanted`] says what it should be: equal means that nothing is to be written.
#[must_use]
pub fn current(port: &Port) -> [u8; 64] {
    let mut raw = port.raw;
    neutral(&port.info()).encode_onto(&mut raw);
    raw
}

/// `raw` with a state to move to.
#[must_use]
pub fn with_state(mut raw: [u8; 64], state: PortState) -> [u8; 64] {
    let mut info = PortInfo::decode(&raw);
    info.port_state = state;
    info.encode_onto(&mut raw);
    raw
}

/// Fields that must not be written as they were read (rule 3.1) in their harmless form.
fn neutral(info: &PortInfo) -> PortInfo {
    PortInfo {
        port_state: PortState::NoChange,
        port_physical_state: PhysState::NoChange,
        link_down_default_state: POLLING,
        client_reregister: false,
        ..*info
    }
}
