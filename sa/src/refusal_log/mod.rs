//! The refusals of an SA server, counted, and which of them are reported ([`limiter`]).

pub mod limiter;

use std::collections::BTreeMap;

use ferrosm_mad::time::Instant;

use crate::message::SaRequest;
use crate::refusal::{RefusalCause, SaRefusal};
use crate::request_kind::RequestKind;
use crate::view::View;
use limiter::RefusalLimiter;

/// Refusals by kind of request and cause: at most [`RequestKind::COUNT`] times
/// [`RefusalCause::ALL`].
pub type RefusalCounts = BTreeMap<(RequestKind, RefusalCause), u64>;

/// Counts refusals and decides which are reported.
#[derive(Debug, Clone, Default)]
pub struct RefusalLog {
    counts: RefusalCounts,
    total: u64,
    limiter: RefusalLimiter,
}

impl RefusalLog {
    /// Counts a refusal. `Some` if it is to be reported, with the number of refusals of the same
    /// cause that were not.
    pub fn record(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        refusal: SaRefusal,
        now: Instant,
    ) -> Option<u64> {
        let cause = refusal.cause();
        *self
            .counts
            .entry((RequestKind::of(request), cause))
            .or_default() += 1;
        self.total += 1;
        let port = view
            .by_lid(request.from.lid)
            .filter(|_| cause.is_reported())?;
        self.limiter.admit(view.end_port(port).guid, cause, now)
    }

    /// Refusals by kind of request and cause.
    #[must_use]
    pub const fn counts(&self) -> &RefusalCounts {
        &self.counts
    }

    /// Number of all refusals.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// See [`RefusalLimiter::next_due`].
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.limiter.next_due()
    }

    /// See [`RefusalLimiter::take_unreported`].
    pub fn take_unreported(&mut self, now: Instant) -> Option<u64> {
        self.limiter.take_unreported(now)
    }
}
