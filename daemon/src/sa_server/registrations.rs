//! What clients have registered, published by its owner for the threads that answer reads.

use core::time::Duration;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use ferrosm_core::SubnetManager;
use ferrosm_mad::time::Instant;
use ferrosm_sa::SaRequest;
use ferrosm_sa::admission::RequestClass;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;

use super::{Registrations, SaServer, Work};
use crate::clock::Clock;

/// A snapshot is made at most this often, and takes at most one part in so many of the owner's time.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(2);
const SNAPSHOT_SHARE: u32 = 20;

impl SaServer {
    /// Takes over how many changes of registrations there were, and how many requests were dropped. Call it before a reply to a
    /// write is sent, so that clients read their own writes.
    pub fn observe(&self, sm: &SubnetManager) {
        self.set_revision(sm.registry().revision());
        let counters = &self.shared.counters;
        counters
            .not_ready
            .store(sm.dropped_requests(), Ordering::Relaxed);
    }

    /// The owner's registry is at this revision.
    pub fn set_revision(&self, revision: u64) {
        self.shared.revision.store(revision, Ordering::Release);
    }

    /// Whether reads wait for a newer snapshot.
    #[must_use]
    pub fn wants_snapshot(&self) -> bool {
        self.shared.snapshot_wanted.load(Ordering::Acquire)
    }

    /// When to call [`Self::publish_if_due`].
    #[must_use]
    pub fn snapshot_due(&self) -> Option<Instant> {
        self.wants_snapshot().then_some(self.snapshot_due)
    }

    /// Publishes a snapshot of the owner if reads wait for one and the last one is old enough.
    pub fn publish_if_due(&mut self, snapshot: impl FnOnce() -> RegistrySnapshot, clock: &Clock) {
        let now = clock.now();
        if self.snapshot_due().is_some_and(|due| due <= now) {
            self.publish_registrations(snapshot(), now);
            let took = clock.now().since(now);
            self.snapshot_due = now + SNAPSHOT_EVERY.max(took * SNAPSHOT_SHARE);
        }
    }

    /// Answers reads of registrations from this snapshot from now on, and those that waited for it.
    pub fn publish_registrations(&self, snapshot: RegistrySnapshot, owner_time: Instant) {
        let shared = &self.shared;
        shared.snapshot_wanted.store(false, Ordering::Release);
        let own_time = shared.clock.now();
        let registrations = Registrations {
            snapshot: Arc::new(snapshot),
            owner_time,
            own_time,
        };
        let before = {
            let place = shared.registrations.write();
            place
                .unwrap_or_else(PoisonError::into_inner)
                .replace(registrations)
        };
        let mut queue = shared.queue();
        for (lid, messages) in core::mem::take(&mut queue.parked) {
            for message in messages {
                let class = SaRequest::parse(message.0, &message.1).map(|r| RequestClass::of(&r));
                if let Some(class) = class {
                    queue
                        .admission
                        .readmit(lid, class, Work::Parked(message), own_time);
                }
            }
        }
        drop(queue);
        shared.filled.notify_all();
        drop(before);
    }
}
