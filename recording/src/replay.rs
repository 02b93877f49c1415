//! Replays a recording: the same inputs into a new [`SubnetManager`], whose outputs must be the
//! same.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::time::Instant;

use crate::digest::{OutputDigest, hash};
use crate::entry::{Entry, Outputs, RecordedInput, RecordingStart};
use crate::{ENTRY_HEADER, MAGIC, NO_CHECKSUM, VERSION};
use ferrosm_core::{Input, LoadedReplica, Output, ReplicaEvent, RoutingJob, SubnetManager};

/// The end of a recording whose outputs were all reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Regular end.
    Complete,
    /// It ends at this byte, after or within an entry: the SM was killed, or the recording stopped.
    Truncated(usize),
}

/// Why a recording cannot be replayed, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayError {
    NotARecording,
    /// It is of this version of the format.
    Version(u16),
    /// The entry at this byte is damaged; all before it was reproduced.
    Damaged {
        /// Offset of the entry, in bytes.
        offset: usize,
        /// The fault.
        why: String,
    },
    /// The outputs differ from those of the recorded SM.
    OutputsDiffer {
        /// Number of the entry, from 0, before which the outputs differ.
        entry: u64,
        /// Time of the input that preceded them.
        since: Instant,
    },
    /// A routing job has another result than that of the recorded SM.
    RoutingDiffers {
        /// The entry with the result.
        entry: u64,
        /// Number of the job.
        job: u64,
        /// Time of the result.
        now: Instant,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecording => f.write_str("not a recording of ferrosm"),
            Self::Version(found) => write!(
                f,
                "recording has format version {found}, this program reads version {VERSION}"
            ),
            Self::Damaged { offset, why } => {
                write!(f, "entry at byte {offset} is damaged: {why}")
            }
            Self::OutputsDiffer { entry, since } => write!(
                f,
                "outputs differ before entry {entry}, after the input at {since:?}"
            ),
            Self::RoutingDiffers { entry, job, now } => write!(
                f,
                "result of routing job {job} differs (entry {entry}, at {now:?})"
            ),
        }
    }
}

impl core::error::Error for ReplayError {}

/// A recording being replayed.
#[derive(Debug)]
pub struct Replay<'a> {
    recording: &'a [u8],
    /// Offset of the next entry.
    offset: usize,
    /// Number of the next entry.
    entry: u64,
    program: String,
    source: String,
    now: Instant,
    manager: SubnetManager,
    digest: OutputDigest,
    /// Jobs whose results have not arrived, by number.
    jobs: BTreeMap<u64, Box<RoutingJob>>,
}

impl<'a> Replay<'a> {
    /// Reads the start of a recording.
    ///
    /// # Errors
    /// If it is not a recording, of another version, or damaged before the SM starts.
    pub fn open(recording: &'a [u8]) -> Result<Self, ReplayError> {
        let (start, offset) = read_start(recording)?;
        Self::from_start(recording, start, offset)
    }

    /// A replay from this start, whose first entry is at `offset`.
    pub(crate) fn from_start(
        recording: &'a [u8],
        start: RecordingStart,
        offset: usize,
    ) -> Result<Self, ReplayError> {
        let RecordingStart {
            program,
            source,
            extent,
            now_ns,
            cfg,
            restored,
        } = start;
        let restored = restored
            .restore()
            .map_err(|why| ReplayError::Damaged { offset, why })?;
        let now = Instant::from_nanos(now_ns);
        Ok(Self {
            recording,
            offset,
            entry: 1,
            program,
            source,
            now,
            manager: SubnetManager::new(cfg, restored, now),
            digest: OutputDigest::new(extent),
            jobs: BTreeMap::new(),
        })
    }

    /// Version of the program that recorded.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The recorder's description of the run.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Entries that were replayed.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entry
    }

    /// Time of the last input.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Replays everything, and passes each output with its time to `on_output`.
    ///
    /// # Errors
    /// Where outputs or the result of a routing job differ, or an entry is damaged. Everything
    /// before is reproduced.
    pub fn run(
        &mut self,
        on_output: &mut dyn FnMut(Instant, &Output),
    ) -> Result<Ending, ReplayError> {
        loop {
            let at = self.offset;
            let read = read_entry(self.recording, at).map_err(|reason| self.damaged(reason))?;
            let Some((entry, next)) = read else {
                return Ok(Ending::Truncated(at));
            };
            match entry {
                Entry::Start(_) => return Err(self.damaged("a second start".to_owned())),
                Entry::Replication(timeout) => self.enable_replication(timeout),
                Entry::Input {
                    before,
                    now_ns,
                    input,
                } => {
                    self.check_outputs(before, on_output)?;
                    self.handle(input, now_ns)?;
                }
                Entry::End(before) => {
                    self.check_outputs(before, on_output)?;
                    self.entry += 1;
                    return Ok(Ending::Complete);
                }
            }
            (self.offset, self.entry) = (next, self.entry + 1);
        }
    }

    /// The subnet manager, as far as it is replayed.
    #[must_use]
    pub const fn manager(&self) -> &SubnetManager {
        &self.manager
    }

    pub(crate) const fn enable_replication(&mut self, timeout: Duration) {
        self.manager.enable_replication(timeout);
    }

    /// Digest of all outputs so far.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.value()
    }

    pub(crate) fn handle(
        &mut self,
        input: RecordedInput<Input>,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        self.now = Instant::from_nanos(now_ns);
        let input = self.input(input)?;
        self.manager.handle(input, self.now);
        Ok(())
    }

    fn check_outputs(
        &mut self,
        before: Outputs,
        on_output: &mut dyn FnMut(Instant, &Output),
    ) -> Result<(), ReplayError> {
        self.poll_outputs(before, on_output);
        if before.digest == Outputs::NO_DIGEST || self.digest.value() == before.digest {
            return Ok(());
        }
        Err(ReplayError::OutputsDiffer {
            entry: self.entry,
            since: self.now,
        })
    }

    pub(crate) fn poll_outputs(
        &mut self,
        before: Outputs,
        on_output: &mut dyn FnMut(Instant, &Output),
    ) {
        for _ in 0..before.polls {
            let Some(output) = self.manager.poll_output() else {
                continue;
            };
            on_output(self.now, &output);
            self.digest.add(&output);
            if let Output::Compute(mut job) = output {
                // The recorded result may precede the SM abandoning the job; replay computes it
                // only when it is needed, so the job must not be cancelled.
                job.detach();
                self.jobs.insert(job.id, job);
            }
        }
    }

    fn input(&mut self, input: RecordedInput<Input>) -> Result<Input, ReplayError> {
        match input {
            RecordedInput::Whole(input) => Ok(input),
            RecordedInput::ReplicaLoaded {
                load,
                complete,
                restored,
            } => {
                let restored = restored
                    .map(|restored| restored.restore())
                    .transpose()
                    .map_err(|reason| self.damaged(reason))?;
                Ok(Input::Replica(ReplicaEvent::Loaded(LoadedReplica {
                    load,
                    complete,
                    restored: restored.map(Box::new),
                })))
            }
            RecordedInput::RoutingComputed { job, digest } => {
                let computed = self
                    .jobs
                    .remove(&job)
                    .and_then(|job| job.run())
                    .ok_or_else(|| {
                        self.damaged(format!("result of routing job {job}, which is unknown"))
                    })?;
                if self.digest.of_result(&computed) != digest {
                    return Err(ReplayError::RoutingDiffers {
                        entry: self.entry,
                        job,
                        now: self.now,
                    });
                }
                Ok(Input::RoutingComputed(Box::new(computed)))
            }
        }
    }

    const fn damaged(&self, reason: String) -> ReplayError {
        ReplayError::Damaged {
            offset: self.offset,
            why: reason,
        }
    }
}

/// The start of a recording, and the offset of the next entry.
pub(crate) fn read_start(recording: &[u8]) -> Result<(RecordingStart, usize), ReplayError> {
    let remaining = recording
        .strip_prefix(MAGIC)
        .ok_or(ReplayError::NotARecording)?;
    let version = remaining
        .first_chunk()
        .map(|bytes| u16::from_le_bytes(*bytes))
        .ok_or(ReplayError::NotARecording)?;
    if version != VERSION {
        return Err(ReplayError::Version(version));
    }
    let offset = MAGIC.len() + size_of_val(&version);
    let first =
        read_entry(recording, offset).map_err(|why| ReplayError::Damaged { offset, why })?;
    match first {
        Some((Entry::Start(start), next)) => Ok((*start, next)),
        Some(_) | None => Err(ReplayError::Damaged {
            offset,
            why: "the recording has no start".to_owned(),
        }),
    }
}

/// The entry at an offset, and the offset of the next; `None` if the recording ends before the
/// entry does.
pub(crate) fn read_entry(
    recording: &[u8],
    offset: usize,
) -> Result<Option<(Entry, usize)>, String> {
    let Some(payload) = payload(recording.get(offset..).unwrap_or_default()) else {
        return Ok(None);
    };
    let (payload, digest) = payload;
    if digest != NO_CHECKSUM && hash(payload) != digest {
        return Err("checksum does not match".to_owned());
    }
    let (entry, rest) = postcard::take_from_bytes(payload).map_err(|e| e.to_string())?;
    if !rest.is_empty() {
        return Err("bytes after its end".to_owned());
    }
    Ok(Some((entry, offset + ENTRY_HEADER + payload.len())))
}

/// Payload and digest of the entry that these bytes begin with.
fn payload(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (len, bytes) = bytes.split_first_chunk()?;
    let (digest, bytes) = bytes.split_first_chunk()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    Some((bytes.get(..len)?, u64::from_le_bytes(*digest)))
}
