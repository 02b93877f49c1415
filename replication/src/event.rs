//! Events for the driver, and the timing of replication. Plain values.

use core::fmt;
use core::time::Duration;

use super::wire::StepDownReason;

/// Timing of replication from node to node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two pings of a follower.
    pub heartbeat: Duration,
    /// A master is silent when the last ping that it answered is older.
    pub lease: Duration,
    /// The longest that a reply to a client waits for a standby. More than two leases.
    pub limit: Duration,
    /// Time that a new master waits for standbys before it reports that it has none.
    pub grace: Duration,
}

impl Timing {
    /// Time from a ping for which its answer holds: one lease until it is acted upon, one more for a process that was
    /// not running at the moment.
    #[must_use]
    pub fn in_sync_validity(&self) -> Duration {
        self.lease.saturating_mul(2)
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(100),
            lease: Duration::from_millis(300),
            limit: Duration::from_secs(1),
            grace: Duration::from_secs(10),
        }
    }
}

/// Why the master no longer waits for a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandbyLossReason {
    /// Its connection broke.
    Disconnected,
    /// Nothing is heard of it.
    Silent,
    /// It is there, but does not acknowledge in time.
    Late,
    /// It reconnected without what it had acknowledged.
    RecordsLost,
}

impl fmt::Display for StandbyLossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disconnected => "its connection broke",
            Self::Silent => "nothing is heard of it",
            Self::Late => "it does not store in time what it is sent",
            Self::RecordsLost => "it lost what it had",
        })
    }
}

/// An event. GUIDs are those of the SMs' ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Of a master: replication as master has started. Only now may its records be used and changed.
    MasterReady,
    /// Of a master: a standby is in sync, and the master waits for its acknowledgements from now on.
    StandbyInSync {
        /// The standby.
        guid: u64,
    },
    /// Of a master: it no longer waits for a standby that was in sync. A warning.
    StandbyLost {
        /// The standby.
        guid: u64,
        /// Why.
        why: StandbyLossReason,
    },
    /// Of a master: no replica is in sync. An alarm, reported once; then [`Event::ProtectionRestored`].
    ProtectionLost(String),
    /// Of a master: a replica is in sync again.
    ProtectionRestored,
    /// Of a master: this process stalled for so long. A standby may have taken over: verify the role before writing.
    ProcessStalled(Duration),
    /// Of a master: another may have taken over. Stop writing, and find the master. Reported once, until the lease is valid again.
    LeaseLost(String),
    /// Of a master: another took the key in etcd. It is master, unless the subnet is partitioned: start over without the own records.
    Deposed {
        /// The new master.
        guid: u64,
    },
    /// Of a standby: its replica has all that the master acknowledged.
    InSync {
        /// The master.
        guid: u64,
    },
    /// Of a standby: its replica is no longer in sync.
    OutOfSync {
        /// The master.
        guid: u64,
        /// Why.
        why: String,
    },
    /// Of a standby: its master is dead, cut off or hangs.
    MasterSilent {
        /// The master.
        guid: u64,
        /// Whether the replica has all that the master had acknowledged.
        in_sync: bool,
        /// Whether etcd had trouble itself shortly before, which may have kept the master from renewing its leases.
        uncertain: bool,
    },
    /// Of a standby: its master announced that it leaves.
    MasterLeaving {
        /// The master.
        guid: u64,
        /// What it does instead.
        leaving: StepDownReason,
        /// Whether the replica has all that the master had acknowledged.
        in_sync: bool,
    },
    /// A peer was rejected: a configuration error. Reported once for each reason.
    PeerRejected {
        /// Address of the peer.
        peer: String,
        /// The reason.
        why: String,
    },
}
