//! `ferrosm state backup` and `restore`: the state directory as one file.
//!
//! A backup is a compressed tar file, whose last member lists the length and CRC-32 of all others.
//! The records are those of the last committed batch, so a running service is not disturbed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_store::{StateDir, StateError, StateInspection, atomic, export, unix_s};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use tar::{Builder, EntryType, Header};

use crate::failure::Failure;
use crate::output::{self, table};

/// The records, as `state export` writes them.
const RECORDS: &str = "records.jsonl";
/// The list of the other members.
const MANIFEST: &str = "manifest.json";
/// The store, which the records replace.
const STORE: &str = "store.redb";
/// Files that a restore replaces.
const REPLACED: [&str; 2] = ["port", "history.json"];
/// Files and folders that a restore writes only if there are none: logs continue.
const LOGS: [&str; 5] = [
    "audit.jsonl",
    "audit.jsonl.1",
    "changes.jsonl",
    "changes.jsonl.1",
    "revisions",
];
/// Version of the format.
const VERSION: u32 = 1;
const KIND: &str = "ferrosm-backup";
/// Most bytes of a backup, before it is compressed.
const PLAIN_MAX: u64 = 4 << 30;

const NOTHING_CHANGED: &str = "Nothing was changed.";

/// The list of members.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    kind: String,
    version: u32,
    ferrosm: String,
    created_unix_s: u64,
    members: BTreeMap<String, Member>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    bytes: u64,
    crc32: String,
}

impl Member {
    fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            crc32: format!("{:08x}", crc32fast::hash(bytes)),
        }
    }
}

/// Writes a backup.
///
/// # Errors
/// The state cannot be read or is damaged, or the file exists or cannot be written.
pub(super) fn backup(dir: &Path, path: &Path) -> Result<(), Failure> {
    let inspection = StateInspection::open(dir)?;
    check_damage(&inspection, dir)?;
    let mut records = Vec::new();
    export::write(inspection.records(), inspection.last_batch(), &mut records)
        .map_err(Failure::runtime)?;
    let mut members = BTreeMap::from([(RECORDS.to_owned(), records)]);
    for name in REPLACED.iter().chain(&LOGS) {
        read_into(&mut members, dir, Path::new(name)).map_err(|e| {
            Failure::runtime(format!("cannot read {}: {e}", dir.join(name).display()))
        })?;
    }
    let write = |e: io::Error| {
        let hint = if e.kind() == io::ErrorKind::AlreadyExists {
            "An existing file is not replaced. Name another file, or remove this one."
        } else {
            ""
        };
        Failure::with_hint(format!("cannot write {}: {e}", path.display()), hint)
    };
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(write)?;
    if let Err(error) = write_members(file, &members) {
        // It is not whole.
        let _ = fs::remove_file(path);
        return Err(write(error));
    }
    let user = inspection.user();
    let state = user.map_or_else(String::new, |user| format!(" of {user}, which continues"));
    output::print(&format!(
        "{}: {} and {}{state}\n  It holds keys: keep it like them.\n",
        path.display(),
        table::count(inspection.records().len(), "record", "records"),
        table::count(members.len() - 1, "file", "files"),
    ))
}

/// Adds a file, or all files of a folder, if it exists.
fn read_into(members: &mut BTreeMap<String, Vec<u8>>, dir: &Path, name: &Path) -> io::Result<()> {
    let path = dir.join(name);
    if path.is_dir() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                read_into(members, dir, &name.join(entry.file_name()))?;
            }
        }
        return Ok(());
    }
    match fs::read(&path) {
        Ok(bytes) => {
            members.insert(name.display().to_string(), bytes);
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

fn write_members(file: File, members: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let now = unix_s(SystemTime::now());
    let manifest = Manifest {
        kind: KIND.to_owned(),
        version: VERSION,
        ferrosm: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now,
        members: members
            .iter()
            .map(|(name, bytes)| (name.clone(), Member::new(bytes)))
            .collect(),
    };
    let list = serde_json::to_vec_pretty(&manifest)?;
    let mut tar = Builder::new(GzEncoder::new(file, Compression::default()));
    let listed = members.iter().map(|(name, bytes)| (&name[..], &bytes[..]));
    for (name, bytes) in listed.chain([(MANIFEST, &list[..])]) {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(now);
        tar.append_data(&mut header, name, bytes)?;
    }
    tar.into_inner()?.finish()?.sync_all()
}

/// Restores a backup.
///
/// # Errors
/// A service uses the directory, the backup is damaged or of another version, or the directory
/// cannot be written.
pub(super) fn restore(dir: &Path, path: &Path) -> Result<(), Failure> {
    let invalid = |reason: String| {
        Failure::with_hint(format!("{}: {reason}", path.display()), NOTHING_CHANGED)
    };
    let members = read_members(path).map_err(invalid)?;
    let records = members
        .get(RECORDS)
        .ok_or_else(|| invalid(format!("it has no {RECORDS}")))?;
    let text = String::from_utf8_lossy(records);
    let batch = export::read(&text)
        .map_err(|(line, error)| invalid(format!("{RECORDS}:{line}: {error}")))?;
    let _lock = StateDir::lock(dir).map_err(|e| match e {
        StateError::InUse { .. } => Failure::with_hint(
            e,
            "A subnet manager reads its state only when it starts: stop the service, restore, and start it again.",
        ),
        StateError::Directory { .. }
        | StateError::Store { .. }
        | StateError::Rename { .. }
        | StateError::Inspect { .. }
        | StateError::Changing { .. } => e.into(),
    })?;
    let failed = |action: &str, path: &Path, e: &dyn core::fmt::Display| {
        Failure::with_hint(
            format!("cannot {action} {}: {e}", path.display()),
            NOTHING_CHANGED,
        )
    };
    // Everything new is complete on the disk before anything is replaced.
    let staging = dir.join("restoring");
    let staged = remove_dir(&staging)
        .and_then(|()| make_dir(&staging))
        .and_then(|()| stage(&staging, &members));
    staged.map_err(|e| failed("write", &staging, &e))?;
    let count = stage_store(&staging, batch).map_err(|e| failed("write", &staging, &e))?;
    let kept = (1..u32::MAX)
        .map(|n| dir.join(format!("before-restore-{n}")))
        .find(|kept| !kept.exists())
        .unwrap_or_else(|| dir.join("before-restore"));
    let replaced = replace(dir, &staging, &kept).map_err(|e| {
        Failure::with_hint(
            format!("cannot replace the files in {}: {e}", dir.display()),
            format!("Files that were replaced are in {}.", kept.display()),
        )
    })?;
    // Empty but for the lock of the new store.
    let _ = fs::remove_dir_all(&staging);
    let earlier = match replaced {
        true => format!("; the earlier state is in {}", kept.display()),
        false => String::new(),
    };
    output::print(&format!(
        "{} restored from {}{earlier}\n",
        table::count(count, "record", "records"),
        path.display()
    ))
}

/// Reads a backup and checks it as a whole.
fn read_members(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let damaged = |e: io::Error| format!("it is not a backup, or damaged: {e}");
    let file = File::open(path).map_err(|e| format!("cannot read it: {e}"))?;
    let mut tar = tar::Archive::new(GzDecoder::new(file).take(PLAIN_MAX));
    let mut members = BTreeMap::new();
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.display().to_string();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("it is not a backup: {name} is not a file"));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        members.insert(name, bytes);
    }
    // The checksum of the compression is behind the last member.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(damaged)?;
    let list = members
        .remove(MANIFEST)
        .ok_or_else(|| format!("it is not a backup, or truncated: it has no {MANIFEST}"))?;
    let manifest: Manifest = serde_json::from_slice(&list)
        .map_err(|e| format!("it is not a backup: {MANIFEST}: {e}"))?;
    if manifest.kind != KIND || manifest.version != VERSION {
        return Err(format!(
            "it is a {} of version {}; this program reads {KIND} of version {VERSION}",
            manifest.kind, manifest.version
        ));
    }
    let found: BTreeMap<String, Member> = members
        .iter()
        .map(|(name, bytes)| (name.clone(), Member::new(bytes)))
        .collect();
    for (name, member) in &manifest.members {
        if found.get(name) != Some(member) {
            return Err(format!("{name} is missing or damaged"));
        }
    }
    for name in found.keys() {
        if !manifest.members.contains_key(name) || !is_known(name) {
            return Err(format!("it has an unexpected file {name}"));
        }
    }
    Ok(members)
}

/// Whether a backup may have a member: no name leads out of the directory.
fn is_known(name: &str) -> bool {
    let folder = LOGS
        .iter()
        .find_map(|log| name.strip_prefix(&format!("{log}/")[..]));
    match folder {
        Some(file) => !file.contains('/') && ![".", ".."].contains(&file),
        None => name == RECORDS || REPLACED.contains(&name) || LOGS.contains(&name),
    }
}

/// Fails if the store is damaged.
pub(super) fn check_damage(inspection: &StateInspection, path: &Path) -> Result<(), Failure> {
    if inspection.damage().is_empty() {
        return Ok(());
    }
    let damage = inspection.damage().join("; ");
    Err(Failure::with_hint(
        format!("the store in {} is damaged: {damage}", path.display()),
        "Intact records were used; the store is unchanged. A start renames it and recovers the same records.",
    ))
}

/// Whether a change describes device contents at the time of the export, which may have changed
/// since.
pub(super) fn describes_devices(change: &RecordChange) -> bool {
    match change {
        RecordChange::Put(key, _) => {
            let is_volatile = |kind: RecordKind| kind.is_of_view() || kind == RecordKind::Routing;
            key.kind().is_some_and(is_volatile)
        }
        RecordChange::Clear(_) | RecordChange::Remove(_) => false,
    }
}

/// Creates a directory that belongs to the owner of the one above.
fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir)?;
    match dir.parent() {
        Some(above) => atomic::give_to_owner_of(above, &File::open(dir)?),
        None => Ok(()),
    }
}

fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes the files of a backup to a directory.
fn stage(staging: &Path, members: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for (name, bytes) in members.iter().filter(|(name, _)| *name != RECORDS) {
        let path = staging.join(name);
        if let Some(parent) = path.parent() {
            make_dir(parent)?;
        }
        atomic::write_private(&path, |out| out.write_all(bytes))?;
    }
    Ok(())
}

/// Writes a store with the records to a directory. Returns their number.
fn stage_store(staging: &Path, mut batch: RecordBatch) -> Result<usize, StateError> {
    // What describes devices may have changed since.
    batch.changes.retain(|change| !describes_devices(change));
    let is_record = |change: &&RecordChange| matches!(change, RecordChange::Put(..));
    let count = batch.changes.iter().filter(is_record).count();
    StateDir::open(staging)?.commit(&batch)?;
    Ok(count)
}

/// Moves the earlier files to `kept`, and the staged ones in their place. Returns whether there
/// were earlier ones.
fn replace(dir: &Path, staging: &Path, kept: &Path) -> io::Result<bool> {
    let mut has_kept = false;
    for name in REPLACED.into_iter().chain(LOGS).chain([STORE]) {
        let old = dir.join(name);
        let new = staging.join(name);
        if LOGS.contains(&name) {
            if !old.exists() && new.exists() {
                fs::rename(&new, &old)?;
            }
            continue;
        }
        if old.exists() {
            make_dir(kept)?;
            // The old file stays until the new one has its name.
            fs::hard_link(&old, kept.join(name))?;
            has_kept = true;
        }
        match new.exists() {
            true => fs::rename(&new, &old)?,
            false if old.exists() => fs::remove_file(&old)?,
            false => {}
        }
    }
    // A mark of a crash belongs to the earlier store.
    let mark = dir.join(format!("{STORE}.in-use"));
    if mark.exists() {
        make_dir(kept)?;
        has_kept = true;
        fs::rename(&mark, kept.join(format!("{STORE}.in-use")))?;
    }
    sync_dir(dir)?;
    Ok(has_kept)
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Where a backup is written without a name.
pub(super) fn default_path() -> PathBuf {
    let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    PathBuf::from(format!("ferrosm-state-{}.tar.gz", at.replace(':', "")))
}
