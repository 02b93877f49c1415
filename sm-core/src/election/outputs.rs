//! What the state of an [`Election`] allows and reports.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::master::{InterruptedWork, MasterState};
use super::{AfterHandover, Election, InactiveReason, SmRank, State};

impl Election {
    /// The SM state. SMInfo may report another one ([`Self::reported_state`]).
    #[must_use]
    pub const fn state(&self) -> SmState {
        match self.state {
            State::NotActive(_) => SmState::NotActive,
            State::Discovering => SmState::Discovering,
            State::Standby(_) => SmState::Standby,
            State::Master(_) => SmState::Master,
        }
    }

    /// Whether other SMs must not see this one yet.
    #[must_use]
    pub const fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// The SM state in SMInfo, or in the SMInfo of a control that this SM sends.
    #[must_use]
    pub fn reported_state(&self, control: Option<SmControl>) -> SmState {
        match &self.state {
            // The acceptance of HANDOVER is acknowledged as standby (docs/sm-behaviour.md, 8.10).
            _ if control == Some(SmControl::Acknowledge) => SmState::Standby,
            // A master of lower rank would hand over to an SM without its state.
            State::Standby(_) if self.replica.is_incomplete => SmState::Discovering,
            // OpenSM hands over to an SM in any other state.
            State::Standby(_) if self.awaits_consent => SmState::NotActive,
            State::Discovering if self.is_hidden => SmState::NotActive,
            // An SM with outdated state would be handed the subnet of the present master.
            State::Master(MasterState::Verifying(verification)) if verification.is_outdated => {
                SmState::Discovering
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {
                self.state()
            }
        }
    }

    /// Priority in SMInfo.
    #[must_use]
    pub fn priority(&self) -> u8 {
        match self.state {
            State::Master(_) => self.settings.priority.max(self.settings.master_priority),
            State::NotActive(_) | State::Discovering | State::Standby(_) => {
                if self.handed_over_by_operator || self.replica.was_incomplete {
                    0
                } else {
                    self.settings.priority
                }
            }
        }
    }

    /// Whether the SM responded and is ignored.
    #[must_use]
    pub fn ignores(&self, guid: PortGuid) -> bool {
        self.ignored.contains(guid)
    }

    /// The rank of this SM.
    #[must_use]
    pub fn rank(&self) -> SmRank {
        SmRank {
            priority: self.priority(),
            guid: self.own_guid,
        }
    }

    /// Whether this SM may configure the subnet: it is master, verified to be, and neither offers
    /// the subnet nor waits for another master.
    #[must_use]
    pub const fn may_write(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Active))
    }

    /// Whether this SM may acknowledge SA registrations: it is the active master, and the replica
    /// of the last one is not being loaded.
    #[must_use]
    pub const fn may_register(&self) -> bool {
        self.may_write() && !self.replica.is_loading
    }

    /// Whether this master may have no request in progress except SMInfo. An idle one, or one that
    /// sweeps to find the other SMs, abandons nothing when it verifies its role.
    #[must_use]
    pub const fn must_yield(&self) -> bool {
        match self.state {
            State::Master(MasterState::Verifying(verification)) => {
                matches!(verification.work, InterruptedWork::Abandoned)
            }
            State::Master(
                MasterState::Offering(_) | MasterState::Waiting(_) | MasterState::Leaving(_),
            ) => true,
            State::Master(MasterState::Active)
            | State::NotActive(_)
            | State::Discovering
            | State::Standby(_) => false,
        }
    }

    /// Whether the last poll of this standby found no master.
    #[must_use]
    pub const fn doubts_master(&self) -> bool {
        matches!(&self.state, State::Standby(polled) if polled.missed > 0 || polled.idle > 0)
    }

    /// Whether this master queries the other SMs before it writes again.
    #[must_use]
    pub const fn is_verifying(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Verifying(_)))
    }

    /// Whether the last master may be alive although it was reported silent.
    #[must_use]
    pub const fn is_silence_uncertain(&self) -> bool {
        self.silence_uncertain
    }

    /// Whether a handover is in progress, or follows the SMInfo scan.
    #[must_use]
    pub const fn is_handing_over(&self) -> bool {
        self.is_offering() || self.pending_handover().is_some()
    }

    /// Whether this SM sent HANDOVER and does not know yet whether the other SM took over.
    #[must_use]
    pub const fn is_offering(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Offering(_)))
    }

    /// Whether this SM has stopped, or will stop after another SM has taken over or the wait for a
    /// successor has ended.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        match self.state {
            State::Master(MasterState::Offering(offer)) => {
                matches!(offer.after, AfterHandover::Stop)
            }
            State::Master(MasterState::Verifying(verification)) => verification.is_stopping(),
            State::Master(MasterState::Leaving(_)) | State::NotActive(InactiveReason::Stopped) => {
                true
            }
            State::Master(MasterState::Active | MasterState::Waiting(_))
            | State::NotActive(InactiveReason::Disabled | InactiveReason::Managed)
            | State::Discovering
            | State::Standby(_) => false,
        }
    }

    /// The SM whose response is awaited: the polled master, the SM offered the subnet, or the
    /// master expected to hand over.
    #[must_use]
    pub const fn other(&self) -> Option<PortGuid> {
        match &self.state {
            State::Standby(polled) => Some(polled.guid),
            State::Master(MasterState::Offering(offer)) => Some(offer.to),
            State::Master(MasterState::Waiting(wait)) => Some(wait.guid),
            State::NotActive(_)
            | State::Discovering
            | State::Master(
                MasterState::Active | MasterState::Verifying(_) | MasterState::Leaving(_),
            ) => None,
        }
    }

    /// When [`ElectionInput::Timer`](super::ElectionInput::Timer) is due.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}
