//! `history.json` in the state directory: what was seen of the subnet, and the open alarms.
//!
//! It belongs to this host, so it is no record of the store, which replication copies to others. It
//! is replaced as a whole, at most every [`INTERVAL_MIN`], and less often if it is large. A crash
//! loses what changed since.

use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ferrosm_store::atomic;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::book::SavedAlarms;
use crate::api::seen::Seen;

/// Name of the file.
const FILE: &str = "history.json";
/// Name of a file that could not be read.
const DAMAGED: &str = "history.json.damaged";
/// Version of the format.
const VERSION: u32 = 1;
/// Largest file that is read, in bytes.
const LEN_MAX: u64 = 256 << 20;
/// Shortest time between two writes.
const INTERVAL_MIN: Duration = Duration::from_secs(30);
/// Bytes that are written per second on average.
const BYTES_PER_S: u64 = 100_000;
/// Time after which the file is written although nothing changed: what is there was seen until
/// then.
const REFRESH_AFTER: Duration = Duration::from_secs(3600);

/// What is kept across restarts.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedHistory {
    pub(super) version: u32,
    pub(super) alarms: SavedAlarms,
    pub(super) seen: Seen,
}

/// The file, and when it is written.
#[derive(Debug)]
pub(super) struct HistoryFile {
    dir: PathBuf,
    written: Option<Instant>,
    interval: Duration,
    has_failed: bool,
}

impl HistoryFile {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            written: None,
            interval: INTERVAL_MIN,
            has_failed: false,
        }
    }

    /// Reads the file. One that cannot be read is reported and renamed.
    pub(super) fn read(&self) -> SavedHistory {
        let path = self.dir.join(FILE);
        match read(&path) {
            Ok(saved) => saved,
            Err(error) if error.kind() == io::ErrorKind::NotFound => SavedHistory::default(),
            Err(error) => {
                let effect = "hosts and links that are gone, and alarms, are no longer known";
                warn!(file = %path.display(), %error, renamed = DAMAGED, effect, "unreadable history renamed");
                // If this fails, the next write replaces the file.
                let _ = std::fs::rename(&path, self.dir.join(DAMAGED));
                SavedHistory::default()
            }
        }
    }

    /// Whether it is time to write what changed, or to write again.
    pub(super) fn is_due(&self, has_changed: bool) -> bool {
        match self.written {
            None => has_changed,
            Some(written) => {
                let age = written.elapsed();
                (has_changed && age >= self.interval) || age >= REFRESH_AFTER
            }
        }
    }

    /// Replaces the file. Logs the first of several failures.
    pub(super) fn write(&mut self, saved: &SavedHistory) {
        let path = self.dir.join(FILE);
        let written = serde_json::to_vec(saved)
            .map_err(io::Error::other)
            .and_then(|bytes| {
                atomic::write_private(&path, |out| out.write_all(&bytes))?;
                Ok(bytes.len() as u64)
            });
        self.written = Some(Instant::now());
        match written {
            Ok(len) => {
                self.has_failed = false;
                self.interval = INTERVAL_MIN.max(Duration::from_secs(len / BYTES_PER_S));
            }
            Err(error) => {
                if !core::mem::replace(&mut self.has_failed, true) {
                    let effect = "a restart forgets hosts and links that are gone, and alarms";
                    warn!(file = %path.display(), %error, effect, "cannot write history");
                }
            }
        }
    }
}

impl SavedHistory {
    pub(super) const fn new(alarms: SavedAlarms, seen: Seen) -> Self {
        Self {
            version: VERSION,
            alarms,
            seen,
        }
    }
}

fn read(path: &Path) -> io::Result<SavedHistory> {
    let len = std::fs::metadata(path)?.len();
    if len > LEN_MAX {
        let message = format!("{len} bytes, more than {LEN_MAX}");
        return Err(io::Error::other(message));
    }
    let saved: SavedHistory = serde_json::from_slice(&std::fs::read(path)?)?;
    match saved.version {
        VERSION => Ok(saved),
        other => Err(io::Error::other(format!(
            "format {other} of another version"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read back; anything else is renamed, and a new file is begun.
    #[test]
    fn damaged_file_is_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = HistoryFile::new(dir.path());
        assert_eq!(file.read(), SavedHistory::default());
        assert!(file.is_due(true) && !file.is_due(false));
        let saved = SavedHistory::new(SavedAlarms::default(), Seen::default());
        file.write(&saved);
        assert!(!file.is_due(true));
        assert_eq!(file.read(), saved);
        let path = dir.path().join(FILE);
        for damaged in ["{\"version\":1,\"alarms\":{\"last", "{\"version\":2}", ""] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(file.read(), SavedHistory::default(), "{damaged}");
            assert!(!path.exists());
            let kept = std::fs::read_to_string(dir.path().join(DAMAGED));
            assert_eq!(kept.unwrap(), damaged);
        }
    }
}
