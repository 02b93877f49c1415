//! What is kept over restarts: `store.redb` in the state directory, record by record ([`ferrosm_core::records`]).
//!
//! | module | what it holds |
//! |---|---|
//! | this | the directory: whose it is, what is in it |
//! | `store` | the file: batches in, all records out |
//! | [`look`] | the directory seen, and left as it is |
//! | [`writer`] | the thread that writes; `order` is what it is asked for |
//! | `durable` | what is durable |
//! | [`warm`] | the records as [`ferrosm_replication`] wants them |
//! | [`text`] | records as lines of JSON, for people and for `ferrosm state import` |
//!
//! One process at a time: the directory's lock file is held as long as a [`StateDir`] or its [`StateWriter`] lives. A broken file is set
//! aside and told, never a reason not to run; of one that is whole but for some records, the others are taken over.

mod crash_marker;
mod durability;
pub mod export;
pub mod inspect;
pub mod replica_store;
mod request;
mod store;
pub mod writer;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use ferrosm_core::RestoredState;
use ferrosm_core::records::{
    RecordBatch, RecordChange, RecordKey, RecordKind, RecordRestorer, SkippedRecord,
};
use ferrosm_replication::Position;
use tracing::{info, warn};

use crate::failure::Failure;
pub use durability::{CommitObserver, DurabilityTracker};
pub use inspect::StateInspection;
pub use replica_store::ReplicaStore;
use store::{Store, StoreContents, StoreError};
pub use writer::{PersistRequest, StateWriter};

const LOCK: &str = "lock";
/// For its owner only.
const LOCK_MODE: u32 = 0o600;

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    store: Store,
    contents: StoreContents,
    /// The lock goes with the file.
    _lock: File,
}

/// Seconds since 1970.
pub(crate) fn unix_s(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What a subnet manager starts with from records, and what had to be left out.
#[must_use]
pub fn restore(
    records: &[(RecordKey, Box<[u8]>)],
    now: SystemTime,
) -> (RestoredState, Vec<SkippedRecord>) {
    let mut restorer = RecordRestorer::new(unix_s(now));
    for (key, value) in records {
        restorer.put(key, value);
    }
    restorer.finish()
}

impl StateDir {
    /// Creates the directory where it is missing, takes its lock, and reads what is in it. A broken store is set aside with a
    /// warning.
    ///
    /// # Errors
    /// If it cannot be created, read or written, or another process holds it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let refuse = |e: io::Error, what: &str| {
            let hint = if e.kind() == io::ErrorKind::PermissionDenied {
                "Run as a user who may write there, or name another directory with --state-dir."
            } else {
                "Name a directory with --state-dir or files.state-dir."
            };
            Failure::with_hint(
                format!("cannot {what} state directory {}: {e}", path.display()),
                hint,
            )
        };
        std::fs::create_dir_all(path).map_err(|e| refuse(e, "create"))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(LOCK_MODE)
            .open(path.join(LOCK))
            .map_err(|e| refuse(e, "write to"))?;
        // Who may open it may lock it. One that an earlier version made is open to more, and is another's at worst.
        let _ = lock.set_permissions(Permissions::from_mode(LOCK_MODE));
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(in_use(path));
            }
            Err(TryLockError::Error(e)) => return Err(refuse(e, "lock")),
        }
        let mut dir = Self {
            path: path.to_owned(),
            store: Store::new(path),
            contents: StoreContents::default(),
            _lock: lock,
        };
        dir.load()?;
        Ok(dir)
    }

    /// What the last run kept. Records that cannot be are left out with a warning, and removed.
    pub fn restored(&mut self) -> RestoredState {
        let (mut restored, left_out) = restore(&self.contents.records, SystemTime::now());
        if self.contents.is_copy() {
            // What its master acknowledged since is not here; alone, nobody can tell what that was.
            restored.complete = false;
            info!("state is a replica of another SM");
        }
        let mut changes = Vec::new();
        for record in left_out {
            warn!(reason = %record, "invalid record skipped");
            if record.key.kind().is_some() {
                changes.push(RecordChange::Remove(record.key));
            }
        }
        if !changes.is_empty() && !restored.complete {
            // Another start before all is well again does not see any more that something is missing.
            changes.push(RecordChange::Clear(RecordKind::ViewHead));
        }
        if !changes.is_empty()
            && let Err(e) = self.commit_by_hand(&RecordBatch { changes }, self.contents.is_copy())
        {
            // They are left out again the next time.
            warn!(error = %e, "cannot remove invalid records");
        }
        restored
    }

    /// Whether somebody else may have newer records: there are none here, or they are a copy.
    #[must_use]
    pub fn may_be_incomplete(&self) -> bool {
        self.contents.is_copy() || self.contents.records.is_empty()
    }

    /// All records, in the order of their keys.
    #[must_use]
    pub fn records(&self) -> &[(RecordKey, Box<[u8]>)] {
        &self.contents.records
    }

    /// Number of the last batch, and when it was written, in seconds since 1970; zeros in an empty store.
    #[must_use]
    pub const fn last_batch(&self) -> (u64, u64) {
        (self.contents.sequence, self.contents.written_unix_s)
    }

    /// Carries a batch out, all of it or nothing. When this returns, it is on the disk.
    ///
    /// # Errors
    /// What the system said.
    pub fn commit(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.commit_by_hand(batch, false)
    }

    fn commit_by_hand(&mut self, batch: &RecordBatch, still_copy: bool) -> Result<(), Failure> {
        let now = SystemTime::now();
        // Whoever changes records by hand leaves the history that they are of.
        let at = Position {
            epoch: 0,
            ..self.contents.next()
        };
        let led = u64::from(still_copy);
        self.store.led = led;
        let done = self.store.commit(batch, at, now);
        done.map_err(|e| self.refusal(&e))?;
        let records = core::mem::take(&mut self.contents.records);
        let mut records: BTreeMap<_, _> = records.into_iter().collect();
        batch.apply(&mut records);
        self.contents.records = records.into_iter().collect();
        (self.contents.epoch, self.contents.sequence) = (at.epoch, at.seq);
        self.contents.led = led;
        self.contents.written_unix_s = unix_s(now);
        Ok(())
    }

    /// Starts a thread that writes what it is sent, so that a slow disk never delays the subnet.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn writer(self) -> io::Result<StateWriter> {
        StateWriter::start(self)
    }

    fn load(&mut self) -> Result<(), Failure> {
        match self.store.load() {
            Ok(contents) => {
                self.store.led = contents.led;
                self.contents = contents;
            }
            Err(StoreError::Bad(why)) => {
                let aside = self.set_aside_store()?;
                warn!(renamed_to = %aside.display(), reason = why, "unreadable store renamed");
            }
            Err(e) => return Err(self.refusal(&e)),
        }
        if self.contents.damage.is_empty() {
            return Ok(());
        }
        let still_copy = self.contents.is_copy();
        let aside = self.set_aside_store()?;
        let damage = core::mem::take(&mut self.contents.damage);
        for what in &damage {
            warn!(renamed_to = %aside.display(), damage = what, "damaged store renamed");
        }
        // Records of the view belong together; each of the others stands for itself.
        let records = core::mem::take(&mut self.contents.records);
        let whole = records.into_iter().filter(|(key, _)| !is_of_view(key));
        let put = |(key, value)| RecordChange::Put(key, value);
        let changes: Vec<RecordChange> = whole.map(put).collect();
        info!(records = changes.len(), "intact records recovered");
        self.commit_by_hand(&RecordBatch { changes }, still_copy)
    }

    fn set_aside_store(&mut self) -> Result<PathBuf, Failure> {
        self.store.close();
        self.set_aside(store::FILE)
    }

    fn set_aside(&self, file: &str) -> Result<PathBuf, Failure> {
        let path = self.path.join(file);
        let free = (1..u32::MAX)
            .map(|n| self.path.join(format!("{file}.broken-{n}")))
            .find(|aside| !aside.exists())
            .unwrap_or_else(|| self.path.join(format!("{file}.broken")));
        std::fs::rename(&path, &free)
            .with_context(|| format!("cannot set the broken file {} aside", path.display()))?;
        Ok(free)
    }

    fn refusal(&self, e: &StoreError) -> Failure {
        let path = self.path.join(store::FILE);
        let hint = match e {
            StoreError::Busy => "Stop that process, or name another directory with --state-dir.",
            StoreError::Bad(_) | StoreError::Io(_) => {
                "The user that runs this must be able to read and write it."
            }
        };
        Failure::with_hint(format!("cannot use {}: {e}", path.display()), hint)
    }
}

fn in_use(path: &Path) -> Failure {
    Failure::with_hint(
        format!("another ferrosm uses state directory {}", path.display()),
        "Stop it, or give this one its own with --state-dir.",
    )
}

/// Whether a record counts only together with others.
fn is_of_view(key: &RecordKey) -> bool {
    key.kind().is_some_and(is_view)
}

/// Whether records of a kind count only together.
pub(crate) const fn is_view(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::View | RecordKind::ViewHead)
}

#[cfg(test)]
mod tests;
