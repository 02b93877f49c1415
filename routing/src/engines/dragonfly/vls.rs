//! VLs of a dragonfly by input and output port.
//!
//! | hop | VL |
//! |---|---|
//! | local, from an end port or port 0 | 0 |
//! | local, the second before the first global hop | 0 |
//! | global, to a group above, or if no path has two global hops | 0 |
//! | local, after such a global hop | 1 |
//! | global, to a group below | 1 |
//! | local, after a global hop to a group below | 2 |
//! | local, the second after the last global hop | the highest |
//!
//! Along every path the VL does not fall. On each VL, dependencies lead from local hops to global
//! hops or from global hops to local hops, not both, and dependencies between local hops are
//! acyclic (`local_detours`).

use ferrosm_mad::ids::PortNum;

use super::groups::GroupGraph;
use super::paths::GroupPaths;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};

/// Where a port of a switch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupPort {
    /// To an end port, or port 0.
    Endpoint,
    /// To this member of the group.
    Local(usize),
    /// To another group.
    Global {
        /// Whether packets that enter by it may cross another global link.
        enters_first: bool,
        /// Whether packets that leave by it may cross another global link.
        leaves_first: bool,
    },
}

/// VLs if no path has two global hops.
pub(super) const VLS_MIN: u8 = 2;

/// Number of VLs that the paths need.
pub(super) fn count(paths: &GroupPaths) -> u8 {
    VLS_MIN + u8::from(paths.order.is_some())
}

/// SL 0 for all paths; the same VLs for all SLs.
pub(super) fn plan(topo: &Topology, groups: &GroupGraph<'_>, paths: &GroupPaths) -> VlPlan {
    let vls = count(paths);
    let switches = (0..groups.graph.len()).map(|v| {
        let num_ports = topo.num_ports(SwitchIdx::from_index(v));
        let ports = group_ports(groups, paths, v, num_ports);
        let mut maps = SlToVlMaps::uniform(num_ports, [0; SLS]);
        for (output, &out) in (0u8..).zip(&ports) {
            if out == GroupPort::Endpoint {
                continue;
            }
            for (input, &from) in (0u8..).zip(&ports) {
                let vl = vl(paths, v, from, out, vls - 1);
                if vl > 0 {
                    maps.set(PortNum(input), PortNum(output), [vl; SLS]);
                }
            }
        }
        maps
    });
    VlPlan {
        vls,
        path_sl: PathSl::Uniform(0),
        sl_to_vl: SlToVl::PerPorts(switches.collect()),
    }
}

/// By port number, port 0 first.
fn group_ports(
    groups: &GroupGraph<'_>,
    paths: &GroupPaths,
    v: usize,
    num_ports: u8,
) -> Vec<GroupPort> {
    let mut ports = vec![GroupPort::Endpoint; usize::from(num_ports) + 1];
    let group = groups.group_of[v];
    for slot in groups.graph.slots(v) {
        let peer_group = groups.group_of[slot.peer];
        let kind = if peer_group == group {
            GroupPort::Local(slot.peer)
        } else {
            let order = paths.order.as_ref();
            GroupPort::Global {
                enters_first: order.is_none_or(|order| order.is_above(group, peer_group)),
                leaves_first: order.is_none_or(|order| order.is_above(peer_group, group)),
            }
        };
        for &port in groups.graph.ports(*slot) {
            ports[usize::from(port)] = kind;
        }
    }
    ports
}

/// VL of packets of a switch from one kind of port to another. `highest` is the highest VL.
fn vl(paths: &GroupPaths, at: usize, from: GroupPort, to: GroupPort, highest: u8) -> u8 {
    match (from, to) {
        (_, GroupPort::Endpoint) | (GroupPort::Endpoint, GroupPort::Local(_)) => 0,
        (GroupPort::Local(a), GroupPort::Local(b)) => {
            if paths.detours.before(a, b).contains(&at) {
                0
            } else {
                highest
            }
        }
        (GroupPort::Global { enters_first, .. }, GroupPort::Local(_)) => {
            if enters_first {
                1
            } else {
                highest
            }
        }
        (_, GroupPort::Global { leaves_first, .. }) => u8::from(!leaves_first),
    }
}
