//! Follows the rotated keys in the records that a standby receives. It needs an M_Key as soon as
//! the master has it, to read its own port and the master's, and an SM_Key to recognise the master.

use ferrosm_core::config::key_rotation::{KeyKind, KeyRotation};
use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_replication::{Position, RawRecord, RecordStore, RecordStoreError, StoreSnapshot};
use ferrosm_store::ReplicaStore;
use tokio::sync::mpsc::UnboundedSender;

/// The key that replaces the configured one of a kind; none if the configured one is in force.
pub(super) type RotationReport = (KeyKind, Option<KeyRotation>);

/// The store of this node, which reports rotated keys when they are durable.
pub(super) struct WatchedStore {
    pub(super) store: ReplicaStore,
    pub(super) rotations: UnboundedSender<RotationReport>,
}

impl WatchedStore {
    fn report(&self, kind: KeyKind, rotation: Option<KeyRotation>) {
        // The receiver is gone if the driver has ended.
        let _ = self.rotations.send((kind, rotation));
    }
}

impl RecordStore for WatchedStore {
    fn position(&self) -> Option<Position> {
        self.store.position()
    }

    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        self.store.read_all()
    }

    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError> {
        self.store.apply(at, batches)?;
        for kind in KeyKind::ALL {
            let changes = batches.iter().flat_map(|batch| &batch.changes);
            let mut rotations = changes.filter_map(|change| rotation_of_change(change, kind));
            if let Some(rotation) = rotations.next_back() {
                self.report(kind, rotation);
            }
        }
        Ok(())
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        let found = KeyKind::ALL.map(|kind| {
            let mut rotations = records
                .iter()
                .filter_map(|(key, value)| decode(key, value, kind));
            (kind, rotations.next_back())
        });
        self.store.replace(at, records)?;
        for (kind, rotation) in found {
            self.report(kind, rotation);
        }
        Ok(())
    }

    fn acknowledged(&self, seq: u64) {
        self.store.acknowledged(seq);
    }
}

/// The rotated key of a kind after a change; the outer `None` if it is about something else.
fn rotation_of_change(change: &RecordChange, kind: KeyKind) -> Option<Option<KeyRotation>> {
    match change {
        RecordChange::Clear(RecordKind::KeyRotation) => Some(None),
        RecordChange::Clear(_) => None,
        RecordChange::Put(key, value) => decode(key, value, kind).map(Some),
        RecordChange::Remove(key) => (*key == Record::key_rotation_key(kind)).then_some(None),
    }
}

fn decode(key: &RecordKey, value: &[u8], kind: KeyKind) -> Option<KeyRotation> {
    if *key != Record::key_rotation_key(kind) {
        return None;
    }
    match Record::decode(key, value, 0) {
        Ok(Some(Record::KeyRotation(rotation))) => Some(rotation),
        Ok(_) | Err(_) => None,
    }
}
