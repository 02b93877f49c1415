//! Plausibility checks of responses.
//!
//! Pure functions of one attribute each. They reject only values that no conforming device reports; unusual values of real devices pass.

use ferrosm_mad::attr::{MtuCode, NodeInfo, NodeType, PhysState, PortInfo, PortState, SwitchInfo};

/// Why a NodeInfo is implausible, if it is (docs/sm-behaviour.md 1.7).
#[must_use]
pub fn implausible_node_info(info: &NodeInfo) -> Option<&'static str> {
    if info.node_guid.0 == 0 {
        return Some("NodeGUID is 0");
    }
    if info.port_guid.0 == 0 {
        return Some("PortGUID is 0");
    }
    if ![NodeType::Ca, NodeType::Switch, NodeType::Router].contains(&info.node_type) {
        return Some("NodeType is not CA, switch or router");
    }
    if info.num_ports == 0 || info.num_ports == u8::MAX {
        return Some("NumPorts is not 1 to 254");
    }
    if info.local_port_num.0 > info.num_ports {
        return Some("LocalPortNum is greater than NumPorts");
    }
    if info.local_port_num.0 == 0 && info.node_type != NodeType::Switch {
        return Some("LocalPortNum is 0 on a node that is not a switch");
    }
    None
}

/// Why a PortInfo is implausible, if it is. Of a port that is down only the states are checked (docs/sm-behaviour.md 1.10), of a port
/// without a link (switch port 0) only PortState.
#[must_use]
pub fn implausible_port_info(info: &PortInfo, has_link: bool) -> Option<&'static str> {
    if info.port_state > PortState::Active {
        return Some("invalid PortState");
    }
    if !has_link {
        return None;
    }
    if info.port_state == PortState::NoChange {
        return Some("invalid PortState");
    }
    if info.port_state == PortState::Down {
        return None;
    }
    if info.port_physical_state == PhysState::Disabled
        || info.port_physical_state == PhysState::Sleep
    {
        return Some("link up on a disabled or sleeping port");
    }
    // Real devices report zeros, which count as the minimum (docs/sm-behaviour.md 3.10 and 3.11).
    if info.mtu_cap > MtuCode::Mtu4096 {
        return Some("invalid MTUCap");
    }
    if info.neighbor_mtu > MtuCode::Mtu4096 {
        return Some("invalid NeighborMTU");
    }
    if info.vl_cap > 5 || info.operational_vls > 5 {
        return Some("invalid VLCap or OperationalVLs");
    }
    None
}

/// Why a SwitchInfo is implausible, if it is.
#[must_use]
pub fn implausible_switch_info(info: &SwitchInfo) -> Option<&'static str> {
    if info.linear_fdb_cap > 0
        && info.linear_fdb_top <= 0xBFFF
        && info.linear_fdb_top > info.linear_fdb_cap
    {
        return Some("LinearFDBTop exceeds LinearFDBCap");
    }
    None
}
