//! Requests to the thread that writes state. Plain values.

use std::io;
use std::sync::Arc;

use ferrosm_core::kept::{Batch, Update};
use ferrosm_replication::{Everything, Position};
use ferrosm_sa::View;

/// What is called when it is done.
pub(super) type Done<T> = Box<dyn FnOnce(T) + Send>;

/// What the thread is told.
pub(super) enum Order {
    Updates(u64, Vec<Update>),
    View(Option<Arc<View>>),
    /// Batches of another's history, to be there then.
    Apply(Position, Batch, Done<io::Result<()>>),
    Everything(Done<io::Result<Everything>>),
    Position(Done<Option<Position>>),
    /// A history of one's own begins.
    Lead(u64),
    /// The records are, or are about to be, somebody else's.
    Resign,
    Listen(bool),
    End,
}
