//! Replicas of the master SM's persisted records at the standbys, so that a takeover loses nothing.
//!
//! [`Replication`] is the interface. [`tcp`] implements it from node to node: standbys connect to
//! the master over TLS, with certificates on both sides. [`etcd`] implements it through an etcd
//! cluster. Each runs on its own threads: no call of the driver blocks. State machines without I/O
//! (`leader`, `follower`, `log`, `etcd::commit_queue`) decide from messages and times, and are
//! tested in virtual time. This crate does not interpret records, and the election decides which SM
//! is master.
//!
//! # Use
//!
//! ```text
//! let (sender, mut events) = tokio::sync::mpsc::channel(EVENT_QUEUE_MAX);
//! let replication: Box<dyn Replication> = Box::new(tcp::TcpReplication::start(settings, Arc::new(store), sender)?);
//! // The election changed the role. A master uses and changes records only after `ReplicationEvent::MasterReady`.
//! replication.set_role(Role::Master { epoch });       // epoch: random; the store reports it in its position from the next batch on
//! // The state writer, after each commit:
//! replication.committed(seq, &batch);
//! // The driver, in each round. Replies to clients wait until their batch is acknowledged, at most `timing.limit`:
//! replication.report_alive();
//! if replication.acknowledged() >= seq { send_reply() }
//! // The driver's select: `events.recv()` (MasterSilent: query the master's SMInfo once, or take over).
//! // `RecordStore::acknowledged` wakes the driver when replies can be sent.
//! // A planned handover: wait until `acknowledged()` is the last committed batch, hand over, then
//! replication.set_role(Role::Inactive(StepDownReason::SuccessorExpected));
//! ```

pub mod etcd;
mod event;
mod follower;
pub mod https;
mod leader;
mod log;
mod node;
#[cfg(test)]
mod simulation;
mod store_thread;
pub mod tcp;
mod thread;
pub mod tls;
mod wire;

use core::fmt;
use core::time::Duration;
use std::io;

use ferrosm_core::records::RecordBatch;
use thiserror::Error;

pub use ferrosm_core::StepDownReason;

pub use event::{ReplicationEvent, StandbyLossReason, Timing};
pub use follower::RawRecord;
pub use log::{LogLimits, Position};
pub use store_thread::StoreSnapshot;
pub use wire::FABRIC_NAME_MAX;

/// Limit of events queued for the driver. Further events are dropped, and counted in the log.
pub const EVENT_QUEUE_MAX: usize = 256;

/// Why a store operation failed.
#[derive(Debug, Error)]
pub enum RecordStoreError {
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The store cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The store of a node. Calls may block on the disk. They come from one thread, possibly while a
/// master's state writer runs.
pub trait RecordStore: Send + Sync + 'static {
    /// The position of the records; `None` if it is unknown.
    fn position(&self) -> Option<Position>;

    /// All records and their position, read atomically.
    ///
    /// # Errors
    /// They cannot be read.
    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError>;

    /// Applies batches in order; `at` is the position after them. Atomic, and durable on return.
    ///
    /// # Errors
    /// They cannot be stored; nothing changed.
    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError>;

    /// Replaces all records; `at` is their position. Atomic, and durable on return.
    ///
    /// # Errors
    /// They cannot be stored; nothing changed.
    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError>;

    /// Called when [`Replication::acknowledged`] has grown. Must not block, and must not call
    /// [`Replication`].
    fn acknowledged(&self, seq: u64) {
        let _ = seq;
    }
}

/// The role of the SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Master, with a history of its own.
    Master {
        /// Random, new for each mastership.
        epoch: u64,
    },
    /// Standby, which maintains a replica.
    Standby,
    /// Neither master nor standby; after a term as master, with the reason.
    Inactive(StepDownReason),
}

/// Another node, for status pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStatus {
    /// GUID of its port.
    pub guid: u64,
    /// Whether its replica is in sync, so that the master waits for its acknowledgements.
    pub in_sync: bool,
}

/// Status of replication, for status pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplicationStatus {
    /// Of a master: position of its history.
    pub committed: Option<Position>,
    /// Of a master: last batch that the standbys acknowledged.
    pub acknowledged: u64,
    /// Of a master: a replica of all that it acknowledged exists.
    pub protected: bool,
    /// Of a master: its standbys; `None` with etcd.
    pub standbys: Option<Vec<PeerStatus>>,
    /// Of a standby: its master.
    pub master: Option<PeerStatus>,
}

/// Called when the replica is as complete as possible, with whether it has all that the master
/// acknowledged; `None`: as in the last event.
pub type ReplicaCallback = Box<dyn FnOnce(Option<bool>) + Send>;

/// Settings of replication, except for the identity of this node.
#[derive(Debug, Clone)]
pub enum ReplicationSettings {
    /// From node to node.
    Tcp(tcp::TcpSettings),
    /// Through etcd.
    Etcd(etcd::EtcdSettings),
}

impl ReplicationSettings {
    /// Address where this node listens, if it does.
    #[must_use]
    pub const fn listen(&self) -> Option<&str> {
        match self {
            Self::Tcp(settings) => Some(settings.listen.as_str()),
            Self::Etcd(_) => None,
        }
    }

    /// Stall of the driver's loop after which this node counts as stalled: with etcd at most the
    /// age at which its leases count as old.
    #[must_use]
    pub fn stall_limit(&self) -> Duration {
        match self {
            Self::Tcp(settings) => settings.driver_stall_timeout,
            Self::Etcd(settings) => {
                let old = Duration::from_secs(settings.silent_after_s.into());
                settings.driver_stall_timeout.min(old)
            }
        }
    }

    /// Longest time that a batch waits for acknowledgements, plus a second. After it the batch
    /// counts as acknowledged, and the loss of protection was reported.
    #[must_use]
    pub fn max_ack_delay(&self) -> Duration {
        let max_wait = match self {
            Self::Tcp(settings) => settings.timing.ack_timeout,
            // A master acknowledges without etcd only after its leases, as last seen by standbys,
            // have become old.
            Self::Etcd(settings) => {
                settings.reply_timeout * 2 + Duration::from_secs(settings.silent_after_s.into())
            }
        };
        max_wait + Duration::from_secs(1)
    }
}

/// An implementation of replication. No call blocks.
pub trait Replication: Send + Sync + fmt::Debug {
    /// Sets the role of the SM. Replication as master starts with
    /// [`ReplicationEvent::MasterReady`].
    fn set_role(&self, role: Role);

    /// A batch is durable in the master's own store. Its number follows that of the batch before;
    /// the first follows the store's position. Called in order, by one thread.
    fn committed(&self, seq: u64, batch: &RecordBatch);

    /// Number of the last batch that all standbys in sync, or etcd, have acknowledged. Without
    /// standbys no acknowledgement is needed.
    fn acknowledged(&self) -> u64;

    /// Reports that the driver's loop runs. Without a report for a while, other nodes consider this
    /// one dead.
    fn report_alive(&self);

    /// Sets how long a master's own disk has delayed its oldest reply; zero if no reply depends on
    /// unwritten records. A reply that left at the limit counts until its records are on disk.
    /// Before the delay is too long, standbys are no longer reported as in sync.
    fn set_disk_delay(&self, delay: Duration);

    /// Completes the replica for a takeover. `on_complete` is called when it is as complete as
    /// possible, at once or from another thread within about a second. The role must be
    /// [`Role::Inactive`] until then.
    fn complete_replica(&self, on_complete: ReplicaCallback) {
        on_complete(None);
    }

    /// Status of replication.
    fn status(&self) -> ReplicationStatus;
}
