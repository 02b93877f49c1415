//! `store.redb`: the records that outlive the subnet manager ([`ferrosm_core::records`]).
//!
//! One transaction for each batch: a crash leaves the one before. Each batch has a number, one more than the one before. Every record
//! has a checksum of its own beside those that redb has of its pages, and all are counted, so that nothing half or foreign is
//! believed. A file that is not whole is told apart from one that cannot be used now: the first is set aside by whoever opens it
//! here, the second is an error. It knows nothing of what records say.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, VERSION};
use ferrosm_replication::Position;
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable};
use redb::{StorageBackend, StorageError};
use redb::{Table, TableDefinition, TableError, WriteTransaction};
use thiserror::Error;

use super::crash_marker::CrashMarker;

/// Name of the file.
pub(super) const FILE: &str = "store.redb";
/// Layout of the file, above the version of the records in it. The first one had nothing but a view.
const LAYOUT: u32 = 2;
/// Pages that are kept in memory; records are read once, from one end to the other.
const CACHE: usize = 16 << 20;

/// Bytes that are read at once where the file is read beside redb.
const PIECE: usize = 1 << 20;
/// What is said of a file over which redb panicked.
const ENDED: &str = "using it ended the program";

/// Records; behind each its checksum.
const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");
/// What is said of all of them; behind each its checksum.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");

const FORMAT: &str = "format";
const TALLY: &str = "tally";
const EPOCH: &str = "epoch";
const SEQUENCE: &str = "sequence";
const LED: &str = "led";
const WRITTEN: &str = "written-unix-s";

/// Why there is no store.
#[derive(Debug, Error)]
pub(super) enum StoreError {
    /// The file is torn, foreign or of another version.
    #[error("{0}")]
    Bad(String),
    /// Another process has it open.
    #[error("another process has it open")]
    Busy,
    /// The system refuses.
    #[error(transparent)]
    Io(io::Error),
}

/// The file.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    /// Opened when it is needed first, and again after trouble.
    database: Option<Database>,
    /// It was written since it was opened.
    proven: bool,
    /// The history that this node made itself last, to be written with the next batch.
    pub(super) led: u64,
}

/// All that is in a store.
#[derive(Debug, Default)]
pub(super) struct StoreContents {
    /// Records that are whole.
    pub(super) records: Vec<(RecordKey, Box<[u8]>)>,
    /// Whose history the batches are of ([`ferrosm_replication`]); 0 of nobody's.
    pub(super) epoch: u64,
    /// The history that this node made itself last; another than `epoch` where the records are a copy, or were handed over.
    pub(super) led: u64,
    /// Number of the last batch; 0 before the first.
    pub(super) sequence: u64,
    /// When that was, in seconds since 1970.
    pub(super) written_unix_s: u64,
    /// What is wrong with it, if anything: records that are not whole, or missing.
    pub(super) damage: Vec<String>,
}

/// Records that there are, and the sum of their checksums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RecordChecksum {
    count: u64,
    sum: u64,
}

impl RecordChecksum {
    fn add(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(u64::from(checksum_in(value)));
    }

    fn remove(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(u64::from(checksum_in(value)));
    }

    /// As [`Self::bytes`] has it.
    fn of(bytes: &[u8]) -> Self {
        Self {
            count: number_in(bytes),
            sum: number_in(bytes.get(8..).unwrap_or_default()),
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
    /// Where it is in a history, if it is in any.
    pub(super) const fn position(&self) -> Option<Position> {
        let (epoch, seq) = (self.epoch, self.sequence);
        if epoch == 0 {
            return None;
        }
        Some(Position { epoch, seq })
    }

    /// Whether another node may know more than what is here.
    pub(super) const fn is_copy(&self) -> bool {
        self.led != self.epoch
    }

    /// After one batch more of the same history.
    pub(super) const fn next(&self) -> Position {
        Position {
            epoch: self.epoch,
            seq: self.sequence + 1,
        }
    }
}

impl Store {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            path: dir.join(FILE),
            database: None,
            proven: false,
            led: 0,
        }
    }

    /// What is in it. A file that is not there is made.
    pub(super) fn load(&mut self) -> Result<StoreContents, StoreError> {
        // redb tells of what is wrong in a file, and panics where it thinks that impossible: then the file is wrong too.
        let loaded = self.attempt("read", |store| store.open().and_then(read));
        if loaded.is_err() {
            self.close();
        }
        loaded
    }

    /// Carries a batch out, all of it or nothing, to be there then. When this returns, it is on the disk.
    pub(super) fn commit(
        &mut self,
        batch: &RecordBatch,
        at: Position,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let done = self.attempt("written", |store| store.write(batch, at, now));
        self.proven = done.is_ok();
        if done.is_err() {
            self.close();
        }
        done
    }

    /// Uses the file. Where it ended the program each of the last times, it is not touched again.
    fn attempt<T>(
        &mut self,
        what: &str,
        using: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // What was opened and written once is not marked again: that would cost each batch more than the batch.
        let attempts = (!self.proven).then(|| CrashMarker::of(&self.path));
        let done = if attempts.as_ref().is_some_and(CrashMarker::begin) {
            bad(ENDED)
        } else {
            // Where panics unwind, the first one is enough.
            catch_unwind(AssertUnwindSafe(|| using(self)))
                .unwrap_or_else(|_| Err(StoreError::Bad(format!("it cannot be {what}"))))
        };
        if let Some(attempts) = attempts {
            attempts.end();
        }
        done
    }

    /// It is opened again the next time.
    pub(super) fn close(&mut self) {
        self.proven = false;
        // Whatever state trouble left it in, closing is the last that is asked of it.
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
        batch: &RecordBatch,
        at: Position,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let led = self.led;
        let transaction = self.open()?.begin_write().map_err(trouble)?;
        put(&transaction, batch, (at, led), now)?;
        transaction.commit().map_err(trouble)
    }
}

fn open(path: &Path) -> Result<Database, StoreError> {
    // PortInfo has M_Keys in it: nobody else may read the file.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(StoreError::Io)?;
    open_in(FileBackend::new(file).map_err(database_trouble)?)
}

fn open_in(backend: impl StorageBackend) -> Result<Database, StoreError> {
    Builder::new()
        .set_cache_size(CACHE)
        .set_check_integrity_on_open(true)
        .create_with_backend(backend)
        .map_err(database_trouble)
}

/// What is in the file of a directory, which stays as it is: what has to be repaired in it is repaired in memory.
pub(super) fn look(dir: &Path) -> Result<StoreContents, StoreError> {
    let path = dir.join(FILE);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(StoreContents::default()),
        Err(e) => return Err(StoreError::Io(e)),
    };
    if CrashMarker::of(&path).is_marked() {
        return bad(ENDED);
    }
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Busy),
        Err(TryLockError::Error(e)) => return Err(StoreError::Io(e)),
    }
    let backend = in_memory(&mut file).map_err(StoreError::Io)?;
    let looked = AssertUnwindSafe(|| open_in(backend).and_then(|database| read(&database)));
    catch_unwind(looked).unwrap_or_else(|_| bad("it cannot be read"))
}

fn in_memory(file: &mut File) -> io::Result<InMemoryBackend> {
    let backend = InMemoryBackend::new();
    let mut piece = vec![0; PIECE];
    let mut end = 0;
    loop {
        let got = match file.read(&mut piece) {
            Ok(0) => return Ok(backend),
            Ok(got) => &piece[..got],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let at = end;
        end += u64::try_from(got.len()).unwrap_or(0);
        backend.set_len(end)?;
        backend.write(at, got)?;
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn database_trouble(e: DatabaseError) -> StoreError {
    match e {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StoreError::Busy
        }
        DatabaseError::Storage(e) => storage_trouble(e),
        other => StoreError::Bad(other.to_string()),
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn storage_trouble(e: StorageError) -> StoreError {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    match e {
        StorageError::Io(e) if matches!(e.kind(), InvalidData | UnexpectedEof) => {
            StoreError::Bad(e.to_string())
        }
        StorageError::Io(e) => StoreError::Io(e),
        StorageError::Corrupted(why) => StoreError::Bad(why),
        other => StoreError::Io(io::Error::other(other.to_string())),
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn trouble(e: impl Into<redb::Error>) -> StoreError {
    match e.into() {
        redb::Error::Corrupted(why) => StoreError::Bad(why),
        redb::Error::Io(e) => storage_trouble(StorageError::Io(e)),
        // A table of another shape than ours.
        e @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)) => StoreError::Bad(e.to_string()),
        other => StoreError::Io(io::Error::other(other.to_string())),
    }
}

fn bad<T>(why: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Bad(why.into()))
}

fn crc(key: &[u8], bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    // Keys have no end of their own: their length tells them from what follows.
    crc.update(&key.len().to_le_bytes());
    crc.update(key);
    crc.update(bytes);
    crc.finalize()
}

fn crc_about(name: &str, bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(name.as_bytes());
    crc.update(bytes);
    crc.finalize()
}

/// The checksum at the end of a value.
fn checksum_in(value: &[u8]) -> u32 {
    value.last_chunk().map_or(0, |sum| u32::from_le_bytes(*sum))
}

/// A value without its checksum, if that is right.
fn checked(value: &[u8], crc: impl FnOnce(&[u8]) -> u32) -> Option<&[u8]> {
    let (bytes, sum) = value.split_last_chunk()?;
    (crc(bytes) == u32::from_le_bytes(*sum)).then_some(bytes)
}

fn read(database: &Database) -> Result<StoreContents, StoreError> {
    let mut contents = StoreContents::default();
    let transaction = database.begin_read().map_err(trouble)?;
    let about = match transaction.open_table(ABOUT) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(contents),
        about => about.map_err(trouble)?,
    };
    let said = |name: &'static str| -> Result<Vec<u8>, StoreError> {
        let Some(value) = about.get(name).map_err(trouble)? else {
            return bad(format!("its {name} is missing: it is not ferrosm's"));
        };
        match checked(value.value(), |bytes| crc_about(name, bytes)) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => bad(format!("the checksum of its {name} is wrong")),
        }
    };
    let (format, is) = (said(FORMAT)?, format_bytes());
    if format != is {
        let version = |b: &[u8]| b.iter().map(u8::to_string).collect::<Vec<_>>().join(".");
        let (has, wanted) = (version(&format), version(&is));
        return bad(format!("format {has} instead of {wanted}"));
    }
    let tally = said(TALLY)?;
    contents.epoch = number_in(&said(EPOCH)?);
    contents.sequence = number_in(&said(SEQUENCE)?);
    contents.led = number_in(&said(LED)?);
    contents.written_unix_s = number_in(&said(WRITTEN)?);
    let records = match transaction.open_table(RECORDS) {
        Err(TableError::TableDoesNotExist(_)) => return bad("it has no records"),
        records => records.map_err(trouble)?,
    };
    let mut found = RecordChecksum::default();
    for record in records.iter().map_err(trouble)? {
        let (key, value) = record.map_err(trouble)?;
        let (key, value) = (key.value(), value.value());
        found.add(value);
        let whole = checked(value, |bytes| crc(key, bytes)).zip(RecordKey::from_bytes(key));
        match whole {
            Some((bytes, key)) => contents.records.push((key, bytes.into())),
            None => {
                let key = hex::encode(key);
                let damage = format!("the checksum of record {key} is wrong");
                contents.damage.push(damage);
            }
        }
    }
    if tally != found.bytes() {
        contents.damage.push("records are missing".to_owned());
    }
    Ok(contents)
}

fn number_in(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n))
}

fn format_bytes() -> [u8; 2] {
    let low = |n: u32| u8::try_from(n).unwrap_or(u8::MAX);
    [low(LAYOUT), low(VERSION)]
}

fn put(
    transaction: &WriteTransaction,
    batch: &RecordBatch,
    (at, led): (Position, u64),
    now: SystemTime,
) -> Result<(), StoreError> {
    let mut about = transaction.open_table(ABOUT).map_err(trouble)?;
    let mut records = transaction.open_table(RECORDS).map_err(trouble)?;
    let before = about.get(TALLY).map_err(trouble)?;
    let mut tally = before
        .map(|v| RecordChecksum::of(v.value()))
        .unwrap_or_default();
    let mut value = Vec::new();
    for change in &batch.changes {
        match change {
            RecordChange::Clear(kind) => {
                let (first, end) = ([*kind as u8], [*kind as u8 + 1]);
                let gone = |_: &[u8], value: &[u8]| {
                    tally.remove(value);
                    false
                };
                let all = &first[..]..&end[..];
                records.retain_in(all, gone).map_err(trouble)?;
            }
            RecordChange::Put(key, bytes) => {
                let key = key.bytes();
                value.clear();
                value.extend_from_slice(bytes);
                value.extend(crc(key, bytes).to_le_bytes());
                if let Some(before) = records.insert(key, &*value).map_err(trouble)? {
                    tally.remove(before.value());
                }
                tally.add(&value);
            }
            RecordChange::Remove(key) => {
                if let Some(before) = records.remove(key.bytes()).map_err(trouble)? {
                    tally.remove(before.value());
                }
            }
        }
    }
    let unix_s = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    say(&mut about, FORMAT, &format_bytes())?;
    say(&mut about, TALLY, &tally.bytes())?;
    say(&mut about, EPOCH, &at.epoch.to_le_bytes())?;
    say(&mut about, LED, &led.to_le_bytes())?;
    say(&mut about, SEQUENCE, &at.seq.to_le_bytes())?;
    say(&mut about, WRITTEN, &unix_s.to_le_bytes())
}

fn say(about: &mut Table<'_, &str, &[u8]>, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let mut value = bytes.to_vec();
    value.extend(crc_about(name, bytes).to_le_bytes());
    about.insert(name, &*value).map_err(trouble)?;
    Ok(())
}
