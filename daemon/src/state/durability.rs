//! Up to which ticket nothing can be lost any more: on this disk, and, where there is a [`CommitObserver`], with those who follow in step.
//!
//! The thread of [`StateWriter`](super::StateWriter) reports what it wrote; whoever waits for a ticket reads [`DurabilityTracker`]. Nothing is written here.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_core::records::RecordBatch;
use tokio::sync::Notify;

/// Batches that followers may owe; then the oldest are counted as one.
const OWED_MAX: usize = 1 << 16;

/// Who has a copy of what is kept.
pub trait CommitObserver: Send + Sync {
    /// A batch is on the disk here, under the number that follows that of the batch before. Not called while the records are those
    /// of another ([`StateWriter::set_accepting`](super::StateWriter::set_accepting)). Must not wait.
    fn committed(&self, number: u64, batch: &RecordBatch);

    /// The last batch that all who are in step have told to have; `u64::MAX` where nobody is in step. Whoever makes it grow calls
    /// [`DurabilityTracker::wake`].
    fn acknowledged(&self) -> u64;
}

/// Up to where nothing can be lost any more.
#[derive(Default)]
pub struct DurabilityTracker {
    owed: Mutex<PendingAcks>,
    changed: Notify,
    follow: Mutex<Option<Arc<dyn CommitObserver>>>,
}

/// What is on the disk and perhaps not yet with all who follow.
#[derive(Debug, Default)]
struct PendingAcks {
    /// Tickets and the batches that they are in.
    batches: VecDeque<(u64, u64)>,
    reached: u64,
    on_disk: u64,
}

impl PendingAcks {
    fn kept(&mut self, ticket: u64, number: u64) {
        self.on_disk = ticket;
        if self.batches.len() >= OWED_MAX {
            self.batches.pop_back();
        }
        self.batches.push_back((ticket, number));
    }

    fn reached(&mut self, acknowledged: u64) -> u64 {
        while let Some((ticket, _)) = self.batches.front().filter(|(_, n)| *n <= acknowledged) {
            self.reached = self.reached.max(*ticket);
            self.batches.pop_front();
        }
        self.reached
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DurabilityTracker {
    /// The last ticket of which all, and all before it, is durable.
    #[must_use]
    pub fn durable_ticket(&self) -> u64 {
        let follow = locked(&self.follow).clone();
        let acknowledged = follow.map_or(u64::MAX, |f| f.acknowledged());
        locked(&self.owed).reached(acknowledged)
    }

    /// The last ticket of which all, and all before it, is on the disk here.
    #[must_use]
    pub fn on_disk(&self) -> u64 {
        locked(&self.owed).on_disk
    }

    /// It may have grown.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until it may have grown. May be cancelled.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// From the next batch on this one is told, and asked.
    pub fn set_observer(&self, follow: Option<Arc<dyn CommitObserver>>) {
        *locked(&self.follow) = follow;
        self.wake();
    }

    pub(super) fn committed(&self, number: u64, batch: &RecordBatch) {
        let follow = locked(&self.follow).clone();
        if let Some(follow) = follow {
            follow.committed(number, batch);
        }
    }

    pub(super) fn kept(&self, ticket: u64, number: u64) {
        locked(&self.owed).kept(ticket, number);
        self.wake();
    }

    /// A history begins: what came up to this ticket is of another one, or was not listened to, and nobody will be told of it.
    pub(super) fn forget_pending(&self, ticket: u64) {
        let mut owed = locked(&self.owed);
        owed.batches.clear();
        owed.reached = owed.reached.max(ticket);
        owed.on_disk = owed.on_disk.max(ticket);
        drop(owed);
        self.wake();
    }
}

impl fmt::Debug for DurabilityTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurabilityTracker").finish_non_exhaustive()
    }
}
