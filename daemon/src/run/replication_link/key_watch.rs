//! Follows the rotated M_Key in the records that a standby receives: it needs the key as soon as
//! the master has it, to read its own port and the master's.

use ferrosm_core::config::m_key_rotation::MKeyRotation;
use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_replication::{Position, RawRecord, RecordStore, RecordStoreError, StoreSnapshot};
use ferrosm_store::ReplicaStore;
use tokio::sync::mpsc::UnboundedSender;

/// The store of this node, which reports rotated keys when they are durable.
pub(super) struct WatchedStore {
    pub(super) store: ReplicaStore,
    pub(super) rotations: UnboundedSender<Option<MKeyRotation>>,
}

impl WatchedStore {
    fn report(&self, rotation: Option<Option<MKeyRotation>>) {
        if let Some(rotation) = rotation {
            // The receiver is gone if the driver has ended.
            let _ = self.rotations.send(rotation);
        }
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
        let changes = batches.iter().flat_map(|batch| &batch.changes);
        self.report(changes.filter_map(rotation_of_change).next_back());
        Ok(())
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        let mut rotations = records.iter().filter_map(|(key, value)| decode(key, value));
        let rotation = rotations.next_back();
        self.store.replace(at, records)?;
        self.report(Some(rotation));
        Ok(())
    }

    fn acknowledged(&self, seq: u64) {
        self.store.acknowledged(seq);
    }
}

/// The rotated key after a change; the outer `None` if it is about something else.
fn rotation_of_change(change: &RecordChange) -> Option<Option<MKeyRotation>> {
    match change {
        RecordChange::Clear(RecordKind::MKeyRotation) => Some(None),
        RecordChange::Clear(_) => None,
        RecordChange::Put(key, value) => decode(key, value).map(Some),
        RecordChange::Remove(key) => (key.kind() == Some(RecordKind::MKeyRotation)).then_some(None),
    }
}

fn decode(key: &RecordKey, value: &[u8]) -> Option<MKeyRotation> {
    if key.kind() != Some(RecordKind::MKeyRotation) {
        return None;
    }
    match Record::decode(key, value, 0) {
        Ok(Some(Record::MKeyRotation(rotation))) => Some(rotation),
        Ok(_) | Err(_) => None,
    }
}
