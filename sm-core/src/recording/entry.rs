//! What an entry of a recording says.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::digest::digest_of_result;
use super::restored::RecordedRestored;
use crate::config::SmConfig;
use crate::io::Input;

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry<I = Input> {
    /// The SM starts. First and only once.
    Start(Box<RecordingStart>),
    /// [`crate::SubnetManager::with_replication_timeout`].
    ReplicationTimeout(Duration),
    /// [`crate::SubnetManager::handle`].
    Input {
        /// What was polled since the last input.
        before: Outputs,
        now_ns: u64,
        input: RecordedInput<I>,
    },
    /// The recording was ended in order. The last entry.
    End(Outputs),
}

/// What the SM starts with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingStart {
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

/// An [`Input`]. `I` is `&Input` to serialise and `Input` to deserialise.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RecordedInput<I> {
    /// The input itself.
    Whole(I),
    /// [`Input::Computed`]: replay computes the result again and compares its digest.
    Computed { job: u64, digest: u64 },
    /// [`Input::ReplicaLoaded`].
    ReplicaLoaded(Option<Box<RecordedRestored>>),
}

impl<'a> RecordedInput<&'a Input> {
    /// An input other than [`Input::ReplicaLoaded`].
    pub(super) fn new(input: &'a Input) -> Self {
        if let Input::Computed(computed) = input {
            Self::Computed {
                job: computed.id,
                digest: digest_of_result(computed),
            }
        } else {
            Self::Whole(input)
        }
    }
}
