//! Entries of a recording.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::OutputDigest;
use crate::extent::RecordingExtent;
use crate::restored::RecordedRestored;
use ferrosm_core::{Input, SmConfig};

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Entry<I = Input> {
    /// The start of the SM: the first entry.
    Start(Box<RecordingStart>),
    /// [`ferrosm_core::SubnetManager::enable_replication`].
    Replication(Duration),
    /// [`ferrosm_core::SubnetManager::handle`].
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
pub(crate) struct RecordingStart {
    /// Version of the program that recorded.
    pub(crate) program: String,
    /// Description of the run.
    pub(crate) source: String,
    pub(crate) extent: RecordingExtent,
    pub(crate) now_ns: u64,
    pub(crate) cfg: SmConfig,
    pub(crate) restored: RecordedRestored,
}

/// Outputs before an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outputs {
    /// Polls since the last input, those that returned nothing included.
    pub(crate) polls: u32,
    /// Digest of all outputs since the start, or [`Self::NO_DIGEST`].
    pub(crate) digest: u64,
}

impl Outputs {
    /// In place of a digest.
    pub(crate) const NO_DIGEST: u64 = 0;
}

/// An [`Input`]. `I` is `&Input` to serialise and `Input` to deserialise.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RecordedInput<I> {
    /// The input itself.
    Whole(I),
    /// [`Input::RoutingComputed`]: replay computes the result again and compares its digest.
    RoutingComputed { job: u64, digest: u64 },
    /// [`ferrosm_core::ReplicaEvent::Loaded`].
    ReplicaLoaded {
        load: u64,
        complete: Option<bool>,
        restored: Option<Box<RecordedRestored>>,
    },
}

impl<'a> RecordedInput<&'a Input> {
    /// An input other than [`ferrosm_core::ReplicaEvent::Loaded`].
    pub(crate) fn new(input: &'a Input, outputs: &OutputDigest) -> Self {
        if let Input::RoutingComputed(computed) = input {
            Self::RoutingComputed {
                job: computed.id,
                digest: outputs.of_result(computed),
            }
        } else {
            Self::Whole(input)
        }
    }
}
