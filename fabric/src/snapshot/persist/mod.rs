//! Conversion of a snapshot to persisted records and back (ADR 0009).
//!
//! | module | contents |
//! |---|---|
//! | this | differences from the previously saved snapshot |
//! | `records` | contents and encoding of records |
//! | `restore` | records to a snapshot |
//!
//! Each node has several records, split by what changes together: a join rewrites no LFT, and
//! unchanged tables are compared by pointer. The module is pure; the caller stores the bytes and
//! protects their integrity. Registrations are persisted separately, alias GUIDs among them.

mod records;
mod restore;

use core::time::Duration;
use std::borrow::Cow;
use std::sync::Arc;

use ferrosm_mad::ids::{GidPrefix, Lid, NodeGuid, PortGuid, PortNum};

pub use restore::{RestoreError, SnapshotRestorer};

use records::{ForwardingRecord, HeadRecord, NodeRecord, encode};

use super::{EndPort, Snapshot, SnapshotNode, SnapshotPort};
use crate::tables::mft::MftBlocks;

/// Version of the record format. Other versions are not read.
pub const VERSION: u32 = 3;

/// What a record of a node contains. The discriminants are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeRecordKind {
    /// Node, ports, links, end ports and P_Keys. Every node has one.
    Node = 0,
    /// LFT of a switch, and SLs of the paths from the end ports attached to it.
    Forwarding = 1,
    /// MFT of a switch.
    Multicast = 2,
    /// SLtoVLMappingTables, and VL tables that were read.
    VlTables = 3,
}

impl NodeRecordKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Node,
        Self::Forwarding,
        Self::Multicast,
        Self::VlTables,
    ];

    /// The kind with this discriminant.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A change of the persisted records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotRecordUpdate<'a> {
    /// Remove all records of the snapshot.
    Clear,
    /// Add or replace a record.
    Put(NodeGuid, NodeRecordKind, &'a [u8]),
    /// Remove a record.
    Remove(NodeGuid, NodeRecordKind),
    /// Replace the data that does not belong to one node. Always last.
    Head(&'a [u8]),
}

/// Computes the changes since the snapshot that was saved last.
#[derive(Debug, Default)]
pub struct SnapshotSaver {
    last: Option<Arc<Snapshot>>,
    head: Vec<u8>,
}

impl SnapshotSaver {
    /// Passes the changes since the last saved snapshot to `apply`, or all records if there is
    /// none. The changes are one transaction.
    ///
    /// # Errors
    /// The first error of `apply`. The state of the persisted records is then unknown, and the next
    /// call writes all records.
    pub fn save<E>(
        &mut self,
        snapshot: &Arc<Snapshot>,
        apply: &mut dyn FnMut(SnapshotRecordUpdate<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let last = self.last.take();
        let before = last.as_deref();
        if before.is_none() {
            self.head.clear();
            apply(SnapshotRecordUpdate::Clear)?;
        }
        let mut bytes = Vec::new();
        for (slot, node) in persisted_nodes(snapshot) {
            let current = NodeInSnapshot {
                snapshot,
                slot,
                node,
            };
            let previous = before.and_then(|before| {
                let slot = before.by_node_guid(node.guid)?;
                Some(NodeInSnapshot {
                    snapshot: before,
                    slot,
                    node: before.node(slot),
                })
            });
            for kind in NodeRecordKind::ALL {
                if previous
                    .as_ref()
                    .is_some_and(|previous| previous.has_same_record(&current, kind))
                {
                    continue;
                }
                bytes.clear();
                if current.encode(kind, &mut bytes) {
                    apply(SnapshotRecordUpdate::Put(node.guid, kind, &bytes))?;
                } else if previous.is_some() {
                    apply(SnapshotRecordUpdate::Remove(node.guid, kind))?;
                }
            }
        }
        for (_, node) in before.into_iter().flat_map(persisted_nodes) {
            if snapshot.by_node_guid(node.guid).is_none() {
                for kind in NodeRecordKind::ALL {
                    apply(SnapshotRecordUpdate::Remove(node.guid, kind))?;
                }
            }
        }
        bytes.clear();
        let head = HeadRecord {
            prefix: snapshot.prefix,
            local: snapshot.local.map(|at| snapshot.end_port(at).port),
            nodes: persisted_nodes(snapshot).count(),
            sms: Cow::Borrowed(&snapshot.sms),
            levels: snapshot.service_levels.lookup(),
        };
        encode(&head, &mut bytes);
        if bytes != self.head {
            apply(SnapshotRecordUpdate::Head(&bytes))?;
            core::mem::swap(&mut self.head, &mut bytes);
        }
        self.last = Some(Arc::clone(snapshot));
        Ok(())
    }

    /// The changes were not persisted: the next call writes all records.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Nodes that the index by node GUID refers to, with their slots.
fn persisted_nodes(snapshot: &Snapshot) -> impl Iterator<Item = (u32, &SnapshotNode)> {
    let slots = (0u32..).zip(snapshot.nodes.iter());
    let present = slots.filter(|(_, p)| !p.ports.is_empty());
    let owners = present.filter(|(slot, p)| snapshot.by_node_guid(p.node.guid) == Some(*slot));
    owners.map(|(slot, p)| (slot, &*p.node))
}

/// A node in a snapshot.
struct NodeInSnapshot<'a> {
    snapshot: &'a Snapshot,
    slot: u32,
    node: &'a SnapshotNode,
}

impl NodeInSnapshot<'_> {
    fn ports(&self) -> &Arc<[SnapshotPort]> {
        &self.snapshot.nodes[self.slot as usize].ports
    }

    fn end_ports(&self) -> &[EndPort] {
        self.snapshot.end_ports.of_node(self.slot)
    }

    /// Whether the index by GUID refers to this end port.
    fn is_guid_owner(&self, end_port: &EndPort) -> bool {
        let owner = self.snapshot.end_ports.by_guid(end_port.guid);
        owner.is_some_and(|at| self.snapshot.end_port(at).port == end_port.port)
    }

    fn mft(&self) -> Option<&Arc<MftBlocks>> {
        let mft = &self.node.switch.as_ref()?.mft;
        Some(mft).filter(|blocks| !blocks.is_empty())
    }

    /// Whether both nodes have the same record.
    fn has_same_record(&self, other: &NodeInSnapshot<'_>, kind: NodeRecordKind) -> bool {
        let a = self.node;
        let b = other.node;
        match kind {
            NodeRecordKind::Node => {
                let contents = |n: &SnapshotNode| (n.node_type, n.info, n.description, info_of(n));
                let flags_of = |node: &NodeInSnapshot<'_>| {
                    let flags = node
                        .end_ports()
                        .iter()
                        .map(|end_port| node.is_guid_owner(end_port));
                    flags.collect::<Vec<_>>()
                };
                self.slot == other.slot
                    && self.ports() == other.ports()
                    && contents(a) == contents(b)
                    && (Arc::ptr_eq(&self.snapshot.end_ports, &other.snapshot.end_ports)
                        || (self.end_ports() == other.end_ports()
                            && flags_of(self) == flags_of(other)))
            }
            NodeRecordKind::Forwarding => {
                let lft = |n: &SnapshotNode| n.switch.as_ref().and_then(|s| s.lft.clone());
                let same_lft = match (lft(a), lft(b)) {
                    (Some(a), Some(b)) => Arc::ptr_eq(&a, &b) || a == b,
                    (None, None) => true,
                    _ => false,
                };
                let row = |node: &NodeInSnapshot<'_>| node.snapshot.service_levels.row(node.slot);
                same_lft && row(self) == row(other)
            }
            NodeRecordKind::Multicast => match (self.mft(), other.mft()) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                (a, b) => a.is_none() && b.is_none(),
            },
            NodeRecordKind::VlTables => a.sl_to_vl == b.sl_to_vl,
        }
    }

    /// Encodes a record; `false` if the node has none of this kind.
    fn encode(&self, kind: NodeRecordKind, out: &mut Vec<u8>) -> bool {
        let node = self.node;
        match kind {
            NodeRecordKind::Node => {
                let owners = self.end_ports().iter().map(|end| self.is_guid_owner(end));
                let record = NodeRecord {
                    slot: self.slot,
                    node: Cow::Borrowed(node),
                    ports: Cow::Borrowed(self.ports()),
                    end_ports: Cow::Borrowed(self.end_ports()),
                    guid_owners: owners.collect(),
                };
                encode(&record, out);
            }
            NodeRecordKind::Forwarding => {
                let Some(switch) = &node.switch else {
                    return false;
                };
                let record = ForwardingRecord {
                    lft: switch.lft.clone(),
                    row: self.snapshot.service_levels.row(self.slot),
                };
                encode(&record, out);
            }
            NodeRecordKind::Multicast => match self.mft() {
                Some(mft) => encode(mft, out),
                None => return false,
            },
            NodeRecordKind::VlTables if node.sl_to_vl.is_empty() => return false,
            NodeRecordKind::VlTables => encode(&node.sl_to_vl, out),
        }
        true
    }
}

fn info_of(node: &SnapshotNode) -> Option<[u8; 20]> {
    node.switch.as_ref().map(|s| s.info)
}

/// A restored snapshot and its age.
#[derive(Debug, Clone)]
pub struct RestoredSnapshot {
    pub snapshot: Arc<Snapshot>,
    /// Time since it was last saved.
    pub age: Duration,
}

/// Identifies a subnet and the SM's location in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotIdentity {
    /// Subnet prefix.
    pub prefix: GidPrefix,
    /// The SM's own port.
    pub port: PortGuid,
    /// Its base LID.
    pub lid: Lid,
    /// The port at the other end of its link; `None` for a switch's port 0.
    pub neighbour: Option<(NodeGuid, PortNum)>,
}

impl Snapshot {
    /// Identity of the snapshot; `None` if the SM's port is unknown.
    #[must_use]
    pub fn identity(&self) -> Option<SnapshotIdentity> {
        let end_port = self.end_port(self.local?);
        let peer = self.peer(end_port.port);
        Some(SnapshotIdentity {
            prefix: self.prefix,
            port: end_port.guid,
            lid: end_port.lid,
            neighbour: peer.map(|p| (self.node(p.node()).guid, self.port(p).num)),
        })
    }

    /// A copy with another SM port.
    #[must_use]
    pub fn with_local_port(&self, port_guid: PortGuid) -> Self {
        Self {
            local: self.by_guid(port_guid),
            ..self.clone()
        }
    }

    /// A copy that contains only the end ports for which `is_retained` is true. The others are not
    /// found by LID, GUID or node.
    #[must_use]
    pub fn with_end_ports(&self, is_retained: impl Fn(&EndPort) -> bool) -> Self {
        let mut end_ports = super::EndPortTable::with_capacity(self.nodes.len());
        for (slot, node) in persisted_nodes(self) {
            end_ports.insert_node(node.guid, slot);
        }
        for end_port in self.end_ports().iter().filter(|end| is_retained(end)) {
            let by_guid = self
                .end_ports
                .by_guid(end_port.guid)
                .map(|at| self.end_port(at).port);
            end_ports.push(end_port.clone(), by_guid == Some(end_port.port));
        }
        let local_port = self.local.map(|at| self.end_port(at).port);
        Self {
            local: local_port.and_then(|port| end_ports.at_port(port)),
            end_ports: Arc::new(end_ports),
            ..self.clone()
        }
    }
}
