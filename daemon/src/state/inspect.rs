//! Read-only access to a state directory, for `ferrosm state show` and `export`.
//!
//! The records are those that a start would restore. An unreadable store is an error and stays in place; only a start renames it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use ferrosm_core::records::RecordKey;

use super::store::{self, StoreContents, StoreError};
use super::{LOCK, in_use, is_view_record};
use crate::failure::Failure;

/// Contents of a state directory.
#[derive(Debug)]
pub struct StateInspection {
    records: Vec<(RecordKey, Box<[u8]>)>,
    last_batch: (u64, u64),
    damage: Vec<String>,
}

impl StateInspection {
    /// Reads a directory that no process uses.
    ///
    /// # Errors
    /// Another process uses it, or a file cannot be read.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let _lock = lock(dir)?;
        let contents =
            store::read_only(dir).map_err(|e| read_failure(&dir.join(store::FILE), &e))?;
        Ok(Self::from_contents(contents))
    }

    /// All records, ordered by key.
    #[must_use]
    pub fn records(&self) -> &[(RecordKey, Box<[u8]>)] {
        &self.records
    }

    /// Number of the last batch, and its time in seconds since 1970; zeros in an empty store.
    #[must_use]
    pub const fn last_batch(&self) -> (u64, u64) {
        self.last_batch
    }

    /// Damage of a readable store: records with a wrong checksum, which are not among [`Self::records`].
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    fn from_contents(contents: StoreContents) -> Self {
        let mut records = contents.records;
        if !contents.damage.is_empty() {
            // As at a start: records of the view are only valid together.
            records.retain(|(key, _)| !is_view_record(key));
        }
        Self {
            records,
            last_batch: (contents.sequence, contents.written_unix_s),
            damage: contents.damage,
        }
    }
}

/// Locks the directory against writers; `None` if it has no lock file, because no SM has used it.
fn lock(dir: &Path) -> Result<Option<File>, Failure> {
    let path = dir.join(LOCK);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(read_failure(&path, &StoreError::Io(e))),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(in_use(dir)),
        Err(TryLockError::Error(e)) => Err(read_failure(&path, &StoreError::Io(e))),
    }
}

fn read_failure(path: &Path, e: &StoreError) -> Failure {
    let hint = match e {
        StoreError::Busy => "Stop that process, or name another directory with --state-dir.",
        StoreError::Unreadable(_) => {
            "The file is unchanged. The subnet manager renames it at its next start and starts without it."
        }
        StoreError::Io(_) => "Run as the user of the subnet manager.",
    };
    Failure::with_hint(format!("cannot read {}: {e}", path.display()), hint)
}
