//! Copies of recordings in which pseudonyms replace keys.
//!
//! An SM that replays a copy compares keys with the same results, and does the same. The digests of
//! outputs are computed again, because outputs contain keys.
//!
//! The proof of the SM_Key in Get(SMInfo) gets a pseudonym, too: it is not proven in the copy.

use std::io::{self, Write};

use ferrosm_core::{Input, SmConfig};

use crate::entry::{Entry, Outputs, RecordedInput, RecordingStart};
use crate::keys::KeyMask;
use crate::replay::{Replay, ReplayError, read_entry, read_start};
use crate::{MAGIC, VERSION};

/// Why a recording was not copied.
#[derive(Debug)]
pub enum MaskError {
    /// It cannot be replayed.
    Replay(ReplayError),
    /// The copy cannot be written.
    Write(io::Error),
}

impl core::fmt::Display for MaskError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Replay(error) => write!(f, "{error}"),
            Self::Write(error) => write!(f, "cannot write the copy: {error}"),
        }
    }
}

impl core::error::Error for MaskError {}

impl From<ReplayError> for MaskError {
    fn from(error: ReplayError) -> Self {
        Self::Replay(error)
    }
}

impl From<io::Error> for MaskError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes a copy of a recording without its keys. It replays the recording meanwhile. The copy ends
/// where the recording ends, or when `is_over` returns true; returns whether it is whole.
///
/// # Errors
/// The recording cannot be replayed with masked keys, or `out` cannot be written.
pub fn copy_masked(
    recording: &[u8],
    keys: &mut KeyMask,
    out: &mut dyn Write,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<bool, MaskError> {
    let (mut start, offset) = read_start(recording)?;
    replace_in_start(keys, &mut start);
    let extent = start.extent;
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let start = Entry::<Input>::Start(Box::new(start));
    out.write_all(&start.encode(extent))?;
    let Entry::Start(start) = start else {
        return Ok(false);
    };
    let mut replay = Replay::from_start(recording, *start, offset)?;
    let mut at = offset;
    while !is_over() {
        let read =
            read_entry(recording, at).map_err(|why| ReplayError::Damaged { offset: at, why });
        let Some((entry, next)) = read? else {
            return Ok(true);
        };
        at = next;
        let entry = match entry {
            Entry::Start(_) => return Ok(false),
            Entry::Replication(timeout) => {
                replay.enable_replication(timeout);
                Entry::<Input>::Replication(timeout)
            }
            Entry::End(before) => Entry::End(repeat_outputs(&mut replay, before)),
            Entry::Input {
                before,
                now_ns,
                mut input,
            } => {
                let before = repeat_outputs(&mut replay, before);
                replace_in_input(keys, &mut input);
                let entry = Entry::Input {
                    before,
                    now_ns,
                    input,
                };
                out.write_all(&entry.encode(extent))?;
                let Entry::Input { input, .. } = entry else {
                    return Ok(false);
                };
                replay.handle(input, now_ns)?;
                continue;
            }
        };
        out.write_all(&entry.encode(extent))?;
        if matches!(entry, Entry::End(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the outputs before an entry. Returns them with the digest of the masked ones.
fn repeat_outputs(replay: &mut Replay<'_>, before: Outputs) -> Outputs {
    replay.poll_outputs(before, &mut |_, _| {});
    let digest = match before.digest {
        Outputs::NO_DIGEST => Outputs::NO_DIGEST,
        _ => replay.digest(),
    };
    Outputs { digest, ..before }
}

fn replace_in_config(keys: &mut KeyMask, cfg: &mut SmConfig) {
    cfg.m_key = keys.of(cfg.m_key);
    cfg.sm_key = keys.of(cfg.sm_key);
}

fn replace_in_start(keys: &mut KeyMask, start: &mut RecordingStart) {
    replace_in_config(keys, &mut start.cfg);
    start.restored.replace_keys(keys);
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other inputs contain no keys"
)]
fn replace_in_input(keys: &mut KeyMask, input: &mut RecordedInput<Input>) {
    match input {
        RecordedInput::Whole(Input::Mad(received)) => {
            keys.replace_in_mad(received.mad.as_bytes_mut());
        }
        RecordedInput::Whole(Input::Gmp { bytes, .. }) => keys.replace_in_mad(bytes),
        RecordedInput::Whole(Input::Config(cfg)) => replace_in_config(keys, cfg),
        RecordedInput::ReplicaLoaded { restored, .. } => {
            if let Some(restored) = restored {
                restored.replace_keys(keys);
            }
        }
        RecordedInput::Whole(_) | RecordedInput::RoutingComputed { .. } => {}
    }
}
