//! Everything that enters and leaves a [`crate::SubnetManager`].

use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::ids::{PortGuid, Tid};
use ferrosm_mad::mad::{MadIn, MadOut};
use ferrosm_mad::transport::gmp::Peer;
use serde::{Deserialize, Serialize};

use crate::commands::{Command, CommandId, CommandReply};
use crate::config::SmConfig;
use crate::plan::routes::{RoutingJob, RoutingJobResult};
use crate::records::{RecordUpdate, RestoredState};
use crate::sa::View;

pub use crate::event::{DurabilityEvent, Event};

/// Something that happened outside.
///
/// Recordings hold it serialised, except [`Input::Computed`] and [`Input::ReplicaLoaded`], which they hold in another form.
#[derive(Debug, Serialize, Deserialize)]
pub enum Input {
    /// A MAD arrived on QP0.
    Mad(MadIn),
    /// A message to subnet administration (QP1, whole) that [`crate::sa::answer`] leaves to the owner.
    Gmp {
        /// The sender.
        from: Peer,
        /// The message, header first.
        bytes: Vec<u8>,
    },
    /// The transport knows that a request will not be answered.
    SendFailed(Tid),
    /// `poll_timeout` has passed. Harmless when it has not.
    Timeout,
    /// Batches are durable.
    Persisted(Persisted),
    /// New settings, already validated.
    Config(Box<SmConfig>),
    /// A command of the operator. [`Output::CommandReply`] follows, at last with the final reply.
    Command {
        /// Chosen by the driver.
        id: CommandId,
        /// The command.
        command: Command,
    },
    /// The local port changed (asynchronous event of the device).
    LocalPort(LocalPortEvent),
    /// Another SM is ferrosm too: it answers whatever it does, and is polled accordingly.
    FerrosmPeer(PortGuid),
    /// Replication hears nothing of that SM any more: if this one waits for its end, it looks whether that has come.
    PeerSilent {
        /// That SM.
        guid: PortGuid,
        /// Whoever says so was in trouble itself a moment ago: the SM is asked for as long as any device is.
        uncertain: bool,
    },
    /// Whether a copy of the master's state is still to be had. As long as it is, a standby says of itself that it discovers: a
    /// master that ranks lower would hand the subnet to one that knows nothing of what hosts registered.
    ReplicaIncomplete(bool),
    /// This process did not run for so long that another SM may be in charge: nothing is written before the others are asked.
    Stalled,
    /// What only a master has (a lease) is lost, and another SM may take it: nothing is written before the others are asked.
    LeaseLost,
    /// That SM has taken what only a master has (a lease): if this one believed to be master, it is none, and asks who is.
    Deposed(PortGuid),
    // Serde numbers skipped variants when it serialises, but not when it deserialises. Skipped variants are therefore last.
    /// The result of a [`RoutingJob`].
    #[serde(skip)]
    Computed(Box<RoutingJobResult>),
    /// What [`Output::LoadReplica`] asked for; `None` where nothing is kept of another master.
    #[serde(skip)]
    ReplicaLoaded(Option<Box<RestoredState>>),
}

impl Command {
    /// The input that carries this command.
    #[must_use]
    pub const fn with_id(self, id: u64) -> Input {
        Input::Command {
            id: CommandId(id),
            command: self,
        }
    }
}

/// What the local device says of the SM's own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocalPortEvent {
    /// The link came up.
    Up,
    /// The link went down.
    Down,
    /// LID, P_Keys or other settings changed under us.
    Changed,
}

/// Which batches of [`Output::Persist`] and [`Output::PersistView`] are durable; each includes all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Persisted {
    /// The last batch that is durable by the policy of the store: on the local disk, and acknowledged by the followers in sync.
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

/// Something to be done outside.
#[derive(Debug)]
pub enum Output {
    /// Send a MAD on QP0.
    Send(MadOut),
    /// Send a whole message from QP1.
    Gmp {
        /// The receiver.
        to: Peer,
        /// The message, header first.
        bytes: Vec<u8>,
        /// How long an acknowledgement is waited for; none for answers.
        answer_within: Option<Duration>,
    },
    /// Answer from this from now on ([`crate::sa::answer`]); from none, answer nothing.
    Publish(Option<Arc<View>>),
    /// Run [`RoutingJob::run`] somewhere and feed the result back as [`Input::Computed`].
    Compute(Box<RoutingJob>),
    /// Persist these changes of records, and report it with [`Input::Persisted`]. Replies that depend on them wait for that, and so do
    /// writes to devices if [`RecordUpdate::precedes_device_writes`].
    Persist {
        /// Number of the batch; batches are numbered from 1.
        seq: u64,
        /// The changes, in order.
        updates: Vec<RecordUpdate>,
    },
    /// Persist this view ([`crate::sa::view::persist`]) in place of the earlier one; with `None` remove it.
    PersistView {
        /// Number of the batch, in the same sequence.
        seq: u64,
        /// The view.
        view: Option<Arc<View>>,
    },
    /// This SM was standby and takes over: give it what its master kept, if there is a copy ([`Input::ReplicaLoaded`]). It asks again where
    /// it lost its link or stood still before it was master: what it was given then is too old.
    LoadReplica,
    /// It is master without that: what comes of [`Output::LoadReplica`] is not wanted any more.
    CancelReplicaLoad,
    /// A reply to [`Input::Command`].
    CommandReply {
        /// The ID of the command.
        id: CommandId,
        /// The reply.
        reply: CommandReply,
    },
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
