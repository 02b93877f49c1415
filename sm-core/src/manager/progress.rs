//! Progress of the current sweep, for displays.

use super::SubnetManager;
use super::activity::Activity;
use crate::report::Phase;

/// Progress of the current phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Completed requests of the phase.
    pub done: u64,
    /// Requests of the phase so far; grows during discovery.
    pub total: u64,
}

impl SubnetManager {
    /// The current phase.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        match &self.activity {
            Activity::Sweep(sweep) => sweep.phase.name(),
            Activity::Idle
            | Activity::NoLink
            | Activity::Standby
            | Activity::LightSweep(_)
            | Activity::SmScan
            | Activity::AwaitMastership
            | Activity::AwaitReplica
            | Activity::MulticastUpdate(_)
            | Activity::AliasGuids
            | Activity::Survey => Phase::Idle,
        }
    }

    /// Its progress.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        let total = self.smps.enqueued_total() - self.last_sweep.enqueued_total;
        let done = total.saturating_sub(self.smps.pending() as u64);
        Progress {
            phase: self.phase(),
            done,
            total,
        }
    }
}
