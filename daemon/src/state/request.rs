//! Requests to the thread that writes state. Plain values.

use std::io;
use std::sync::Arc;

use ferrosm_core::records::{RecordBatch, RecordUpdate};
use ferrosm_replication::{Position, StoreSnapshot};
use ferrosm_sa::View;

/// What is called when it is done.
pub(super) type Completion<T> = Box<dyn FnOnce(T) + Send>;

/// What the thread is told.
pub(super) enum StoreRequest {
    Updates(u64, Vec<RecordUpdate>),
    View(Option<Arc<View>>),
    /// Batches of another's history, to be there then.
    Apply(Position, RecordBatch, Completion<io::Result<()>>),
    ReadAll(Completion<io::Result<StoreSnapshot>>),
    Position(Completion<Option<Position>>),
    /// A history of one's own begins.
    StartHistory(u64),
    /// The records are, or are about to be, somebody else's.
    MarkSuperseded,
    SetAccepting(bool),
    Stop,
}
