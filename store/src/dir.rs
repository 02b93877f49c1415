//! The state directory: its lock, its store, and the recovery of an unreadable or damaged store.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_core::RestoredState;
use ferrosm_core::records::{
    RecordBatch, RecordChange, RecordKey, RecordKind, RecordRestorer, SkippedRecord,
};
use ferrosm_replication::Position;
use tracing::{info, warn};

use crate::atomic;
use crate::error::StateError;
use crate::file::{FILE, Store, StoreContents, StoreError, unix_s};

/// Name of the lock file. It contains the PID of the process that has locked it last.
pub(crate) const LOCK: &str = "lock";
/// What an operator can do about a lost store.
const GO_ON: &str =
    "check the disk; to return to a backup, stop the service and use `ferrosm state restore FILE`";
/// The lock file is accessible to its owner only.
const LOCK_MODE: u32 = 0o600;

/// A state directory that this process has locked.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    pub(crate) store: Store,
    pub(crate) contents: StoreContents,
    /// Closing the file releases the lock.
    _lock: File,
}

/// The restored state of records, and the invalid records that were skipped.
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
    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory if missing, locks it, and reads the store. An unreadable store is
    /// renamed with a warning.
    ///
    /// # Errors
    /// The directory cannot be created, read or written, or another process has locked it.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let mut dir = Self {
            _lock: Self::lock(path)?,
            path: path.to_owned(),
            store: Store::new(path),
            contents: StoreContents::default(),
        };
        dir.load()?;
        Ok(dir)
    }

    /// Creates the directory if missing, and locks it until the file is closed.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn lock(path: &Path) -> Result<File, StateError> {
        let error = |action| {
            move |source| StateError::Directory {
                action,
                dir: path.to_owned(),
                source,
            }
        };
        std::fs::create_dir_all(path).map_err(error("create"))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(LOCK_MODE)
            .open(path.join(LOCK))
            .map_err(error("write to"))?;
        // Every user that can open the file can lock it and prevent a start. The file may have been
        // created with a wider mode.
        let _ = lock.set_permissions(Permissions::from_mode(LOCK_MODE));
        let _ = atomic::give_to_owner_of(path, &lock);
        lock.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => StateError::InUse {
                user: lock_holder(path),
                dir: path.to_owned(),
            },
            TryLockError::Error(e) => error("lock")(e),
        })?;
        // Only messages contain the PID.
        let _ = lock
            .set_len(0)
            .and_then(|()| write!(&lock, "{}", std::process::id()));
        Ok(lock)
    }

    /// The persisted state of the last run. Invalid records are skipped with a warning, and
    /// removed.
    pub fn restored(&mut self) -> RestoredState {
        let (mut restored, skipped) = restore(&self.contents.records, SystemTime::now());
        if self.contents.may_be_outdated() {
            // Records that its master acknowledged later are missing.
            restored.complete = false;
            info!("state is a replica of another SM");
        }
        let mut changes = Vec::new();
        for record in skipped {
            warn!(reason = %record, "invalid record skipped");
            if record.key.kind().is_some() {
                changes.push(RecordChange::Remove(record.key));
            }
        }
        if !changes.is_empty() && !restored.complete {
            // The next start finds no invalid records. Without the head of the view, it still
            // treats the records as incomplete.
            changes.push(RecordChange::Clear(RecordKind::ViewHead));
        }
        if !changes.is_empty()
            && let Err(e) = self
                .commit_outside_history(&RecordBatch { changes }, self.contents.may_be_outdated())
        {
            // They are skipped again at the next start.
            warn!(error = %e, "cannot remove invalid records");
        }
        restored
    }

    /// Whether another node may have newer records: the store is empty, or a replica.
    #[must_use]
    pub fn may_be_incomplete(&self) -> bool {
        self.contents.may_be_outdated() || self.contents.records.is_empty()
    }

    /// All records, ordered by key.
    #[must_use]
    pub fn records(&self) -> &[(RecordKey, Box<[u8]>)] {
        &self.contents.records
    }

    /// Number of the last batch, and its time in seconds since 1970; both are 0 in an empty store.
    #[must_use]
    pub const fn last_batch(&self) -> (u64, u64) {
        (self.contents.sequence, self.contents.written_unix_s)
    }

    /// Commits a batch atomically. It is on disk when this returns.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn commit(&mut self, batch: &RecordBatch) -> Result<(), StateError> {
        self.commit_outside_history(batch, false)
    }

    fn commit_outside_history(
        &mut self,
        batch: &RecordBatch,
        may_be_outdated: bool,
    ) -> Result<(), StateError> {
        let now = SystemTime::now();
        // The change is not part of any history: a replica with these records is not in sync with a
        // master.
        let at = Position {
            epoch: 0,
            ..self.contents.next()
        };
        // 0 equals the epoch of `at`: the records are those of this node, not a replica.
        let own_epoch = u64::from(may_be_outdated);
        self.store.own_epoch = own_epoch;
        let result = self.store.commit(batch, at, now);
        result.map_err(|e| self.store_error(e))?;
        let mut records: BTreeMap<_, _> = core::mem::take(&mut self.contents.records)
            .into_iter()
            .collect();
        batch.apply(&mut records);
        self.contents.records = records.into_iter().collect();
        (self.contents.epoch, self.contents.sequence) = (at.epoch, at.seq);
        self.contents.own_epoch = own_epoch;
        self.contents.written_unix_s = unix_s(now);
        Ok(())
    }

    fn load(&mut self) -> Result<(), StateError> {
        match self.store.load() {
            Ok(contents) => {
                self.store.own_epoch = contents.own_epoch;
                self.contents = contents;
            }
            Err(StoreError::Unreadable(why)) => {
                let renamed_to = self.rename_unreadable_store()?;
                warn!(
                    renamed_to = %renamed_to.display(), reason = why,
                    lost = "LIDs of absent ports, changed M_Keys, registrations: hosts register again",
                    remedy = GO_ON, "unreadable store renamed"
                );
            }
            Err(e) => return Err(self.store_error(e)),
        }
        if self.contents.damage.is_empty() {
            return Ok(());
        }
        let may_be_outdated = self.contents.may_be_outdated();
        let renamed_to = self.rename_unreadable_store()?;
        let damage = core::mem::take(&mut self.contents.damage);
        for damage in &damage {
            warn!(
                renamed_to = %renamed_to.display(), damage, remedy = GO_ON,
                "damaged store renamed"
            );
        }
        // Records of the view are only valid together; all others are independent.
        let records = core::mem::take(&mut self.contents.records);
        let intact = records.into_iter().filter(|(key, _)| !key.is_of_view());
        let to_change = |(key, value)| RecordChange::Put(key, value);
        let changes: Vec<RecordChange> = intact.map(to_change).collect();
        info!(records = changes.len(), "intact records recovered");
        self.commit_outside_history(&RecordBatch { changes }, may_be_outdated)
    }

    /// Renames the store; returns its new name.
    pub(crate) fn rename_unreadable_store(&mut self) -> Result<PathBuf, StateError> {
        self.store.close();
        let file = self.path.join(FILE);
        let renamed_to = (1..u32::MAX)
            .map(|n| self.path.join(format!("{FILE}.broken-{n}")))
            .find(|path| !path.exists())
            .unwrap_or_else(|| self.path.join(format!("{FILE}.broken")));
        match std::fs::rename(&file, &renamed_to) {
            Ok(()) => Ok(renamed_to),
            Err(source) => Err(StateError::Rename { file, source }),
        }
    }

    fn store_error(&self, source: StoreError) -> StateError {
        StateError::Store {
            file: self.path.join(FILE),
            source,
        }
    }
}

/// The process that has locked a directory: `ferrosm (PID 7)`.
pub(crate) fn lock_holder(dir: &Path) -> String {
    let pid = std::fs::read_to_string(dir.join(LOCK)).unwrap_or_default();
    match pid.trim().parse::<u32>() {
        Ok(pid) => format!("ferrosm (PID {pid})"),
        // The process has just locked the file.
        Err(_) => "ferrosm".to_owned(),
    }
}
