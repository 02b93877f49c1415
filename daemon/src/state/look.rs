//! What is in a state directory, seen without changing anything in it: for `ferrosm state show` and `export`.
//!
//! It is what a start would begin with. A store that cannot be read is an error here, and stays where it is: only who goes on without
//! it sets it aside.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use ferrosm_core::kept::{Key, Record};

use super::store::{self, Contents, Trouble};
use super::{LOCK, in_use, is_of_view, lids, registrations, unix_s};
use crate::failure::Failure;

/// What was seen.
#[derive(Debug)]
pub struct Look {
    records: Vec<(Key, Box<[u8]>)>,
    last_batch: (u64, u64),
    damage: Vec<String>,
}

impl Look {
    /// Reads a directory that nobody uses.
    ///
    /// # Errors
    /// If another process uses it, or something in it cannot be read.
    pub fn at(dir: &Path) -> Result<Self, Failure> {
        let _lock = lock(dir)?;
        let contents = store::look(dir).map_err(|e| refusal(&dir.join(store::FILE), &e))?;
        let mut look = Self::of(contents);
        look.add_old_files(dir, SystemTime::now())?;
        Ok(look)
    }

    /// All records, in the order of their keys.
    #[must_use]
    pub fn records(&self) -> &[(Key, Box<[u8]>)] {
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

    fn of(contents: Contents) -> Self {
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

    /// What earlier versions kept in files of their own, where the store has nothing of the kind: a start takes it in.
    fn add_old_files(&mut self, dir: &Path, now: SystemTime) -> Result<(), Failure> {
        let (has_lids, has_registrations) = super::has_what_old_files_say(&self.records);
        let mut found = false;
        let add = |record: Record, all: &mut Vec<(Key, Box<[u8]>)>| {
            all.push((record.key(), record.encode(unix_s(now))));
        };
        if let Some((map, _)) = read_old(dir, lids::FILE, has_lids, lids::decode)? {
            found = true;
            for (port, (lid, lmc)) in map {
                add(Record::Lid { port, lid, lmc }, &mut self.records);
            }
        }
        let file = registrations::FILE;
        if let Some((mut saved, written)) =
            read_old(dir, file, has_registrations, registrations::decode)?
        {
            found = true;
            saved.age(now.duration_since(written).unwrap_or_default());
            for record in saved.records() {
                add(record, &mut self.records);
            }
        }
        if found {
            self.records.sort_by(|(a, _), (b, _)| a.cmp(b));
            self.last_batch = (self.last_batch.0 + 1, unix_s(now));
        }
        Ok(())
    }
}

/// Nobody writes in the directory as long as this lives. Where no lock was ever made, nobody has been there.
fn lock(dir: &Path) -> Result<Option<File>, Failure> {
    let path = dir.join(LOCK);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(refusal(&path, &Trouble::Io(e))),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(in_use(dir)),
        Err(TryLockError::Error(e)) => Err(refusal(&path, &Trouble::Io(e))),
    }
}

fn read_old<T>(
    dir: &Path,
    file: &str,
    has: bool,
    decode: fn(&[u8]) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let path = dir.join(file);
    let text = match std::fs::read(&path) {
        Ok(text) if !has => text,
        Ok(_) => return Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(refusal(&path, &Trouble::Io(e))),
    };
    let decoded = decode(&text).map_err(|why| refusal(&path, &Trouble::Bad(why)))?;
    Ok(Some(decoded))
}

fn refusal(path: &Path, e: &Trouble) -> Failure {
    let hint = match e {
        Trouble::Busy => "Stop that process, or name another directory with --state-dir.",
        Trouble::Bad(_) => {
            "It stays as it is. A start of the subnet manager sets it aside, and begins without it."
        }
        Trouble::Io(_) => "Run as the user that the subnet manager runs as.",
    };
    Failure::with_hint(format!("cannot read {}: {e}", path.display()), hint)
}
