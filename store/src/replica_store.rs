//! The records as replication uses them: read completely, and changed by batches of another node.
//!
//! All requests go through the writer thread, in order with those of the local SM, so that reads
//! are consistent.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_replication::{Position, RawRecord, RecordStore, RecordStoreError, StoreSnapshot};

use crate::durability::DurabilityTracker;
use crate::request::{Completion, StoreRequest};

/// The records of a state directory.
#[derive(Debug)]
pub struct ReplicaStore {
    requests: Sender<StoreRequest>,
    durable: Arc<DurabilityTracker>,
}

impl ReplicaStore {
    pub(crate) const fn new(
        requests: Sender<StoreRequest>,
        durable: Arc<DurabilityTracker>,
    ) -> Self {
        Self { requests, durable }
    }

    /// Sends a request and waits for the result; `None` if the thread has ended.
    fn request<T: Send + 'static>(
        &self,
        request: impl FnOnce(Completion<T>) -> StoreRequest,
    ) -> Option<T> {
        let (sender, result) = channel();
        let on_done = Box::new(move |value| {
            let _ = sender.send(value);
        });
        self.requests.send(request(on_done)).ok()?;
        result.recv().ok()
    }
}

fn flatten<T>(result: Option<io::Result<T>>) -> Result<T, RecordStoreError> {
    Ok(result.ok_or(RecordStoreError::Closed)??)
}

impl RecordStore for ReplicaStore {
    fn position(&self) -> Option<Position> {
        self.request(StoreRequest::Position).flatten()
    }

    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        flatten(self.request(StoreRequest::ReadAll))
    }

    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError> {
        let changes = batches
            .iter()
            .flat_map(|batch| batch.changes.iter())
            .cloned()
            .collect();
        flatten(self.request(|on_done| StoreRequest::Apply(at, RecordBatch { changes }, on_done)))
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        let to_change = |(key, value)| RecordChange::Put(key, value);
        let kinds = RecordKind::ALL.into_iter().map(RecordChange::Clear);
        let changes = kinds.chain(records.into_iter().map(to_change)).collect();
        flatten(self.request(|on_done| StoreRequest::Apply(at, RecordBatch { changes }, on_done)))
    }

    fn acknowledged(&self, _: u64) {
        self.durable.wake();
    }
}
