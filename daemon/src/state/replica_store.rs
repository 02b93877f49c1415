//! The records as replication wants them: read as a whole, changed by another's batches.
//!
//! All goes through the thread that writes, in turn with what the own subnet manager wants kept; so there is one who writes, and
//! what is read is of one moment. It decides nothing.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_replication::{Position, RawRecord, RecordStore, RecordStoreError, StoreSnapshot};

use super::durability::DurabilityTracker;
use super::request::{Completion, StoreRequest};

/// The records of a state directory.
#[derive(Debug)]
pub struct ReplicaStore {
    orders: Sender<StoreRequest>,
    durable: Arc<DurabilityTracker>,
}

impl ReplicaStore {
    pub(super) const fn new(orders: Sender<StoreRequest>, durable: Arc<DurabilityTracker>) -> Self {
        Self { orders, durable }
    }

    /// What the thread answers; `None` when it has ended.
    fn ask<T: Send + 'static>(
        &self,
        order: impl FnOnce(Completion<T>) -> StoreRequest,
    ) -> Option<T> {
        let (sender, answer) = channel();
        let done = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        self.orders.send(order(done)).ok()?;
        answer.recv().ok()
    }
}

fn told<T>(answer: Option<io::Result<T>>) -> Result<T, RecordStoreError> {
    Ok(answer.ok_or(RecordStoreError::Closed)??)
}

impl RecordStore for ReplicaStore {
    fn position(&self) -> Option<Position> {
        self.ask(StoreRequest::Position).flatten()
    }

    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        told(self.ask(StoreRequest::ReadAll))
    }

    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError> {
        let changes = batches.iter().flat_map(|batch| batch.changes.iter());
        let changes = changes.cloned().collect();
        told(self.ask(|done| StoreRequest::Apply(at, RecordBatch { changes }, done)))
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        let put = |(key, value)| RecordChange::Put(key, value);
        let kinds = RecordKind::ALL.into_iter().map(RecordChange::Clear);
        let changes = kinds.chain(records.into_iter().map(put)).collect();
        told(self.ask(|done| StoreRequest::Apply(at, RecordBatch { changes }, done)))
    }

    fn acknowledged(&self, _: u64) {
        self.durable.wake();
    }
}
