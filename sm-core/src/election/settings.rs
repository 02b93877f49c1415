//! What an operator decides about the election, as plain data. Files, defaults of keys and their errors are the daemon's.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::PortGuid;

/// Settings of one SM's election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Rank among subnet managers, 0 to 15.
    pub priority: u8,
    /// Priority while master, if it is higher: a better SM that comes back later then does not take the subnet, and
    /// does not cause a second change. 0 for none.
    pub master_priority: u8,
    /// Time between questions to the SM that is watched, and for an answer to HANDOVER.
    pub poll_interval: Duration,
    /// Questions without an answer, in a row, after which an SM counts as dead. Where more ways lead to it, each is tried
    /// before, up to [`Settings::MAX_PATHS`].
    pub missed_polls: u8,
    /// How often HANDOVER is sent to one SM that does not answer.
    pub handover_tries: u8,
    /// Polls for which something that should be over soon is waited for: a better SM that is not master, or a lower one
    /// that is and does not hand over.
    pub patience: u8,
    /// Ports on which other SMs may run; `None` for all.
    pub allowed: Option<Arc<BTreeSet<PortGuid>>>,
    /// Not to begin with a subnet that somebody else has configured, until the operator allows it.
    pub refuse_managed: bool,
}

impl Settings {
    /// Ways to a watched SM that are tried before its death is believed.
    pub const MAX_PATHS: u8 = 4;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            priority: 0,
            master_priority: 0,
            poll_interval: Duration::from_secs(10),
            missed_polls: 5,
            handover_tries: 3,
            patience: 30,
            allowed: None,
            refuse_managed: false,
        }
    }
}
