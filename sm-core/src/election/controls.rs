//! Controls that other SMs send by Set(SMInfo): which are accepted in which state, and what follows
//! (docs/sm-behaviour.md, 8.10). The reply precedes all other decisions. Controls of ignored SMs
//! are rejected, and so are those that the SM at their source does not confirm.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{
    ControlSource, Decision, Election, ElectionNotice, InactiveReason, MasterState, OtherSm,
    RoleChangeReason, State,
};

impl Election {
    pub(super) fn on_control(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &OtherSm,
        source: &ControlSource,
        out: &mut Vec<Decision>,
    ) {
        let may_accept =
            from.guid != self.own_guid && self.may_send_control(now, control, from, source, out);
        if !may_accept || !self.apply_control(now, control, from, out) {
            out.push(Decision::Reply { accepted: false });
        }
    }

    /// No SM responds where the control came from. It gets no reply: if the query was lost, its
    /// sender repeats it.
    pub(super) fn on_unconfirmed_control(
        &mut self,
        now: Instant,
        control: SmControl,
        claimed: PortGuid,
        port: Option<PortGuid>,
        out: &mut Vec<Decision>,
    ) {
        let notice = ElectionNotice::ControlUnconfirmed {
            control,
            claimed,
            port,
        };
        // What a control claims is the choice of its sender: all from unknown ports count as from
        // one.
        let reported_as = port.unwrap_or(PortGuid(0));
        self.ignored.on_request(now, reported_as, notice, out);
    }

    /// Whether the SM at the source of a control may send it and confirms that it did. Reports the
    /// reason if not.
    fn may_send_control(
        &mut self,
        now: Instant,
        control: SmControl,
        from: &OtherSm,
        source: &ControlSource,
        out: &mut Vec<Decision>,
    ) -> bool {
        // The allow-list applies to the port; the sender chooses the GUID in the control.
        let sender = OtherSm {
            guid: source.port.unwrap_or(source.sm.guid),
            ..source.sm
        };
        if let Some(notice) = self.reason_to_ignore(&sender) {
            self.ignored.on_request(now, sender.guid, notice, out);
            return false;
        }
        let is_confirmed = self.is_confirmed(control, from, source);
        if !is_confirmed {
            self.on_unconfirmed_control(now, control, from.guid, source.port, out);
        }
        is_confirmed
    }

    fn is_confirmed(&self, control: SmControl, from: &OtherSm, source: &ControlSource) -> bool {
        let sm = &source.sm;
        // OpenSM is standby as soon as it has sent HANDOVER, and an SM that acknowledges one is
        // master.
        let may_be_standby = matches!(control, SmControl::Handover | SmControl::Acknowledge);
        let is_in_state = sm.is_master() || may_be_standby && sm.state == SmState::Standby;
        let is_at_port = match source.port {
            Some(port) => port == from.guid,
            // HANDOVER during discovery only repeats the discovery, which may not have reached the
            // sender's port yet.
            None => {
                control == SmControl::Handover
                    && self.state == State::Discovering
                    && self.settings.allowed.is_none()
            }
        };
        sm.guid == from.guid && is_in_state && is_at_port
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
            (SmControl::Handover, State::Discovering)
                if by_master && !self.is_hidden && !self.awaits_consent =>
            {
                out.push(Decision::Reply { accepted: true });
                // The scan in progress may have read the sender's earlier state.
                out.push(Decision::Sweep);
            }
            (SmControl::Handover, State::Standby(_)) if by_master && !self.awaits_consent => {
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
