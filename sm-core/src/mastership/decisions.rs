//! Carries out what the election decides: polls, controls, replies, changes of the role, and
//! messages to the operator.

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::{SmControl, SmInfo, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::mad::{MadIn, MadOut, Status};
use ferrosm_mad::smp;

use super::Mastership;
use crate::ctx::Ctx;
use crate::discovery::exclusion::is_in_fabric;
use crate::effect::Effect;
use crate::election::{Decision, ElectionInput, ElectionNotice, RoleChangeReason};
use crate::event::{AboutSm, Event, SmLocation};
use crate::smp::PathPolicy;
use crate::smp::op::SmpOp;

impl Mastership {
    /// Steps the election. A request gets a reply with the SMInfo from before the step.
    pub(crate) fn step(
        &mut self,
        ctx: &mut Ctx<'_>,
        input: ElectionInput,
        request: Option<&MadIn>,
    ) {
        let own_info = self.sm_info(ctx.cfg, ctx.fabric, ctx.outbox.sent(), None);
        self.election.set_guid(own_info.guid);
        let is_link_down = input == ElectionInput::LinkDown;
        let was_master = self.role() == SmState::Master;
        let decisions = self.election.step(ctx.now, input);
        if self.election.must_yield() {
            ctx.effects.push(Effect::Yield);
        }
        if is_link_down && was_master && self.role() == SmState::Discovering {
            self.on_link_lost_as_master(ctx);
        }
        let needs_sweep = decisions.contains(&Decision::Sweep);
        for decision in decisions {
            ctx.effects.push(match (decision, request) {
                (Decision::Reply { accepted }, Some(request)) => {
                    Effect::Reply(Box::new(reply(request, accepted, &own_info)))
                }
                (decision, _) => Effect::CarryOut(decision),
            });
        }
        if needs_sweep {
            ctx.effects.push(Effect::SweepAsElected { is_link_down });
        }
    }

    /// Carries out a decision of the election. `is_master`: this SM configures the subnet now.
    /// `has_view`: SA clients are answered.
    pub(crate) fn carry_out(
        &mut self,
        ctx: &mut Ctx<'_>,
        decision: Decision,
        is_master: bool,
        has_view: bool,
    ) {
        match decision {
            Decision::Poll { to, path } => self.poll_sm(ctx, to, path),
            Decision::SendControl { to, control } => self.control_sm(ctx, to, control),
            Decision::EnterState { state, why } => self.on_role(ctx, state, why, has_view),
            Decision::LoadReplica => self.request_replica(ctx),
            // The sweep follows all decisions of the step; without a request there is no reply.
            Decision::Sweep | Decision::Reply { .. } => {}
            Decision::ScanSms => self.sm_scan_pending = true,
            Decision::RescanSms => self.restart_scan(ctx),
            Decision::SendPriorityTrap { to } => self.send_trap_144(ctx, to),
            Decision::Stop {
                handed_to: Some(to),
                was_master: _,
            } => self.start_sa_reads(ctx, Some(to), has_view),
            Decision::Stop {
                handed_to: None,
                was_master,
            } => {
                self.takeover.has_ended = true;
                // A second Stop does not wait until SA reads end.
                ctx.effects.push(Effect::ReportStopped {
                    handed_to: self.takeover.successor.take(),
                    was_master,
                });
            }
            Decision::Notice(notice) => self.on_notice(ctx, notice, is_master),
        }
    }

    fn on_role(
        &mut self,
        ctx: &mut Ctx<'_>,
        state: SmState,
        reason: RoleChangeReason,
        has_view: bool,
    ) {
        self.replica.set_state(ctx.outbox, state, reason, ctx.now);
        if matches!(state, SmState::Standby | SmState::NotActive) {
            self.is_new = false;
            self.sm_scan_pending = false;
            ctx.effects.push(Effect::LeaveSubnet);
        }
        if state != SmState::Master || matches!(reason, RoleChangeReason::HandoverReceived(_)) {
            // Another SM is master, or was until now: this SM will be new to clients when it is
            // master.
            self.first_as_master = true;
            ctx.effects.push(Effect::UnconfirmLids);
        }
        if state == SmState::Standby && matches!(reason, RoleChangeReason::HandedOverTo(..)) {
            self.start_sa_reads(ctx, None, has_view);
        }
        let located = self.locate(ctx.fabric, reason, reason.about());
        ctx.outbox.emit(Event::RoleChanged {
            state,
            why: located,
        });
    }

    fn on_notice(&mut self, ctx: &mut Ctx<'_>, notice: ElectionNotice, is_master: bool) {
        // An ignored SM is gone: the settings that it wrote are reconfigured.
        let reconfigures = is_master && matches!(notice, ElectionNotice::IgnoredSmGone(_));
        self.takeover.foreign_change |= reconfigures;
        let located = self.locate(ctx.fabric, notice, notice.about());
        if notice.keeps_mastership() {
            return ctx
                .effects
                .push(Effect::ReportNotHandedOver(Box::new(located)));
        }
        self.emit_notice(ctx, notice);
        if reconfigures {
            ctx.effects.push(Effect::RequestFullSweep);
        }
    }

    /// Reports a notice, with the location of the SM that it is about.
    pub(super) fn emit_notice(&self, ctx: &mut Ctx<'_>, notice: ElectionNotice) {
        let located = self.locate(ctx.fabric, notice, notice.about());
        ctx.outbox.emit(Event::Election(located));
    }

    /// What the election reports about an SM, with the SM's location.
    fn locate<T>(
        &self,
        fabric: &ObservedFabric,
        subject: T,
        about: Option<PortGuid>,
    ) -> AboutSm<T> {
        AboutSm {
            what: subject,
            location: about.map(|guid| self.location(fabric, guid)),
        }
    }

    /// An SM, with its location.
    pub(crate) fn describe_sm(&self, fabric: &ObservedFabric, guid: PortGuid) -> AboutSm<PortGuid> {
        self.locate(fabric, guid, Some(guid))
    }

    /// The port of an SM, and the port at the other end of its link.
    fn location(&self, fabric: &ObservedFabric, guid: PortGuid) -> SmLocation {
        let port = self.sm_port(fabric, guid);
        port.map_or(SmLocation::Unknown, |at| SmLocation::Port {
            port: fabric.port_name(at),
            peer: fabric.peer(at).map(|peer| fabric.port_name(peer)),
        })
    }

    /// The port of an SM.
    pub(super) fn sm_port(&self, fabric: &ObservedFabric, guid: PortGuid) -> Option<PortRef> {
        let last = self.other_sms.get(&guid).map(|(at, _)| *at);
        last.filter(|at| is_in_fabric(fabric, *at))
            .or_else(|| fabric.port_by_guid(guid))
    }

    fn poll_sm(&self, ctx: &mut Ctx<'_>, to: PortGuid, path: u8) {
        let Some(at) = self.sm_port(ctx.fabric, to) else {
            let input = ElectionInput::PollUnanswered { guid: to, paths: 1 };
            return ctx.effects.push(Effect::Elect(input));
        };
        ctx.smps
            .enqueue_over(SmpOp::SmInfoPoll(at), PathPolicy::EachPathTwice(path));
    }

    fn control_sm(&self, ctx: &mut Ctx<'_>, to: PortGuid, control: SmControl) {
        let Some(at) = self.sm_port(ctx.fabric, to) else {
            let input = ElectionInput::ControlUnanswered { guid: to, control };
            return ctx.effects.push(Effect::Elect(input));
        };
        let op = SmpOp::SetSmInfo(at, control);
        if control == SmControl::Acknowledge {
            // Optional: the sweep of the new master does not wait for a response to it.
            return ctx.effects.push(Effect::SendUntracked(op));
        }
        ctx.smps.enqueue(op);
    }
}

/// The reply to Set(SMInfo).
fn reply(request: &MadIn, is_accepted: bool, own_info: &SmInfo) -> MadOut {
    let status = if is_accepted {
        Status::OK
    } else {
        Status::BAD_FIELD
    };
    MadOut {
        to: request.from,
        mad: smp::response(&request.mad, status, &own_info.encode()),
    }
}
