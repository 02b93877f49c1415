//! Events for the driver, and the timing of replication.

use core::fmt;
use core::time::Duration;

use ferrosm_core::StepDownReason;

/// Timing of replication from node to node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Interval of a follower's pings.
    pub heartbeat: Duration,
    /// A master is silent if the last ping that it answered is older than this.
    pub lease: Duration,
    /// Longest time that a reply to a client waits for the acknowledgement of a standby. Must be
    /// more than two leases.
    pub ack_timeout: Duration,
    /// Time after which a new master reports that no standby is in sync.
    pub startup_grace: Duration,
}

impl Timing {
    /// Time after a ping during which its pong proves that the standby is in sync: one lease until
    /// the master acts on a missing pong, and one more in case its process was stalled.
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
            ack_timeout: Duration::from_secs(1),
            startup_grace: Duration::from_secs(10),
        }
    }
}

/// Why the master no longer waits for a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandbyLossReason {
    /// The connection ended.
    Disconnected,
    /// The standby does not respond.
    Silent,
    /// The standby does not acknowledge in time.
    Late,
    /// The standby reconnected without batches that it had acknowledged.
    RecordsLost,
}

impl fmt::Display for StandbyLossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disconnected => "disconnected",
            Self::Silent => "not responding",
            Self::Late => "acknowledgements too slow",
            Self::RecordsLost => "acknowledged records lost",
        })
    }
}

/// An event. GUIDs are those of the SMs' ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicationEvent {
    /// Of a master: replication as master has started. Only now may its records be used and
    /// changed.
    MasterReady,
    /// Of a master: a standby is in sync; from then on, the master waits for its acknowledgements.
    StandbyInSync {
        /// The standby.
        guid: u64,
    },
    /// Of a master: it no longer waits for a standby that was in sync. A warning.
    StandbyLost {
        /// The standby.
        guid: u64,
        /// Why.
        reason: StandbyLossReason,
    },
    /// Of a master: no replica is in sync. An alarm, reported once until
    /// [`ReplicationEvent::ProtectionRestored`].
    ProtectionLost(String),
    /// Of a master: a replica is in sync again.
    ProtectionRestored,
    /// Of a master: this process was stalled for this time. A standby may have taken over: verify
    /// the role before writing.
    ProcessStalled(Duration),
    /// Of a master: another SM may have taken over. Stop writing, and find the master. Reported
    /// once, until the lease is valid again.
    LeaseLost(String),
    /// Of a master: another node took the key in etcd. It is master unless the subnet is
    /// partitioned: restart discovery without this node's records.
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
        reason: String,
    },
    /// Of a standby: its master is dead, unreachable or stalled.
    MasterSilent {
        /// The master.
        guid: u64,
        /// Whether the replica has all that the master had acknowledged.
        in_sync: bool,
        /// Whether etcd failed shortly before, which may have kept the master from renewing its
        /// leases.
        is_uncertain: bool,
    },
    /// Of a standby: its master announced that it steps down.
    MasterLeaving {
        /// The master.
        guid: u64,
        reason: StepDownReason,
        /// Whether the replica has all that the master had acknowledged.
        in_sync: bool,
    },
    /// A peer was rejected: a configuration error. Reported once for each reason.
    PeerRejected {
        /// Address of the peer.
        peer: String,
        reason: String,
    },
}
