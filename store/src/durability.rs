//! Tracks durable tickets: stored on this disk and, with a [`CommitObserver`], acknowledged by the
//! standbys in sync.
//!
//! The thread of [`StateWriter`](crate::StateWriter) reports committed tickets; the driver reads
//! [`DurabilityTracker`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_core::records::RecordBatch;
use tokio::sync::Notify;

/// Batches without acknowledgement that are tracked one by one; beyond that, the newest replaces
/// the one before.
const PENDING_MAX: usize = 1 << 16;

/// Replicates committed batches to standbys.
pub trait CommitObserver: Send + Sync {
    /// A batch is on this disk; numbers are consecutive. Not called while the records are a replica
    /// ([`StateWriter::set_accepting`](crate::StateWriter::set_accepting)). Must not block.
    fn committed(&self, number: u64, batch: &RecordBatch);

    /// The last batch that all standbys in sync have acknowledged; `u64::MAX` without standbys in
    /// sync. The implementation calls [`DurabilityTracker::wake`] when it increases.
    fn acknowledged(&self) -> u64;
}

/// Durable tickets.
#[derive(Default)]
pub struct DurabilityTracker {
    pending: Mutex<PendingAcks>,
    changed: Notify,
    observer: Mutex<Option<Arc<dyn CommitObserver>>>,
}

/// Batches on disk that standbys may not have acknowledged.
#[derive(Debug, Default)]
struct PendingAcks {
    /// Tickets and the numbers of their batches.
    batches: VecDeque<(u64, u64)>,
    durable: u64,
    on_disk: u64,
}

impl PendingAcks {
    fn add(&mut self, ticket: u64, number: u64) {
        self.on_disk = ticket;
        if self.batches.len() >= PENDING_MAX {
            self.batches.pop_back();
        }
        self.batches.push_back((ticket, number));
    }

    fn acknowledge(&mut self, acknowledged: u64) -> u64 {
        while let Some((ticket, _)) = self.batches.front().filter(|(_, n)| *n <= acknowledged) {
            self.durable = self.durable.max(*ticket);
            self.batches.pop_front();
        }
        self.durable
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DurabilityTracker {
    /// The last ticket that is durable, with all before it.
    #[must_use]
    pub fn durable_ticket(&self) -> u64 {
        let observer = locked(&self.observer).clone();
        let acknowledged = observer.map_or(u64::MAX, |o| o.acknowledged());
        locked(&self.pending).acknowledge(acknowledged)
    }

    /// The last ticket that is on this disk, with all before it.
    #[must_use]
    pub fn on_disk(&self) -> u64 {
        locked(&self.pending).on_disk
    }

    /// Wakes [`Self::changed`].
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until a ticket may have become durable. May be cancelled.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Sets the observer, from the next batch on.
    pub fn set_observer(&self, observer: Option<Arc<dyn CommitObserver>>) {
        *locked(&self.observer) = observer;
        self.wake();
    }

    /// Whether there is an observer.
    pub(crate) fn is_observed(&self) -> bool {
        locked(&self.observer).is_some()
    }

    pub(crate) fn committed(&self, number: u64, batch: &RecordBatch) {
        let observer = locked(&self.observer).clone();
        if let Some(observer) = observer {
            observer.committed(number, batch);
        }
    }

    pub(crate) fn ticket_on_disk(&self, ticket: u64, number: u64) {
        locked(&self.pending).add(ticket, number);
        self.wake();
    }

    /// Counts tickets up to this one as durable: they belong to an earlier history or were ignored,
    /// so no acknowledgement will arrive for them.
    pub(crate) fn count_pending_as_durable(&self, ticket: u64) {
        let mut pending = locked(&self.pending);
        pending.batches.clear();
        pending.durable = pending.durable.max(ticket);
        pending.on_disk = pending.on_disk.max(ticket);
        drop(pending);
        self.wake();
    }
}

impl fmt::Debug for DurabilityTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurabilityTracker").finish_non_exhaustive()
    }
}
