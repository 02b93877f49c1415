//! Other SMs as their SMInfo describes them, and their rank. Pure data.

use core::cmp::{Ordering, Reverse};
use core::fmt;

use ferrosm_mad::attr::{SmInfo, SmState};
use ferrosm_mad::ids::PortGuid;

/// The rank of an SM: a higher priority outranks a lower one; at equal priority the lower GUID
/// outranks the higher (IBA vol. 1, 14.4.1; docs/sm-behaviour.md, 8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmRank {
    /// SM priority, 0 to 15.
    pub priority: u8,
    /// GUID of the SM's port.
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

/// Whether another SM has the M_Key of this one, as it responded last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SmMKey {
    /// It is not ferrosm, or this SM has no M_Key.
    #[default]
    Unknown,
    Same,
    Other,
}

/// Why the election ignores an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreReason {
    /// It is not on the allow-list.
    NotAllowed,
    /// It has another SM_Key.
    OtherSmKey,
}

/// `another SM_Key (sm.sm-key)`.
impl fmt::Display for IgnoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAllowed => "not on the allow-list (sm.allowed-guids)",
            Self::OtherSmKey => "another SM_Key (sm.sm-key)",
        })
    }
}

/// Another SM, as of one SMInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherSm {
    pub guid: PortGuid,
    /// SM priority, 0 to 15.
    pub priority: u8,
    pub state: SmState,
    /// ActCount: increases while the SM runs, and restarts with it.
    pub act_count: u32,
    /// Whether its SM_Key is acceptable. An SM with another key belongs to another administrative
    /// domain.
    pub sm_key_matches: bool,
    /// Whether it has the M_Key of this SM. With another one it could not configure the subnet.
    pub m_key: SmMKey,
}

impl OtherSm {
    /// Converts an SMInfo. The caller compares the keys.
    #[must_use]
    pub const fn new(info: &SmInfo, sm_key_matches: bool, m_key: SmMKey) -> Self {
        Self {
            guid: info.guid,
            priority: info.priority,
            state: info.sm_state,
            act_count: info.act_count,
            sm_key_matches,
            m_key,
        }
    }

    /// The rank of this SM.
    #[must_use]
    pub const fn rank(&self) -> SmRank {
        SmRank {
            priority: self.priority,
            guid: self.guid,
        }
    }

    /// Whether it responded as master.
    #[must_use]
    pub fn is_master(&self) -> bool {
        self.state == SmState::Master
    }

    /// Whether it could not configure the subnet, because it has another M_Key. A master counts as
    /// able to: it does.
    #[must_use]
    pub fn lacks_m_key(&self) -> bool {
        self.m_key == SmMKey::Other && !self.is_master()
    }

    /// Whether it can take over now. An SM in Discovering has just started, or its replica is
    /// incomplete.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.competes() && self.state != SmState::Discovering
    }

    /// Whether it is or may become master: not if it is disabled or in an unknown state.
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
    fn priority_outranks_guid_and_lower_guid_outranks_higher() {
        let rank = |priority, guid| SmRank {
            priority,
            guid: PortGuid(guid),
        };
        assert!(rank(2, 9) > rank(1, 1));
        assert!(rank(1, 1) > rank(1, 2));
        assert_eq!(rank(1, 1).cmp(&rank(1, 1)), Ordering::Equal);
    }
}
