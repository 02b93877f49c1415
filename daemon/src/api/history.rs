//! Links and nodes that changed since this SM became master, and those that it saw before and are
//! down or absent: what it is, and since when.
//!
//! Only what changed has an entry, so that an update costs what changed. An entry of what is gone
//! ends when it returns, after `health.expect`, by `ferrosm forget`, and for a link when one of its
//! ports has another link.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::{NodeGuid, PortNum};

/// Most links and most nodes with an entry. At the limit, those that are back are forgotten first;
/// further ones are not recorded.
const ENTRIES_MAX: usize = 65_536;

/// Estimated bytes of an entry, with its texts.
const ENTRY_LEN: usize = 240;

/// The ends of a link: node GUIDs and port numbers, the lower end first.
pub(super) type LinkKey = [(NodeGuid, PortNum); 2];

/// What changed since this SM became master.
#[derive(Debug, Clone, Default)]
pub struct History {
    links: BTreeMap<LinkKey, LinkChanges>,
    nodes: BTreeMap<NodeGuid, NodeChange>,
}

/// Changes of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeChange {
    pub(super) is_present: bool,
    pub(super) since: SystemTime,
    /// Its name when it was present last.
    pub(super) name: String,
    /// The port at the other end of its first link when it was present last.
    pub(super) location: String,
    pub(super) kind: ferrosm_api::fabric::NodeKind,
}

/// Entries that the next history does not have, or has with other contents. `None`: it has an entry
/// that this one does not have.
#[derive(Debug, Clone, Default)]
pub(super) struct HistoryDelta {
    links: Vec<(LinkKey, Option<LinkChanges>)>,
    nodes: Vec<(NodeGuid, Option<NodeChange>)>,
}

/// What an operator expects no longer: names of nodes and links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ForgottenEntries {
    pub(super) nodes: Vec<String>,
    pub(super) links: Vec<String>,
}

impl LinkChanges {
    /// `leaf-0-0/5 - spine-0-0/1`.
    pub(super) fn name(&self, key: &LinkKey) -> String {
        self.locations(key).join(" - ")
    }

    /// `leaf-0-0/5`, and the other end.
    fn locations(&self, key: &LinkKey) -> [String; 2] {
        [0, 1].map(|i| {
            let end = ferrosm_api::fabric::LinkEnd {
                guid: key[i].0.to_string(),
                name: self.names[i].clone(),
                port: key[i].1.0,
            };
            end.location()
        })
    }
}

impl HistoryDelta {
    /// An estimate of the memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        (self.links.len() + self.nodes.len()) * ENTRY_LEN
    }
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

    /// Records a node that was seen in an earlier run and is absent.
    pub(super) fn insert_absent_node(&mut self, guid: NodeGuid, node: NodeChange) {
        if self.nodes.len() < ENTRIES_MAX {
            self.nodes.insert(guid, node);
        }
    }

    /// Records a link that was seen in an earlier run and is down.
    pub(super) fn insert_down_link(&mut self, key: LinkKey, link: LinkChanges) {
        if self.links.len() < ENTRIES_MAX {
            self.links.insert(key, link);
        }
    }

    /// What the next history does not have.
    pub(super) fn delta_to(&self, next: &Self) -> HistoryDelta {
        HistoryDelta {
            links: earlier_entries(&self.links, &next.links),
            nodes: earlier_entries(&self.nodes, &next.nodes),
        }
    }

    /// Becomes the history before, of which this is the delta.
    pub(super) fn rewind(&mut self, delta: &HistoryDelta) {
        restore_entries(&mut self.links, &delta.links);
        restore_entries(&mut self.nodes, &delta.nodes);
    }

    /// What was seen when this SM was master before, at `last_seen`, and is not in the subnet.
    pub(super) fn of_earlier_term(
        mut earlier: Arc<Self>,
        before: &Snapshot,
        after: &Snapshot,
        last_seen: SystemTime,
    ) -> Arc<Self> {
        Self::update(&mut earlier, before, after, last_seen);
        let history = Arc::make_mut(&mut earlier);
        history.links.retain(|_, link| !link.is_up);
        history.nodes.retain(|_, node| !node.is_present);
        earlier
    }

    /// Whether [`Self::remove_gone_before`] would remove an entry.
    pub(super) fn has_gone_before(&self, limit: SystemTime) -> bool {
        let mut nodes = self.absent_nodes();
        let mut links = self.down_links();
        nodes.any(|(_, node)| node.since < limit) || links.any(|(_, link)| link.since < limit)
    }

    /// Removes what is gone since a time before this one.
    pub(super) fn remove_gone_before(this: &mut Arc<Self>, limit: SystemTime) {
        let history = Arc::make_mut(this);
        history
            .links
            .retain(|_, link| link.is_up || link.since >= limit);
        history
            .nodes
            .retain(|_, node| node.is_present || node.since >= limit);
    }

    /// Removes what is gone and has this name: an absent node (name or GUID) with its links, or a
    /// link that is down (one of its ends, such as `leaf-0-0/5`, or both).
    pub(super) fn forget(this: &mut Arc<Self>, name: &str) -> ForgottenEntries {
        let mut forgotten = ForgottenEntries::default();
        let mut guids = BTreeSet::new();
        for (guid, node) in this.absent_nodes() {
            if node.name == name || guid.to_string() == name {
                guids.insert(guid);
                forgotten.nodes.push(match node.name.is_empty() {
                    true => guid.to_string(),
                    false => node.name.clone(),
                });
            }
        }
        let is_meant = |key: &LinkKey, link: &LinkChanges| {
            let has_node = key.iter().any(|(guid, _)| guids.contains(guid));
            let locations = link.locations(key);
            has_node || locations.iter().any(|end| end == name) || locations.join(" - ") == name
        };
        let meant = this.down_links().filter(|(key, link)| is_meant(key, link));
        let links: Vec<(LinkKey, String)> =
            meant.map(|(key, link)| (*key, link.name(key))).collect();
        if links.is_empty() && guids.is_empty() {
            return forgotten;
        }
        let history = Arc::make_mut(this);
        for (key, name) in links {
            history.links.remove(&key);
            forgotten.links.push(name);
        }
        history.nodes.retain(|guid, _| !guids.contains(guid));
        forgotten
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
        let mut has_changed = false;
        for slot in after.slots_changed_in(before) {
            has_changed = true;
            let history = Arc::make_mut(this);
            let guid = after.node(slot).guid;
            history.update_links(after, before, slot, now, true);
            if before.by_node_guid(guid).is_none() {
                history.record_node(after, slot, now, true);
            }
        }
        if has_changed {
            Arc::make_mut(this).remove_moved_links(after);
        }
    }

    /// Forgets links that are down and one of whose ports has another link: a cable was moved.
    pub(super) fn remove_moved_links(&mut self, snapshot: &Snapshot) {
        self.links.retain(|key, link| {
            let is_used = |(guid, num): &(NodeGuid, PortNum)| {
                let slot = snapshot.by_node_guid(*guid);
                let at = slot.and_then(|slot| snapshot.port_by_num(slot, *num));
                at.is_some_and(|at| snapshot.peer(at).is_some())
            };
            link.is_up || !key.iter().any(is_used)
        });
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

    /// Records that a link that is up went down for a moment.
    pub(super) fn record_interruption(&mut self, of: &Snapshot, key: LinkKey, now: SystemTime) {
        let port = |(guid, num): (NodeGuid, PortNum)| {
            let slot = of.by_node_guid(guid)?;
            of.port_by_num(slot, num)
        };
        let [a, b] = key.map(port);
        if let (Some(at), Some(peer)) = (a, b) {
            self.record_link(of, key, at, peer, now, true);
        }
        if let Some(link) = self.links.get_mut(&key) {
            link.since = now;
            link.times_down += 1;
        }
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

fn earlier_entries<K: Ord + Copy, V: PartialEq + Clone>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> Vec<(K, Option<V>)> {
    let other = before
        .iter()
        .filter(|(key, value)| after.get(key) != Some(value))
        .map(|(key, value)| (*key, Some(value.clone())));
    let new = after.keys().filter(|key| !before.contains_key(key));
    other.chain(new.map(|key| (*key, None))).collect()
}

fn restore_entries<K: Ord + Copy, V: Clone>(
    entries: &mut BTreeMap<K, V>,
    earlier: &[(K, Option<V>)],
) {
    for (key, value) in earlier {
        match value {
            Some(value) => entries.insert(*key, value.clone()),
            None => entries.remove(key),
        };
    }
}

pub(super) fn has_link(snapshot: &Snapshot, [a, b]: &LinkKey) -> bool {
    let port = |(guid, num): &(NodeGuid, PortNum)| {
        let slot = snapshot.by_node_guid(*guid)?;
        snapshot.port_by_num(slot, *num)
    };
    let (Some(a), Some(b)) = (port(a), port(b)) else {
        return false;
    };
    snapshot.peer(a) == Some(b)
}
