//! Which activity and phase the SM is in, and how far it is.

use super::SubnetManager;
use crate::event::Event;
use crate::report::ActivityKind;
use crate::sweep::SweepPhase;
use crate::sweep::activity::Activity;

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
    /// Begins an activity; drops the previous one and its state.
    pub(super) fn set_activity(&mut self, activity: Activity) {
        self.replace_activity(activity);
        self.transitions += 1;
        self.update_paths();
    }

    pub(super) fn replace_activity(&mut self, activity: Activity) {
        if let Some(update) = self.activity.table_update() {
            update.lfts.abandon(&mut self.fabric);
        }
        self.activity = activity;
    }

    /// The current phase of the sweep ends, and the next one begins.
    pub(super) fn begin_phase(&mut self, phase: SweepPhase) {
        let Some(sweep) = self.activity.sweep_mut() else {
            return;
        };
        sweep.end_phase(self.now);
        sweep.phase = phase;
        self.announce_phase();
    }

    /// A phase of the sweep began, or the sweep ended.
    pub(super) fn announce_phase(&mut self) {
        self.transitions += 1;
        self.last_sweep.enqueued_total = self.smps.enqueued_total();
        self.update_paths();
        if let Some(phase) = self.activity().phase() {
            self.emit(Event::PhaseStarted(phase));
        }
    }

    /// Sets the DR paths of requests from now on.
    pub(super) fn update_paths(&mut self) {
        self.smps.set_paths(self.activity.paths());
    }

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
