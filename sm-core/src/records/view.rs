//! The view's records: what [`crate::sa::view::persist`] says, as changes of what is kept.
//!
//! The head carries the time when the view was saved last, so that whoever takes it over, here or on another machine, knows how
//! old it is. It knows what was handed out; whether it was kept is for the caller to say.

use core::convert::Infallible;
use std::sync::Arc;

use ferrosm_mad::ids::NodeGuid;

use super::routing::RoutingRecord;
use super::{RecordBatch, RecordChange, RecordKey, RecordKind};
use crate::sa::View;
use crate::sa::view::persist::{self, NodeRecordKind, ViewSaver};

/// Makes batches of views.
#[derive(Debug, Default)]
pub struct ViewPersister {
    saver: ViewSaver,
    head: Vec<u8>,
    /// The view whose routing was handed out last.
    routing: Option<Arc<View>>,
}

impl ViewPersister {
    /// What makes the view that was kept last this one; with `None` nothing is kept. `unix_s` is the time now, in seconds since
    /// 1970.
    pub fn batch(&mut self, view: Option<&Arc<View>>, unix_s: u64) -> RecordBatch {
        let nothing =
            [RecordKind::View, RecordKind::ViewHead, RecordKind::Routing].map(RecordChange::Clear);
        let mut changes = Vec::new();
        let Some(view) = view else {
            self.forget();
            changes.extend(nothing);
            return RecordBatch { changes };
        };
        let head = &mut self.head;
        let Ok(()) = self.saver.save(view, &mut |change| {
            match change {
                persist::ViewRecordUpdate::Clear => changes.extend(nothing.iter().take(2).cloned()),
                persist::ViewRecordUpdate::Put(guid, part, bytes) => {
                    changes.push(RecordChange::Put(key(guid, part), bytes.into()));
                }
                persist::ViewRecordUpdate::Remove(guid, part) => {
                    changes.push(RecordChange::Remove(key(guid, part)))
                }
                persist::ViewRecordUpdate::Head(bytes) => *head = bytes.to_vec(),
            }
            Ok::<(), Infallible>(())
        });
        let mut value = unix_s.to_be_bytes().to_vec();
        value.extend_from_slice(&self.head);
        changes.push(RecordChange::Put(
            RecordKey::new(RecordKind::ViewHead, &[]),
            value.into(),
        ));
        let known = self.routing.as_ref();
        if !known.is_some_and(|known| view.shares_routing_with(known))
            && let Some(routing) = RoutingRecord::of_view(view)
        {
            let value = routing.encode().into();
            changes.push(RecordChange::Put(
                RecordKey::new(RecordKind::Routing, &[]),
                value,
            ));
            self.routing = Some(Arc::clone(view));
        }
        RecordBatch { changes }
    }

    /// What was handed out was not kept: the next batch has everything.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

fn key(guid: NodeGuid, part: NodeRecordKind) -> RecordKey {
    RecordKey::new(RecordKind::View, &[&guid.0.to_be_bytes(), &[part as u8]])
}

/// What a part of a view is about.
#[must_use]
pub fn node_and_part(key: &RecordKey) -> Option<(NodeGuid, NodeRecordKind)> {
    let (guid, rest) = key.suffix().split_first_chunk()?;
    let [part] = rest else { return None };
    let part = NodeRecordKind::from_number(*part)?;
    (key.kind() == Some(RecordKind::View)).then(|| (NodeGuid(u64::from_be_bytes(*guid)), part))
}
