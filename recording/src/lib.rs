//! Recordings: every input of a [`SubnetManager`] with its time, so that a run can be replayed from
//! a file alone (ADR 0019).
//!
//! A recording begins with [`MAGIC`] and [`VERSION`] (two bytes, little-endian). Entries follow:
//! length and FNV-1a digest of the payload (4 and 8 bytes, little-endian), then the payload, in
//! postcard's encoding. Recordings contain M_Keys and SM_Keys.
//!
//! A recording that is always on ([`RecordingExtent::Traffic`]) leaves out what costs time or
//! space: digests of views, records and jobs, most digests of outputs, and the checksums of entries
//! (0). Its file has checksums of its own.
//!
//! Outputs are not stored. Each input, and the end, has the number of polls for outputs before it
//! and a digest of all outputs so far. [`Replay`] polls as often and compares the digest. A routing
//! job is a pure function of an output, so its result is stored as a digest, too.
//!
//! | module | contents |
//! |---|---|
//! | this | [`RecordedManager`], which records; the encoding of entries |
//! | `entry` | the entries |
//! | `restored` | [`RestoredState`] in an entry |
//! | `digest` | digests of outputs and of routing results |
//! | `replay` | [`Replay`] |
//! | `extent` | how much is recorded |
//! | [`keys`] | pseudonyms of keys |
//! | [`mask`] | copies of recordings without keys |

mod digest;
mod entry;
mod extent;
pub mod keys;
pub mod mask;
mod replay;
mod restored;

use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use ferrosm_mad::time::Instant;
use serde::Serialize;

use digest::OutputDigest;
use entry::{Entry, Outputs, RecordedInput, RecordingStart};
use ferrosm_core::{
    Input, LoadedReplica, Output, ReplicaEvent, RestoredState, SmConfig, SubnetManager,
};
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use restored::RecordedRestored;

pub use extent::RecordingExtent;
pub use replay::{Ending, Replay, ReplayError};

/// The first bytes of a recording.
pub const MAGIC: &[u8; 18] = b"ferrosm-recording\n";
/// Version of the format. A reader accepts only its own version.
pub const VERSION: u16 = 8;

/// Inputs of a recording of [`RecordingExtent::Traffic`] for each that has a digest of the outputs.
const INPUTS_PER_DIGEST: u32 = 256;

/// Bytes before the payload of an entry.
const ENTRY_HEADER: usize = 12;

/// Bytes of a payload that holds a MAD, or a little more.
const USUAL_ENTRY: usize = 320;

/// In place of the checksum of an entry.
const NO_CHECKSUM: u64 = 0;

/// Destination of a recording. The sink reports failures; the SM continues.
pub trait RecordingSink: fmt::Debug + Send {
    /// Appends bytes; whole entries.
    fn append(&mut self, bytes: Vec<u8>);

    /// Whether it has stopped: nothing more needs to be appended.
    fn has_stopped(&self) -> bool {
        false
    }

    /// The recording ends here, because what follows cannot be replayed.
    fn stop(&mut self, _reason: &str) {}
}

/// A [`SubnetManager`] that may be recorded. Modifying methods are wrapped; reading methods are
/// available by dereference.
#[derive(Debug)]
pub struct RecordedManager {
    manager: SubnetManager,
    recorder: Option<Recorder>,
}

impl From<SubnetManager> for RecordedManager {
    /// Without a recording.
    fn from(manager: SubnetManager) -> Self {
        Self {
            manager,
            recorder: None,
        }
    }
}

impl Deref for RecordedManager {
    type Target = SubnetManager;

    fn deref(&self) -> &SubnetManager {
        &self.manager
    }
}

impl RecordedManager {
    /// As [`SubnetManager::new`], recorded from the start. `source` describes the run, for example
    /// the seed of a simulation.
    #[must_use]
    pub fn record(
        cfg: SmConfig,
        restored: RestoredState,
        now: Instant,
        source: String,
        extent: RecordingExtent,
        mut sink: Box<dyn RecordingSink>,
    ) -> Self {
        let (recorded, restored) = RecordedRestored::with_replayed(restored);
        let start = RecordingStart {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            source,
            extent,
            now_ns: now.as_nanos(),
            cfg: cfg.clone(),
            restored: recorded,
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&Entry::<&Input>::Start(Box::new(start)).encode(extent));
        sink.append(bytes);
        Self {
            manager: SubnetManager::new(cfg, restored, now),
            recorder: Some(Recorder {
                sink,
                extent,
                polls: 0,
                undigested: 0,
                digest: OutputDigest::new(extent),
            }),
        }
    }

    /// Whether all routing jobs must be replayable: nothing but their work may limit them.
    #[must_use]
    pub fn needs_replayable_jobs(&self) -> bool {
        let recorder = self.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.extent == RecordingExtent::Everything)
    }

    /// Ends the recording, because what follows cannot be replayed.
    pub fn stop_recording(&mut self, reason: &str) {
        if let Some(mut recorder) = self.recorder.take() {
            recorder.sink.stop(reason);
        }
    }

    /// As [`SubnetManager::enable_replication`].
    #[must_use]
    pub fn with_replication(mut self, timeout: Duration) -> Self {
        self.manager.enable_replication(timeout);
        if let Some(recorder) = &mut self.recorder {
            recorder.append(&Entry::Replication(timeout));
        }
        self
    }

    /// As [`SubnetManager::handle`].
    #[inline]
    pub fn handle(&mut self, input: Input, now: Instant) {
        if self.recorder.as_ref().is_some_and(|r| r.sink.has_stopped()) {
            self.recorder = None;
        }
        match &mut self.recorder {
            None => self.manager.handle(input, now),
            Some(recorder) => self.manager.handle(recorder.record(input, now), now),
        }
    }

    /// As [`SubnetManager::poll_output`].
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.manager.poll_output();
        if let Some(recorder) = &mut self.recorder {
            recorder.polls += 1;
            if let Some(output) = &output {
                recorder.digest.add(output);
            }
        }
        output
    }

    /// As [`SubnetManager::registry_snapshot`]. It fills a cache and changes no output, so it is
    /// not recorded.
    pub fn registry_snapshot(&mut self) -> RegistrySnapshot {
        self.manager.registry_snapshot()
    }
}

/// Writes the entries; the last one when it is dropped.
#[derive(Debug)]
struct Recorder {
    sink: Box<dyn RecordingSink>,
    extent: RecordingExtent,
    /// Polls since the last input, those that returned nothing included.
    polls: u32,
    /// Inputs since the last one with a digest.
    undigested: u32,
    digest: OutputDigest,
}

impl Recorder {
    fn append(&mut self, entry: &Entry<&Input>) {
        self.sink.append(entry.encode(self.extent));
    }

    /// Records an input. Returns it as a replay passes it to the SM.
    fn record(&mut self, input: Input, now: Instant) -> Input {
        let Input::Replica(ReplicaEvent::Loaded(loaded)) = input else {
            self.append_input(RecordedInput::new(&input, &self.digest), now);
            return input;
        };
        let load = loaded.load;
        let complete = loaded.complete;
        let both = loaded
            .restored
            .map(|restored| RecordedRestored::with_replayed(*restored));
        let (recorded, replayed) = both.unzip();
        let recorded = RecordedInput::ReplicaLoaded {
            load,
            complete,
            restored: recorded.map(Box::new),
        };
        self.append_input(recorded, now);
        Input::Replica(ReplicaEvent::Loaded(LoadedReplica {
            restored: replayed.map(Box::new),
            ..loaded
        }))
    }

    fn append_input(&mut self, input: RecordedInput<&Input>, now: Instant) {
        let mut before = self.take_outputs();
        self.undigested += 1;
        if self.extent == RecordingExtent::Traffic && self.undigested < INPUTS_PER_DIGEST {
            before.digest = Outputs::NO_DIGEST;
        } else {
            self.undigested = 0;
        }
        let entry = Entry::Input {
            before,
            now_ns: now.as_nanos(),
            input,
        };
        self.append(&entry);
    }

    fn take_outputs(&mut self) -> Outputs {
        Outputs {
            polls: core::mem::replace(&mut self.polls, 0),
            digest: self.digest.value(),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let end = Entry::End(self.take_outputs());
        self.append(&end);
    }
}

impl<I: Serialize> Entry<I> {
    /// The entry with its header.
    fn encode(&self, extent: RecordingExtent) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ENTRY_HEADER + USUAL_ENTRY);
        bytes.extend_from_slice(&[0; ENTRY_HEADER]);
        // Serialisation cannot fail: `RecordedInput::Whole` never contains a variant that serde
        // skips.
        let mut bytes = postcard::to_extend(self, bytes).unwrap_or_default();
        write_header(&mut bytes, extent);
        bytes
    }
}

/// Writes the header of an entry, in front of its payload.
fn write_header(entry: &mut [u8], extent: RecordingExtent) {
    let Some((header, payload)) = entry.split_first_chunk_mut::<ENTRY_HEADER>() else {
        return;
    };
    // saturates: readers stop at an entry that is longer than the recording.
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let checksum = match extent {
        RecordingExtent::Everything => digest::hash(payload),
        RecordingExtent::Traffic => NO_CHECKSUM,
    };
    header[..4].copy_from_slice(&len.to_le_bytes());
    header[4..].copy_from_slice(&checksum.to_le_bytes());
}
