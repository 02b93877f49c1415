//! The state directory: whose it is, what is in it after trouble.

use super::*;
use crate::testing::TempDir;
use ferrosm_core::LidMap;
use ferrosm_core::records::Record;
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use ferrosm_replication::RecordStore;

fn map() -> LidMap {
    LidMap::from([
        (PortGuid(0x0002_c903_00a1_b2c3), (Lid(4), Lmc(2))),
        (PortGuid(7), (Lid(0xBFFF), Lmc(0))),
    ])
}

fn batch(map: &LidMap) -> RecordBatch {
    let put = |(&port, &(lid, lmc)): (&PortGuid, &(Lid, Lmc))| {
        let record = Record::Lid { port, lid, lmc };
        RecordChange::Put(record.key(), record.encode(0))
    };
    RecordBatch {
        changes: map.iter().map(put).collect(),
    }
}

#[test]
fn what_is_committed_comes_back() {
    let dir = TempDir::new("state-roundtrip");
    let path = dir.path().join("deep/er");
    let mut state = StateDir::open(&path).unwrap();
    assert_eq!(state.restored().lids, LidMap::new(), "a first start");
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
fn a_file_that_is_no_store_is_set_aside_each_time() {
    let dir = TempDir::new("state-broken");
    let file = dir.path().join("store.redb");
    for (n, text) in [(1, "{\"version\": 1, \"por"), (2, "\u{0}"), (3, "redb")] {
        std::fs::write(&file, text).unwrap();
        let mut state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.restored().lids, LidMap::new());
        state.commit(&batch(&map())).unwrap();
        let aside = dir.path().join(format!("store.redb.broken-{n}"));
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
    }
}

/// A store of the first layout had nothing but a view: it is no reason not to run.
#[test]
fn a_store_of_another_layout_is_set_aside() {
    let dir = TempDir::new("state-layout");
    let about: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("about");
    let database = redb::Database::create(dir.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut about = transaction.open_table(about).unwrap();
        let mut value = vec![1, 1];
        let mut crc = crc32fast::Hasher::new();
        crc.update(b"format");
        crc.update(&value);
        value.extend(crc.finalize().to_le_bytes());
        about.insert("format", &*value).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    let told = StateInspection::open(dir.path()).unwrap_err().to_string();
    assert!(told.contains("format 1.1 instead of "), "{told}");
    assert!(!dir.path().join("store.redb.broken-1").exists());
    let mut state = StateDir::open(dir.path()).unwrap();
    assert_eq!(state.restored().lids, LidMap::new());
    assert!(dir.path().join("store.redb.broken-1").exists());
}

/// Of a store in which a record was changed behind our back the others count.
#[test]
fn what_is_whole_in_a_damaged_store_is_taken_over() {
    let dir = TempDir::new("state-damaged");
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
    let mut rest = map();
    rest.remove(&PortGuid(7));
    let look = StateInspection::open(dir.path()).unwrap();
    assert_eq!(restore(look.records(), SystemTime::now()).0.lids, rest);
    assert_eq!(look.damage().len(), 2, "{:?}", look.damage());
    for _ in 0..2 {
        let mut state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.restored().lids, rest);
    }
    let aside = |n: u8| dir.path().join(format!("store.redb.broken-{n}")).exists();
    assert!(aside(1) && !aside(2), "once");
}

/// A record that cannot be is left out, and not told of again.
#[test]
fn impossible_records_are_removed() {
    let dir = TempDir::new("state-impossible");
    let mut state = StateDir::open(dir.path()).unwrap();
    let mut batch = batch(&map());
    let key = Record::lid_key(PortGuid(1));
    batch.changes.push(RecordChange::Put(key, Box::new([0, 9])));
    state.commit(&batch).unwrap();
    assert_eq!(state.restored().lids, map());
    assert_eq!(state.records().len(), 2);
}

/// What is left out of a copy does not make it one's own.
#[test]
fn a_copy_with_an_impossible_record_is_a_copy_still() {
    let dir = TempDir::new("state-copy");
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
fn a_directory_has_one_owner() {
    let dir = TempDir::new("state-lock");
    let first = StateDir::open(dir.path()).unwrap();
    let told = StateDir::open(dir.path()).unwrap_err().to_string();
    assert!(
        told.starts_with("another ferrosm uses state directory "),
        "{told}"
    );
    drop(first);
    let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
    StateDir::open(dir.path()).unwrap_err();
    drop(writer);
    StateDir::open(dir.path()).unwrap();
}

#[test]
fn a_place_that_cannot_be_written_is_a_sentence() {
    let dir = TempDir::new("state-refused");
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let told = StateDir::open(&file.join("x")).unwrap_err().to_string();
    assert!(told.starts_with("cannot create state directory "), "{told}");
}

/// Names and contents of all files of a directory.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    all.map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

/// What somebody looks at stays as it is, whatever is wrong with it: it may be all that there is.
#[test]
fn a_look_changes_nothing() {
    let dir = TempDir::new("state-look");
    let file = dir.path().join("store.redb");
    let look = || {
        let before = files(dir.path());
        let look = StateInspection::open(dir.path()).map_err(|e| e.to_string());
        assert_eq!(files(dir.path()), before);
        look
    };
    let empty = look().unwrap();
    assert_eq!((empty.records().len(), empty.last_batch()), (0, (0, 0)));
    let mut state = StateDir::open(dir.path()).unwrap();
    state.commit(&batch(&map())).unwrap();
    let torn = std::fs::read(&file).unwrap();
    let (there, last) = (state.records().to_vec(), state.last_batch());
    let told = look().unwrap_err();
    assert!(
        told.starts_with("another ferrosm uses state directory "),
        "{told}"
    );
    drop(state);
    let seen = look().unwrap();
    assert_eq!((seen.records(), seen.last_batch()), (&there[..], last));
    // As whoever was killed leaves it: it has to be repaired.
    std::fs::write(&file, torn).unwrap();
    assert_eq!(look().unwrap().records(), &there[..]);
    std::fs::write(dir.path().join("store.redb.in-use"), ".").unwrap();
    let told = look().unwrap_err();
    assert!(told.contains("using it ended the program"), "{told}");
    std::fs::remove_file(dir.path().join("store.redb.in-use")).unwrap();
    for text in ["{\"version\": 1, \"por", "\u{0}", "redb"] {
        std::fs::write(&file, text).unwrap();
        let told = look().unwrap_err();
        assert!(
            told.starts_with("cannot read ") && told.contains("It stays as it is."),
            "{told}"
        );
    }
}

/// Who may open it may lock it, and keep a subnet manager from starting.
#[test]
fn the_lock_is_its_owners_alone() {
    let dir = TempDir::new("state-mode");
    let lock = dir.path().join("lock");
    let mode = || std::fs::metadata(&lock).unwrap().permissions().mode() & 0o777;
    drop(StateDir::open(dir.path()).unwrap());
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&lock, Permissions::from_mode(0o644)).unwrap();
    drop(StateDir::open(dir.path()).unwrap());
    assert_eq!(mode(), 0o600, "of an earlier version");
}
