//! The multicast tree of a complete dragonfly.
//!
//! A root in one group, its neighbours there, one global link to each other group, and the
//! neighbours of the switch that the link enters. Upwards, packets take the hops of unicast packets
//! to the root. Downwards, they turn at the root from VL 1 of one local link to another one's, and
//! continue over a global link to another group, where they take one local hop. No unicast packet
//! turns in this way, so VL 1 of other groups has no dependency that leads back to the root.

use ferrosm_mad::ids::PortNum;

use super::groups::GroupGraph;

/// The port of each switch towards the root; `None` if a link of the tree is missing.
pub(super) fn spanning_tree(groups: &GroupGraph<'_>) -> Option<Vec<Option<PortNum>>> {
    let graph = groups.graph;
    let first_port = |v: usize, slot: usize| {
        let ports = graph.ports(graph.slots(v)[slot]);
        ports.first().copied().map(PortNum)
    };
    let mut up = vec![None; graph.len()];
    let root = *groups.members.first()?.first()?;
    for (group, members) in groups.members.iter().enumerate() {
        let top = if group == 0 {
            root
        } else {
            let channel = groups.global_channels(group, 0).first()?;
            up[channel.from] = first_port(channel.from, channel.slot);
            channel.from
        };
        for &v in members.iter().filter(|&&v| v != top) {
            up[v] = first_port(v, groups.local_slot(v, top)?);
        }
    }
    Some(up)
}
