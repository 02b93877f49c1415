//! Read-only access to a state directory, for `ferrosm state show` and `export`.
//!
//! The records are those that a start would restore. A running subnet manager is not disturbed: a
//! copy of its store is read. An unreadable store is an error and stays in place; only a start
//! renames it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use ferrosm_core::records::RecordKey;

use super::read_only::{read_in_use, read_unused};
use super::store::{self, StoreContents, StoreError};
use super::{LOCK, is_view_record, lock_holder};
use crate::failure::Failure;

/// Contents of a state directory.
#[derive(Debug)]
pub struct StateInspection {
    records: Vec<(RecordKey, Box<[u8]>)>,
    last_batch: (u64, u64),
    damage: Vec<String>,
    user: Option<String>,
}

impl StateInspection {
    /// Reads a directory.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let lock = lock(dir)?;
        let failure = |e| read_failure(&dir.join(store::FILE), &e);
        let (contents, user) = match lock {
            DirLock::InUse => {
                let user = lock_holder(dir);
                let contents = read_in_use(dir).map_err(failure)?;
                (contents.ok_or_else(|| busy(&user))?, Some(user))
            }
            DirLock::Held(_) | DirLock::NoFile => (read_unused(dir).map_err(failure)?, None),
        };
        Ok(Self::from_contents(contents, user))
    }

    /// The process that uses the directory, such as `ferrosm (PID 7)`; `None` for none.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
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

    /// Damage of a readable store: records with a wrong checksum, which are not among
    /// [`Self::records`].
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    fn from_contents(contents: StoreContents, user: Option<String>) -> Self {
        let mut records = contents.records;
        if !contents.damage.is_empty() {
            // As at a start: records of the view are only valid together.
            records.retain(|(key, _)| !is_view_record(key));
        }
        Self {
            records,
            last_batch: (contents.sequence, contents.written_unix_s),
            damage: contents.damage,
            user,
        }
    }
}

/// The lock of a directory against writers.
enum DirLock {
    /// Closing the file releases the lock.
    Held(#[allow(dead_code, reason = "the open file is the lock")] File),
    /// No SM has used the directory.
    NoFile,
    /// Another process has locked the directory.
    InUse,
}

fn lock(dir: &Path) -> Result<DirLock, Failure> {
    let path = dir.join(LOCK);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(DirLock::NoFile),
        Err(e) => return Err(read_failure(&path, &StoreError::Io(e))),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(DirLock::Held(lock)),
        Err(TryLockError::WouldBlock) => Ok(DirLock::InUse),
        Err(TryLockError::Error(e)) => Err(read_failure(&path, &StoreError::Io(e))),
    }
}

fn busy(user: &str) -> Failure {
    Failure::with_hint(
        format!("{user} changed the records during each attempt to read them"),
        "Run the command again when fewer clients register with the service.",
    )
}

fn read_failure(path: &Path, e: &StoreError) -> Failure {
    let hint = match e {
        StoreError::Busy => "Close the program that has the file open, then try again.",
        StoreError::Unreadable(_) => {
            "The file is unchanged. The subnet manager renames it at its next start and starts without it."
        }
        StoreError::Io(_) => "Run as the user of the subnet manager.",
    };
    Failure::with_hint(format!("cannot read {}: {e}", path.display()), hint)
}
