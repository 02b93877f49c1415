//! What an entry of a recording says.

use core::time::Duration;

use ferrosm_mad::ids::{PortGuid, Tid};
use ferrosm_mad::mad::{Address, Mad, MadIn};
use ferrosm_mad::transport::gmp::Peer;
use serde::{Deserialize, Serialize};

use super::digest::digest_of_result;
use super::restored::RecordedRestored;
use crate::config::SmConfig;
use crate::election::Then;
use crate::io::{Input, LocalPortEvent, Persisted};

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The SM starts. First and only once.
    Start(Box<Start>),
    /// [`crate::SubnetManager::with_replication_timeout`].
    ReplicationTimeout(Duration),
    /// [`crate::SubnetManager::handle`].
    Input {
        /// What was polled since the last input.
        before: Outputs,
        now_ns: u64,
        input: RecordedInput,
    },
    /// The recording was ended in order. The last entry.
    End(Outputs),
}

/// What the SM starts with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// Version of the program that recorded.
    pub(super) program: String,
    /// The run, for people.
    pub(super) source: String,
    pub(super) now_ns: u64,
    pub(super) cfg: SmConfig,
    pub(super) restored: RecordedRestored,
}

/// Outputs before an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outputs {
    /// Polls since the last input, those that returned nothing included.
    pub(super) polls: u32,
    /// Digest of all outputs since the start.
    pub(super) digest: u64,
}

/// [`Input`], with a digest instead of a routing result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RecordedInput {
    Mad { from: Address, mad: Vec<u8> },
    Gmp { from: Peer, bytes: Vec<u8> },
    SendFailed(Tid),
    Timeout,
    Computed { job: u64, digest: u64 },
    Persisted(Persisted),
    Config(Box<SmConfig>),
    Resweep,
    Rebalance,
    LocalPort(LocalPortEvent),
    HandOver(Then),
    Recalled(Option<Box<RecordedRestored>>),
    PeerSm(PortGuid),
    PeerSilent { guid: PortGuid, doubtful: bool },
    Copying(bool),
    Stalled,
    LeaseLost,
    Deposed(PortGuid),
    TakeOver,
}

/// What a recorded input stands for.
pub(super) enum Replayed {
    /// The input itself.
    Input(Box<Input>),
    /// The result of this job, whose digest is known.
    Computed { job: u64, digest: u64 },
}

impl RecordedInput {
    pub(super) fn new(input: &Input) -> Self {
        match input {
            Input::Mad(MadIn { from, mad }) => Self::Mad {
                from: *from,
                mad: mad.as_bytes().to_vec(),
            },
            Input::Gmp { from, bytes } => Self::Gmp {
                from: *from,
                bytes: bytes.clone(),
            },
            Input::SendFailed(tid) => Self::SendFailed(*tid),
            Input::Timeout => Self::Timeout,
            Input::Computed(computed) => Self::Computed {
                job: computed.id,
                digest: digest_of_result(computed),
            },
            Input::Persisted(persisted) => Self::Persisted(*persisted),
            Input::Config(cfg) => Self::Config(cfg.clone()),
            Input::Resweep => Self::Resweep,
            Input::Rebalance => Self::Rebalance,
            Input::LocalPort(event) => Self::LocalPort(*event),
            Input::HandOver(then) => Self::HandOver(*then),
            Input::Recalled(restored) => {
                let restored = restored.as_deref().map(RecordedRestored::new);
                Self::Recalled(restored.map(Box::new))
            }
            Input::PeerSm(guid) => Self::PeerSm(*guid),
            Input::PeerSilent { guid, doubtful } => Self::PeerSilent {
                guid: *guid,
                doubtful: *doubtful,
            },
            Input::Copying(incomplete) => Self::Copying(*incomplete),
            Input::Stalled => Self::Stalled,
            Input::LeaseLost => Self::LeaseLost,
            Input::Deposed(by) => Self::Deposed(*by),
            Input::TakeOver => Self::TakeOver,
        }
    }

    /// The input; or what in it makes no sense.
    pub(super) fn replayed(self) -> Result<Replayed, String> {
        Ok(Replayed::Input(Box::new(match self {
            Self::Computed { job, digest } => return Ok(Replayed::Computed { job, digest }),
            Self::Mad { from, mad } => {
                let mad = Mad::parse(&mad).map_err(|e| e.to_string())?;
                Input::Mad(MadIn { from, mad })
            }
            Self::Gmp { from, bytes } => Input::Gmp { from, bytes },
            Self::SendFailed(tid) => Input::SendFailed(tid),
            Self::Timeout => Input::Timeout,
            Self::Persisted(persisted) => Input::Persisted(persisted),
            Self::Config(cfg) => Input::Config(cfg),
            Self::Resweep => Input::Resweep,
            Self::Rebalance => Input::Rebalance,
            Self::LocalPort(event) => Input::LocalPort(event),
            Self::HandOver(then) => Input::HandOver(then),
            Self::Recalled(restored) => {
                let restored = restored.map(|r| r.restore()).transpose()?;
                Input::Recalled(restored.map(Box::new))
            }
            Self::PeerSm(guid) => Input::PeerSm(guid),
            Self::PeerSilent { guid, doubtful } => Input::PeerSilent { guid, doubtful },
            Self::Copying(incomplete) => Input::Copying(incomplete),
            Self::Stalled => Input::Stalled,
            Self::LeaseLost => Input::LeaseLost,
            Self::Deposed(by) => Input::Deposed(by),
            Self::TakeOver => Input::TakeOver,
        })))
    }
}
