//! Progress of a path query that runs in slices.

use crate::message::SaReply;

/// Progress after a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryProgress {
    /// The slice's budget is spent; call `advance` again.
    More,
    /// The query is complete.
    Done(SaReply),
}
