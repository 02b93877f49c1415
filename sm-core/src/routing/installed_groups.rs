//! Multicast entries that are installed while LFTs are about to be replaced, and which of them must
//! be cleared first.
//!
//! Collects the arguments of [`ferrosm_routing::update::transition::groups`] from the fabric. Pure.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric};
use ferrosm_fabric::tables::mft::first_mlid;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::update::transition::groups::{
    GroupEntries, Replacement, mft_entries_to_clear,
};
use ferrosm_routing::{PortSet, RemainingTopology, SwitchIdx, Topology, VlPlan};

use crate::routing::vl_plan::FabricVlPlan;
use ferrosm_sa::registry::multicast::MulticastGroups;

/// The known MFT entries of all switches, by MLID.
#[derive(Debug, Clone, Default)]
pub struct InstalledGroups {
    groups: Vec<(Lid, GroupEntries)>,
}

/// The known MFT entries that have ports, by MLID. `nodes` are the switches of a graph in its
/// order.
#[must_use]
pub fn installed_entries(
    fabric: &ObservedFabric,
    nodes: &[NodeIdx],
) -> BTreeMap<Lid, BTreeMap<SwitchIdx, PortSet>> {
    let mut groups: BTreeMap<Lid, BTreeMap<SwitchIdx, PortSet>> = BTreeMap::new();
    for (n, s) in nodes.iter().zip(0u32..) {
        let Some(node) = fabric.get(*n) else { continue };
        for (at, masks) in node.mft.known.iter() {
            let mlids = first_mlid(at.block)..;
            for (mlid, mask) in mlids.zip(masks).filter(|(_, mask)| **mask != 0) {
                let ports = groups
                    .entry(Lid(mlid))
                    .or_default()
                    .entry(SwitchIdx(s))
                    .or_default();
                let bits = (0..16u8).filter(|b| mask >> b & 1 == 1);
                bits.for_each(|b| ports.insert(PortNum(at.position * 16 + b)));
            }
        }
    }
    groups
}

impl InstalledGroups {
    /// Whether no switch has an entry with ports.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The entries of `nodes`, which are the switches of a graph in its order. `groups` gives the
    /// SL of each MLID; the default is SL 0.
    #[must_use]
    pub fn new(fabric: &ObservedFabric, nodes: &[NodeIdx], groups: &MulticastGroups) -> Self {
        let group = |(mlid, ports): (Lid, BTreeMap<SwitchIdx, PortSet>)| {
            let first = groups.groups_of_mlid(mlid).next();
            let sl = first.map_or(0, |(_, group)| group.parameters.sl.raw());
            let ports = ports.into_iter().collect();
            (mlid, GroupEntries { sl, ports })
        };
        let entries = installed_entries(fabric, nodes).into_iter();
        Self {
            groups: entries.map(group).collect(),
        }
    }

    /// The entries of the switches that remain after a loss.
    #[must_use]
    pub(crate) fn after_loss(&self, remaining: &RemainingTopology) -> Self {
        let groups = self.groups.iter().map(|(mlid, group)| {
            let entries = group.ports.iter();
            let remaining_entries =
                entries.filter_map(|(s, ports)| Some((remaining.find(*s)?, *ports)));
            let entries = GroupEntries {
                sl: group.sl,
                ports: remaining_entries.collect(),
            };
            (*mlid, entries)
        });
        Self {
            groups: groups.collect(),
        }
    }

    /// The entries that must be cleared before LFTs are written. If a group's packets would change
    /// the VL that they have with `previous_vls`, all entries of the group are cleared.
    #[must_use]
    pub fn conflicting(
        &self,
        replacement: Replacement<'_>,
        nodes: &[NodeIdx],
        previous_vls: Option<&FabricVlPlan>,
    ) -> Vec<(Lid, NodeIdx)> {
        let mut conflicting: Vec<(Lid, SwitchIdx)> = Vec::new();
        let (mut mlids, mut groups) = (Vec::new(), Vec::new());
        for (mlid, group) in &self.groups {
            let stays = previous_vls.is_none_or(|before| {
                preserves_vls(
                    group,
                    before,
                    (replacement.topo, replacement.vl_plan),
                    nodes,
                )
            });
            if stays {
                mlids.push(*mlid);
                groups.push(group.clone());
            } else {
                conflicting.extend(group.ports.iter().map(|(s, _)| (*mlid, *s)));
            }
        }
        for (mlid, switches) in mlids.iter().zip(mft_entries_to_clear(replacement, &groups)) {
            conflicting.extend(switches.into_iter().map(|s| (*mlid, s)));
        }
        let node = |(mlid, s): (Lid, SwitchIdx)| Some((mlid, *nodes.get(s.index())?));
        conflicting.into_iter().filter_map(node).collect()
    }
}

/// Whether packets of a group stay on the VLs that they have at each of its switches.
fn preserves_vls(
    group: &GroupEntries,
    before: &FabricVlPlan,
    (topo, vl_plan): (&Topology, &VlPlan),
    nodes: &[NodeIdx],
) -> bool {
    let old_plan = &before.run.routing.vl_plan;
    if old_plan.is_single() && vl_plan.is_single()
        || old_plan.vls == vl_plan.vls && old_plan.sl_to_vl == vl_plan.sl_to_vl
    {
        return true;
    }
    group.ports.iter().all(|(s, ports)| {
        let Some(old) = nodes.get(s.index()).and_then(|n| before.switch(*n)) else {
            return false;
        };
        let links = || ports.iter().filter(|p| topo.neighbor(*s, *p).is_some());
        let inputs = (0..=topo.num_ports(*s)).map(PortNum);
        inputs.into_iter().all(|input| {
            links().all(|out| {
                old_plan.vl(old, input, out, group.sl) == vl_plan.vl(*s, input, out, group.sl)
            })
        })
    })
}
