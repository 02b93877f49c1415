//! SA service after a handover, and what the election needs to know of a stall or a lost lease.
//!
//! An SM that handed the subnet over still answers SA reads for [`SA_READS_AFTER_HANDOVER`],
//! because the new master updates the hosts one after another. It accepts no registrations.

use core::time::Duration;

use ferrosm_mad::ids::PortGuid;

use super::Mastership;
use super::sm_scan::sm_ports;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::election::ElectionInput;
use crate::event::Event;
use crate::report::ActivityKind;

/// Time for which SA reads are answered after a handover.
const SA_READS_AFTER_HANDOVER: Duration = Duration::from_secs(2);

impl Mastership {
    /// The process stalled: another SM may be master. Nothing is written before an SMInfo scan.
    pub(crate) fn on_stalled(&mut self, ctx: &mut Ctx<'_>, activity: ActivityKind) {
        self.distrust_replica(ctx);
        if activity != ActivityKind::NoLink {
            self.reload_replica(ctx);
        }
        if self.may_write() || self.election.is_verifying() {
            ctx.outbox.emit(Event::ProcessStalled);
        }
        let sms_known = !sm_ports(ctx.fabric).is_empty();
        ctx.effects
            .push(Effect::Elect(ElectionInput::Stalled { sms_known }));
    }

    /// The lease of a master is lost: another SM may take it.
    pub(crate) fn on_lease_lost(ctx: &mut Ctx<'_>, activity: ActivityKind) {
        // An SMInfo scan began when the SM was idle.
        let is_idle = activity == ActivityKind::SmScan
            || (activity == ActivityKind::Idle && ctx.smps.is_idle());
        let input = ElectionInput::LeaseLost {
            is_idle,
            sms_known: !sm_ports(ctx.fabric).is_empty(),
        };
        ctx.effects.push(Effect::Elect(input));
    }

    /// Another SM took over from this one: SA reads are answered for a while. If this SM stops,
    /// `successor` is reported at the end of that time; `None` if it becomes standby.
    pub(super) fn start_sa_reads(
        &mut self,
        ctx: &mut Ctx<'_>,
        successor: Option<PortGuid>,
        has_view: bool,
    ) {
        if has_view {
            self.takeover.sa_reads_until = Some(ctx.now + SA_READS_AFTER_HANDOVER);
        }
        self.takeover.successor = successor;
        if self.takeover.sa_reads_until.is_none() {
            self.report_successor(ctx);
        }
    }

    /// Reports that this SM has stopped, if it handed the subnet over in order to stop.
    fn report_successor(&mut self, ctx: &mut Ctx<'_>) {
        let stopped = |to| Effect::ReportStopped {
            handed_to: Some(to),
            was_master: true,
        };
        ctx.effects
            .extend(self.takeover.successor.take().map(stopped));
    }

    /// Stops answering SA reads when their time after the handover is over.
    pub(crate) fn end_sa_reads(&mut self, ctx: &mut Ctx<'_>) {
        let due = self.takeover.sa_reads_until.take_if(|due| *due <= ctx.now);
        if due.is_some() {
            self.report_successor(ctx);
        }
    }

    /// Whether SA reads are answered after a handover.
    pub(crate) const fn answers_sa_reads(&self) -> bool {
        self.takeover.sa_reads_until.is_some()
    }

    /// Whether this SM stopped without a successor: the persisted state remains for its next start.
    pub(crate) const fn has_ended(&self) -> bool {
        self.takeover.has_ended
    }
}
