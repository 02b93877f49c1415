//! How far the present sweep is, for displays.

use super::{Stage, SubnetManager};
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
        match self.stage {
            Stage::Sweep(phase) => phase,
            Stage::Idle
            | Stage::Light
            | Stage::Multicast
            | Stage::DeferredReads
            | Stage::Standby
            | Stage::Looking
            | Stage::Yielding
            | Stage::Recalling
            | Stage::NoLink => Phase::Idle,
        }
    }

    /// How far it is.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        let total = self.smps.queued() - self.sweep.phase_queued;
        let done = total.saturating_sub(self.smps.pending() as u64);
        Progress {
            phase: self.phase(),
            done,
            total,
        }
    }
}
