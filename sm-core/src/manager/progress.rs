//! How far the present sweep is, for displays.

use super::SubnetManager;
use super::activity::Activity;
use crate::report::Phase;

/// How far the present phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Requests of it that are answered.
    pub done: u64,
    /// Requests of it that are known so far; grows during discovery.
    pub total: u64,
}

impl SubnetManager {
    /// What the SM is doing.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        match &self.activity {
            Activity::Sweep(sweep) => sweep.phase.name(),
            Activity::Idle
            | Activity::NoLink
            | Activity::Standby
            | Activity::LightSweep
            | Activity::SmScan
            | Activity::AwaitMastership
            | Activity::AwaitReplica
            | Activity::MulticastUpdate
            | Activity::DeferredReads => Phase::Idle,
        }
    }

    /// How far it is.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        let total = self.smps.queued() - self.last_sweep.queued;
        let done = total.saturating_sub(self.smps.pending() as u64);
        Progress {
            phase: self.phase(),
            done,
            total,
        }
    }
}
