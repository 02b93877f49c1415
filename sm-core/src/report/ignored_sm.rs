//! SMs that the election ignores, for answers to the operator.

use ferrosm_mad::attr::SmInfo;

use crate::election::IgnoreReason;

/// An SM that the election ignores, as it responded last, without its SM_Key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnoredSm {
    pub info: SmInfo,
    pub reason: IgnoreReason,
}
