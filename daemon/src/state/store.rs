//! `store.redb`: what the subnet was when it was looked at last, so that clients are answered before it is looked at again.
//!
//! One transaction for each view: a crash leaves the one before. Every record has a checksum of its own beside those that redb has
//! of its pages, and all are counted, so that nothing half or foreign is believed. A file that is not whole is told apart from
//! one that cannot be used now: the first is set aside by whoever opens it here, the second is an error. Only the thread that
//! writes state calls [`Store::save`].

use core::time::Duration;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::sa::View;
use ferrosm_core::sa::view::saved::{Change, Part, Restorer, Saver, Snapshot, VERSION};
use ferrosm_mad::ids::NodeGuid;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError};
use redb::{TableDefinition, TableError, WriteTransaction};
use thiserror::Error;

use super::attempts::Attempts;

/// Name of the file.
pub(super) const FILE: &str = "store.redb";
/// Layout of the file, above the version of the records in it.
const LAYOUT: u32 = 1;
/// Pages that are kept in memory; views are written and read once, from one end to the other.
const CACHE: usize = 16 << 20;

/// Records by node GUID and part; behind each its checksum.
const RECORDS: TableDefinition<'_, (u64, u8), &[u8]> = TableDefinition::new("view");
/// What is said of all of them; behind each its checksum.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");

const FORMAT: &str = "format";
const HEAD: &str = "head";
const TALLY: &str = "tally";
const WRITTEN: &str = "written-unix-s";

/// Why there is no store.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    /// The file is torn, foreign or of another version.
    #[error("{0}")]
    Bad(String),
    /// Another process has it open.
    #[error("another process has it open")]
    Busy,
    /// The system refuses.
    #[error("{0}")]
    Io(io::Error),
}

/// A view and what is kept of it.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    /// Opened when it is needed first, and again after trouble.
    database: Option<Database>,
    saver: Saver,
}

/// Records that there are, and the sum of their checksums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Tally {
    fn add(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(u64::from(checksum_in(value)));
    }

    fn remove(&mut self, value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(u64::from(checksum_in(value)));
    }

    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }
}

impl Store {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            path: dir.join(FILE),
            database: None,
            saver: Saver::default(),
        }
    }

    /// What the subnet was, and how long ago; `None` where nothing is kept. A file that is not there is made.
    pub(super) fn load(&mut self) -> Result<Option<Snapshot>, Trouble> {
        // redb tells of what is wrong in a file, and panics where it thinks that impossible: then the file is wrong too.
        let loaded = self.attempt("read", |store| store.open().and_then(read));
        if loaded.is_err() {
            self.close();
        }
        loaded
    }

    /// Keeps a view in place of the one before: only what differs is written. `None` keeps nothing.
    pub(super) fn save(
        &mut self,
        view: Option<&Arc<View>>,
        now: SystemTime,
    ) -> Result<(), Trouble> {
        let saved = self.attempt("written", |store| store.write(view, now));
        if saved.is_err() {
            self.close();
        }
        saved
    }

    /// Uses the file. Where it ended the program each of the last times, it is not touched again.
    fn attempt<T>(
        &mut self,
        what: &str,
        using: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let attempts = Attempts::of(&self.path);
        let done = if attempts.begin() {
            Err(Trouble::Bad("using it ended the program".to_owned()))
        } else {
            // Where panics unwind, the first one is enough.
            catch_unwind(AssertUnwindSafe(|| using(self)))
                .unwrap_or_else(|_| Err(Trouble::Bad(format!("it cannot be {what}"))))
        };
        attempts.end();
        done
    }

    /// Nothing is known of the file any more: it is opened again the next time.
    fn close(&mut self) {
        self.saver.forget();
        // Whatever state trouble left it in, closing is the last that is asked of it.
        let database = self.database.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }

    fn open(&mut self) -> Result<&Database, Trouble> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open(&self.path)?,
        };
        Ok(self.database.insert(database))
    }

    fn write(&mut self, view: Option<&Arc<View>>, now: SystemTime) -> Result<(), Trouble> {
        let transaction = self.open()?.begin_write().map_err(trouble)?;
        let done = match view {
            Some(view) => put_view(&transaction, &mut self.saver, view, now),
            None => {
                self.saver.forget();
                clear(&transaction)
            }
        };
        let done = done.and_then(|()| transaction.commit().map_err(trouble));
        if done.is_err() {
            self.saver.forget();
        }
        done
    }
}

fn open(path: &Path) -> Result<Database, Trouble> {
    // PortInfo has M_Keys in it: nobody else may read the file.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(Trouble::Io)?;
    let backend = FileBackend::new(file).map_err(database_trouble)?;
    Builder::new()
        .set_cache_size(CACHE)
        .set_check_integrity_on_open(true)
        .create_with_backend(backend)
        .map_err(database_trouble)
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn database_trouble(e: DatabaseError) -> Trouble {
    match e {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Trouble::Busy,
        DatabaseError::Storage(e) => storage_trouble(e),
        other => Trouble::Bad(other.to_string()),
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn storage_trouble(e: StorageError) -> Trouble {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    match e {
        StorageError::Io(e) if matches!(e.kind(), InvalidData | UnexpectedEof) => {
            Trouble::Bad(e.to_string())
        }
        StorageError::Io(e) => Trouble::Io(e),
        StorageError::Corrupted(why) => Trouble::Bad(why),
        other => Trouble::Io(io::Error::other(other.to_string())),
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "redb says that its errors may become more"
)]
fn trouble(e: impl Into<redb::Error>) -> Trouble {
    match e.into() {
        redb::Error::Corrupted(why) => Trouble::Bad(why),
        redb::Error::Io(e) => storage_trouble(StorageError::Io(e)),
        // A table of another shape than ours.
        e @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)) => Trouble::Bad(e.to_string()),
        other => Trouble::Io(io::Error::other(other.to_string())),
    }
}

fn bad<T>(why: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Bad(why.into()))
}

fn crc(key: (u64, u8), bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&key.0.to_le_bytes());
    crc.update(&[key.1]);
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

fn read(database: &Database) -> Result<Option<Snapshot>, Trouble> {
    let transaction = database.begin_read().map_err(trouble)?;
    let about = match transaction.open_table(ABOUT) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        about => about.map_err(trouble)?,
    };
    let said = |name: &'static str| -> Result<Option<Vec<u8>>, Trouble> {
        let Some(value) = about.get(name).map_err(trouble)? else {
            return Ok(None);
        };
        match checked(value.value(), |bytes| crc_about(name, bytes)) {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => bad(format!("the checksum of {name} is wrong")),
        }
    };
    let Some(format) = said(FORMAT)? else {
        return bad("it is not ferrosm's");
    };
    let is = format_bytes();
    if format != is {
        let version = |b: &[u8]| b.iter().map(u8::to_string).collect::<Vec<_>>().join(".");
        let (has, wanted) = (version(&format), version(&is));
        return bad(format!("format {has} instead of {wanted}"));
    }
    let Some(head) = said(HEAD)? else {
        return Ok(None);
    };
    let (Some(tally), Some(written)) = (said(TALLY)?, said(WRITTEN)?) else {
        return bad("something is missing in it");
    };
    let records = transaction.open_table(RECORDS).map_err(trouble)?;
    let mut restorer = Restorer::default();
    let mut found = Tally::default();
    for record in records.iter().map_err(trouble)? {
        let (key, value) = record.map_err(trouble)?;
        let (key, value) = (key.value(), value.value());
        let guid = NodeGuid(key.0);
        let Some(bytes) = checked(value, |bytes| crc(key, bytes)) else {
            return bad(format!("the checksum of a record of node {guid} is wrong"));
        };
        let Some(part) = Part::of(key.1) else {
            return bad(format!("node {guid} has a record of an unknown kind"));
        };
        found.add(value);
        let put = restorer.put(guid, part, bytes);
        put.map_err(|e| Trouble::Bad(e.to_string()))?;
    }
    if tally != found.bytes() {
        return bad("records are missing");
    }
    let view = restorer.finish(&head);
    let view = view.map_err(|e| Trouble::Bad(e.to_string()))?;
    let written = written.first_chunk().map_or(0, |s| u64::from_le_bytes(*s));
    let then = UNIX_EPOCH.checked_add(Duration::from_secs(written));
    // A clock that was set back is no reason to lose anything.
    let age = then.and_then(|then| SystemTime::now().duration_since(then).ok());
    Ok(Some(Snapshot {
        view: Arc::new(view),
        age: age.unwrap_or_default(),
    }))
}

fn format_bytes() -> [u8; 2] {
    let low = |n: u32| u8::try_from(n).unwrap_or(u8::MAX);
    [low(LAYOUT), low(VERSION)]
}

fn say(transaction: &WriteTransaction, name: &str, bytes: &[u8]) -> Result<(), Trouble> {
    let mut about = transaction.open_table(ABOUT).map_err(trouble)?;
    let mut value = bytes.to_vec();
    value.extend(crc_about(name, bytes).to_le_bytes());
    about.insert(name, &*value).map_err(trouble)?;
    Ok(())
}

/// Keeps nothing, but says whose file it is.
fn clear(transaction: &WriteTransaction) -> Result<(), Trouble> {
    transaction.delete_table(RECORDS).map_err(trouble)?;
    transaction.delete_table(ABOUT).map_err(trouble)?;
    say(transaction, FORMAT, &format_bytes())
}

fn put_view(
    transaction: &WriteTransaction,
    saver: &mut Saver,
    view: &Arc<View>,
    now: SystemTime,
) -> Result<(), Trouble> {
    let mut tally = tally(transaction)?;
    let mut head = None;
    let mut value = Vec::new();
    saver.save(view, &mut |change| {
        match change {
            Change::Clear => {
                clear(transaction)?;
                tally = Tally::default();
            }
            Change::Put(guid, part, bytes) => {
                let key = (guid.0, part as u8);
                value.clear();
                value.extend_from_slice(bytes);
                value.extend(crc(key, bytes).to_le_bytes());
                let mut records = transaction.open_table(RECORDS).map_err(trouble)?;
                if let Some(before) = records.insert(key, &*value).map_err(trouble)? {
                    tally.remove(before.value());
                }
                tally.add(&value);
            }
            Change::Remove(guid, part) => {
                let mut records = transaction.open_table(RECORDS).map_err(trouble)?;
                if let Some(before) = records.remove((guid.0, part as u8)).map_err(trouble)? {
                    tally.remove(before.value());
                }
            }
            Change::Head(bytes) => head = Some(bytes.to_vec()),
        }
        Ok(())
    })?;
    if let Some(head) = head {
        say(transaction, HEAD, &head)?;
    }
    say(transaction, TALLY, &tally.bytes())?;
    let unix_s = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    say(transaction, WRITTEN, &unix_s.to_le_bytes())
}

fn tally(transaction: &WriteTransaction) -> Result<Tally, Trouble> {
    let about = transaction.open_table(ABOUT).map_err(trouble)?;
    let value = about.get(TALLY).map_err(trouble)?;
    let half = |from: usize| -> Option<u64> {
        let bytes = value
            .as_ref()?
            .value()
            .get(from..)?
            .first_chunk()
            .copied()?;
        Some(u64::from_le_bytes(bytes))
    };
    Ok(Tally {
        count: half(0).unwrap_or(0),
        sum: half(8).unwrap_or(0),
    })
}
