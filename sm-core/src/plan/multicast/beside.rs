//! Installed multicast entries beside forwarding tables that are about to be replaced: which of them have to go first.
//!
//! The proof is [`ferrosm_routing::transition::groups`]; here is what it is asked of, in words of the subnet. Pure.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lid, PortNum, Sl};
use ferrosm_routing::multicast::PortSet;
use ferrosm_routing::transition::groups::{GroupEntries, Replacement, in_the_way};
use ferrosm_routing::{Lanes, SwitchIdx, Topology};

use crate::plan::lanes::LanePlan;
use crate::subnet::{NodeIdx, Subnet};
use crate::tables::mft::FIRST;

/// What switches are known to have for each MLID.
#[derive(Debug, Clone, Default)]
pub struct Installed {
    groups: Vec<(Lid, GroupEntries)>,
}

/// What switches are known to have for each MLID, where that is anything. `nodes` are the switches of a graph in its order.
#[must_use]
pub fn entries_of(
    subnet: &Subnet,
    nodes: &[NodeIdx],
) -> BTreeMap<Lid, BTreeMap<SwitchIdx, PortSet>> {
    let mut all: BTreeMap<Lid, BTreeMap<SwitchIdx, PortSet>> = BTreeMap::new();
    for (n, s) in nodes.iter().zip(0u32..) {
        let Some(node) = subnet.get(*n) else { continue };
        for (at, masks) in node.mft.known.iter() {
            let first = FIRST.saturating_add(at.block.saturating_mul(32));
            for (mlid, mask) in (first..).zip(masks).filter(|(_, mask)| **mask != 0) {
                let ports = all
                    .entry(Lid(mlid))
                    .or_default()
                    .entry(SwitchIdx(s))
                    .or_default();
                let bits = (0..16u8).filter(|b| mask >> b & 1 == 1);
                bits.for_each(|b| ports.insert(PortNum(at.position * 16 + b)));
            }
        }
    }
    all
}

impl Installed {
    /// The entries of switches `nodes`, which are the switches of a graph in its order. Packets to an MLID have the SL that
    /// `sl_of` says.
    #[must_use]
    pub fn new(subnet: &Subnet, nodes: &[NodeIdx], sl_of: &dyn Fn(Lid) -> Sl) -> Self {
        let all = entries_of(subnet, nodes);
        let group = |(mlid, ports): (Lid, BTreeMap<SwitchIdx, PortSet>)| {
            let sl = sl_of(mlid).raw();
            let ports = ports.into_iter().collect();
            (mlid, GroupEntries { sl, ports })
        };
        Self {
            groups: all.into_iter().map(group).collect(),
        }
    }

    /// The entries that must be emptied before anything is written. `lanes_before` are the lanes that are in force: where a
    /// group's packets would change theirs in the middle of the way, all entries of the group go.
    #[must_use]
    pub fn in_the_way(
        &self,
        of: Replacement<'_>,
        nodes: &[NodeIdx],
        lanes_before: Option<&LanePlan>,
    ) -> Vec<(Lid, NodeIdx)> {
        let mut go: Vec<(Lid, SwitchIdx)> = Vec::new();
        let (mut mlids, mut groups) = (Vec::new(), Vec::new());
        for (mlid, group) in &self.groups {
            let stays = lanes_before
                .is_none_or(|before| keeps_lanes(group, before, (of.topo, of.lanes), nodes));
            if stays {
                mlids.push(*mlid);
                groups.push(group.clone());
            } else {
                go.extend(group.ports.iter().map(|(s, _)| (*mlid, *s)));
            }
        }
        for (mlid, switches) in mlids.iter().zip(in_the_way(of, &groups)) {
            go.extend(switches.into_iter().map(|s| (*mlid, s)));
        }
        let node = |(mlid, s): (Lid, SwitchIdx)| Some((mlid, *nodes.get(s.index())?));
        go.into_iter().filter_map(node).collect()
    }
}

/// Whether packets to a group stay on the VLs that they have at each of its switches.
fn keeps_lanes(
    group: &GroupEntries,
    before: &LanePlan,
    (topo, lanes): (&Topology, &Lanes),
    nodes: &[NodeIdx],
) -> bool {
    let was = &before.run.routing.lanes;
    if was.is_single() && lanes.is_single() || was.vls == lanes.vls && was.sl2vl == lanes.sl2vl {
        return true;
    }
    group.ports.iter().all(|(s, ports)| {
        let Some(old) = nodes.get(s.index()).and_then(|n| before.switch(*n)) else {
            return false;
        };
        let cables = || ports.iter().filter(|p| topo.neighbor(*s, *p).is_some());
        let inputs = (0..=topo.num_ports(*s)).map(PortNum);
        inputs.into_iter().all(|input| {
            cables()
                .all(|out| was.vl(old, input, out, group.sl) == lanes.vl(*s, input, out, group.sl))
        })
    })
}
