//! The routing job in progress.

use ferrosm_routing::CancelToken;

use crate::routing::routes::RoutingJobResult;

/// The routing job, until the sweep takes its result.
#[derive(Debug, Default)]
pub(super) enum JobState {
    /// There is none.
    #[default]
    None,
    /// The driver runs it.
    Running {
        id: u64,
        /// Abandons it.
        token: CancelToken,
    },
    /// It has ended.
    Computed(Box<RoutingJobResult>),
}

impl JobState {
    /// Abandons the job, or drops its result.
    pub(super) fn cancel(&mut self) {
        if let Self::Running { token, .. } = core::mem::take(self) {
            token.cancel();
        }
    }

    /// The driver has run a job; the result of another one is dropped.
    pub(super) fn on_computed(&mut self, result: RoutingJobResult) {
        if matches!(self, Self::Running { id, .. } if *id == result.id) {
            *self = Self::Computed(Box::new(result));
        }
    }

    /// Takes the result.
    pub(super) fn take_result(&mut self) -> Option<RoutingJobResult> {
        match core::mem::take(self) {
            Self::Computed(result) => Some(*result),
            other @ (Self::None | Self::Running { .. }) => {
                *self = other;
                None
            }
        }
    }
}
