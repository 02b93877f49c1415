//! Records of the SA view: the updates of [`crate::sa::view::persist`] as record changes.
//!
//! The header record contains the Unix time of the last batch, so that a reader knows the age of
//! the view. The caller reports a batch that was not stored with [`ViewPersister::forget`].

use core::convert::Infallible;
use std::sync::Arc;

use ferrosm_mad::ids::NodeGuid;

use super::routing::RoutingRecord;
use super::{RecordBatch, RecordChange, RecordKey, RecordKind};
use crate::sa::View;
use crate::sa::view::persist::{self, NodeRecordKind, ViewSaver};

/// Converts views to batches of record changes.
#[derive(Debug, Default)]
pub struct ViewPersister {
    saver: ViewSaver,
    head: Vec<u8>,
    /// The view whose routing was in a batch last.
    routing: Option<Arc<View>>,
}

impl ViewPersister {
    /// The changes from the previous view to `view`; `None` removes the persisted view. `unix_s` is
    /// the current Unix time.
    pub fn batch(&mut self, view: Option<&Arc<View>>, unix_s: u64) -> RecordBatch {
        let mut changes = Vec::new();
        let Ok(()) = self.save(view, unix_s, &mut |change| {
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
        view: Option<&Arc<View>>,
        unix_s: u64,
        apply: &mut dyn FnMut(RecordChange) -> Result<(), E>,
    ) -> Result<(), E> {
        let saved = self.save_changes(view, unix_s, apply);
        if saved.is_err() {
            self.forget();
        }
        saved
    }

    fn save_changes<E>(
        &mut self,
        view: Option<&Arc<View>>,
        unix_s: u64,
        apply: &mut dyn FnMut(RecordChange) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(view) = view else {
            self.forget();
            let kinds = [RecordKind::View, RecordKind::ViewHead, RecordKind::Routing];
            return kinds
                .map(RecordChange::Clear)
                .into_iter()
                .try_for_each(apply);
        };
        let head = &mut self.head;
        self.saver.save(view, &mut |change| match change {
            persist::ViewRecordUpdate::Clear => {
                apply(RecordChange::Clear(RecordKind::View))?;
                apply(RecordChange::Clear(RecordKind::ViewHead))
            }
            persist::ViewRecordUpdate::Put(guid, part, bytes) => {
                apply(RecordChange::Put(key(guid, part), bytes.into()))
            }
            persist::ViewRecordUpdate::Remove(guid, part) => {
                apply(RecordChange::Remove(key(guid, part)))
            }
            persist::ViewRecordUpdate::Head(bytes) => {
                *head = bytes.to_vec();
                Ok(())
            }
        })?;
        let mut value = unix_s.to_be_bytes().to_vec();
        value.extend_from_slice(&self.head);
        let key = RecordKey::new(RecordKind::ViewHead, &[]);
        apply(RecordChange::Put(key, value.into()))?;
        let persisted_routing = self.routing.as_ref();
        if !persisted_routing.is_some_and(|known| view.shares_routing_with(known))
            && let Some(routing) = RoutingRecord::of_view(view)
        {
            let value = routing.encode().into();
            let key = RecordKey::new(RecordKind::Routing, &[]);
            apply(RecordChange::Put(key, value))?;
            self.routing = Some(Arc::clone(view));
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

/// The node and the part that the key of a view record names.
#[must_use]
pub fn node_and_part(key: &RecordKey) -> Option<(NodeGuid, NodeRecordKind)> {
    let (guid, rest) = key.suffix().split_first_chunk()?;
    let [part] = rest else { return None };
    let kind = NodeRecordKind::from_number(*part)?;
    (key.kind() == Some(RecordKind::View)).then(|| (NodeGuid(u64::from_be_bytes(*guid)), kind))
}
