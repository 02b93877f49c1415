//! Records of the SA view: the updates of [`ferrosm_fabric::snapshot::persist`] as record changes.
//!
//! The header record contains the Unix time of the last batch, so that a reader knows the age of
//! the snapshot. The caller reports a batch that was not stored with [`ViewPersister::forget`].

use core::convert::Infallible;
use std::sync::Arc;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::{self, NodeRecordKind, SnapshotSaver};
use ferrosm_mad::ids::NodeGuid;

use super::routing::RoutingRecord;
use super::{RecordBatch, RecordChange, RecordKey, RecordKind};

/// Converts views to batches of record changes.
#[derive(Debug, Default)]
pub struct ViewPersister {
    saver: SnapshotSaver,
    head: Vec<u8>,
    /// The snapshot whose routing was in a batch last.
    routing: Option<Arc<Snapshot>>,
}

impl ViewPersister {
    /// The changes from the previous snapshot to `snapshot`; `None` removes the persisted snapshot.
    /// `unix_s` is the current Unix time.
    pub fn batch(&mut self, snapshot: Option<&Arc<Snapshot>>, unix_s: u64) -> RecordBatch {
        let mut changes = Vec::new();
        let Ok(()) = self.save(snapshot, unix_s, &mut |change| {
            changes.push(change);
            Ok::<(), Infallible>(())
        });
        RecordBatch { changes }
    }

    /// Passes the changes to `apply` one by one: all of them together take as much memory as the
    /// LFTs of the fabric.
    ///
    /// # Errors
    /// The first error of `apply`. The next batch contains all records.
    pub fn save<E>(
        &mut self,
        snapshot: Option<&Arc<Snapshot>>,
        unix_s: u64,
        apply: &mut dyn FnMut(RecordChange) -> Result<(), E>,
    ) -> Result<(), E> {
        let saved = self.save_changes(snapshot, unix_s, apply);
        if saved.is_err() {
            self.forget();
        }
        saved
    }

    fn save_changes<E>(
        &mut self,
        snapshot: Option<&Arc<Snapshot>>,
        unix_s: u64,
        apply: &mut dyn FnMut(RecordChange) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(snapshot) = snapshot else {
            self.forget();
            let kinds = [RecordKind::View, RecordKind::ViewHead, RecordKind::Routing];
            return kinds
                .map(RecordChange::Clear)
                .into_iter()
                .try_for_each(apply);
        };
        let head = &mut self.head;
        self.saver.save(snapshot, &mut |change| match change {
            persist::SnapshotRecordUpdate::Clear => {
                apply(RecordChange::Clear(RecordKind::View))?;
                apply(RecordChange::Clear(RecordKind::ViewHead))
            }
            persist::SnapshotRecordUpdate::Put(guid, part, bytes) => {
                apply(RecordChange::Put(key(guid, part), bytes.into()))
            }
            persist::SnapshotRecordUpdate::Remove(guid, part) => {
                apply(RecordChange::Remove(key(guid, part)))
            }
            persist::SnapshotRecordUpdate::Head(bytes) => {
                *head = bytes.to_vec();
                Ok(())
            }
        })?;
        let mut value = unix_s.to_be_bytes().to_vec();
        value.extend_from_slice(&self.head);
        let key = RecordKey::new(RecordKind::ViewHead, &[]);
        apply(RecordChange::Put(key, value.into()))?;
        let persisted_routing = self.routing.as_ref();
        if !persisted_routing.is_some_and(|known| snapshot.shares_routing_with(known))
            && let Some(routing) = RoutingRecord::of_snapshot(snapshot)
        {
            let value = routing.encode().into();
            let key = RecordKey::new(RecordKind::Routing, &[]);
            apply(RecordChange::Put(key, value))?;
            self.routing = Some(Arc::clone(snapshot));
        }
        Ok(())
    }

    /// A batch was not stored: the next batch contains all records.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

fn key(guid: NodeGuid, kind: NodeRecordKind) -> RecordKey {
    RecordKey::new(RecordKind::View, &[&guid.0.to_be_bytes(), &[kind as u8]])
}

/// The node and the part that the key of a snapshot record names.
#[must_use]
pub fn node_and_part(key: &RecordKey) -> Option<(NodeGuid, NodeRecordKind)> {
    let (guid, rest) = key.suffix().split_first_chunk()?;
    let [part] = rest else { return None };
    let kind = NodeRecordKind::from_number(*part)?;
    (key.kind() == Some(RecordKind::View)).then(|| (NodeGuid(u64::from_be_bytes(*guid)), kind))
}
