//! Limit on messages in flight between ibsim's preload library `umad2sim` and ibsim.
//!
//! `umad2sim` holds its only lock while it writes to `ibsim`, and its receiving thread needs the
//! lock for each message. When the socket to `ibsim` is full (167 messages with Linux's default
//! buffer), the write blocks with the lock held, the receiving thread stops, the other direction
//! fills up as well, and `ibsim` stops reading: about 340 unanswered requests cause a deadlock. If
//! writes never block, all three proceed; so at most [`WINDOW`] messages are in flight.

use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Messages that fit into the socket buffer with reserve.
pub(super) const WINDOW: usize = 128;

/// Some messages are never answered: a sender that waits longer than this assumes all counted
/// messages lost.
const FORGET_AFTER: Duration = Duration::from_millis(50);

/// Counter of messages in flight.
pub(super) struct InFlightLimit {
    in_flight: Mutex<usize>,
    released: Condvar,
    forget_after: Duration,
}

impl Default for InFlightLimit {
    fn default() -> Self {
        Self {
            in_flight: Mutex::new(0),
            released: Condvar::new(),
            forget_after: FORGET_AFTER,
        }
    }
}

impl InFlightLimit {
    /// Counts a message; waits while the limit is reached.
    pub(super) fn enter(&self) {
        let (mut in_flight, waited) = self
            .released
            .wait_timeout_while(self.lock(), self.forget_after, |n| *n >= WINDOW)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            *in_flight = 0;
        }
        *in_flight += 1;
    }

    /// Removes a message from the count: called for each received message, because requests occupy
    /// the socket as well.
    pub(super) fn leave(&self) {
        let mut in_flight = self.lock();
        if *in_flight >= WINDOW {
            self.released.notify_one();
        }
        *in_flight = in_flight.saturating_sub(1);
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A message beyond the limit waits until one leaves.
    #[test]
    fn full_window_reopens_when_a_message_leaves() {
        let limit = Arc::new(InFlightLimit {
            // Long enough that a late thread proceeds because of `leave`, never because the count
            // expires.
            forget_after: Duration::from_secs(600),
            ..InFlightLimit::default()
        });
        for _ in 0..WINDOW {
            limit.enter();
        }
        let other = Arc::clone(&limit);
        let thread = std::thread::spawn(move || other.enter());
        limit.leave();
        thread.join().unwrap();
        assert_eq!(*limit.lock(), WINDOW);
    }

    /// Unanswered messages do not block sending indefinitely.
    #[test]
    fn unanswered_messages_expire() {
        let limit = InFlightLimit::default();
        for _ in 0..=WINDOW {
            limit.enter();
        }
        assert_eq!(*limit.lock(), 1);
    }
}
