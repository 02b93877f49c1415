//! A view as records that outlive the subnet manager, and back (ADR 0009).
//!
//! | module | what it holds |
//! |---|---|
//! | this | which records differ from those that were handed out last |
//! | `records` | what is in a record, and its bytes |
//! | `restore` | records to a view again, whatever is in them |
//!
//! There are some records for each node, by what changes together: so a joined group costs no forwarding table, and what nobody
//! changed is not even looked at. It is all pure. Who writes and reads the bytes, and guards them against what disks do, is
//! outside. What clients have registered is kept elsewhere ([`crate::registry::registration`]); alias GUIDs are a part of that.

mod records;
mod restore;

use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::ids::{GidPrefix, Lid, NodeGuid, PortGuid, PortNum};

pub use restore::{RestoreError, ViewRestorer};

use super::{EndPort, NodeView, View};
use crate::settings::SaSettings;
use crate::tables::mft::MftBlocks;
use crate::vl_tables::NodeVlTables;

/// Version of the records. A reader takes its own and no other.
pub const VERSION: u32 = 1;

/// What a record of a node is about. The numbers are the records' own and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeRecordKind {
    /// What the node and its ports say, its cables, its end ports and their P_Keys. Every node has one.
    Node = 0,
    /// A switch's forwarding table, and the SLs of packets that enter there.
    Forwarding = 1,
    /// A switch's multicast forwarding table.
    Multicast = 2,
    /// SLtoVLMappingTables, and the tables of lanes that were read.
    VlTables = 3,
}

impl NodeRecordKind {
    /// All there are.
    pub const ALL: [Self; 4] = [
        Self::Node,
        Self::Forwarding,
        Self::Multicast,
        Self::VlTables,
    ];

    /// By its number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|part| *part as u8 == number)
    }
}

/// Something to be changed in what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewRecordUpdate<'a> {
    /// Nothing that is kept is worth anything.
    Clear,
    /// A record, in slot of what there was.
    Put(NodeGuid, NodeRecordKind, &'a [u8]),
    /// There is no such record any more.
    Remove(NodeGuid, NodeRecordKind),
    /// What belongs to no single node, in slot of what there was. Comes last.
    Head(&'a [u8]),
}

/// Knows what was handed out last.
#[derive(Debug, Default)]
pub struct ViewSaver {
    last: Option<Arc<View>>,
    head: Vec<u8>,
}

impl ViewSaver {
    /// Hands out what differs from the view that was saved last, everything where there was none. The changes belong together:
    /// either all of them are kept or none.
    ///
    /// # Errors
    /// What `take` said first. Then nothing is known of what is kept, and the next time everything is handed out.
    pub fn save<E>(
        &mut self,
        view: &Arc<View>,
        take: &mut dyn FnMut(ViewRecordUpdate<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let last = self.last.take();
        let before = last.as_deref();
        if before.is_none() {
            self.head.clear();
            take(ViewRecordUpdate::Clear)?;
        }
        let mut bytes = Vec::new();
        for (slot, node) in named(view) {
            let was = before.and_then(|b| Some((b, b.by_node_guid(node.guid)?)));
            let is = NodeInView { view, slot, node };
            let was = was.map(|(view, slot)| NodeInView {
                view,
                slot,
                node: view.node(slot),
            });
            for part in NodeRecordKind::ALL {
                if was.as_ref().is_some_and(|was| was.same(&is, part)) {
                    continue;
                }
                bytes.clear();
                if is.encode(part, &mut bytes) {
                    take(ViewRecordUpdate::Put(node.guid, part, &bytes))?;
                } else if was.is_some() {
                    take(ViewRecordUpdate::Remove(node.guid, part))?;
                }
            }
        }
        for (_, node) in before.into_iter().flat_map(named) {
            if view.by_node_guid(node.guid).is_none() {
                for part in NodeRecordKind::ALL {
                    take(ViewRecordUpdate::Remove(node.guid, part))?;
                }
            }
        }
        bytes.clear();
        records::put_head(view, &mut bytes);
        if bytes != self.head {
            take(ViewRecordUpdate::Head(&bytes))?;
            core::mem::swap(&mut self.head, &mut bytes);
        }
        self.last = Some(Arc::clone(view));
        Ok(())
    }

    /// What was handed out did not get to where it is kept.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// The nodes that their GUID means, with their slots.
fn named(view: &View) -> impl Iterator<Item = (u32, &NodeView)> {
    let slots = (0u32..).zip(view.nodes.iter());
    let there = slots.filter(|(_, p)| !p.node.ports.is_empty());
    let named = there.filter(|(slot, p)| view.by_node_guid(p.node.guid) == Some(*slot));
    named.map(|(slot, p)| (slot, &*p.node))
}

/// A node in a view.
struct NodeInView<'a> {
    view: &'a View,
    slot: u32,
    node: &'a NodeView,
}

impl NodeInView<'_> {
    fn end_ports(&self) -> &[EndPort] {
        self.view.end_ports.of_node(self.slot)
    }

    /// Whether its GUID means this end port and no other.
    fn is_named(&self, end: &EndPort) -> bool {
        let found = self.view.end_ports.by_guid(end.guid);
        found.is_some_and(|at| self.view.end_port(at).port == end.port)
    }

    fn mft(&self) -> Option<&Arc<MftBlocks>> {
        let mft = &self.node.switch.as_ref()?.mft;
        Some(mft).filter(|blocks| !blocks.is_empty())
    }

    fn read_tables(&self) -> Option<&Arc<NodeVlTables>> {
        self.view.read_vl_tables.of_node(self.node.guid)
    }

    /// Whether the record of `other` is the one of this.
    fn same(&self, other: &NodeInView<'_>, part: NodeRecordKind) -> bool {
        let (a, b) = (self.node, other.node);
        match part {
            NodeRecordKind::Node => {
                let says = |n: &NodeView| (n.node_type, n.info, n.description, info_of(n));
                let named = |of: &NodeInView<'_>| {
                    let ends = of.end_ports().iter().map(|end| of.is_named(end));
                    ends.collect::<Vec<_>>()
                };
                self.slot == other.slot
                    && (Arc::ptr_eq(&a.ports, &b.ports) || a.ports == b.ports)
                    && says(a) == says(b)
                    && (Arc::ptr_eq(&self.view.end_ports, &other.view.end_ports)
                        || (self.end_ports() == other.end_ports() && named(self) == named(other)))
            }
            NodeRecordKind::Forwarding => {
                let lft = |n: &NodeView| n.switch.as_ref().and_then(|s| s.lft.clone());
                let same_lft = match (lft(a), lft(b)) {
                    (Some(a), Some(b)) => Arc::ptr_eq(&a, &b) || a == b,
                    (None, None) => true,
                    _ => false,
                };
                let row = |of: &NodeInView<'_>| of.view.service_levels.row(of.slot);
                same_lft && row(self) == row(other)
            }
            NodeRecordKind::Multicast => match (self.mft(), other.mft()) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                (a, b) => a.is_none() && b.is_none(),
            },
            NodeRecordKind::VlTables => {
                let read = match (self.read_tables(), other.read_tables()) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                    (a, b) => a.is_none() && b.is_none(),
                };
                read && a.sl_to_vl == b.sl_to_vl
            }
        }
    }

    /// Writes a record; `false` if there is nothing to be said.
    fn encode(&self, part: NodeRecordKind, out: &mut Vec<u8>) -> bool {
        match part {
            NodeRecordKind::Node => records::put_node(self, out),
            NodeRecordKind::Forwarding => records::put_routes(self, out),
            NodeRecordKind::Multicast => records::put_groups(self, out),
            NodeRecordKind::VlTables => records::put_lanes(self, out),
        }
    }
}

fn info_of(node: &NodeView) -> Option<[u8; 20]> {
    node.switch.as_ref().map(|s| s.info)
}

/// A view of the past, and how long ago that was.
#[derive(Debug, Clone)]
pub struct ViewSnapshot {
    /// What it was.
    pub view: Arc<View>,
    /// Since it was saved last.
    pub age: Duration,
}

/// What tells one subnet, and one slot in it, from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewIdentity {
    /// Upper half of GIDs.
    pub prefix: GidPrefix,
    /// The SM's own port.
    pub port: PortGuid,
    /// Its base LID.
    pub lid: Lid,
    /// What is at the other end of its cable; of a switch's own port nothing.
    pub neighbour: Option<(NodeGuid, PortNum)>,
}

impl View {
    /// ViewIdentity view it is; `None` where it has no own port.
    #[must_use]
    pub fn identity(&self) -> Option<ViewIdentity> {
        let own = self.end_port(self.local?);
        let peer = self.peer(own.port);
        Some(ViewIdentity {
            prefix: self.settings.prefix,
            port: own.guid,
            lid: own.lid,
            neighbour: peer.map(|p| (self.node(p.node()).guid, self.port(p).num)),
        })
    }

    /// The same, but another end port is the subnet manager's.
    #[must_use]
    pub fn with_local_port(&self, own: PortGuid) -> Self {
        Self {
            local: self.by_guid(own),
            ..self.clone()
        }
    }

    /// The same with other settings.
    #[must_use]
    pub fn with_settings(&self, settings: SaSettings) -> Self {
        Self {
            settings,
            ..self.clone()
        }
    }

    /// The same with only those end ports that are to stay. Others are not found by LID, GUID or node any more.
    #[must_use]
    pub fn with_end_ports(&self, stays: impl Fn(&EndPort) -> bool) -> Self {
        let mut ends = super::EndPortTable::with_capacity(self.nodes.len());
        for (slot, node) in named(self) {
            ends.insert_node(node.guid, slot);
        }
        for end in self.end_ports().iter().filter(|end| stays(end)) {
            let named = self
                .end_ports
                .by_guid(end.guid)
                .map(|at| self.end_port(at).port);
            ends.push(end.clone(), named == Some(end.port));
        }
        let own = self.local.map(|at| self.end_port(at).port);
        Self {
            local: own.and_then(|port| ends.at_port(port)),
            end_ports: Arc::new(ends),
            ..self.clone()
        }
    }
}
