//! State of a path query that runs in slices.

use crate::message::SaReply;

/// State of a query after a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The budget of the slice is spent; call `advance` again.
    More,
    /// The query is complete.
    Done(SaReply),
}
