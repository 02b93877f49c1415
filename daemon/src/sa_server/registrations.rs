//! Registry snapshots, published by the driver for the workers that reply to registry reads.

use core::time::Duration;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use ferrosm_core::SubnetManager;
use ferrosm_mad::time::Instant;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;

use super::{Registrations, SaServer, Work};
use crate::clock::Clock;

/// Minimum interval between snapshots; the interval is also at least [`SNAPSHOT_SHARE`] times the
/// duration of the last one.
const SNAPSHOT_INTERVAL_MIN: Duration = Duration::from_millis(2);
/// Divisor: snapshots take at most one twentieth of the driver's time.
const SNAPSHOT_SHARE: u32 = 20;

impl SaServer {
    /// Reads the registry revision and the counts of dropped and refused requests from the SM. Call
    /// it before a reply to a write is sent, so that clients read their own writes.
    pub fn update_from(&self, sm: &SubnetManager) {
        self.set_revision(sm.registry().revision());
        let counters = &self.shared.counters;
        counters.set_not_ready(sm.dropped_requests());
        counters.set_sm_refusals(sm.refusals());
    }

    /// Sets the revision of the driver's registry.
    pub fn set_revision(&self, revision: u64) {
        self.shared.revision.store(revision, Ordering::Release);
    }

    /// Whether registry reads wait for a newer snapshot.
    #[must_use]
    pub fn wants_snapshot(&self) -> bool {
        self.shared.snapshot_wanted.load(Ordering::Acquire)
    }

    /// When to call [`Self::publish_if_due`].
    #[must_use]
    pub fn snapshot_due(&self) -> Option<Instant> {
        self.wants_snapshot().then_some(self.snapshot_due)
    }

    /// Publishes a snapshot if reads wait for one and the minimum interval has passed.
    pub fn publish_if_due(&mut self, snapshot: impl FnOnce() -> RegistrySnapshot, clock: &Clock) {
        let now = clock.now();
        if self.snapshot_due().is_some_and(|due| due <= now) {
            self.publish_registrations(snapshot(), now);
            let took = clock.now().since(now);
            self.snapshot_due = now + SNAPSHOT_INTERVAL_MIN.max(took * SNAPSHOT_SHARE);
        }
    }

    /// Publishes a snapshot and readmits the reads that waited for it.
    pub fn publish_registrations(&self, snapshot: RegistrySnapshot, driver_time: Instant) {
        let shared = &self.shared;
        shared.snapshot_wanted.store(false, Ordering::Release);
        let server_time = shared.clock.now();
        let registrations = Registrations {
            snapshot: Arc::new(snapshot),
            driver_time,
            server_time,
        };
        let before = {
            let published = shared.registrations.write();
            published
                .unwrap_or_else(PoisonError::into_inner)
                .replace(registrations)
        };
        let mut queue = shared.queue();
        for (lid, messages) in core::mem::take(&mut queue.parked) {
            for message in messages {
                let class = message.class;
                queue
                    .admission
                    .readmit(lid, class, Work::Parked(message), server_time);
            }
        }
        drop(queue);
        shared.filled.notify_all();
        drop(before);
    }
}
