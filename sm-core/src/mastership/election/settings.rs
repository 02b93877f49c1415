//! What an operator decides about the election, as plain data. Files, defaults of keys and their errors are the daemon's.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::PortGuid;

/// ElectionSettings of one SM's election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElectionSettings {
    /// SmRank among subnet managers, 0 to 15.
    pub priority: u8,
    /// Priority while master, if it is higher: a better SM that comes back later then does not take the subnet, and
    /// does not cause a second change. 0 for none.
    pub master_priority: u8,
    /// Time between questions to the SM that is watched, and for an answer to HANDOVER.
    pub poll_interval: Duration,
    /// Ports whose SMs answer at once whatever they do, as this one does; they are asked at the pace below.
    pub peers: Arc<BTreeSet<PortGuid>>,
    /// The same as `poll_interval` for them.
    pub peer_poll_interval: Duration,
    /// The same as `missed_polls` for them.
    pub peer_missed_polls: u8,
    /// Questions without an answer, in a row, after which an SM counts as dead. Where more ways lead to it, each is tried
    /// before, up to [`ElectionSettings::MAX_PATHS`].
    pub missed_polls: u8,
    /// How often HANDOVER is sent to one SM that does not answer.
    pub handover_tries: u8,
    /// Polls for which something that should be over soon is waited for: a better SM that is not master, or a lower one
    /// that is and does not hand over.
    pub patience: u8,
    /// Time between looks for an SM that is ready to take the subnet, when this one is to end.
    pub successor_scan_interval: Duration,
    /// So many of them; then one gets it that is not ready yet.
    pub successor_scans_max: u8,
    /// Ports on which other SMs may run; `None` for all.
    pub allowed: Option<Arc<BTreeSet<PortGuid>>>,
    /// Not to begin with a subnet that somebody else has configured, until the operator allows it.
    pub refuse_managed: bool,
}

impl ElectionSettings {
    /// Ways to a watched SM that are tried before its death is believed.
    pub const MAX_PATHS: u8 = 4;

    /// Time between questions to this SM.
    pub(super) fn interval_for(&self, guid: PortGuid) -> Duration {
        if self.peers.contains(&guid) {
            self.peer_poll_interval
        } else {
            self.poll_interval
        }
    }

    /// Polls in a row that this SM must miss before it is taken for dead, where so many ways lead to it.
    pub(super) fn missed_polls_for(&self, guid: PortGuid, paths: u8) -> u8 {
        let missed = if self.peers.contains(&guid) {
            self.peer_missed_polls
        } else {
            self.missed_polls
        };
        missed.max(1).max(paths.min(Self::MAX_PATHS))
    }
}

impl Default for ElectionSettings {
    fn default() -> Self {
        Self {
            priority: 0,
            master_priority: 0,
            poll_interval: Duration::from_secs(10),
            missed_polls: 5,
            peers: Arc::default(),
            peer_poll_interval: Duration::from_secs(1),
            peer_missed_polls: 3,
            handover_tries: 3,
            patience: 30,
            successor_scan_interval: Duration::from_secs(1),
            successor_scans_max: 7,
            allowed: None,
            refuse_managed: false,
        }
    }
}
