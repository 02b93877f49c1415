//! Settings of the election. The daemon reads and validates the configuration.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::PortGuid;

/// Settings of the election of one SM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElectionSettings {
    /// SM priority, 0 to 15.
    pub priority: u8,
    /// Priority while master, if higher than `priority`; prevents failback when a higher-ranked SM
    /// returns. 0: not used.
    pub master_priority: u8,
    /// Interval of polls, and time to wait for the response to HANDOVER.
    pub poll_interval: Duration,
    /// Ports with ferrosm SMs, which respond in any state without delay. The `peer_` settings apply
    /// to them.
    pub peers: Arc<BTreeSet<PortGuid>>,
    /// `poll_interval` for `peers`.
    pub peer_poll_interval: Duration,
    /// `missed_polls` for `peers`.
    pub peer_missed_polls: u8,
    /// Consecutive polls without a response after which an SM counts as dead. If more paths lead to
    /// it, each is tried first, up to [`ElectionSettings::MAX_PATHS`].
    pub missed_polls: u8,
    /// HANDOVER requests to an SM that does not respond.
    pub handover_tries: u8,
    /// Polls for which this SM waits for a higher-ranked SM to become master, or for a lower-ranked
    /// master to hand over.
    pub wait_polls: u8,
    /// Interval of SMInfo scans for a successor before this SM stops.
    pub successor_scan_interval: Duration,
    /// Number of these scans. Then an SM that is not ready is accepted.
    pub successor_scans_max: u8,
    /// Allow-list of SM ports; `None` allows all.
    pub allowed: Option<Arc<BTreeSet<PortGuid>>>,
    /// Do not take over a subnet that another SM configured, unless the operator allows it.
    pub refuse_managed: bool,
}

impl ElectionSettings {
    /// Limit of paths to a polled SM that are tried before it counts as dead.
    pub const MAX_PATHS: u8 = 3;

    /// Poll interval for an SM.
    pub(super) fn interval_for(&self, guid: PortGuid) -> Duration {
        if self.peers.contains(&guid) {
            self.peer_poll_interval
        } else {
            self.poll_interval
        }
    }

    /// Consecutive polls that an SM may miss before it counts as dead, if `paths` paths lead to it.
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
            wait_polls: 30,
            successor_scan_interval: Duration::from_secs(1),
            successor_scans_max: 7,
            allowed: None,
            refuse_managed: false,
        }
    }
}
