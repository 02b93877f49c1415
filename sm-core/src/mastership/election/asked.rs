//! What other SMs ask of this one by Set(SMInfo): what is accepted in which state, and what follows (behaviour rule 8.10). The
//! answer always comes before the change. Whoever is ignored otherwise is refused here.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::time::Instant;

use super::{Duty, Election, Idle, Output, Peer, State, Why};

impl Election {
    pub(super) fn on_asked(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &Peer,
        out: &mut Vec<Output>,
    ) {
        let counts = from.guid != self.me && self.may_ask(now, from, out);
        if !counts || !self.obey(now, control, from, out) {
            out.push(Output::Reply { accepted: false });
        }
    }

    /// False if it is refused and that was not said yet.
    fn obey(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &Peer,
        out: &mut Vec<Output>,
    ) -> bool {
        let by_master = from.is_master();
        let told = Why::Told(control, from.guid);
        match (control, &self.state) {
            (SmControl::Handover, State::Discovering) if by_master => {
                out.push(Output::Reply { accepted: true });
                // What was read is what the sender was before.
                out.push(Output::Sweep);
            }
            (SmControl::Handover, State::Standby(_)) if by_master => {
                out.push(Output::Reply { accepted: true });
                out.push(Output::Set {
                    to: from.guid,
                    control: SmControl::Acknowledge,
                    as_state: SmState::Standby,
                });
                self.take_charge(Why::HandedOverBy(from.guid), out);
                out.push(Output::Sweep);
            }
            (SmControl::Handover, State::Master(_)) if by_master => {
                self.on_given(from, out);
            }
            (SmControl::Acknowledge, State::Master(Duty::Offering(offer)))
                if offer.to == from.guid =>
            {
                out.push(Output::Reply { accepted: true });
                self.on_offer_answered(now, from.guid, true, out);
            }
            // The answer to HANDOVER was there before it.
            (SmControl::Acknowledge, State::Standby(_)) if from.competes() => {
                out.push(Output::Reply { accepted: true });
            }
            (SmControl::Disable, State::Standby(_)) if by_master => {
                out.push(Output::Reply { accepted: true });
                self.rest(Idle::Disabled, told, out);
            }
            (SmControl::Standby, State::NotActive(Idle::Disabled | Idle::Managed)) if by_master => {
                out.push(Output::Reply { accepted: true });
                self.stand_by(now, from.guid, told, out);
            }
            (SmControl::Discover, State::Standby(_)) if by_master => {
                out.push(Output::Reply { accepted: true });
                self.discover(told, out);
            }
            _ => return false,
        }
        true
    }
}
