//! Handover to another SM, and verification that this SM is still master after its process stalled or it lost its lease.
//!
//! An SM that handed the subnet over still answers SA reads for [`LINGER`], because hosts learn of the new master one after another. It
//! registers nothing any more.

use core::time::Duration;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::election::{AfterHandover, ElectionInput};
use super::sm_scan::sm_ports;
use super::{Mastership, MastershipAction, WorkInProgress};
use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::event::{Event, Notice};

/// Time for which SA reads are answered after a handover.
const LINGER: Duration = Duration::from_secs(2);

impl Mastership {
    /// The operator requests a handover. The SMs are queried again first, because one may have just started.
    pub(crate) fn request_handover(
        &mut self,
        ctx: &Ctx<'_>,
        then: AfterHandover,
        is_master: bool,
    ) -> Option<MastershipAction> {
        if self.takeover.unverified && self.role() == SmState::Master {
            // A scan is pending or in progress.
            self.takeover.handover_pending = Some(then);
            None
        } else if is_master && !sm_ports(ctx.fabric).is_empty() {
            self.takeover.handover_pending = Some(then);
            Some(self.verify())
        } else {
            Some(self.hand_over(ctx.cfg, then))
        }
    }

    pub(super) fn hand_over(&self, cfg: &SmConfig, then: AfterHandover) -> MastershipAction {
        let others = self.peers(cfg);
        MastershipAction::Elect(ElectionInput::HandOver { then, others })
    }

    /// Scans the SMs before anything else.
    fn verify(&mut self) -> MastershipAction {
        self.takeover.unverified = true;
        self.sm_scan_pending = true;
        self.sm_scan_running = false;
        MastershipAction::Yield
    }

    /// The process stalled: another SM may be master. Nothing is written before the SMs were scanned.
    pub(crate) fn on_stalled(
        &mut self,
        ctx: &mut Ctx<'_>,
        is_master: bool,
        work: WorkInProgress,
    ) -> Vec<MastershipAction> {
        let mut actions: Vec<MastershipAction> = self.distrust_replica().into_iter().collect();
        if work != WorkInProgress::NoLink
            && let Some(reload) = self.reload_replica(ctx)
        {
            actions.push(reload);
        } else if is_master && !self.other_sms.is_empty() {
            ctx.outbox.emit(Event::Notice(Notice::ProcessStalled));
            actions.push(self.verify());
            self.takeover.stalled = true;
        }
        actions
    }

    /// The lease of a master is lost: another SM may take it. The process did not stall and has received all MADs, so if nothing is in
    /// progress and no other SM is master, nothing has to be repeated.
    pub(crate) fn on_lease_lost(
        &mut self,
        ctx: &mut Ctx<'_>,
        is_master: bool,
        work: WorkInProgress,
    ) -> Vec<MastershipAction> {
        let verifying = self.role() == SmState::Master && self.takeover.unverified;
        let mut actions = Vec::new();
        if !verifying && (!is_master || self.other_sms.is_empty()) {
            return actions;
        }
        self.takeover.stalled = true;
        if work == WorkInProgress::SmScan {
            // Responses may be from before the loss.
            ctx.smps.clear();
            self.sm_scan_running = false;
            self.sm_scan_pending = true;
            actions.push(MastershipAction::EndSmScan);
        }
        if !verifying {
            let is_idle = matches!(work, WorkInProgress::None | WorkInProgress::SmScan);
            if is_idle && ctx.smps.is_idle() {
                self.takeover.unverified = true;
                self.sm_scan_pending = true;
            } else {
                actions.push(self.verify());
            }
        }
        actions
    }

    /// Another SM took over from this one. `successor` is reported as the end of this SM when lingering ends; `None` if it becomes standby.
    pub(super) fn linger(
        &mut self,
        ctx: &Ctx<'_>,
        successor: Option<PortGuid>,
        has_view: bool,
    ) -> Option<MastershipAction> {
        if has_view {
            self.takeover.linger_until = Some(ctx.now + LINGER);
        }
        self.takeover.successor = successor;
        if self.takeover.linger_until.is_some() {
            return None;
        }
        self.report_successor()
    }

    /// Reports the end of this SM if it handed the subnet over to end.
    fn report_successor(&mut self) -> Option<MastershipAction> {
        let successor = self.takeover.successor.take()?;
        Some(MastershipAction::ReportStopped {
            handed_to: Some(successor),
            was_master: true,
        })
    }

    /// Ends lingering if it is over.
    pub(crate) fn end_lingering(&mut self, now: Instant) -> Option<MastershipAction> {
        if self.takeover.linger_until.is_none_or(|due| due > now) {
            return None;
        }
        self.takeover.linger_until = None;
        self.report_successor()
    }

    /// Whether SA reads are answered after a handover.
    pub(crate) const fn is_lingering(&self) -> bool {
        self.takeover.linger_until.is_some()
    }

    /// Whether this SM ended without a successor: the persisted state stays for its next start.
    pub(crate) const fn has_ended(&self) -> bool {
        self.takeover.ended
    }
}
