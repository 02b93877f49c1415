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

/// The response to a Set that took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetEcho {
    /// It repeats what was sent.
    Same,
    /// It differs in bits without effect.
    Normalized,
}

impl SmpOutcome {
    /// The status of a response.
    pub(crate) const fn status(&self) -> Option<Status> {
        match self {
            Self::Response { status, .. } => Some(*status),
            Self::Unanswered => None,
        }
    }

    /// The data of a response without an error.
    pub(crate) fn data(&self) -> Option<&[u8; 64]> {
        match self {
            Self::Response { status, data, .. } if status.is_ok() => Some(data),
            Self::Response { .. } | Self::Unanswered => None,
        }
    }

    /// Whether a Set of `attr` took effect: the response must repeat `sent_data`. `normalize` sets
    /// bits to fixed values that an agent may change because they have no effect.
    pub(crate) fn check_set(
        &self,
        attr: AttrId,
        sent_data: Option<[u8; 64]>,
        normalize: impl Fn(&mut [u8; 64]),
    ) -> Result<SetEcho, ProblemKind> {
        let Some((received, sent)) = self.data().zip(sent_data) else {
            return Err(self.failed_set(attr));
        };
        if *received == sent {
            return Ok(SetEcho::Same);
        }
        let normalized = |mut data: [u8; 64]| {
            normalize(&mut data);
            data
        };
        if normalized(*received) == normalized(sent) {
            Ok(SetEcho::Normalized)
        } else {
            Err(self.failed_set(attr))
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
