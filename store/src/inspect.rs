//! Read-only access to a state directory, for `ferrosm state show` and `export`.
//!
//! The records are those that a start would restore. A running subnet manager is not disturbed: a
//! copy of its store is read. An unreadable store is an error and stays in place; only a start
//! renames it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use ferrosm_core::records::RecordKey;

use crate::dir::{LOCK, lock_holder};
use crate::error::StateError;
use crate::file::{FILE, StoreContents, StoreError};
use crate::read_only::{read_in_use, read_unused};

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
    pub fn open(dir: &Path) -> Result<Self, StateError> {
        let lock = lock(dir)?;
        let error = |source| inspect_error(dir.join(FILE), source);
        let (contents, user) = match lock {
            DirLock::InUse => {
                let user = lock_holder(dir);
                match read_in_use(dir).map_err(error)? {
                    Some(contents) => (contents, Some(user)),
                    None => return Err(StateError::Changing { user }),
                }
            }
            DirLock::Held(_) | DirLock::NoFile => (read_unused(dir).map_err(error)?, None),
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
            records.retain(|(key, _)| !key.is_of_view());
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

fn lock(dir: &Path) -> Result<DirLock, StateError> {
    let path = dir.join(LOCK);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(DirLock::NoFile),
        Err(e) => return Err(inspect_error(path, StoreError::Io(e))),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(DirLock::Held(lock)),
        Err(TryLockError::WouldBlock) => Ok(DirLock::InUse),
        Err(TryLockError::Error(e)) => Err(inspect_error(path, StoreError::Io(e))),
    }
}

fn inspect_error(file: PathBuf, source: StoreError) -> StateError {
    StateError::Inspect { file, source }
}
