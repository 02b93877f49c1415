//! What replication tells the driver, and how fast it is to be. Plain values.

use core::fmt;
use core::time::Duration;

use super::wire::Leaving;

/// Times of the replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two pings of a follower.
    pub heartbeat: Duration,
    /// A master whose last answered ping is so old is silent.
    pub lease: Duration,
    /// So long a client's answer waits for a standby at most. More than two leases.
    pub limit: Duration,
    /// So long a new master waits for standbys before it says that there are none.
    pub grace: Duration,
}

impl Pace {
    /// Time from a ping for which its answer holds: one lease until it is acted upon, one more for a process that was
    /// not running at the moment.
    #[must_use]
    pub fn belief(&self) -> Duration {
        self.lease.saturating_mul(2)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(100),
            lease: Duration::from_millis(300),
            limit: Duration::from_secs(1),
            grace: Duration::from_secs(10),
        }
    }
}

/// Why a follower is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its connection broke.
    Broken,
    /// Nothing is heard of it.
    Silent,
    /// It is there, but does not acknowledge in time.
    Late,
    /// It came again without what it had acknowledged.
    Forgot,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "its connection broke",
            Self::Silent => "nothing is heard of it",
            Self::Late => "it does not store in time what it is sent",
            Self::Forgot => "it lost what it had",
        })
    }
}

/// What happened. GUIDs are those of ports that SMs serve by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Of a master: it is one now, for replication too. Only now its records may be used and changed.
    Leading,
    /// Of a master: a standby has everything, and the master waits for it from now on.
    FollowerInStep {
        /// The standby.
        guid: u64,
    },
    /// Of a master: a standby that was in step is not waited for any longer. A warning.
    FollowerLost {
        /// The standby.
        guid: u64,
        /// Why.
        why: Loss,
    },
    /// Of a master: nobody has a copy. An alarm; told once, then [`Event::ProtectionRestored`].
    ProtectionLost(String),
    /// Of a master: somebody has a copy again.
    ProtectionRestored,
    /// Of a master: this process did not run for so long. Standbys may have taken over: look before you write.
    Hung(Duration),
    /// Of a master: nobody can tell that this one still is the only one. Stop writing, and look who is. Told once, until the lease is good
    /// again.
    LeaseLost(String),
    /// Of a master: another has taken what only one can have. It is master, unless it is on an island: begin anew, with nothing of one's
    /// own.
    Deposed {
        /// The other one.
        guid: u64,
    },
    /// Of a standby: it has all that its master has acknowledged to anybody.
    InStep {
        /// The master.
        guid: u64,
    },
    /// Of a standby: that is not so any longer.
    OutOfStep {
        /// The master.
        guid: u64,
        /// Why.
        why: String,
    },
    /// Of a standby: its master is dead, cut off or hangs.
    LeaderSilent {
        /// The master.
        guid: u64,
        /// Whether all is here that it had acknowledged to anybody until now.
        in_step: bool,
        /// Whether who says so (etcd) was in trouble itself a moment ago, and kept the master from saying that it lives.
        doubtful: bool,
    },
    /// Of a standby: its master is one no longer, and said so.
    LeaderLeaving {
        /// The master.
        guid: u64,
        /// What it does instead.
        leaving: Leaving,
        /// Whether all is here that it had acknowledged to anybody until now.
        in_step: bool,
    },
    /// A peer is not what it should be; a mistake of configuration. Told once for each reason.
    Refused {
        /// Address of the peer.
        peer: String,
        /// A sentence.
        why: String,
    },
}
