//! Requests to the writer thread.

use std::io;
use std::sync::Arc;

use ferrosm_core::records::{RecordBatch, RecordUpdate};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_replication::{Position, StoreSnapshot};

/// Called with the result.
pub(crate) type Completion<T> = Box<dyn FnOnce(T) + Send>;

/// A request.
pub(crate) enum StoreRequest {
    Updates(u64, Vec<RecordUpdate>),
    View(Option<Arc<Snapshot>>),
    /// Batches of another node, to commit at this position.
    Apply(Position, RecordBatch, Completion<io::Result<()>>),
    ReadAll(Completion<io::Result<StoreSnapshot>>),
    Position(Completion<Option<Position>>),
    /// Starts a history of this node.
    StartHistory(u64),
    /// Another node may have newer records from now on.
    MarkSuperseded,
    SetAccepting(bool),
    Stop,
}
