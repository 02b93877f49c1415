//! What was seen of the subnet, as it is kept across restarts: all nodes and links, with the time
//! when they were there last.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ferrosm_api::fabric::NodeKind;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::ids::{NodeGuid, PortNum};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::history::{History, LinkChanges, LinkKey, NodeChange, has_link, link_key};
use super::names::{node_kind, node_location};

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) nodes: Vec<SeenNode>,
    pub(super) links: Vec<SeenLink>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenNode {
    pub(super) guid: NodeGuid,
    pub(super) name: String,
    /// Where it was: the switch port of its first link.
    pub(super) location: String,
    pub(super) kind: NodeKind,
    /// When it was there last.
    #[serde(with = "unix_seconds")]
    pub(super) seen_at: SystemTime,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenLink {
    pub(super) ends: LinkKey,
    /// Names of its nodes.
    pub(super) names: [String; 2],
    /// Its rate.
    pub(super) rate: String,
    /// When it was up last.
    #[serde(with = "unix_seconds")]
    pub(super) seen_at: SystemTime,
}

impl Seen {
    /// What is there now, and what was.
    pub(super) fn of(snapshot: &Snapshot, history: &History, now: SystemTime) -> Self {
        let present = snapshot.slots().map(|slot| {
            let node = snapshot.node(slot);
            SeenNode {
                guid: node.guid,
                name: node.name(),
                location: node_location(snapshot, slot),
                kind: node_kind(node.node_type),
                seen_at: now,
            }
        });
        let absent = history.absent_nodes().map(|(guid, node)| SeenNode {
            guid,
            name: node.name.clone(),
            location: node.location.clone(),
            kind: node.kind,
            seen_at: node.since,
        });
        let up = snapshot.links().iter().map(|link| {
            let ends = link_key(snapshot, link.a, link.b);
            let name = |(guid, _): (NodeGuid, PortNum)| {
                let slot = snapshot.by_node_guid(guid);
                slot.map_or_else(String::new, |slot| snapshot.node(slot).name())
            };
            SeenLink {
                ends,
                names: ends.map(name),
                rate: snapshot.reported_link(*link).to_string(),
                seen_at: now,
            }
        });
        let down = history.down_links().map(|(key, link)| SeenLink {
            ends: *key,
            names: link.names.clone(),
            rate: link.rate.clone(),
            seen_at: link.since,
        });
        Self {
            nodes: present.chain(absent).collect(),
            links: up.chain(down).collect(),
        }
    }

    /// What is not in the subnet any more.
    pub(super) fn missing_in(&self, snapshot: &Snapshot) -> History {
        let mut history = History::default();
        let is_absent = |node: &&SeenNode| snapshot.by_node_guid(node.guid).is_none();
        for node in self.nodes.iter().filter(is_absent) {
            let change = NodeChange {
                is_present: false,
                since: node.seen_at,
                name: node.name.clone(),
                location: node.location.clone(),
                kind: node.kind,
            };
            history.insert_absent_node(node.guid, change);
        }
        let is_down = |link: &&SeenLink| !has_link(snapshot, &link.ends);
        for link in self.links.iter().filter(is_down) {
            let changes = LinkChanges {
                is_up: false,
                since: link.seen_at,
                times_down: 0,
                rate: link.rate.clone(),
                names: link.names.clone(),
            };
            history.insert_down_link(link.ends, changes);
        }
        history.remove_moved_links(snapshot);
        history
    }

    /// Without what was there last before a time.
    pub(super) fn since(mut self, limit: SystemTime) -> Self {
        self.nodes.retain(|node| node.seen_at >= limit);
        self.links.retain(|link| link.seen_at >= limit);
        self
    }
}

/// Times as seconds since 1970.
mod unix_seconds {
    use super::*;

    pub(super) fn serialize<S: Serializer>(at: &SystemTime, out: S) -> Result<S::Ok, S::Error> {
        let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        out.serialize_u64(since_epoch.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<SystemTime, D::Error> {
        let seconds = u64::deserialize(input)?;
        let at = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        at.ok_or_else(|| serde::de::Error::custom("a time beyond the range of the clock"))
    }
}
