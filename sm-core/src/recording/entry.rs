//! Entries of a recording.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::digest::digest_of_result;
use super::restored::RecordedRestored;
use crate::config::SmConfig;
use crate::io::Input;

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry<I = Input> {
    /// The start of the SM: the first entry.
    Start(Box<RecordingStart>),
    /// [`crate::SubnetManager::with_replication`].
    Replication(Duration),
    /// [`crate::SubnetManager::handle`].
    Input {
        /// Outputs since the last input.
        before: Outputs,
        now_ns: u64,
        input: RecordedInput<I>,
    },
    /// The regular end of the recording: the last entry.
    End(Outputs),
}

/// The initial state of the SM.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingStart {
    /// Version of the program that recorded.
    pub(super) program: String,
    /// Description of the run.
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

/// An [`Input`]. `I` is `&Input` to serialise and `Input` to deserialise.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RecordedInput<I> {
    /// The input itself.
    Whole(I),
    /// [`Input::RoutingComputed`]: replay computes the result again and compares its digest.
    RoutingComputed { job: u64, digest: u64 },
    /// [`crate::ReplicaEvent::Loaded`].
    ReplicaLoaded {
        load: u64,
        complete: Option<bool>,
        restored: Option<Box<RecordedRestored>>,
    },
}

impl<'a> RecordedInput<&'a Input> {
    /// An input other than [`crate::ReplicaEvent::Loaded`].
    pub(super) fn new(input: &'a Input) -> Self {
        if let Input::RoutingComputed(computed) = input {
            Self::RoutingComputed {
                job: computed.id,
                digest: digest_of_result(computed),
            }
        } else {
            Self::Whole(input)
        }
    }
}
