//! Plausibility checks of responses.
//!
//! Pure functions of one attribute each. They reject only values that no conforming device reports;
//! unusual values of real devices pass.

use ferrosm_mad::attr::{MtuCode, NodeInfo, NodeType, PhysState, PortInfo, PortState, SwitchInfo};
use ferrosm_mad::ids::Lid;

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

/// Why a PortInfo is implausible, if it is. Of a port that is down only the states are checked
/// (docs/sm-behaviour.md 1.10), of a port without a link (switch port 0) only PortState.
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
    // NeighborMTU and OperationalVLs may have any value: the SM writes them.
    if info.mtu_cap > MtuCode::Mtu4096 {
        return Some("invalid MTUCap");
    }
    if info.vl_cap > 5 {
        return Some("invalid VLCap");
    }
    None
}

/// Whether LinearFDBTop is above the table. The SM writes this value, so the switch can be used.
#[must_use]
pub fn has_invalid_lft_top(info: &SwitchInfo) -> bool {
    let top = info.linear_fdb_top;
    let entries = info.linear_fdb_cap;
    entries > 0 && top <= Lid::UNICAST_MAX.0 && top > entries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reserved value of a field that the SM writes is no reason to exclude a port or a switch;
    /// one that it depends on is.
    #[test]
    fn only_values_that_the_sm_does_not_write_must_be_valid() {
        let link = PortInfo {
            port_state: PortState::Initialize,
            mtu_cap: MtuCode::Mtu4096,
            neighbor_mtu: MtuCode(9),
            vl_cap: 4,
            operational_vls: 9,
            ..PortInfo::default()
        };
        assert_eq!(implausible_port_info(&link, true), None);
        let invalid_cap = PortInfo { vl_cap: 9, ..link };
        assert_eq!(
            implausible_port_info(&invalid_cap, true),
            Some("invalid VLCap")
        );
        let switch = |top, entries| {
            has_invalid_lft_top(&SwitchInfo {
                linear_fdb_top: top,
                linear_fdb_cap: entries,
                ..SwitchInfo::default()
            })
        };
        assert!(!switch(1024, 1024));
        assert!(switch(1025, 1024));
    }
}
