//! Controls that other SMs send by Set(SMInfo): which are accepted in which state, and what follows (docs/sm-behaviour.md, 8.10). The reply
//! precedes all other decisions. Controls of ignored SMs are rejected.

use ferrosm_mad::attr::SmControl;
use ferrosm_mad::time::Instant;

use super::{Decision, Election, InactiveReason, MasterState, OtherSm, RoleChangeReason, State};

impl Election {
    pub(super) fn on_control(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &OtherSm,
        out: &mut Vec<Decision>,
    ) {
        let may_accept = from.guid != self.own_guid && self.may_send_control(now, from, out);
        if !may_accept || !self.apply_control(now, control, from, out) {
            out.push(Decision::Reply { accepted: false });
        }
    }

    /// Returns false if the control is to be rejected and no reply was sent.
    fn apply_control(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &OtherSm,
        out: &mut Vec<Decision>,
    ) -> bool {
        let by_master = from.is_master();
        let reason = RoleChangeReason::Controlled(control, from.guid);
        match (control, &self.state) {
            (SmControl::Handover, State::Discovering) if by_master => {
                out.push(Decision::Reply { accepted: true });
                // The scan in progress may have read the sender's earlier state.
                out.push(Decision::Sweep);
            }
            (SmControl::Handover, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                out.push(Decision::SendControl {
                    to: from.guid,
                    control: SmControl::Acknowledge,
                });
                self.become_master(RoleChangeReason::HandoverReceived(from.guid), out);
                out.push(Decision::Sweep);
            }
            (SmControl::Handover, State::Master(_)) if by_master => {
                self.on_handover_received(from, out);
            }
            (SmControl::Acknowledge, State::Master(MasterState::Offering(offer)))
                if offer.to == from.guid =>
            {
                out.push(Decision::Reply { accepted: true });
                self.on_offer_answered(now, from.guid, true, out);
            }
            // The response to HANDOVER arrived first.
            (SmControl::Acknowledge, State::Standby(_)) if from.competes() => {
                out.push(Decision::Reply { accepted: true });
            }
            (SmControl::Disable, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.enter_not_active(InactiveReason::Disabled, reason, out);
            }
            (
                SmControl::Standby,
                State::NotActive(InactiveReason::Disabled | InactiveReason::Managed),
            ) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.enter_standby(now, from.guid, reason, out);
            }
            (SmControl::Discover, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.restart_discovery(reason, out);
            }
            _ => return false,
        }
        true
    }
}
