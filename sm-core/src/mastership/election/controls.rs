//! What other SMs ask of this one by Set(SMInfo): what is accepted in which state, and what follows (behaviour rule 8.10). The
//! answer always comes before the change. Whoever is ignored otherwise is refused here.

use ferrosm_mad::attr::{SmControl, SmState};
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
        let counts = from.guid != self.me && self.may_send_control(now, from, out);
        if !counts || !self.apply_control(now, control, from, out) {
            out.push(Decision::Reply { accepted: false });
        }
    }

    /// False if it is refused and that was not said yet.
    fn apply_control(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &OtherSm,
        out: &mut Vec<Decision>,
    ) -> bool {
        let by_master = from.is_master();
        let told = RoleChangeReason::Controlled(control, from.guid);
        match (control, &self.state) {
            (SmControl::Handover, State::Discovering) if by_master => {
                out.push(Decision::Reply { accepted: true });
                // What was read is what the sender was before.
                out.push(Decision::Sweep);
            }
            (SmControl::Handover, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                out.push(Decision::SendControl {
                    to: from.guid,
                    control: SmControl::Acknowledge,
                    as_state: SmState::Standby,
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
            // The answer to HANDOVER was there before it.
            (SmControl::Acknowledge, State::Standby(_)) if from.competes() => {
                out.push(Decision::Reply { accepted: true });
            }
            (SmControl::Disable, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.enter_not_active(InactiveReason::Disabled, told, out);
            }
            (
                SmControl::Standby,
                State::NotActive(InactiveReason::Disabled | InactiveReason::Managed),
            ) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.enter_standby(now, from.guid, told, out);
            }
            (SmControl::Discover, State::Standby(_)) if by_master => {
                out.push(Decision::Reply { accepted: true });
                self.restart_discovery(told, out);
            }
            _ => return false,
        }
        true
    }
}
