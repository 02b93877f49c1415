//! Whether the last LFT update was complete, and when an aborted one is tried again.

use core::time::Duration;

use ferrosm_mad::time::Instant;

/// Shortest and longest time until the second and further retries of an update that dropped routes
/// and wrote them back. Each retry interrupts routes. Meanwhile LFTs may not suit a fabric that has
/// changed, so the switch must not stay untried for long.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(80));

/// What an aborted LFT update left in the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbortedUpdate {
    /// The LFTs before the update.
    Restored,
    /// Entries of the routing in force and of the one before, as between two stages of the update.
    BetweenStages,
    /// Another mixture of entries.
    Mixed,
}

/// Retries of an aborted update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Retries {
    /// The delay of the last retry that was not made at once; zero before.
    delay: Duration,
    /// The current update is a retry, and not due to a change.
    is_retry: bool,
}

/// The outcome of the last LFT update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum UpdateOutcome {
    /// It is complete, or in progress after a complete one.
    #[default]
    Complete,
    /// It was aborted.
    Aborted {
        /// When routes are computed again; `None`: in the next sweep.
        due: Option<Instant>,
        retries: Retries,
    },
    /// A new routing is written after an aborted update.
    WrittenAgain(Retries),
}

impl UpdateOutcome {
    /// Whether no update has completed since the last one was aborted. Only then do jobs determine
    /// trees for the next abort.
    pub(super) const fn is_incomplete(self) -> bool {
        !matches!(self, Self::Complete)
    }

    /// Whether the next sweep computes routes again because of it.
    pub(super) const fn requires_routes(self) -> bool {
        matches!(self, Self::Aborted { due: None, .. })
    }

    /// When an aborted update is tried again.
    pub(super) const fn retry_at(self) -> Option<Instant> {
        match self {
            Self::Aborted { due, .. } => due,
            Self::Complete | Self::WrittenAgain(_) => None,
        }
    }

    /// The update was aborted. Returns whether the one before was complete.
    pub(super) fn abort(&mut self, left: AbortedUpdate, now: Instant) -> bool {
        let (is_first, before) = match *self {
            Self::Complete => (true, Retries::default()),
            Self::Aborted { retries, .. } | Self::WrittenAgain(retries) => (false, retries),
        };
        let mut delay = before.delay;
        let mut due = None;
        if left == AbortedUpdate::Restored && !is_first {
            let (shortest, longest) = RETRY_DELAYS;
            let factor = if before.is_retry { 2 } else { 1 };
            delay = (delay * factor).clamp(shortest, longest);
            due = Some(now + delay);
        }
        let retries = Retries {
            delay,
            is_retry: false,
        };
        *self = Self::Aborted { due, retries };
        is_first
    }

    /// Whether an aborted update is due to be tried again; once.
    pub(super) fn take_retry(&mut self, now: Instant) -> bool {
        if let Self::Aborted { due, retries } = self
            && due.take_if(|due| *due <= now).is_some()
        {
            retries.is_retry = true;
            return true;
        }
        false
    }

    /// A new routing is in force, and its LFTs are to be written.
    pub(super) const fn begin(&mut self) {
        if let Self::Aborted { retries, .. } = *self {
            *self = Self::WrittenAgain(retries);
        }
    }

    /// All LFTs are written, except those of an aborted update.
    pub(super) const fn complete(&mut self) {
        if !matches!(self, Self::Aborted { .. }) {
            *self = Self::Complete;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first retry follows at once, further ones at doubled intervals within the limits.
    #[test]
    fn retries_are_delayed_after_the_first() {
        let mut outcome = UpdateOutcome::default();
        let mut now = Instant::START;
        assert!(outcome.abort(AbortedUpdate::Restored, now));
        assert!(outcome.requires_routes());
        for delay_s in [20, 40, 80, 80] {
            outcome.begin();
            assert!(!outcome.abort(AbortedUpdate::Restored, now));
            let due = now + Duration::from_secs(delay_s);
            assert_eq!(outcome.retry_at(), Some(due));
            assert!(!outcome.requires_routes() && !outcome.take_retry(now));
            now = due;
            assert!(outcome.take_retry(now) && outcome.requires_routes());
        }
        outcome.begin();
        outcome.complete();
        assert_eq!(outcome, UpdateOutcome::Complete);
    }

    /// An update that left a mixture of entries is repeated by the next sweep.
    #[test]
    fn mixture_is_not_left_for_a_delay() {
        let mut outcome = UpdateOutcome::default();
        for _ in 0..3 {
            outcome.abort(AbortedUpdate::Mixed, Instant::START);
            outcome.complete();
            assert!(outcome.requires_routes() && outcome.is_incomplete());
        }
    }
}
