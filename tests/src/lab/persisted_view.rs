//! The persisted view of a simulated SM, record by record.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::{
    NodeRecordKind, RestoreError, RestoredSnapshot, SnapshotRecordUpdate, SnapshotRestorer,
    SnapshotSaver,
};
use ferrosm_mad::ids::NodeGuid;

/// The persisted records of a view.
#[derive(Debug, Default)]
pub struct Records {
    /// Records of nodes.
    pub all: BTreeMap<(NodeGuid, NodeRecordKind), Vec<u8>>,
    /// The record that is independent of nodes.
    pub head: Vec<u8>,
    /// Bytes and records that the last save wrote.
    pub written: (usize, usize),
    saver: SnapshotSaver,
}

impl Records {
    /// Saves a view in place of the previous one.
    pub fn save(&mut self, view: &Arc<Snapshot>) {
        let (all, head) = (&mut self.all, &mut self.head);
        let mut written = (0, 0);
        let Ok(()) = self.saver.save(view, &mut |change| {
            match change {
                SnapshotRecordUpdate::Clear => all.clear(),
                SnapshotRecordUpdate::Put(guid, part, bytes) => {
                    all.insert((guid, part), bytes.to_vec());
                    written = (written.0 + bytes.len(), written.1 + 1);
                }
                SnapshotRecordUpdate::Remove(guid, part) => {
                    all.remove(&(guid, part));
                }
                SnapshotRecordUpdate::Head(bytes) => {
                    *head = bytes.to_vec();
                    written = (written.0 + bytes.len(), written.1 + 1);
                }
            }
            Ok::<(), Infallible>(())
        });
        self.written = written;
    }

    /// Restores the view.
    ///
    /// # Errors
    /// If the records are not a complete view.
    pub fn restore(&self) -> Result<Snapshot, RestoreError> {
        let mut restorer = SnapshotRestorer::default();
        for ((guid, part), bytes) in &self.all {
            restorer.add_record(*guid, *part, bytes)?;
        }
        restorer.finish(&self.head)
    }
}

/// Saves and restores a view.
///
/// # Panics
/// If the view cannot be restored.
#[must_use]
pub fn snapshot_of(view: &Arc<Snapshot>, age: Duration) -> RestoredSnapshot {
    let mut records = Records::default();
    records.save(view);
    let restored = records.restore().unwrap_or_else(|e| panic!("{e}"));
    RestoredSnapshot {
        snapshot: Arc::new(restored),
        age,
    }
}
