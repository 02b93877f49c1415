//! Tests of the state directory: lock, recovery, inspection.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_core::LidMap;
use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKind};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use ferrosm_replication::{Position, RecordStore};

use crate::{StateDir, StateInspection, restore};

fn map() -> LidMap {
    LidMap::from([
        (PortGuid(0x0002_c903_00a1_b2c3), (Lid(4), Lmc(2))),
        (PortGuid(7), (Lid(0xBFFF), Lmc(0))),
    ])
}

fn batch(map: &LidMap) -> RecordBatch {
    let put_lid = |(&port, &(lid, lmc)): (&PortGuid, &(Lid, Lmc))| {
        let record = Record::Lid { port, lid, lmc };
        RecordChange::Put(record.key(), record.encode(0))
    };
    RecordBatch {
        changes: map.iter().map(put_lid).collect(),
    }
}

#[test]
fn committed_records_are_restored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er");
    let mut state = StateDir::open(&path).unwrap();
    assert_eq!(state.restored().lids, LidMap::new(), "first start");
    assert_eq!(state.last_batch(), (0, 0));
    state.commit(&batch(&map())).unwrap();
    assert_eq!(state.restored().lids, map());
    drop(state);
    let mut state = StateDir::open(&path).unwrap();
    assert_eq!((state.restored().lids, state.last_batch().0), (map(), 1));
    let changes = vec![RecordChange::Clear(RecordKind::Lid)];
    state.commit(&RecordBatch { changes }).unwrap();
    drop(state);
    let mut state = StateDir::open(&path).unwrap();
    assert_eq!(
        (state.restored().lids, state.last_batch().0),
        (LidMap::new(), 2)
    );
}

#[test]
fn unreadable_store_is_renamed_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.redb");
    for (n, text) in [(1, "{\"version\": 1, \"por"), (2, "\u{0}"), (3, "redb")] {
        std::fs::write(&file, text).unwrap();
        let mut state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.restored().lids, LidMap::new());
        state.commit(&batch(&map())).unwrap();
        let renamed = dir.path().join(format!("store.redb.broken-{n}"));
        assert_eq!(std::fs::read_to_string(renamed).unwrap(), text);
    }
}

/// Writes a store of another version.
fn write_store_of_format(dir: &Path, format: [u8; 2]) {
    let about: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("about");
    let database = redb::Database::create(dir.join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut about = transaction.open_table(about).unwrap();
        let mut value = format.to_vec();
        let mut crc = crc32fast::Hasher::new();
        crc.update(b"format");
        crc.update(&value);
        value.extend(crc.finalize().to_le_bytes());
        about.insert("format", &*value).unwrap();
    }
    transaction.commit().unwrap();
}

/// The first layout had only a view.
#[test]
fn store_of_an_earlier_layout_is_renamed() {
    let dir = tempfile::tempdir().unwrap();
    write_store_of_format(dir.path(), [1, 1]);
    let message = StateInspection::open(dir.path()).unwrap_err().to_string();
    assert!(message.contains("format 1.1 instead of "), "{message}");
    assert!(!dir.path().join("store.redb.broken-1").exists());
    let mut state = StateDir::open(dir.path()).unwrap();
    assert_eq!(state.restored().lids, LidMap::new());
    assert!(dir.path().join("store.redb.broken-1").exists());
}

/// A downgrade is refused, and changes nothing.
#[test]
fn store_of_a_later_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write_store_of_format(dir.path(), [200, 1]);
    let file = dir.path().join("store.redb");
    let before = std::fs::read(&file).unwrap();
    let inspected = StateInspection::open(dir.path()).unwrap_err().to_string();
    let opened = StateDir::open(dir.path()).unwrap_err().to_string();
    for message in [inspected, opened] {
        assert!(message.contains("a later version of ferrosm"), "{message}");
    }
    assert!(file.exists() && !dir.path().join("store.redb.broken-1").exists());
    assert_eq!(std::fs::read(&file).unwrap().len(), before.len());
}

/// One record was changed by another program.
#[test]
fn intact_records_of_a_damaged_store_are_recovered() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = StateDir::open(dir.path()).unwrap();
    state.commit(&batch(&map())).unwrap();
    drop(state);
    let records: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("records");
    let database = redb::Database::create(dir.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let key = Record::lid_key(PortGuid(7));
    let mut table = transaction.open_table(records).unwrap();
    table
        .insert(key.bytes(), &[1u8, 2, 3, 4, 5, 6][..])
        .unwrap();
    drop(table);
    transaction.commit().unwrap();
    drop(database);
    let mut remaining = map();
    remaining.remove(&PortGuid(7));
    let inspection = StateInspection::open(dir.path()).unwrap();
    assert_eq!(
        restore(inspection.records(), SystemTime::now()).0.lids,
        remaining
    );
    assert_eq!(inspection.damage().len(), 2, "{:?}", inspection.damage());
    for _ in 0..2 {
        let mut state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.restored().lids, remaining);
    }
    let is_renamed = |n: u8| dir.path().join(format!("store.redb.broken-{n}")).exists();
    assert!(is_renamed(1) && !is_renamed(2), "renamed once");
}

/// Invalid records are skipped and not reported again.
#[test]
fn invalid_records_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = StateDir::open(dir.path()).unwrap();
    let mut batch = batch(&map());
    let key = Record::lid_key(PortGuid(1));
    batch.changes.push(RecordChange::Put(key, Box::new([0, 9])));
    state.commit(&batch).unwrap();
    assert_eq!(state.restored().lids, map());
    assert_eq!(state.records().len(), 2);
}

/// A replica from which an invalid record was removed does not count as records of this node.
#[test]
fn replica_with_an_invalid_record_remains_a_replica() {
    let dir = tempfile::tempdir().unwrap();
    let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
    writer.set_accepting(false);
    let mut batch = batch(&map());
    let key = Record::lid_key(PortGuid(1));
    batch.changes.push(RecordChange::Put(key, Box::new([0, 9])));
    let at = Position { epoch: 5, seq: 1 };
    writer.replica_store().apply(at, &[batch]).unwrap();
    drop(writer);
    for _ in 0..3 {
        let mut state = StateDir::open(dir.path()).unwrap();
        assert!(state.may_be_incomplete());
        assert_eq!(state.restored().lids, map());
        assert!(state.may_be_incomplete());
    }
}

#[test]
fn state_directory_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    let first = StateDir::open(dir.path()).unwrap();
    let message = StateDir::open(dir.path()).unwrap_err().to_string();
    let pid = std::process::id();
    assert!(
        message.starts_with(&format!(
            "another ferrosm (PID {pid}) uses state directory "
        )),
        "{message}"
    );
    drop(first);
    let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
    StateDir::open(dir.path()).unwrap_err();
    drop(writer);
    StateDir::open(dir.path()).unwrap();
}

#[test]
fn unwritable_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let message = StateDir::open(&file.join("x")).unwrap_err().to_string();
    assert!(
        message.starts_with("cannot create state directory "),
        "{message}"
    );
}

/// Names and contents of all files of a directory.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    paths
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

/// Even a damaged store is not modified.
#[test]
fn inspecting_state_modifies_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.redb");
    let inspect = || {
        let before = files(dir.path());
        let result = StateInspection::open(dir.path()).map_err(|e| e.to_string());
        assert_eq!(files(dir.path()), before);
        result
    };
    let empty = inspect().unwrap();
    assert_eq!((empty.records().len(), empty.last_batch()), (0, (0, 0)));
    let mut state = StateDir::open(dir.path()).unwrap();
    state.commit(&batch(&map())).unwrap();
    let torn = std::fs::read(&file).unwrap();
    let (stored, last) = (state.records().to_vec(), state.last_batch());
    let in_use = inspect().unwrap();
    assert!(in_use.user().is_some());
    assert_eq!((in_use.records(), in_use.last_batch()), (&stored[..], last));
    drop(state);
    let inspected = inspect().unwrap();
    assert_eq!(
        (inspected.records(), inspected.last_batch()),
        (&stored[..], last)
    );
    assert_eq!(inspected.user(), None);
    // The file of a killed process needs repair.
    std::fs::write(&file, torn).unwrap();
    assert_eq!(inspect().unwrap().records(), &stored[..]);
    std::fs::write(dir.path().join("store.redb.in-use"), ".").unwrap();
    let message = inspect().unwrap_err();
    assert!(
        message.contains("the storage library panicked on it"),
        "{message}"
    );
    std::fs::remove_file(dir.path().join("store.redb.in-use")).unwrap();
    for text in ["{\"version\": 1, \"por", "\u{0}", "redb"] {
        std::fs::write(&file, text).unwrap();
        let message = inspect().unwrap_err();
        assert!(message.starts_with("cannot read "), "{message}");
    }
}

/// Every user that can open the file can lock it and prevent a start.
#[test]
fn lock_file_has_mode_0600() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let mode = || std::fs::metadata(&lock).unwrap().permissions().mode() & 0o777;
    drop(StateDir::open(dir.path()).unwrap());
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&lock, Permissions::from_mode(0o644)).unwrap();
    drop(StateDir::open(dir.path()).unwrap());
    assert_eq!(mode(), 0o600, "created with a wider mode");
}
