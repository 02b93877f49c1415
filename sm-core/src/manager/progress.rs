//! Progress of the current sweep, for displays.

use super::SubnetManager;
use crate::report::ActivityKind;

/// Progress of the current activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What the SM is doing.
    pub activity: ActivityKind,
    /// Completed requests of the phase or activity.
    pub done: u64,
    /// Its requests so far; grows during discovery.
    pub total: u64,
}

impl SubnetManager {
    /// What the SM is doing.
    #[must_use]
    pub const fn activity(&self) -> ActivityKind {
        self.activity.kind()
    }

    /// Its progress.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        let total = self.smps.enqueued_total() - self.last_sweep.enqueued_total;
        let done = total.saturating_sub(self.smps.pending() as u64);
        Progress {
            activity: self.activity(),
            done,
            total,
        }
    }
}
