//! Counters of the SA server: requests by kind and outcome, service times by class, refusals by
//! cause.
//!
//! Counters of requests are atomics in fixed arrays, to which threads add once for each batch.
//! Refusals are rare and behind a lock.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferrosm_core::event::{Event, RefusedRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sa::admission::{RequestClass, RequestOutcome};
use ferrosm_sa::refusal::SaRefusal;
use ferrosm_sa::refusal_log::{RefusalCounts, RefusalLog};
use ferrosm_sa::request_kind::{KindCounts, RequestKind};
use ferrosm_sa::{SaRequest, View};

use crate::output::log;

const OUTCOMES: usize = RequestOutcome::ALL.len();
/// Upper bounds of the buckets of service times, except the last one, in microseconds.
pub const TIME_BOUNDS_US: [u64; 11] = [
    100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000,
];
const BUCKETS: usize = TIME_BOUNDS_US.len() + 1;

/// Counters of all clients.
#[derive(Debug)]
pub struct SaCounters {
    requests: Box<[[AtomicU64; OUTCOMES]]>,
    /// Forwarded requests that the SM dropped because mastership is undecided or too many requests
    /// wait for devices.
    not_ready: Mutex<KindCounts>,
    /// By class.
    times: [ServiceTimes; RequestClass::ALL.len()],
    /// Refusals of this server's threads.
    refusals: Mutex<RefusalLog>,
    /// Refusals of the SM, as of its last output.
    sm_refusals: Mutex<(u64, RefusalCounts)>,
}

/// Times from the receipt of requests to their replies, or until the SM takes them.
#[derive(Debug, Default)]
struct ServiceTimes {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

/// Service times at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceTimeCounts {
    /// Requests by [`TIME_BOUNDS_US`]; the last bucket has no bound.
    pub buckets: [u64; BUCKETS],
    /// Sum of all times.
    pub sum_us: u64,
}

impl ServiceTimeCounts {
    /// Adds a request.
    pub fn add(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = TIME_BOUNDS_US.partition_point(|bound| *bound < us);
        self.buckets[bucket] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

impl Default for SaCounters {
    fn default() -> Self {
        Self {
            requests: RequestKind::all().map(|_| Default::default()).collect(),
            not_ready: Mutex::default(),
            times: Default::default(),
            refusals: Mutex::default(),
            sm_refusals: Mutex::default(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SaCounters {
    /// Counts requests of one kind.
    pub fn add(&self, kind: RequestKind, outcome: RequestOutcome, count: u64) {
        self.requests[kind.index()][outcome as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Adds service times of a class.
    pub fn add_times(&self, class: RequestClass, times: &ServiceTimeCounts) {
        let of_class = &self.times[class as usize];
        let buckets = of_class.buckets.iter().zip(times.buckets);
        for (bucket, count) in buckets.filter(|(_, count)| *count > 0) {
            bucket.fetch_add(count, Ordering::Relaxed);
        }
        of_class.sum_us.fetch_add(times.sum_us, Ordering::Relaxed);
    }

    /// Requests of one kind with this outcome.
    #[must_use]
    pub fn count(&self, kind: RequestKind, outcome: RequestOutcome) -> u64 {
        self.requests[kind.index()][outcome as usize].load(Ordering::Relaxed)
    }

    /// Requests of all kinds with this outcome.
    #[must_use]
    pub fn total(&self, outcome: RequestOutcome) -> u64 {
        RequestKind::all()
            .map(|kind| self.count(kind, outcome))
            .sum()
    }

    /// Requests that the SM dropped, because it was not ready.
    #[must_use]
    pub fn not_ready(&self) -> KindCounts {
        lock(&self.not_ready).clone()
    }

    /// Sets the requests that the SM dropped.
    pub(super) fn set_not_ready(&self, counts: &KindCounts) {
        let mut known = lock(&self.not_ready);
        if known.total() != counts.total() {
            known.clone_from(counts);
        }
    }

    /// Service times of a class.
    #[must_use]
    pub fn times(&self, class: RequestClass) -> ServiceTimeCounts {
        let of_class = &self.times[class as usize];
        ServiceTimeCounts {
            buckets: core::array::from_fn(|i| of_class.buckets[i].load(Ordering::Relaxed)),
            sum_us: of_class.sum_us.load(Ordering::Relaxed),
        }
    }

    /// Refusals by kind of request and cause.
    #[must_use]
    pub fn refusals(&self) -> RefusalCounts {
        let mut counts = lock(&self.sm_refusals).1.clone();
        for (key, count) in lock(&self.refusals).counts() {
            *counts.entry(*key).or_default() += count;
        }
        counts
    }

    /// Sets the refusals of the SM.
    pub(super) fn set_sm_refusals(&self, log: &RefusalLog) {
        let mut known = lock(&self.sm_refusals);
        if known.0 != log.total() {
            *known = (log.total(), log.counts().clone());
        }
    }

    /// A thread of this server refused a request: counts it, and logs it unless too many are
    /// logged.
    pub(super) fn refuse(
        &self,
        view: &View,
        request: &SaRequest<'_>,
        refusal: SaRefusal,
        now: Instant,
    ) {
        let repeats = lock(&self.refusals).record(view, request, refusal, now);
        let refused =
            repeats.and_then(|repeats| RefusedRequest::new(view, request, refusal, repeats));
        if let Some(refused) = refused {
            report(&Event::RequestRefused(Box::new(refused)));
        }
    }

    /// Logs the number of refusals that were not logged one by one.
    pub(super) fn log_unreported(&self, now: Instant) {
        let count = lock(&self.refusals).take_unreported(now);
        if let Some(count) = count {
            report(&Event::FurtherRequestsRefused(count));
        }
    }
}

fn report(event: &Event) {
    log::event(event, event.row().severity);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_are_counted_in_their_buckets() {
        let counters = SaCounters::default();
        let mut times = ServiceTimeCounts::default();
        for us in [0, 100, 101, 10_000_000, 10_000_001] {
            times.add(Duration::from_micros(us));
        }
        counters.add_times(RequestClass::Read, &times);
        counters.add_times(RequestClass::Read, &times);
        let counted = counters.times(RequestClass::Read);
        assert_eq!(counted.buckets, [4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
        assert_eq!(counted.sum_us, 2 * 20_000_202);
        assert_eq!(counters.times(RequestClass::Write), Default::default());
    }
}
