//! `store.redb`: the records that outlive the subnet manager ([`ferrosm_core::records`]).
//!
//! Each batch is one transaction with a consecutive number. Every record has a checksum in addition
//! to those of redb's pages, and the store has a count and sum over all records, so that partial or
//! foreign contents are detected. An unreadable file ([`StoreError::Unreadable`]) is renamed by the
//! caller; one that cannot be accessed now is an error. The contents of records are opaque here.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, VERSION};
use ferrosm_replication::Position;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable};
use redb::{StorageBackend, StorageError};
use redb::{Table, TableDefinition, TableError, WriteTransaction};
use thiserror::Error;

use crate::atomic;
use crate::crash_marker::CrashMarker;

/// Name of the file.
pub(crate) const FILE: &str = "store.redb";
/// Version of the file layout, in addition to that of the records.
const LAYOUT: u8 = 2;
/// Page cache in bytes; records are read once, sequentially.
const CACHE: usize = 4 << 20;

/// Message for a file on which redb panicked.
pub(crate) const PANICKED: &str = "the storage library panicked on it";

/// Records, each followed by its checksum.
const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");
/// Metadata, each value followed by its checksum.
const METADATA: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");

const FORMAT: &str = "format";
const CHECKSUM: &str = "tally";
const EPOCH: &str = "epoch";
const SEQUENCE: &str = "sequence";
const OWN_EPOCH: &str = "led";
const WRITTEN: &str = "written-unix-s";

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file is damaged, foreign or of an earlier version.
    #[error("{0}")]
    Unreadable(String),
    /// A later version of ferrosm wrote the file.
    #[error("a later version of ferrosm wrote it: format {found} instead of {expected}")]
    Newer {
        /// The format of the file.
        found: String,
        /// The format of this version.
        expected: String,
    },
    /// Another process has it open.
    #[error("another process has it open")]
    Busy,
    /// I/O error.
    #[error(transparent)]
    Io(io::Error),
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io(e) => e,
            StoreError::Unreadable(_) | StoreError::Newer { .. } | StoreError::Busy => {
                Self::other(error)
            }
        }
    }
}

/// The store file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    /// Opened at the first use, and again after an error.
    database: Option<Database>,
    /// Whether a write succeeded since it was opened.
    verified: bool,
    /// Epoch of this node's last term as master, 0 for none; written with the next batch.
    pub(crate) own_epoch: u64,
}

/// Contents of a store.
#[derive(Debug, Default)]
pub(crate) struct StoreContents {
    /// Records with a valid checksum.
    pub(crate) records: Vec<(RecordKey, Box<[u8]>)>,
    /// History of the batches ([`ferrosm_replication`]); 0 for none.
    pub(crate) epoch: u64,
    /// Epoch of this node's last term as master; differs from `epoch` if the records are a replica
    /// or were superseded.
    pub(crate) own_epoch: u64,
    /// Number of the last batch; 0 before the first.
    pub(crate) sequence: u64,
    /// Time of the last batch, in seconds since 1970.
    pub(crate) written_unix_s: u64,
    /// Damage: records with a wrong checksum, or missing.
    pub(crate) damage: Vec<String>,
}

/// Number of records, and the sum of their checksums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RecordChecksum {
    count: u64,
    sum: u64,
}

impl RecordChecksum {
    fn add(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(u64::from(stored_checksum(value)));
    }

    fn remove(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(u64::from(stored_checksum(value)));
    }

    /// Inverse of [`Self::bytes`].
    fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            count: read_u64(bytes),
            sum: read_u64(bytes.get(8..).unwrap_or_default()),
        }
    }

    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }
}

impl StoreContents {
    /// Position in a history, if any.
    pub(crate) const fn position(&self) -> Option<Position> {
        let epoch = self.epoch;
        let seq = self.sequence;
        if epoch == 0 {
            return None;
        }
        Some(Position { epoch, seq })
    }

    /// Whether another node may have newer records.
    pub(crate) const fn may_be_outdated(&self) -> bool {
        self.own_epoch != self.epoch
    }

    /// Position of the next batch of the same history.
    pub(crate) const fn next(&self) -> Position {
        Position {
            epoch: self.epoch,
            seq: self.sequence + 1,
        }
    }
}

impl Store {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            path: dir.join(FILE),
            database: None,
            verified: false,
            own_epoch: 0,
        }
    }

    /// Reads the contents. Creates the file if missing.
    pub(crate) fn load(&mut self) -> Result<StoreContents, StoreError> {
        // redb reports damage as errors, but panics on some; both mean an unreadable file.
        let loaded = self.attempt("read", |store| store.open().and_then(read_contents));
        if loaded.is_err() {
            self.close();
        }
        loaded
    }

    /// Commits a batch atomically, at this position. It is on disk when this returns.
    pub(crate) fn commit(
        &mut self,
        batch: &RecordBatch,
        at: Position,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        self.commit_each(|apply| batch.changes.iter().try_for_each(apply), at, now)
    }

    /// [`Self::commit`] for changes that `produce` passes one by one.
    pub(crate) fn commit_each(
        &mut self,
        produce: impl FnOnce(&mut ApplyChange<'_>) -> Result<(), StoreError>,
        at: Position,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let result = self.attempt("written", |store| store.write(produce, at, now));
        self.verified = result.is_ok();
        if result.is_err() {
            self.close();
        }
        result
    }

    /// Uses the file, unless an earlier use panicked.
    fn attempt<T>(
        &mut self,
        action: &str,
        using: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A verified file needs no marker, which would cost more than the batch.
        let marker = (!self.verified).then(|| CrashMarker::new(&self.path));
        let result = if marker.as_ref().is_some_and(CrashMarker::arm) {
            unreadable(PANICKED)
        } else {
            // In builds whose panics unwind, the panic is caught here.
            catch_unwind(AssertUnwindSafe(|| using(self)))
                .unwrap_or_else(|_| Err(StoreError::Unreadable(format!("it cannot be {action}"))))
        };
        if let Some(marker) = marker {
            marker.disarm();
        }
        result
    }

    /// Closes the file; the next use opens it again.
    pub(crate) fn close(&mut self) {
        self.verified = false;
        // After an error, closing may panic as well.
        let database = self.database.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }

    fn open(&mut self) -> Result<&Database, StoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open(&self.path)?,
        };
        Ok(self.database.insert(database))
    }

    fn write(
        &mut self,
        produce: impl FnOnce(&mut ApplyChange<'_>) -> Result<(), StoreError>,
        at: Position,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let own_epoch = self.own_epoch;
        let transaction = self.open()?.begin_write().map_err(redb_error)?;
        write_changes(&transaction, produce, at, own_epoch, now)?;
        transaction.commit().map_err(redb_error)
    }
}

fn open(path: &Path) -> Result<Database, StoreError> {
    // Records hold M_Keys: the file is readable by its owner only.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(StoreError::Io)?;
    atomic::give_to_owner_of(atomic::dir_of(path), &file).map_err(StoreError::Io)?;
    open_in(FileBackend::new(file).map_err(database_error)?)
}

pub(crate) fn open_in(backend: impl StorageBackend) -> Result<Database, StoreError> {
    Builder::new()
        .set_cache_size(CACHE)
        .set_check_integrity_on_open(true)
        .create_with_backend(backend)
        .map_err(database_error)
}

#[allow(clippy::wildcard_enum_match_arm, reason = "redb may add errors")]
fn database_error(e: DatabaseError) -> StoreError {
    match e {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StoreError::Busy
        }
        DatabaseError::Storage(e) => storage_error(e),
        other => StoreError::Unreadable(other.to_string()),
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "redb may add errors")]
fn storage_error(e: StorageError) -> StoreError {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    match e {
        StorageError::Io(e) if matches!(e.kind(), InvalidData | UnexpectedEof) => {
            StoreError::Unreadable(e.to_string())
        }
        StorageError::Io(e) => StoreError::Io(e),
        StorageError::Corrupted(why) => StoreError::Unreadable(why),
        other => StoreError::Io(io::Error::other(other.to_string())),
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "redb may add errors")]
fn redb_error(e: impl Into<redb::Error>) -> StoreError {
    match e.into() {
        redb::Error::Corrupted(why) => StoreError::Unreadable(why),
        redb::Error::Io(e) => storage_error(StorageError::Io(e)),
        // A table of another type.
        e @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)) => StoreError::Unreadable(e.to_string()),
        other => StoreError::Io(io::Error::other(other.to_string())),
    }
}

pub(crate) fn unreadable<T>(reason: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Unreadable(reason.into()))
}

fn crc(key: &[u8], bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    // The length separates the key from the value.
    crc.update(&key.len().to_le_bytes());
    crc.update(key);
    crc.update(bytes);
    crc.finalize()
}

fn crc_metadata(name: &str, bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(name.as_bytes());
    crc.update(bytes);
    crc.finalize()
}

/// The checksum at the end of a value.
fn stored_checksum(value: &[u8]) -> u32 {
    value.last_chunk().map_or(0, |sum| u32::from_le_bytes(*sum))
}

/// A value without its checksum, if valid.
fn checked(value: &[u8], crc: impl FnOnce(&[u8]) -> u32) -> Option<&[u8]> {
    let (bytes, sum) = value.split_last_chunk()?;
    (crc(bytes) == u32::from_le_bytes(*sum)).then_some(bytes)
}

pub(crate) fn read_contents(database: &Database) -> Result<StoreContents, StoreError> {
    let mut contents = StoreContents::default();
    let transaction = database.begin_read().map_err(redb_error)?;
    let metadata = match transaction.open_table(METADATA) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(contents),
        table => table.map_err(redb_error)?,
    };
    let value_of = |name: &'static str| -> Result<Vec<u8>, StoreError> {
        let Some(value) = metadata.get(name).map_err(redb_error)? else {
            return unreadable(format!(
                "metadata `{name}` is missing: not a store of ferrosm"
            ));
        };
        match checked(value.value(), |bytes| crc_metadata(name, bytes)) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => unreadable(format!("the checksum of metadata `{name}` is wrong")),
        }
    };
    let format = value_of(FORMAT)?;
    if format != format_bytes() {
        let version = |b: &[u8]| b.iter().map(u8::to_string).collect::<Vec<_>>().join(".");
        let is_newer = format.as_slice() > format_bytes().as_slice();
        let found = version(&format);
        let expected = version(&format_bytes());
        if is_newer {
            return Err(StoreError::Newer { found, expected });
        }
        return unreadable(format!("format {found} instead of {expected}"));
    }
    let checksum = value_of(CHECKSUM)?;
    contents.epoch = read_u64(&value_of(EPOCH)?);
    contents.sequence = read_u64(&value_of(SEQUENCE)?);
    contents.own_epoch = read_u64(&value_of(OWN_EPOCH)?);
    contents.written_unix_s = read_u64(&value_of(WRITTEN)?);
    let records = match transaction.open_table(RECORDS) {
        Err(TableError::TableDoesNotExist(_)) => return unreadable("it has no records"),
        records => records.map_err(redb_error)?,
    };
    let mut computed = RecordChecksum::default();
    for record in records.iter().map_err(redb_error)? {
        let (key, value) = record.map_err(redb_error)?;
        let key = key.value();
        let value = value.value();
        computed.add(value);
        let valid = checked(value, |bytes| crc(key, bytes)).zip(RecordKey::from_bytes(key));
        match valid {
            Some((bytes, key)) => contents.records.push((key, bytes.into())),
            None => {
                let key = hex::encode(key);
                let damage = format!("record {key} is damaged");
                contents.damage.push(damage);
            }
        }
    }
    if checksum != computed.bytes() {
        let damage = "the number of records or the sum of their checksums is wrong";
        contents.damage.push(damage.to_owned());
    }
    Ok(contents)
}

/// Seconds since 1970.
#[must_use]
pub fn unix_s(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn read_u64(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n))
}

fn format_bytes() -> [u8; 2] {
    const {
        assert!(VERSION <= 0xFF);
    }
    [LAYOUT, VERSION.to_le_bytes()[0]]
}

/// Applies a change to the records of a transaction.
type ApplyChange<'a> = dyn FnMut(&RecordChange) -> Result<(), StoreError> + 'a;

fn write_changes(
    transaction: &WriteTransaction,
    produce: impl FnOnce(&mut ApplyChange<'_>) -> Result<(), StoreError>,
    at: Position,
    own_epoch: u64,
    now: SystemTime,
) -> Result<(), StoreError> {
    let mut metadata = transaction.open_table(METADATA).map_err(redb_error)?;
    let mut records = transaction.open_table(RECORDS).map_err(redb_error)?;
    let before = metadata.get(CHECKSUM).map_err(redb_error)?;
    let mut checksum = before
        .map(|v| RecordChecksum::from_bytes(v.value()))
        .unwrap_or_default();
    let mut value = Vec::new();
    produce(&mut |change| {
        match change {
            RecordChange::Clear(kind) => {
                let first = [*kind as u8];
                let end = [*kind as u8 + 1];
                let remove = |_: &[u8], value: &[u8]| {
                    checksum.remove(value);
                    false
                };
                let all = &first[..]..&end[..];
                records.retain_in(all, remove).map_err(redb_error)?;
            }
            RecordChange::Put(key, bytes) => {
                let key = key.bytes();
                value.clear();
                value.extend_from_slice(bytes);
                value.extend(crc(key, bytes).to_le_bytes());
                if let Some(before) = records.insert(key, &*value).map_err(redb_error)? {
                    checksum.remove(before.value());
                }
                checksum.add(&value);
            }
            RecordChange::Remove(key) => {
                if let Some(before) = records.remove(key.bytes()).map_err(redb_error)? {
                    checksum.remove(before.value());
                }
            }
        }
        Ok(())
    })?;
    put_metadata(&mut metadata, FORMAT, &format_bytes())?;
    put_metadata(&mut metadata, CHECKSUM, &checksum.bytes())?;
    put_metadata(&mut metadata, EPOCH, &at.epoch.to_le_bytes())?;
    put_metadata(&mut metadata, OWN_EPOCH, &own_epoch.to_le_bytes())?;
    put_metadata(&mut metadata, SEQUENCE, &at.seq.to_le_bytes())?;
    put_metadata(&mut metadata, WRITTEN, &unix_s(now).to_le_bytes())
}

fn put_metadata(
    metadata: &mut Table<'_, &str, &[u8]>,
    name: &str,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let mut value = bytes.to_vec();
    value.extend(crc_metadata(name, bytes).to_le_bytes());
    metadata.insert(name, &*value).map_err(redb_error)?;
    Ok(())
}
