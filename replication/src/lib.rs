//! Copies of what outlives a subnet manager on the machines that stand by, so that a takeover loses nothing.
//!
//! One interface, [`Replication`], and two ways behind it: [`tcp`] (standbys connect to the master, TLS with certificates on both
//! sides) and [`etcd`] (everybody connects to a cluster that the site has). It runs beside the driver, on threads of its own; the driver is never waited for and never waits. What follows from messages
//! and times is decided in values without I/O (`leader`, `follower`, `log`), and tried in virtual time. Nothing here knows what a
//! record means, and nothing here decides who is master: the election does.
//!
//! # How it is wired
//!
//! ```text
//! let (events, mut told) = tokio::sync::mpsc::channel(EVENTS);
//! let replication: Box<dyn Replication> = Box::new(tcp::Tcp::start(settings, Arc::new(store), events)?);
//! // The election changed what this SM is. As master: use and change records only after `Event::Leading`.
//! replication.role(Role::Master { epoch });       // epoch: random; the store says it in its position from the next batch on
//! // The thread that writes state, after each commit:
//! replication.committed(seq, &batch);
//! // The driver, in each round; answers to clients wait until their batch is acknowledged, at most `pace.limit`:
//! replication.pulse();
//! if replication.acknowledged() >= seq { send_answer() }
//! // The driver's select: `told.recv()` (LeaderSilent: ask the master by SMInfo once, or take over) ; `WarmCopy::acknowledged` wakes who waits.
//! // A planned end: wait until `acknowledged()` is what was committed last, hand over, then
//! replication.role(Role::Neither(Leaving::HandingOver));
//! ```

pub mod etcd;
mod event;
mod follower;
mod leader;
mod log;
mod node;
#[cfg(test)]
mod simulation;
mod storing;
pub mod tcp;
mod thread;
pub mod tls;
mod wire;

use core::fmt;
use core::time::Duration;
use std::io;

use ferrosm_core::kept::Batch;
use thiserror::Error;
use tokio::sync::watch;

pub use event::{Event, Loss, Pace};
pub use follower::Record;
pub use log::{LogLimits, Position};
pub use storing::Everything;
pub use wire::{FABRIC_MAX, Leaving};

/// Events that wait for the driver, at most. More means that it hangs: they are dropped then, and counted in the log.
pub const EVENTS: usize = 256;

/// Why a store did not do what it was to do.
#[derive(Debug, Error)]
pub enum CopyError {
    /// It was closed.
    #[error("the store is closed")]
    Closed,
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The store of a node, as replication sees it. Calls may take as long as a disk does; they come from one thread, but while the
/// state writer of a master may be at work.
pub trait WarmCopy: Send + Sync + 'static {
    /// What the records are; `None` where nobody knows.
    fn position(&self) -> Option<Position>;

    /// All records and what they are, of one moment.
    ///
    /// # Errors
    /// They cannot be read.
    fn everything(&self) -> Result<Everything, CopyError>;

    /// Puts batches on top, in order; the records are those at `at` then. All or nothing, and durable on return.
    ///
    /// # Errors
    /// They cannot be stored; nothing changed.
    fn apply(&self, at: Position, batches: &[Batch]) -> Result<(), CopyError>;

    /// These records are all from now on, and those at `at`. All or nothing, and durable on return.
    ///
    /// # Errors
    /// They cannot be stored; nothing changed.
    fn replace(&self, at: Position, records: Vec<Record>) -> Result<(), CopyError>;

    /// [`Replication::acknowledged`] has grown: who waits for it may look. Must not wait, nor ask anything of the replication.
    fn acknowledged(&self, seq: u64) {
        let _ = seq;
    }
}

/// What a subnet manager is, to replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// In charge, with a history of its own.
    Master {
        /// Chosen at random, for this once.
        epoch: u64,
    },
    /// Ready to be: it keeps a copy.
    Standby,
    /// Neither. If it was master: why it is not any longer.
    Neither(Leaving),
}

/// A follower, for status pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standby {
    /// GUID of its port.
    pub guid: u64,
    /// Whether it has everything, and is waited for.
    pub in_step: bool,
}

/// How it stands, for status pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Of a master: where its history is.
    pub committed: Option<Position>,
    /// Of a master: what standbys have of it.
    pub acknowledged: u64,
    /// Of a master: somebody else has all that it acknowledged.
    pub protected: bool,
    /// Of a master: its standbys, where they are its own and not etcd's.
    pub standbys: Option<Vec<Standby>>,
    /// Of a standby: its master.
    pub leader: Option<Standby>,
}

/// What is done when a copy is as whole as it can be. It is told whether it has all that a master acknowledged; `None`: what was told last
/// holds.
pub type Settle = Box<dyn FnOnce(Option<bool>) + Send>;

/// What replication is started with, but for who this node is.
#[derive(Debug, Clone)]
pub enum Settings {
    /// From node to node.
    Tcp(tcp::Settings),
    /// Through etcd.
    Etcd(etcd::Settings),
}

impl Settings {
    /// Address where this node listens, if it does.
    #[must_use]
    pub const fn listen(&self) -> Option<&str> {
        match self {
            Self::Tcp(settings) => Some(settings.listen.as_str()),
            Self::Etcd(_) => None,
        }
    }

    /// After so long the loop of this node counts as hung: with etcd not later than its leases are old.
    #[must_use]
    pub fn hang(&self) -> Duration {
        match self {
            Self::Tcp(settings) => settings.hang,
            Self::Etcd(settings) => {
                let old = Duration::from_secs(settings.silence_s.into());
                settings.hang.min(old)
            }
        }
    }

    /// The longest that a batch waits for others, with a second more: after that it counts as acknowledged by nobody, and that nobody
    /// has a copy was told.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let most = match self {
            Self::Tcp(settings) => settings.pace.limit,
            // Before a master with etcd is on its own, its leases have to be old, and what others saw of them last.
            Self::Etcd(settings) => {
                settings.limit * 2 + Duration::from_secs(settings.silence_s.into())
            }
        };
        most + Duration::from_secs(1)
    }
}

/// One way of replication. All calls return at once.
pub trait Replication: Send + Sync + fmt::Debug {
    /// What the subnet manager is from now on. A master is one for replication when [`Event::Leading`] comes.
    fn role(&self, role: Role);

    /// A batch is durable in the master's own store, under a number that follows that of the one before; at the beginning, that of the
    /// store's position. Called in order, by one thread.
    fn committed(&self, seq: u64, batch: &Batch);

    /// Number of the last batch that is where it must be: with all standbys that are in step, or with no one if there are none.
    fn acknowledged(&self) -> u64;

    /// The same, to wait for.
    fn watch(&self) -> watch::Receiver<u64>;

    /// The driver's loop turns. Where it does not for a while, this node is as good as dead to others.
    fn pulse(&self);

    /// A master's oldest answer has waited so long for its own disk; zero where none waits. Before it waits too long, standbys are not
    /// told any more that they have everything.
    fn disk_waits(&self, waits: Duration);

    /// The records are about to be used in a takeover: `then` is called when they are all that can be had, at once or from another thread
    /// within a second or so. The role is [`Role::Neither`], and stays so until then.
    fn settle(&self, then: Settle) {
        then(None);
    }

    /// How it stands.
    fn status(&self) -> Status;
}
