//! [`RestoredState`] in a recording: its records, in which leases keep their remaining time, and
//! the view with its age.

use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::ids::NodeGuid;
use serde::{Deserialize, Serialize};

use ferrosm_core::records::routing::RoutingRecord;
use ferrosm_core::records::{Record, RecordRestorer, RestoredState};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::{self, NodeRecordKind, RestoredSnapshot, SnapshotSaver};
use ferrosm_sa::registry::registration::Registration;

use crate::keys::KeyMask;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordedRestored {
    /// All except those of the view and the routing.
    records: Vec<Record>,
    view: Option<RecordedView>,
    routing: Option<Arc<RoutingRecord>>,
    complete: bool,
}

/// [`RestoredSnapshot`].
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RecordedView {
    age: Duration,
    head: Vec<u8>,
    /// Node GUID, kind, record.
    node_records: Vec<(u64, u8, Vec<u8>)>,
}

impl RecordedRestored {
    fn new(restored: &RestoredState) -> Self {
        Self {
            records: restored.records().collect(),
            view: restored.snapshot.as_ref().map(RecordedView::new),
            routing: restored.routing.clone(),
            complete: restored.complete,
        }
    }

    /// The recorded form of `restored`, and the state that a replay restores from it. The recorded
    /// SM must start from the latter, too: it lacks nodes with duplicate GUIDs, which a view in
    /// memory may contain but records do not.
    pub(crate) fn with_replayed(restored: RestoredState) -> (Self, RestoredState) {
        let recorded = Self::new(&restored);
        let replayed = recorded.clone().restore().unwrap_or(restored);
        (recorded, replayed)
    }

    /// Replaces M_Keys and ServiceKeys.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other records contain no keys"
    )]
    pub(crate) fn replace_keys(&mut self, keys: &mut KeyMask) {
        for record in &mut self.records {
            match record {
                Record::MKey { m_key, .. } => *m_key = keys.of(*m_key),
                Record::Registration(Registration::Service(service)) => {
                    keys.replace(&mut service.record.service_key);
                }
                _ => {}
            }
        }
    }

    /// The value; the error names the invalid record.
    pub(crate) fn restore(self) -> Result<RestoredState, String> {
        let mut restorer = RecordRestorer::new(0);
        for record in self.records {
            restorer.add(record);
        }
        let (restored, skipped) = restorer.finish();
        if let Some(skipped) = skipped.first() {
            return Err(skipped.to_string());
        }
        Ok(RestoredState {
            snapshot: self.view.map(RecordedView::restore).transpose()?,
            routing: self.routing,
            complete: self.complete,
            ..restored
        })
    }
}

impl RecordedView {
    fn new(snapshot: &RestoredSnapshot) -> Self {
        let mut head = Vec::new();
        let mut node_records = Vec::new();
        for_each_record(&snapshot.snapshot, &mut |change| match change {
            persist::SnapshotRecordUpdate::Put(guid, kind, bytes) => {
                node_records.push((guid.0, kind as u8, bytes.to_vec()));
            }
            persist::SnapshotRecordUpdate::Head(bytes) => head = bytes.to_vec(),
            persist::SnapshotRecordUpdate::Clear | persist::SnapshotRecordUpdate::Remove(..) => {}
        });
        Self {
            age: snapshot.age,
            head,
            node_records,
        }
    }

    fn restore(self) -> Result<RestoredSnapshot, String> {
        let mut restorer = persist::SnapshotRestorer::default();
        for (guid, kind, bytes) in &self.node_records {
            let kind = NodeRecordKind::from_number(*kind)
                .ok_or_else(|| format!("invalid kind {kind} of a view record"))?;
            let put = restorer.add_record(NodeGuid(*guid), kind, bytes);
            put.map_err(|e| e.to_string())?;
        }
        let view = restorer.finish(&self.head).map_err(|e| e.to_string())?;
        Ok(RestoredSnapshot {
            snapshot: Arc::new(view),
            age: self.age,
        })
    }
}

/// All records of a view, in order.
pub(crate) fn for_each_record(
    view: &Arc<Snapshot>,
    take: &mut dyn FnMut(persist::SnapshotRecordUpdate<'_>),
) {
    let Ok(()) = SnapshotSaver::default().save(view, &mut |change| {
        take(change);
        Ok::<(), Infallible>(())
    });
}
