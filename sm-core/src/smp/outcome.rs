//! How a transaction ended: by a response, or by the timeout of all its attempts.

use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::Status;

use crate::report::ProblemKind;

/// The end of a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SmpOutcome {
    Response {
        status: Status,
        data: [u8; 64],
    },
    /// All attempts timed out.
    Unanswered,
}

impl SmpOutcome {
    /// The data of a response without an error.
    pub(crate) fn data(&self) -> Option<&[u8; 64]> {
        match self {
            Self::Response { status, data, .. } if status.is_ok() => Some(data),
            Self::Response { .. } | Self::Unanswered => None,
        }
    }

    /// Whether a Set of `attr` took effect: the response must repeat `sent_data`.
    pub(crate) fn check_set(
        &self,
        attr: AttrId,
        sent_data: Option<[u8; 64]>,
    ) -> Result<(), ProblemKind> {
        match self.data() {
            Some(data) if sent_data == Some(*data) => Ok(()),
            _ => Err(self.failed_set(attr)),
        }
    }

    /// Why a Set of `attr` did not take effect.
    pub(crate) const fn failed_set(&self, attr: AttrId) -> ProblemKind {
        match self {
            Self::Response { status, .. } => ProblemKind::SetRejected {
                attr,
                status: *status,
            },
            Self::Unanswered => ProblemKind::NoResponse { attr },
        }
    }
}
