//! Who goes before whom among subnet managers. Pure data of one SMInfo; nothing here decides what follows from it.

use core::cmp::{Ordering, Reverse};

use ferrosm_mad::attr::{SmInfo, SmState};
use ferrosm_mad::ids::PortGuid;

/// What subnet managers are compared by: the higher priority is the greater rank, of equal ones the lower GUID is
/// (IBA volume 1, 14.4.1; behaviour rule 8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmRank {
    /// 0 to 15.
    pub priority: u8,
    /// Of the port that the SM runs on.
    pub guid: PortGuid,
}

impl Ord for SmRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |r: &Self| (r.priority, Reverse(r.guid));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for SmRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Another subnet manager, as one SMInfo of it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherSm {
    /// Of the port that it runs on.
    pub guid: PortGuid,
    /// 0 to 15.
    pub priority: u8,
    /// What it is doing.
    pub state: SmState,
    /// Grows while it runs, and begins anew when it is started anew.
    pub act_count: u32,
    /// Whether its SM_Key is one that this SM takes. Those with another key belong to somebody else.
    pub sm_key_matches: bool,
}

impl OtherSm {
    /// What an SMInfo says; the keys are compared by whoever knows them.
    #[must_use]
    pub const fn new(info: &SmInfo, sm_key_matches: bool) -> Self {
        Self {
            guid: info.guid,
            priority: info.priority,
            state: info.sm_state,
            act_count: info.act_count,
            sm_key_matches,
        }
    }

    /// What it is compared by.
    #[must_use]
    pub const fn rank(&self) -> SmRank {
        SmRank {
            priority: self.priority,
            guid: self.guid,
        }
    }

    /// Whether it is in charge, by its own words.
    #[must_use]
    pub fn is_master(&self) -> bool {
        self.state == SmState::Master
    }

    /// Whether it can be handed the subnet now. One that discovers has just begun, or has no copy yet of what its master keeps.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.competes() && self.state != SmState::Discovering
    }

    /// Whether it wants to be master or is. One that is disabled does not, nor one in a state that nobody knows.
    #[must_use]
    pub fn competes(&self) -> bool {
        matches!(
            self.state,
            SmState::Discovering | SmState::Standby | SmState::Master
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_goes_before_guid_and_the_lower_guid_goes_before_the_higher() {
        let rank = |priority, guid| SmRank {
            priority,
            guid: PortGuid(guid),
        };
        assert!(rank(2, 9) > rank(1, 1));
        assert!(rank(1, 1) > rank(1, 2));
        assert_eq!(rank(1, 1).cmp(&rank(1, 1)), Ordering::Equal);
    }
}
