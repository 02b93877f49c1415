//! Standby: polls one SM (docs/sm-behaviour.md, 8.4). A standby becomes master only by HANDOVER. If
//! the polled SM is silent, it restarts discovery first.

use ferrosm_mad::ids::PortGuid;

use super::{Decision, Election, ElectionNotice, OtherSm, PollLimit, RoleChangeReason, State};

/// The polled SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PolledSm {
    pub guid: PortGuid,
    /// Consecutive polls without a response of a master or of a higher-ranked SM.
    pub missed: u8,
    /// Consecutive polls to which it responded as a higher-ranked SM that is not master.
    pub idle: u8,
    /// It accepted a HANDOVER and has not been master since.
    pub accepted: bool,
}

impl PolledSm {
    pub(super) const fn new(guid: PortGuid) -> Self {
        Self {
            guid,
            missed: 0,
            idle: 0,
            accepted: false,
        }
    }
}

impl Election {
    /// The polled SM responded.
    pub(super) fn on_poll_answered(&mut self, peer: &OtherSm, out: &mut Vec<Decision>) {
        let outranks = peer.rank() > self.rank();
        let wait_polls = self.settings.wait_polls;
        let allowed = self.settings.missed_polls_for(peer.guid, 1);
        let State::Standby(polled) = &mut self.state else {
            return;
        };
        if peer.is_master() {
            if polled.missed > 0 {
                let responds = ElectionNotice::MasterResponds(peer.guid);
                out.push(Decision::Notice(responds));
            }
            *polled = PolledSm::new(peer.guid);
            if !outranks {
                // The master may not know this SM.
                out.push(Decision::SendPriorityTrap { to: peer.guid });
            }
        } else if peer.lacks_m_key() {
            // It will not become master.
            self.restart_discovery(RoleChangeReason::MasterSteppedDown(peer.guid), out);
        } else if peer.competes() && outranks {
            polled.missed = 0;
            polled.idle = polled.idle.saturating_add(1);
            if polled.idle >= wait_polls {
                self.record_refusal(peer);
                self.restart_discovery(RoleChangeReason::StayedStandby(peer.guid), out);
            }
        } else {
            // The polled SM is alive but neither master nor of higher rank. Its successor may still
            // be starting.
            polled.missed = polled.missed.saturating_add(1);
            if polled.missed >= allowed {
                self.restart_discovery(RoleChangeReason::MasterSteppedDown(peer.guid), out);
            }
        }
    }

    /// Replication reports whether the replica lacks records. A standby with a complete one
    /// announces itself to the master.
    pub(super) fn on_replica_changed(&mut self, is_incomplete: bool, out: &mut Vec<Decision>) {
        let before = core::mem::replace(&mut self.replica.is_incomplete, is_incomplete);
        let State::Standby(polled) = self.state else {
            return;
        };
        self.replica.was_incomplete = is_incomplete;
        if before && !is_incomplete {
            out.push(Decision::SendPriorityTrap { to: polled.guid });
        }
    }

    /// The operator gave consent, or it is missing. A standby with consent announces itself to the
    /// master.
    pub(super) fn on_consent_changed(&mut self, is_awaited: bool, out: &mut Vec<Decision>) {
        let before = core::mem::replace(&mut self.awaits_consent, is_awaited);
        if let State::Standby(polled) = self.state
            && before
            && !is_awaited
        {
            out.push(Decision::SendPriorityTrap { to: polled.guid });
        }
    }

    /// Replication reports that an SM is silent. All its polls count as missed; if it responds to
    /// the SMInfo scan that follows, it is polled again.
    pub(super) fn on_peer_silent(
        &mut self,
        guid: PortGuid,
        uncertain: bool,
        out: &mut Vec<Decision>,
    ) {
        if matches!(self.state, State::Standby(polled) if polled.guid == guid) {
            self.silence_uncertain = uncertain;
            self.restart_discovery(RoleChangeReason::MasterSilent(guid), out);
        }
    }

    /// The polled SM did not respond.
    pub(super) fn on_poll_missed(&mut self, paths: u8, out: &mut Vec<Decision>) {
        let State::Standby(polled) = &mut self.state else {
            return;
        };
        let allowed = self.settings.missed_polls_for(polled.guid, paths);
        polled.missed = polled.missed.saturating_add(1);
        if polled.missed >= allowed {
            let reason = RoleChangeReason::MasterSilent(polled.guid);
            self.restart_discovery(reason, out);
        } else if polled.missed == 1 {
            let master = polled.guid;
            let limit = PollLimit {
                polls: allowed,
                is_one_per_path: allowed > self.settings.missed_polls_for(master, 1),
                interval: self.settings.interval_for(master),
            };
            let notice = ElectionNotice::MasterPollMissed { master, limit };
            out.push(Decision::Notice(notice));
        }
    }
}
