//! Path queries whose cost grows with the size of the subnet, as cursors that run in slices.
//!
//! The caller decides when each slice of a [`PathQuery`] runs, so that other requests are answered
//! in between. [`super::record::SCAN_PAIRS_MAX`] limits the work of a query, and the reply size
//! limit its memory.

use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;

use super::multi::MultiScan;
pub use super::progress::QueryProgress;
use super::record::{self, PathScan};
use crate::message::{SaReply, SaRequest};
use crate::view::View;

/// A path query in progress.
#[derive(Debug)]
pub enum PathQuery {
    /// PathRecord Get or GetTable.
    Paths(PathScan),
    /// MultiPathRecord GetMulti.
    Multi(MultiScan),
}

/// Whether a request must run in slices, which depends on its component mask.
#[must_use]
pub fn is_scan(request: &SaRequest<'_>) -> bool {
    match (request.attr, request.method) {
        (id::PATH, Method::Get | Method::GetTable) => record::is_scan(request),
        (id::MULTI_PATH, Method::GetMulti) => true,
        _ => false,
    }
}

impl PathQuery {
    /// Validates a request for which [`is_scan`] is true, and resolves its ends.
    ///
    /// # Errors
    /// The reply, if no slice is needed.
    pub fn new(view: &View, request: &SaRequest<'_>) -> Result<Self, SaReply> {
        if request.method == Method::GetMulti {
            MultiScan::new(view, request).map(Self::Multi)
        } else {
            PathScan::new(view, request).map(Self::Paths)
        }
    }

    /// Runs one slice of about `budget` LID pairs. View and request must be those passed to
    /// [`Self::new`].
    pub fn advance(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        budget: usize,
    ) -> QueryProgress {
        match self {
            Self::Paths(scan) => scan.advance(view, request, budget),
            Self::Multi(scan) => scan.advance(view, request, budget),
        }
    }
}
