//! A bound on the messages that are under way between the shim and the simulator.
//!
//! `umad2sim` holds its one lock while it writes to `ibsim`, and its receiving thread needs that lock for every
//! message it has read. When the socket to `ibsim` is full (167 messages with Linux's default buffer) the write
//! waits with the lock held, the receiving thread stops, the socket back fills up too, and `ibsim` never reads
//! again: with some 340 unanswered requests everything stands still for ever. A write that never waits keeps
//! all three going, so no more than [`WINDOW`] messages are let in.

use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Messages that fit into the socket with room to spare.
pub(super) const WINDOW: usize = 128;

/// Some messages are never answered; after so long without one that is, all that are counted are forgotten.
const FORGET_AFTER: Duration = Duration::from_millis(50);

/// Messages under way.
pub(super) struct InFlightLimit {
    under_way: Mutex<usize>,
    left: Condvar,
    forget_after: Duration,
}

impl Default for InFlightLimit {
    fn default() -> Self {
        Self {
            under_way: Mutex::new(0),
            left: Condvar::new(),
            forget_after: FORGET_AFTER,
        }
    }
}

impl InFlightLimit {
    /// Counts a message in; waits while there are too many.
    pub(super) fn enter(&self) {
        let (mut under_way, waited) = self
            .left
            .wait_timeout_while(self.lock(), self.forget_after, |n| *n >= WINDOW)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            *under_way = 0;
        }
        *under_way += 1;
    }

    /// Counts a message out, be it an answer or not: either makes room.
    pub(super) fn leave(&self) {
        let mut under_way = self.lock();
        if *under_way >= WINDOW {
            self.left.notify_one();
        }
        *under_way = under_way.saturating_sub(1);
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The message after the last one waits for one to leave.
    #[test]
    fn a_full_gate_opens_when_one_leaves() {
        let gate = Arc::new(InFlightLimit {
            // However late this thread is, the message is one that left.
            forget_after: Duration::from_secs(600),
            ..InFlightLimit::default()
        });
        for _ in 0..WINDOW {
            gate.enter();
        }
        let other = Arc::clone(&gate);
        let thread = std::thread::spawn(move || other.enter());
        gate.leave();
        thread.join().unwrap();
        assert_eq!(*gate.lock(), WINDOW);
    }

    /// Messages that nobody answers do not close the gate for ever.
    #[test]
    fn what_is_never_answered_is_forgotten() {
        let gate = InFlightLimit::default();
        for _ in 0..=WINDOW {
            gate.enter();
        }
        assert_eq!(*gate.lock(), 1);
    }
}
