//! Effect of a change of VLs on packets in flight.
//!
//! A packet retains its SL, and each switch maps it to a VL by its current table. So packets are
//! unaffected while the VLs of the SLs in use are unchanged. Pure.

use std::sync::Arc;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::vl_plan::SLS;
use ferrosm_routing::{PathSl, SlToVl, SwitchIdx, Topology, VlPlan};

use crate::routing::vl_plan::FabricVlPlan;

/// The change between two VL plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VlChange {
    /// No change.
    None,
    /// Only SLtoVL tables of SLs that no path has used.
    UnusedSls,
    /// SLs of paths to these LIDs, ascending; possibly also SLtoVL tables of unused SLs.
    PathSls(Vec<Lid>),
    /// The VL of an SL in use: packets in flight would change their VL.
    UsedSlToVl,
}

impl FabricVlPlan {
    /// The change from this plan to `vl_plan` for the switches `nodes` of `topo`.
    #[must_use]
    pub fn change_to(&self, topo: &Topology, nodes: &[NodeIdx], vl_plan: &VlPlan) -> VlChange {
        self.pair_with(topo, nodes, vl_plan).change()
    }

    /// The SLs that paths of `topo` had with this plan; those of `vl_plan` for new paths.
    #[must_use]
    pub fn sls_before(&self, topo: &Topology, nodes: &[NodeIdx], vl_plan: &VlPlan) -> SlsByPath {
        self.pair_with(topo, nodes, vl_plan).sls_before()
    }

    fn pair_with<'a>(
        &'a self,
        topo: &'a Topology,
        nodes: &[NodeIdx],
        vl_plan: &'a VlPlan,
    ) -> VlPlanPair<'a> {
        let switches = nodes.iter().zip(topo.switches());
        let pairs: Vec<(SwitchIdx, SwitchIdx)> = switches
            .filter_map(|(n, switch)| Some((self.switch(*n)?, switch)))
            .collect();
        VlPlanPair {
            before: (&self.run.topo, &self.run.routing.vl_plan),
            after: (topo, vl_plan),
            pairs,
        }
    }
}

/// SLs by source switch and destination LID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlsByPath(Vec<Vec<u8>>);

impl SlsByPath {
    /// The SLs of a plan.
    fn of_plan(topo: &Topology, vl_plan: &VlPlan) -> Self {
        let row = |from: SwitchIdx| {
            let mut row = vec![0; usize::from(topo.top_lid().raw()) + 1];
            for d in topo.destinations() {
                row[usize::from(d.lid.raw())] = vl_plan.sl(from, d);
            }
            row
        };
        Self(topo.switches().map(row).collect())
    }

    /// Replaces the SLs to a LID by those of a plan, for the switches of this list.
    pub fn replace(&mut self, topo: &Topology, vl_plan: &VlPlan, lid: Lid, switches: &[bool]) {
        let destinations = topo.destinations();
        let Ok(at) = destinations.binary_search_by_key(&lid, |d| d.lid) else {
            return;
        };
        let rows = topo.switches().zip(&mut self.0).zip(switches);
        for ((from, row), _) in rows.filter(|(_, is_included)| **is_included) {
            row[usize::from(lid.raw())] = vl_plan.sl(from, &destinations[at]);
        }
    }

    /// In the form of a VL plan.
    #[must_use]
    pub fn into_path_sl(self) -> PathSl {
        PathSl::BySwitchAndLid(self.0.into_iter().map(Arc::from).collect())
    }
}

/// The graphs and VL plans of two routings, and the switches of both.
struct VlPlanPair<'a> {
    before: (&'a Topology, &'a VlPlan),
    after: (&'a Topology, &'a VlPlan),
    pairs: Vec<(SwitchIdx, SwitchIdx)>,
}

impl VlPlanPair<'_> {
    fn change(&self) -> VlChange {
        let (before, after) = (self.before.1, self.after.1);
        if before.is_single() && after.is_single() {
            return VlChange::None;
        }
        if self.maps_differ(before.path_sl.used_sls()) {
            return VlChange::UsedSlToVl;
        }
        let lids = self.lids_with_changed_sl();
        if !lids.is_empty() {
            VlChange::PathSls(lids)
        } else if before.vls == after.vls && before.sl_to_vl == after.sl_to_vl {
            VlChange::None
        } else {
            VlChange::UnusedSls
        }
    }

    /// LIDs to which packets from some switch get another SL.
    fn lids_with_changed_sl(&self) -> Vec<Lid> {
        let (before, after) = (self.before.1, self.after.1);
        if let (PathSl::Uniform(a), PathSl::Uniform(b)) = (&before.path_sl, &after.path_sl)
            && a == b
        {
            return Vec::new();
        }
        let destinations_before = self.before.0.destinations();
        let has_same_switches = self.pairs.iter().all(|(before, after)| before == after);
        if has_same_switches
            && destinations_before == self.after.0.destinations()
            && before.path_sl == after.path_sl
        {
            return Vec::new();
        }
        let changed = self.after.0.destinations().iter().filter(|d| {
            let Ok(old) = destinations_before.binary_search_by_key(&d.lid, |old| old.lid) else {
                return false;
            };
            let old = &destinations_before[old];
            let mut pairs = self.pairs.iter();
            pairs.any(|&(from_before, from_after)| {
                before.sl(from_before, old) != after.sl(from_after, d)
            })
        });
        changed.map(|d| d.lid).collect()
    }

    fn sls_before(&self) -> SlsByPath {
        let mut sls = SlsByPath::of_plan(self.after.0, self.after.1);
        let (old_topo, before) = self.before;
        let old_destinations = old_topo.destinations();
        for d in self.after.0.destinations() {
            let Ok(old) = old_destinations.binary_search_by_key(&d.lid, |old| old.lid) else {
                continue;
            };
            for &(from_before, from) in &self.pairs {
                sls.0[from.index()][usize::from(d.lid.raw())] =
                    before.sl(from_before, &old_destinations[old]);
            }
        }
        sls
    }

    /// Whether an SL of the mask changes its VL on some link between switches. Links to end ports
    /// do not count: no other channel depends on them.
    fn maps_differ(&self, used: u16) -> bool {
        let ((old_topo, old_plan), (topo, plan)) = (self.before, self.after);
        let sls: Vec<usize> = (0..SLS).filter(|sl| used >> sl & 1 == 1).collect();
        if let (SlToVl::Modulo, SlToVl::Modulo) = (&old_plan.sl_to_vl, &plan.sl_to_vl) {
            let vl_of = |plan: &VlPlan, sl: usize| sl % usize::from(plan.vls.max(1));
            return sls.iter().any(|&sl| vl_of(old_plan, sl) != vl_of(plan, sl));
        }
        self.pairs.iter().any(|&(old_switch, switch)| {
            let is_linked = |p: &PortNum| {
                topo.neighbor(switch, *p).is_some() && old_topo.neighbor(old_switch, *p).is_some()
            };
            let ports = topo.num_ports(switch).min(old_topo.num_ports(old_switch));
            let mut outputs = (1..=ports).map(PortNum).filter(is_linked);
            outputs.any(|output| {
                (0..=ports).map(PortNum).any(|input| {
                    let a = old_plan.map(old_topo, old_switch, input, output);
                    let b = plan.map(topo, switch, input, output);
                    sls.iter().any(|&sl| a[sl] != b[sl])
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_routing::TopologyBuilder;

    use super::*;

    /// The change of a fabric of two switches with a host each.
    fn change(before: &VlPlan, after: &VlPlan) -> VlChange {
        let mut b = TopologyBuilder::new();
        let (x, y) = (b.switch(4, Lid(1)), b.switch(4, Lid(2)));
        b.link((x, PortNum(1)), (y, PortNum(1)));
        b.end_port((x, PortNum(2)), Lid(3), 1);
        b.end_port((y, PortNum(2)), Lid(4), 1);
        let topo = b.build();
        let pair = VlPlanPair {
            before: (&topo, before),
            after: (&topo, after),
            pairs: vec![(x, x), (y, y)],
        };
        pair.change()
    }

    #[test]
    fn vl_changes_are_classified_by_their_effect_on_packets() {
        let one = VlPlan::single();
        let plan = |vls, to_4| {
            VlPlan::modulo(
                vls,
                PathSl::ByLid(Arc::from([0u8, 0, 0, 0, to_4].as_slice())),
            )
        };
        assert_eq!(change(&one, &one), VlChange::None);
        // From one VL to two: SL 0 stays on VL 0.
        assert_eq!(change(&one, &plan(2, 0)), VlChange::UnusedSls);
        assert_eq!(change(&one, &plan(2, 1)), VlChange::PathSls(vec![Lid(4)]));
        assert_eq!(change(&plan(2, 1), &plan(2, 1)), VlChange::None);
        // SL 1 was on VL 1.
        assert_eq!(change(&plan(2, 1), &one), VlChange::UsedSlToVl);
        assert_eq!(change(&plan(2, 1), &plan(3, 1)), VlChange::UnusedSls);
    }
}
