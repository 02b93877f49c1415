//! Everything that enters and leaves a [`crate::SubnetManager`].

pub mod commands;

use core::time::Duration;
use std::sync::Arc;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{PortGuid, Tid};
use ferrosm_mad::mad::{MadIn, MadOut};
use serde::{Deserialize, Serialize};

use crate::config::SmConfig;
use crate::config::key_rotation::{KeyKind, KeyRotation};
use crate::event::Event;
use crate::io::commands::{Command, CommandId, CommandReply};
use crate::records::{RecordUpdate, RestoredState};
use crate::routing::routes::{RoutingJob, RoutingJobResult};
use ferrosm_sa::View;

/// An input of the SM.
///
/// Recordings contain it serialised, except [`Input::RoutingComputed`] and
/// [`ReplicaEvent::Loaded`], which have a form of their own.
#[derive(Debug, Serialize, Deserialize)]
pub enum Input {
    /// A MAD arrived on QP0.
    Mad(MadIn),
    /// A message to subnet administration (QP1, reassembled) that [`ferrosm_sa::answer`] does not
    /// answer from the view.
    Gmp {
        /// The sender.
        from: Peer,
        /// The message, header first.
        bytes: Vec<u8>,
    },
    /// The transport could not send a request.
    SendFailed(Tid),
    /// `poll_timeout` has passed. Ignored if it has not.
    Timeout,
    /// Batches are durable.
    Persisted(Persisted),
    /// New settings, already validated.
    Config(Box<SmConfig>),
    /// A command of the operator. [`Output::CommandReply`]s follow, the last one final.
    Command {
        /// Chosen by the driver.
        id: CommandId,
        command: Command,
    },
    /// The local port changed (asynchronous event of the device).
    LocalPort(LocalPortEvent),
    /// Replication or the driver reports that an SM is alive, silent or replaced.
    Peer(PeerEvent),
    /// Replication reports about the replica of the master's records.
    Replica(ReplicaEvent),
    // Serde numbers skipped variants when it serialises, but not when it deserialises. Skipped
    // variants are therefore last.
    /// The result of a [`RoutingJob`].
    #[serde(skip)]
    RoutingComputed(Box<RoutingJobResult>),
}

/// What replication and the driver report about the SMs, this one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerEvent {
    /// Another SM reported that it is ferrosm: it responds even while it sweeps, and is polled at
    /// the pace of ferrosm SMs.
    Ferrosm(PortGuid),
    /// Replication receives nothing from the master any more. A standby of that master scans the
    /// SMs at once.
    Silent {
        /// The master.
        guid: PortGuid,
        /// The replica has all that the master acknowledged.
        in_sync: bool,
        /// This process was itself impaired a moment ago: the SM gets the full SMP timeout.
        uncertain: bool,
    },
    /// The master announced that it steps down.
    Leaving {
        /// The master.
        guid: PortGuid,
        /// The reason. A master without a successor counts as silent.
        reason: StepDownReason,
        /// The replica has all that the master acknowledged.
        in_sync: bool,
    },
    /// This process stalled for so long that another SM may be master: nothing is written before an
    /// SMInfo scan.
    Stalled,
    /// The master's lease is lost, and another SM may acquire it: nothing is written before an
    /// SMInfo scan.
    LeaseLost,
    /// The given SM acquired the master's lease: if this SM is master, it starts discovery again.
    Deposed(PortGuid),
}

/// What replication reports about the replica at this node. A standby reports state Discovering
/// until it is in sync, or no replica is available, so that no master hands over to an SM without
/// the registrations.
#[derive(Debug, Serialize, Deserialize)]
pub enum ReplicaEvent {
    /// A standby's replica has all that this master acknowledged.
    InSync(PortGuid),
    /// A standby's replica may lack records.
    OutOfSync,
    /// A standby's replica has another rotated key of this kind, or none any more. It is in force
    /// next.
    KeyRotation(KeyKind, Option<KeyRotation>),
    /// The result of [`Output::LoadReplica`].
    #[serde(skip)]
    Loaded(LoadedReplica),
}

/// The result of [`Output::LoadReplica`].
#[derive(Debug)]
pub struct LoadedReplica {
    /// Number of the load.
    pub load: u64,
    /// Whether the store has all that the master acknowledged; `None`: as replication last
    /// reported.
    pub complete: Option<bool>,
    /// The state of the records in the store; `None` if they cannot be read, or without
    /// replication.
    pub restored: Option<Box<RestoredState>>,
}

/// The role in replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationRole {
    /// Master, with a new history: later batches of this SM are persisted and replicated.
    Master,
    /// Standby: the store receives the master's records, and later batches of this SM are not
    /// persisted.
    Standby,
    /// Neither; after a term as master, with the reason. The store does not change, except by
    /// batches of this SM if it was master.
    Inactive(StepDownReason),
}

/// Why a master steps down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepDownReason {
    /// Another SM is to become master: standbys wait for its HANDOVER.
    SuccessorExpected,
    /// No SM is known to become master: standbys start an election at once.
    NoSuccessor,
}

impl Command {
    /// The input that carries this command.
    #[must_use]
    pub fn with_id(self, id: u64) -> Input {
        Input::Command {
            id: CommandId(id),
            command: self,
        }
    }
}

/// An asynchronous event of the SM's own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocalPortEvent {
    /// The link came up.
    Up,
    /// The link went down.
    Down,
    /// LID, P_Keys or other settings changed.
    Changed,
}

/// Which batches of [`Output::Persist`] and [`Output::PersistSnapshot`] are durable; each includes
/// all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Persisted {
    /// The last batch that is durable by the policy of the store: on the local disk, and
    /// acknowledged by the standbys in sync.
    pub durable: u64,
    /// The last batch that is on the local disk.
    pub on_disk: u64,
}

impl Persisted {
    /// All batches up to this one are durable.
    #[must_use]
    pub const fn all(seq: u64) -> Self {
        Self {
            durable: seq,
            on_disk: seq,
        }
    }
}

/// An output of the SM, to be executed by the driver.
#[derive(Debug)]
pub enum Output {
    /// Send a MAD on QP0.
    Send(MadOut),
    /// Send a message from QP1, segmented if necessary.
    Gmp {
        /// The receiver.
        to: Peer,
        /// The message, header first.
        bytes: Vec<u8>,
        /// Time to wait for the response; `None` for replies.
        answer_within: Option<Duration>,
    },
    /// Reply to SA queries from this view ([`ferrosm_sa::answer`]); with `None`, drop them.
    Publish(Option<Arc<View>>),
    /// Run [`RoutingJob::run`] on any thread and pass the result, if any, to
    /// [`Input::RoutingComputed`].
    Compute(Box<RoutingJob>),
    /// Persist these changes of records, and report it with [`Input::Persisted`]. Replies that
    /// depend on them wait for that, and so do writes to devices if
    /// [`RecordUpdate::precedes_device_writes`].
    Persist {
        /// Number of the batch; batches are numbered from 1.
        seq: u64,
        /// The changes, in order.
        updates: Vec<RecordUpdate>,
    },
    /// Persist this snapshot ([`ferrosm_fabric::snapshot::persist`]) in place of the earlier one;
    /// with `None` remove it.
    PersistSnapshot {
        /// Number of the batch, in the same sequence.
        seq: u64,
        /// The view.
        snapshot: Option<Arc<Snapshot>>,
    },
    /// Change the role in replication, after all batches before this output. Only with
    /// [`crate::SubnetManager::enable_replication`].
    Replicate(ReplicationRole),
    /// This standby takes over: complete the replica, and load the state of the records in the
    /// store ([`ReplicaEvent::Loaded`]). Repeated if the SM lost its link or stalled before it was
    /// master, because the replica is then outdated; earlier loads are then ignored.
    LoadReplica {
        /// Number of the load.
        load: u64,
    },
    /// A reply to [`Input::Command`].
    CommandReply { id: CommandId, reply: CommandReply },
    /// Report this to the operator.
    Event(Event),
}

impl Output {
    /// A reply to an SA client.
    pub(crate) const fn reply(to: Peer, bytes: Vec<u8>) -> Self {
        Self::Gmp {
            to,
            bytes,
            answer_within: None,
        }
    }
}
