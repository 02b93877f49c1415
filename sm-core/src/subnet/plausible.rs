//! What cannot be true: answers that no device gives that means what it says.
//!
//! Pure functions over one attribute each. What is merely odd passes: real devices are.

use ferrosm_mad::attr::{MtuCode, NodeInfo, NodeType, PhysState, PortInfo, PortState, SwitchInfo};

/// What makes an answer to NodeInfo impossible (rule 1.7).
#[must_use]
pub fn wrong_node_info(info: &NodeInfo) -> Option<&'static str> {
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

/// What makes an answer to PortInfo of a port with a link impossible. Of a port that is down only the states count
/// (rule 1.10); a switch's port 0 need not have any.
#[must_use]
pub fn wrong_port_info(info: &PortInfo, has_link: bool) -> Option<&'static str> {
    if info.port_state > PortState::Active {
        return Some("PortState is none that exists");
    }
    if !has_link {
        return None;
    }
    if info.port_state == PortState::NoChange {
        return Some("PortState is none that exists");
    }
    if info.port_state == PortState::Down {
        return None;
    }
    if info.port_physical_state == PhysState::Disabled
        || info.port_physical_state == PhysState::Sleep
    {
        return Some("the link is up on a port that is disabled or sleeps");
    }
    // Zeros come from real devices, and are taken for the least that there is (rules 3.10, 3.11).
    if info.mtu_cap > MtuCode::Mtu4096 {
        return Some("MTUCap is none that exists");
    }
    if info.neighbor_mtu > MtuCode::Mtu4096 {
        return Some("NeighborMTU is none that exists");
    }
    if info.vl_cap > 5 || info.operational_vls > 5 {
        return Some("VLCap or OperationalVLs is none that exists");
    }
    None
}

/// What makes an answer to SwitchInfo impossible.
#[must_use]
pub fn wrong_switch_info(info: &SwitchInfo) -> Option<&'static str> {
    if info.linear_fdb_cap > 0
        && info.linear_fdb_top <= 0xBFFF
        && info.linear_fdb_top > info.linear_fdb_cap
    {
        return Some("LinearFDBTop is beyond LinearFDBCap");
    }
    None
}
