//! End ports with their indices by LID, GUID, system and port. Made anew only when an end port came, went or changed; otherwise
//! the next view shares them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid};
use rustc_hash::FxHashMap;

use super::system_images::SystemImageIndex;
use super::{EndPort, EndPortIdx, PortIdx, View};

/// End ports that came and went from one view to the next, by GUID.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GidChanges {
    /// Those of the view before that are not there any more.
    pub removed: BTreeSet<PortGuid>,
    /// Those that were not there before.
    pub added: BTreeSet<PortGuid>,
}

/// All end ports.
#[derive(Debug, Default)]
pub(super) struct EndPortTable {
    /// By their slot in the subnet.
    all: Vec<EndPort>,
    /// Of each LID; `u32::MAX` for none.
    by_lid: Vec<u32>,
    by_guid: FxHashMap<PortGuid, EndPortIdx>,
    by_node_guid: FxHashMap<NodeGuid, u32>,
    /// Made by the first query that needs it.
    pub(super) images: OnceLock<SystemImageIndex>,
}

impl EndPortTable {
    /// Room for so many nodes.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        let mut ends = Self::default();
        ends.all.reserve(nodes);
        ends.by_guid.reserve(nodes);
        ends.by_node_guid.reserve(nodes);
        ends
    }

    pub(super) fn insert_node(&mut self, guid: NodeGuid, slot: u32) {
        self.by_node_guid.insert(guid, slot);
    }

    /// Adds an end port, behind all others; `named` where its GUID means it and no other port.
    pub(super) fn push(&mut self, end: EndPort, named: bool) {
        let idx = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        if end.lid.is_unicast() {
            let from = usize::from(end.lid.0);
            let to = from + usize::from(end.lids());
            if self.by_lid.len() < to {
                self.by_lid.resize(to, u32::MAX);
            }
            self.by_lid[from..to].fill(idx);
        }
        if named {
            self.by_guid.insert(end.guid, EndPortIdx(idx));
        }
        self.all.push(end);
    }

    pub(super) fn all(&self) -> &[EndPort] {
        &self.all
    }

    pub(super) fn by_lid(&self, lid: Lid) -> Option<EndPortIdx> {
        let at = *self.by_lid.get(usize::from(lid.0))?;
        (at != u32::MAX).then_some(EndPortIdx(at))
    }

    pub(super) fn by_guid(&self, guid: PortGuid) -> Option<EndPortIdx> {
        self.by_guid.get(&guid).copied()
    }

    pub(super) fn by_node_guid(&self, guid: NodeGuid) -> Option<u32> {
        self.by_node_guid.get(&guid).copied()
    }

    /// The end port that is this port. They are in the order of their ports.
    pub(super) fn at_port(&self, at: PortIdx) -> Option<EndPortIdx> {
        let found = self.all.binary_search_by_key(&at, |e| e.port).ok()?;
        u32::try_from(found).ok().map(EndPortIdx)
    }

    /// The end ports of the node at a slot.
    pub(super) fn of_node(&self, slot: u32) -> &[EndPort] {
        let from = self.all.partition_point(|e| e.node < slot);
        let len = self.all[from..].partition_point(|e| e.node == slot);
        &self.all[from..from + len]
    }
}

impl View {
    /// End ports that came and went since the view before; all came where there was none.
    #[must_use]
    pub fn gid_changes(&self, before: Option<&Self>) -> GidChanges {
        let Some(before) = before else {
            let added = self.end_ports().iter().map(|e| e.guid).collect();
            return GidChanges {
                added,
                ..GidChanges::default()
            };
        };
        if std::sync::Arc::ptr_eq(&self.end_ports, &before.end_ports) {
            return GidChanges::default();
        }
        let missing = |from: &EndPortTable, to: &EndPortTable| {
            let guids = from.by_guid.keys().copied();
            guids.filter(|g| to.by_guid(*g).is_none()).collect()
        };
        GidChanges {
            removed: missing(&before.end_ports, &self.end_ports),
            added: missing(&self.end_ports, &before.end_ports),
        }
    }
}
