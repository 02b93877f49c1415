//! Standby: one SM is watched, and everything else is left to it (behaviour rule 8.4). Never becomes master from here
//! without a HANDOVER: where the watched one is gone the subnet is looked at first.

use ferrosm_mad::ids::PortGuid;

use super::{Decision, Election, OtherSm, RoleChangeReason, State};

/// The SM that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    /// Who.
    pub of: PortGuid,
    /// Polls in a row without an answer that counts.
    pub missed: u8,
    /// Polls in a row that it answered as better, but not as master.
    pub idle: u8,
    /// It has said that it takes the subnet, and was not master since.
    pub accepted: bool,
}

impl Watch {
    pub(super) const fn new(of: PortGuid) -> Self {
        Self {
            of,
            missed: 0,
            idle: 0,
            accepted: false,
        }
    }
}

impl Election {
    /// The watched SM answered.
    pub(super) fn on_master_polled(&mut self, peer: &OtherSm, out: &mut Vec<Decision>) {
        let outranks = peer.rank() > self.rank();
        let patience = self.settings.patience;
        let allowed = self.settings.missed_polls_for(peer.guid, 1);
        let State::Standby(watch) = &mut self.state else {
            return;
        };
        if peer.is_master() {
            *watch = Watch::new(peer.guid);
            if !outranks {
                // It may not know of this one.
                out.push(Decision::SendPriorityTrap { to: peer.guid });
            }
        } else if peer.competes() && outranks {
            watch.missed = 0;
            watch.idle = watch.idle.saturating_add(1);
            if watch.idle >= patience {
                self.record_refusal(peer);
                self.restart_discovery(RoleChangeReason::StayedStandby(peer.guid), out);
            }
        } else {
            // It is alive, but nobody to wait for. The one that took over from it may still be beginning.
            watch.missed = watch.missed.saturating_add(1);
            if watch.missed >= allowed {
                self.restart_discovery(RoleChangeReason::MasterSteppedDown(peer.guid), out);
            }
        }
    }

    /// The watched SM did not answer.
    pub(super) fn on_master_poll_missed(&mut self, paths: u8, out: &mut Vec<Decision>) {
        let State::Standby(watch) = &mut self.state else {
            return;
        };
        let allowed = self.settings.missed_polls_for(watch.of, paths);
        watch.missed = watch.missed.saturating_add(1);
        if watch.missed >= allowed {
            let why = RoleChangeReason::MasterSilent(watch.of);
            self.restart_discovery(why, out);
        }
    }
}
