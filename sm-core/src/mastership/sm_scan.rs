//! SMInfo scans: query all SMs that discovery found, in a sweep or outside one (IBA vol. 1, 14.4.1).

use ferrosm_mad::attr::{CapMask, PortInfo, SmState};
use ferrosm_mad::ids::Lid;

use super::election::{self, AfterHandover, ElectionInput};
use super::{Mastership, MastershipAction, WorkInProgress};
use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::lid_map::LidMap;
use crate::smp::op::SmpOp;
use crate::subnet::{Port, PortRef, Subnet};

/// Ports whose PortInfo reports an SM, except the SM's own port.
pub(crate) fn sm_ports(fabric: &Subnet) -> Vec<PortRef> {
    let local = fabric.local();
    let has_sm = |p: &PortRef| {
        let port = fabric.port(*p);
        port.is_some_and(|port| port.info().capability_mask.has(CapMask::IS_SM))
    };
    let ports = fabric.end_ports().filter(|p| Some(*p) != local);
    ports.filter(has_sm).collect()
}

/// Whether end ports are in use by a master that is not this SM and did not respond. `own` is the LID assigned to this SM, `last_master`
/// that of the master whose state was restored.
fn is_managed(fabric: &Subnet, lids: &LidMap, own: Option<Lid>, last_master: Option<Lid>) -> bool {
    let Some(reported) = fabric.local().map(|p| fabric.lid(p)) else {
        return false;
    };
    // After a reboot this SM's port has no LID, and other ports still name its last one, or that of the SM it succeeds. In another
    // subnet that LID belongs to another SM, but the ports there do not have the LIDs of the map.
    let known_masters = [own, last_master];
    let ours = |port: &Port, info: &PortInfo| {
        known_masters.contains(&Some(info.master_sm_lid))
            && lids.get(&port.guid) == Some(&(info.lid, info.lmc))
    };
    let ports = fabric.end_ports().filter_map(|p| fabric.port(p));
    ports.filter(|port| port.known).any(|port| {
        let info = port.info();
        let master = info.master_sm_lid;
        let managed = info.lid.is_unicast() && master.is_unicast();
        managed && master != reported && !ours(port, &info)
    })
}

impl Mastership {
    /// Queries all SMs; returns whether there are any. Ports that report no SM any more are forgotten.
    pub(crate) fn query_sms(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let ports = sm_ports(ctx.fabric);
        self.other_sms.retain(|_, (p, _)| ports.contains(p));
        for p in &ports {
            ctx.smps.enqueue(SmpOp::SmInfo(*p));
        }
        !ports.is_empty()
    }

    /// The same in a sweep. A full sweep forgets the SMs that were known before.
    pub(crate) fn query_sms_in_sweep(&mut self, ctx: &mut Ctx<'_>, is_local: bool) {
        if !is_local {
            self.other_sms.clear();
        }
        self.query_sms(ctx);
    }

    /// A light sweep queries all SMs: no other scan is needed.
    pub(crate) const fn cancel_pending_scan(&mut self) {
        self.sm_scan_pending = false;
    }

    /// Takes the request for a scan; returns whether to start one.
    pub(crate) fn take_pending_scan(&mut self) -> bool {
        core::mem::take(&mut self.sm_scan_pending) && self.role() == SmState::Master
    }

    /// Starts a scan outside a sweep; returns whether there are SMs to wait for.
    pub(crate) fn start_scan(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.sm_scan_running = true;
        self.query_sms(ctx)
    }

    pub(crate) const fn is_scan_running(&self) -> bool {
        self.sm_scan_running
    }

    /// All SMs responded, or did not: what waited for the scan follows.
    pub(crate) fn finish_scan(
        &mut self,
        ctx: &mut Ctx<'_>,
        work: WorkInProgress,
    ) -> Vec<MastershipAction> {
        self.sm_scan_running = false;
        self.takeover.unverified = false;
        let stalled = core::mem::take(&mut self.takeover.stalled);
        let mut actions = Vec::new();
        if stalled && let Some(master) = self.other_master(ctx.cfg) {
            // It may have acknowledged registrations that this SM does not know: its state is loaded before anything else.
            actions.push(MastershipAction::Elect(ElectionInput::Deposed(master)));
            if self.takeover.handover_pending == Some(AfterHandover::Stop) {
                // There is a master: this SM can stop.
                actions.push(self.hand_over(ctx.cfg, AfterHandover::Stop));
            }
            return actions;
        }
        if stalled && work == WorkInProgress::None && self.may_be_outranked(ctx.cfg) {
            actions.push(MastershipAction::RequestFullSweep);
        }
        if self.role() == SmState::Discovering {
            actions.push(Self::finish_takeover_scan(ctx));
        } else if let Some(then) = self.takeover.handover_pending.take() {
            actions.push(self.hand_over(ctx.cfg, then));
        } else {
            actions.push(MastershipAction::CompareSms);
        }
        actions
    }

    /// Whether an SM of higher rank may be about to take the subnet, because it queried this one while that was unverified: a full sweep
    /// queries it again.
    fn may_be_outranked(&self, cfg: &SmConfig) -> bool {
        let own = self.election.rank();
        let discovers = |p: &election::OtherSm| p.state == SmState::Discovering && p.rank() > own;
        self.peers(cfg).iter().any(discovers)
    }

    /// The result of a scan, for the election.
    pub(crate) fn scan_result(
        &self,
        fabric: &Subnet,
        cfg: &SmConfig,
        lids: &LidMap,
        own: Option<Lid>,
        last_master: Option<Lid>,
    ) -> ElectionInput {
        ElectionInput::ScanCompleted {
            seen: self.peers(cfg),
            managed: is_managed(fabric, lids, own, last_master),
        }
    }
}
