//! What is in a state directory, seen without changing anything in it: for `ferrosm state show` and `export`.
//!
//! It is what a start would begin with. A store that cannot be read is an error here, and stays where it is: only who goes on without
//! it sets it aside.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use ferrosm_core::records::RecordKey;

use super::store::{self, StoreContents, StoreError};
use super::{LOCK, in_use, is_of_view};
use crate::failure::Failure;

/// What was seen.
#[derive(Debug)]
pub struct StateInspection {
    records: Vec<(RecordKey, Box<[u8]>)>,
    last_batch: (u64, u64),
    damage: Vec<String>,
}

impl StateInspection {
    /// Reads a directory that nobody uses.
    ///
    /// # Errors
    /// If another process uses it, or something in it cannot be read.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let _lock = lock(dir)?;
        let contents = store::look(dir).map_err(|e| refusal(&dir.join(store::FILE), &e))?;
        Ok(Self::of(contents))
    }

    /// All records, in the order of their keys.
    #[must_use]
    pub fn records(&self) -> &[(RecordKey, Box<[u8]>)] {
        &self.records
    }

    /// Number of the last batch, and when it was written, in seconds since 1970; zeros where nothing was kept yet.
    #[must_use]
    pub const fn last_batch(&self) -> (u64, u64) {
        self.last_batch
    }

    /// What is wrong with the store, although it could be read: records that are not whole are not among [`Self::records`].
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    fn of(contents: StoreContents) -> Self {
        let mut records = contents.records;
        if !contents.damage.is_empty() {
            // As a start does.
            records.retain(|(key, _)| !is_of_view(key));
        }
        Self {
            records,
            last_batch: (contents.sequence, contents.written_unix_s),
            damage: contents.damage,
        }
    }
}

/// Nobody writes in the directory as long as this lives. Where no lock was ever made, nobody has been there.
fn lock(dir: &Path) -> Result<Option<File>, Failure> {
    let path = dir.join(LOCK);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(refusal(&path, &StoreError::Io(e))),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(in_use(dir)),
        Err(TryLockError::Error(e)) => Err(refusal(&path, &StoreError::Io(e))),
    }
}

fn refusal(path: &Path, e: &StoreError) -> Failure {
    let hint = match e {
        StoreError::Busy => "Stop that process, or name another directory with --state-dir.",
        StoreError::Bad(_) => {
            "It stays as it is. A start of the subnet manager sets it aside, and begins without it."
        }
        StoreError::Io(_) => "Run as the user that the subnet manager runs as.",
    };
    Failure::with_hint(format!("cannot read {}: {e}", path.display()), hint)
}
