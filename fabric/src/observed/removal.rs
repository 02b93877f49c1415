//! Why a node was removed from the subnet.

use core::fmt;

use super::exclusion::ExclusionReason;

/// Why a node was removed from the subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRemovalReason {
    /// Its link to the rest of the subnet is down.
    LinkDown,
    /// No path leads to it any more.
    NoPath,
    /// Another device has its node GUID.
    Replaced,
    Excluded(ExclusionReason),
}

impl fmt::Display for NodeRemovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinkDown => "all links that led to it are down",
            Self::NoPath => "no path leads to it",
            Self::Replaced => "another device with its node GUID took its place",
            Self::Excluded(ExclusionReason::NoResponse) => "it does not respond",
            Self::Excluded(ExclusionReason::PathTooLong) => "more than 63 hops from the SM",
            Self::Excluded(
                ExclusionReason::Uncounted(_)
                | ExclusionReason::TooManySwitchPorts(_)
                | ExclusionReason::EndlessSwitches(_),
            ) => "too many new switches are behind the same port",
            Self::Excluded(ExclusionReason::SubnetFull) => "the subnet has no LID for it",
            Self::Excluded(ExclusionReason::Implausible(what)) => {
                return write!(f, "excluded: invalid response: {what}");
            }
            Self::Excluded(ExclusionReason::DuplicateNodeGuid(_)) => {
                "excluded: another device has the same node GUID"
            }
            Self::Excluded(ExclusionReason::DuplicatePortGuid(_)) => {
                "excluded: another device has the same port GUID"
            }
        })
    }
}
