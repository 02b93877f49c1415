//! End ports, indexed by LID, port GUID, node GUID, SystemImageGUID and port. The next snapshot
//! shares the table unless an end port was added, removed or changed.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid};
use rustc_hash::FxHashMap;

use super::system_images::SystemImageIndex;
use super::{EndPort, EndPortIdx, PortIdx, Snapshot};

/// Port GUIDs of the end ports added and removed between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndPortChanges {
    /// End ports of the previous snapshot only.
    pub removed: BTreeSet<PortGuid>,
    /// End ports of the new snapshot only.
    pub added: BTreeSet<PortGuid>,
}

/// All end ports.
#[derive(Debug, Default)]
pub(super) struct EndPortTable {
    /// In the order of their ports.
    ports: Vec<EndPort>,
    /// Index of the end port of each LID; `u32::MAX` for none.
    by_lid: Vec<u32>,
    by_guid: FxHashMap<PortGuid, EndPortIdx>,
    by_node_guid: FxHashMap<NodeGuid, u32>,
    /// Built by the first query that needs it.
    pub(super) images: OnceLock<SystemImageIndex>,
}

impl EndPortTable {
    /// An empty table with capacity for `nodes` nodes.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        let mut table = Self::default();
        table.ports.reserve(nodes);
        table.by_guid.reserve(nodes);
        table.by_node_guid.reserve(nodes);
        table
    }

    pub(super) fn insert_node(&mut self, guid: NodeGuid, slot: u32) {
        self.by_node_guid.insert(guid, slot);
    }

    /// Appends an end port. The index by port GUID refers to it if `is_indexed`: false if another
    /// port with the same GUID is indexed.
    pub(super) fn push(&mut self, end_port: EndPort, is_indexed: bool) {
        let idx = EndPortIdx::from_index(self.ports.len());
        if end_port.lid.is_unicast() {
            let from = usize::from(end_port.lid.0);
            let to = from + usize::from(end_port.num_lids());
            if self.by_lid.len() < to {
                self.by_lid.resize(to, u32::MAX);
            }
            self.by_lid[from..to].fill(idx.0);
        }
        if is_indexed {
            self.by_guid.insert(end_port.guid, idx);
        }
        self.ports.push(end_port);
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[EndPort] {
        &self.ports
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

    /// The end port of a port. End ports are sorted by port.
    pub(super) fn at_port(&self, at: PortIdx) -> Option<EndPortIdx> {
        let index = self.ports.binary_search_by_key(&at, |e| e.port).ok()?;
        u32::try_from(index).ok().map(EndPortIdx)
    }

    /// The end ports of the node in a slot.
    pub(super) fn of_node(&self, slot: u32) -> &[EndPort] {
        let from = self.ports.partition_point(|e| e.node < slot);
        let len = self.ports[from..].partition_point(|e| e.node == slot);
        &self.ports[from..from + len]
    }
}

impl Snapshot {
    /// End ports added and removed since the previous snapshot; all were added if there is none.
    #[must_use]
    pub fn end_port_changes(&self, previous: Option<&Self>) -> EndPortChanges {
        let Some(previous) = previous else {
            let added = self.end_ports().iter().map(|e| e.guid).collect();
            return EndPortChanges {
                added,
                ..EndPortChanges::default()
            };
        };
        if std::sync::Arc::ptr_eq(&self.end_ports, &previous.end_ports) {
            return EndPortChanges::default();
        }
        let missing = |from: &EndPortTable, to: &EndPortTable| {
            let guids = from.by_guid.keys().copied();
            guids.filter(|g| to.by_guid(*g).is_none()).collect()
        };
        EndPortChanges {
            removed: missing(&previous.end_ports, &self.end_ports),
            added: missing(&self.end_ports, &previous.end_ports),
        }
    }
}
