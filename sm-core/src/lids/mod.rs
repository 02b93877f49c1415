//! LIDs: which port GUID owns which, and the assignment of the current sweep.

pub mod plan;

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, Lmc, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::effect::Effects;
use crate::lids::plan::{ConfirmedLids, LidPlan, LidPolicy, plan_lids};
use crate::records::lid_map::LidMap;
use crate::records::{RecordKind, RecordUpdate, lid_updates};
use crate::report::ProblemKind;

/// The LID assignment.
///
/// Invariant: every change of the map is submitted to the store before the new LID is written to a
/// device.
#[derive(Debug, Default)]
pub(crate) struct LidTable {
    map: LidMap,
    /// Which assignments this SM has confirmed while master.
    confirmed: ConfirmedLids,
    /// The assignment of the ports in the fabric.
    plan: LidPlan,
    /// The highest LID of the plan: LinearFDBTop of all switches whose LFT can hold it.
    top: Lid,
}

/// The result of an assignment.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// Number of ports that get another LID.
    pub(crate) changed: usize,
    /// The LIDs of the plan changed.
    pub(crate) plan_changed: bool,
    /// Changes of the records, to persist before the LIDs are written.
    pub(crate) updates: Vec<RecordUpdate>,
}

impl LidTable {
    pub(crate) fn new(map: LidMap) -> Self {
        Self {
            map,
            ..Self::default()
        }
    }

    pub(crate) const fn map(&self) -> &LidMap {
        &self.map
    }

    pub(crate) const fn plan(&self) -> &LidPlan {
        &self.plan
    }

    pub(crate) const fn top(&self) -> Lid {
        self.top
    }

    /// Base LID and LMC of a port.
    pub(crate) fn lids_of(&self, guid: PortGuid) -> Option<(Lid, Lmc)> {
        self.map.get(&guid).copied()
    }

    /// The LID that the SM's own port has, or will be sent.
    pub(crate) fn sm_lid(&self, fabric: &ObservedFabric) -> Option<Lid> {
        let guid = fabric.port(fabric.local()?)?.guid;
        self.lids_of(guid).map(|(lid, _)| lid)
    }

    /// Replaces the map by that of a replica. LIDs of the old map may have been assigned to other
    /// ports meanwhile.
    pub(crate) fn load_replica(&mut self, map: LidMap) {
        self.map = map;
        self.confirmed = ConfirmedLids::default();
    }

    /// The changes that replace the LID records, which may be those of another SM, by the map.
    pub(crate) fn all_records(&self) -> Vec<RecordUpdate> {
        let mut updates = vec![RecordUpdate::Clear(RecordKind::Lid)];
        let own = self.confirmed.without_foreign(&self.map);
        updates.extend(lid_updates(&LidMap::new(), &own));
        updates
    }

    /// Another SM may have assigned LIDs: no assignment counts as confirmed.
    pub(crate) fn unconfirm(&mut self) {
        self.confirmed.clear();
    }

    /// A sweep is complete: what ports report confirms the assignment.
    pub(crate) fn confirm(&mut self, fabric: &ObservedFabric) {
        self.confirmed.confirm(fabric, &self.map);
    }

    /// The ports that did not report their LIDs when they were last read.
    pub(crate) fn differing_ports<'a>(
        &'a self,
        fabric: &'a ObservedFabric,
    ) -> impl Iterator<Item = PortRef> + 'a {
        let assigned = self.plan.lids.iter();
        let differing = assigned.filter(|(p, lid, _)| reported_lid(fabric, *p) != *lid);
        differing.map(|(p, _, _)| *p)
    }

    /// A Set reached another port than the one it was for.
    pub(crate) const fn on_misdirected_set(&mut self, sweep: u32) {
        self.confirmed.on_misdirected_set(sweep);
    }

    /// A full sweep as master is complete.
    pub(crate) fn on_full_sweep(&mut self, sweep: u32) {
        self.confirmed.on_full_sweep(sweep);
    }

    /// Assigns LIDs to all end ports.
    pub(crate) fn assign(
        &mut self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        policy: LidPolicy,
        effects: &mut Effects,
    ) -> Assignment {
        let plan = plan_lids(fabric, &self.map, &self.confirmed, cfg, policy);
        for (p, lid) in &plan.conflicts {
            effects.problem(*p, ProblemKind::LidConflict(*lid));
        }
        for p in &plan.without_lid {
            effects.problem(*p, ProblemKind::NoLid);
        }
        for limited in plan.limited_lfts(fabric) {
            let port0 = PortRef::new(limited.node, PortNum::ZERO);
            effects.problem(port0, plan.lft_problem(fabric, limited));
        }
        let own_before = self.confirmed.without_foreign(&self.map);
        if plan.is_map_of_other_subnet && policy != LidPolicy::Reassign {
            self.confirmed.mark_foreign(&self.map);
        }
        self.confirmed.assign(fabric, &self.map, &plan);
        let own = self.confirmed.without_foreign(&plan.map);
        let mut updates = Vec::new();
        if own != own_before {
            updates = lid_updates(&own_before, &own);
        }
        if plan.map != self.map {
            self.map.clone_from(&plan.map);
        }
        let plan_changed = plan.lids != self.plan.lids;
        self.plan = plan;
        Assignment {
            changed: self.differing_ports(fabric).count(),
            plan_changed,
            updates,
        }
    }

    /// Sets `top` to the highest LID of the plan. Called before the tables are written.
    pub(crate) fn update_top(&mut self) {
        self.top = self.plan.top();
    }

    /// Number of LIDs in the plan, including those due to an LMC above 0.
    pub(crate) fn count(&self) -> usize {
        self.plan.lids.iter().map(|(_, _, lmc)| 1 << lmc.0).sum()
    }

    /// Number of ports that own a LID and are not in the fabric.
    pub(crate) fn absent(&self) -> usize {
        self.map.len().saturating_sub(self.plan.lids.len())
    }
}

fn reported_lid(fabric: &ObservedFabric, p: PortRef) -> Lid {
    let port = fabric.port(p);
    port.map_or(Lid::NONE, |port| PortInfo::lid.read(&port.raw))
}
