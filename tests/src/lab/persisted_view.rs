//! The persisted view of a simulated SM, record by record.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_mad::ids::NodeGuid;
use ferrosm_sa::View;
use ferrosm_sa::view::persist::{
    NodeRecordKind, RestoreError, ViewRecordUpdate, ViewRestorer, ViewSaver, ViewSnapshot,
};

/// The persisted records of a view.
#[derive(Debug, Default)]
pub struct Records {
    /// Records of nodes.
    pub all: BTreeMap<(NodeGuid, NodeRecordKind), Vec<u8>>,
    /// The record that is independent of nodes.
    pub head: Vec<u8>,
    /// Bytes and records that the last save wrote.
    pub written: (usize, usize),
    saver: ViewSaver,
}

impl Records {
    /// Saves a view in place of the previous one.
    pub fn save(&mut self, view: &Arc<View>) {
        let (all, head) = (&mut self.all, &mut self.head);
        let mut written = (0, 0);
        let Ok(()) = self.saver.save(view, &mut |change| {
            match change {
                ViewRecordUpdate::Clear => all.clear(),
                ViewRecordUpdate::Put(guid, part, bytes) => {
                    all.insert((guid, part), bytes.to_vec());
                    written = (written.0 + bytes.len(), written.1 + 1);
                }
                ViewRecordUpdate::Remove(guid, part) => {
                    all.remove(&(guid, part));
                }
                ViewRecordUpdate::Head(bytes) => {
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
    pub fn restore(&self) -> Result<View, RestoreError> {
        let mut restorer = ViewRestorer::default();
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
pub fn snapshot_of(view: &Arc<View>, age: Duration) -> ViewSnapshot {
    let mut records = Records::default();
    records.save(view);
    let restored = records.restore().unwrap_or_else(|e| panic!("{e}"));
    ViewSnapshot {
        view: Arc::new(restored),
        age,
    }
}
