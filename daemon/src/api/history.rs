//! Links and nodes that changed since this SM became master: what is down or absent, and since
//! when.
//!
//! Only what changed has an entry, so that an update costs what changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::{NodeGuid, PortNum};

/// Most links and most nodes with an entry. At the limit, those that are back are forgotten first;
/// further ones are not recorded.
const ENTRIES_MAX: usize = 65_536;

/// The ends of a link: node GUIDs and port numbers, the lower end first.
pub(super) type LinkKey = [(NodeGuid, PortNum); 2];

/// What changed since this SM became master.
#[derive(Debug, Clone, Default)]
pub struct History {
    links: BTreeMap<LinkKey, LinkChanges>,
    nodes: BTreeMap<NodeGuid, NodeChange>,
}

/// Changes of a link.
#[derive(Debug, Clone)]
pub(super) struct LinkChanges {
    pub(super) is_up: bool,
    /// When it went down or came up last.
    pub(super) since: SystemTime,
    /// How often it went down.
    pub(super) times_down: u32,
    /// Its rate when it was up last.
    pub(super) rate: String,
    /// Names of the nodes when it was up last.
    pub(super) names: [String; 2],
}

/// The last change of a node.
#[derive(Debug, Clone)]
pub(super) struct NodeChange {
    pub(super) is_present: bool,
    pub(super) since: SystemTime,
    /// Its name when it was present last.
    pub(super) name: String,
    /// The port at the other end of its first link when it was present last.
    pub(super) location: String,
    pub(super) kind: ferrosm_api::fabric::NodeKind,
}

/// The key of a link.
pub(super) fn link_key(snapshot: &Snapshot, a: PortIdx, b: PortIdx) -> LinkKey {
    let end = |at: PortIdx| (snapshot.node(at.node()).guid, at.num());
    let mut ends = [end(a), end(b)];
    ends.sort_unstable();
    ends
}

impl History {
    pub(super) fn link(&self, key: &LinkKey) -> Option<&LinkChanges> {
        self.links.get(key)
    }

    pub(super) fn node(&self, guid: NodeGuid) -> Option<&NodeChange> {
        self.nodes.get(&guid)
    }

    /// The links that are down.
    pub(super) fn down_links(&self) -> impl Iterator<Item = (&LinkKey, &LinkChanges)> {
        self.links.iter().filter(|(_, link)| !link.is_up)
    }

    /// The nodes that are absent.
    pub(super) fn absent_nodes(&self) -> impl Iterator<Item = (NodeGuid, &NodeChange)> {
        let nodes = self.nodes.iter().map(|(guid, node)| (*guid, node));
        nodes.filter(|(_, node)| !node.is_present)
    }

    /// Records what differs between two snapshots.
    pub(super) fn update(
        this: &mut Arc<Self>,
        before: &Snapshot,
        after: &Snapshot,
        now: SystemTime,
    ) {
        for slot in before.slots_changed_in(after) {
            let history = Arc::make_mut(this);
            let guid = before.node(slot).guid;
            history.update_links(before, after, slot, now, false);
            if after.by_node_guid(guid).is_none() {
                history.record_node(before, slot, now, false);
            }
        }
        for slot in after.slots_changed_in(before) {
            let history = Arc::make_mut(this);
            let guid = after.node(slot).guid;
            history.update_links(after, before, slot, now, true);
            if before.by_node_guid(guid).is_none() {
                history.record_node(after, slot, now, true);
            }
        }
    }

    /// Records the links of a node that only `of` has.
    fn update_links(
        &mut self,
        of: &Snapshot,
        other: &Snapshot,
        slot: u32,
        now: SystemTime,
        is_up: bool,
    ) {
        for (num, peer) in of.linked_ports(slot) {
            let at = PortIdx::new(slot, num);
            let key = link_key(of, at, peer);
            if !has_link(other, &key) {
                self.record_link(of, key, at, peer, now, is_up);
            }
        }
    }

    fn record_link(
        &mut self,
        of: &Snapshot,
        key: LinkKey,
        at: PortIdx,
        peer: PortIdx,
        now: SystemTime,
        is_up: bool,
    ) {
        if let Some(link) = self.links.get_mut(&key) {
            if link.is_up != is_up {
                link.is_up = is_up;
                link.since = now;
                link.times_down += u32::from(!is_up);
            }
            return;
        }
        if self.links.len() >= ENTRIES_MAX {
            self.links.retain(|_, link| !link.is_up);
        }
        if self.links.len() >= ENTRIES_MAX {
            return;
        }
        let names = key.map(|(guid, _)| {
            let slot = of.by_node_guid(guid);
            slot.map_or_else(String::new, |slot| of.node(slot).name())
        });
        let link = ferrosm_fabric::snapshot::SnapshotLink { a: at, b: peer };
        let changes = LinkChanges {
            is_up,
            since: now,
            times_down: u32::from(!is_up),
            rate: of.reported_link(link).to_string(),
            names,
        };
        self.links.insert(key, changes);
    }

    fn record_node(&mut self, of: &Snapshot, slot: u32, now: SystemTime, is_present: bool) {
        let guid = of.node(slot).guid;
        if self.nodes.len() >= ENTRIES_MAX {
            self.nodes.retain(|_, node| !node.is_present);
        }
        if self.nodes.len() >= ENTRIES_MAX && !self.nodes.contains_key(&guid) {
            return;
        }
        let change = NodeChange {
            is_present,
            since: now,
            name: of.node(slot).name(),
            location: super::names::node_location(of, slot),
            kind: super::names::node_kind(of.node(slot).node_type),
        };
        self.nodes.insert(guid, change);
    }
}

fn has_link(snapshot: &Snapshot, [a, b]: &LinkKey) -> bool {
    let port = |(guid, num): &(NodeGuid, PortNum)| {
        let slot = snapshot.by_node_guid(*guid)?;
        snapshot.port_by_num(slot, *num)
    };
    let (Some(a), Some(b)) = (port(a), port(b)) else {
        return false;
    };
    snapshot.peer(a) == Some(b)
}
