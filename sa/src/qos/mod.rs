//! The QoS policy: which service level, and which limits, the path of a request gets.
//!
//! A plain value, and a pure question to it: the rules are tried in order, the first that fits says the level, and where none
//! fits the default level stands. What is in it is what OpenSM's `qos-policy.conf` can say (peers 2.9); reading the file is the
//! daemon's, what a path becomes of a level is [`crate::path`]'s. Whether the routing lets packets have the level's SL is
//! not asked here: a routing with lanes of its own decides on SLs alone, as OpenSM's engines with lanes do.
//!
//! | module | what it holds |
//! |---|---|
//! | this | policy, rules, levels, groups of ports, and the choice |
//! | `ranges` | sets of numbers |

mod ranges;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType};
use ferrosm_mad::ids::{PKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::path::RateCode;
use serde::{Deserialize, Serialize};

pub use ranges::RangeSet;

use crate::pkey_set::PKeySet;

/// What counts of a P_Key: the partition, not the membership.
const PARTITION_MASK: u16 = 0x7FFF;

/// The policy of a subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosPolicy {
    /// Tried in order.
    pub rules: Vec<QosRule>,
    /// Where no rule fits.
    pub default: Arc<QosLevel>,
}

/// What a path gets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QosLevel {
    /// For people.
    pub name: String,
    /// Service level.
    pub sl: Sl,
    /// No larger packets.
    pub mtu: Option<MtuCode>,
    /// No faster.
    pub rate: Option<RateCode>,
    /// PacketLifeTime, instead of the subnet's.
    pub packet_life_time: Option<u8>,
    /// Only by these LIDs of a port that has several, counted from its first; none given: by any.
    pub path_bits: RangeSet,
    /// Only in these partitions (low 15 bits of P_Keys); none given: in any.
    pub pkeys: RangeSet,
}

/// Which requests get a level. A condition without anything in it is none; a request must meet all the others, and say what
/// they ask about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosRule {
    /// For people.
    pub purpose: String,
    /// The path begins in one of these.
    pub source: Vec<Arc<QosPortGroup>>,
    /// The path leads to one of these.
    pub destination: Vec<Arc<QosPortGroup>>,
    /// The path begins in, or leads to, one of these.
    pub either: Vec<Arc<QosPortGroup>>,
    /// QoSClass.
    pub qos_class: RangeSet,
    /// ServiceID.
    pub service_id: RangeSet,
    /// P_Key: low 15 bits.
    pub pkey: RangeSet,
    /// What such requests get.
    pub level: Arc<QosLevel>,
}

/// Some of the end ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QosPortGroup {
    /// For people.
    pub name: String,
    /// By port GUID.
    pub guids: RangeSet,
    /// By NodeDescription and number of the port.
    pub names: BTreeMap<String, BTreeSet<PortNum>>,
    /// The members of these partitions (low 15 bits of P_Keys).
    pub pkeys: RangeSet,
    /// All channel adapters' ports.
    pub cas: bool,
    /// All switches.
    pub switches: bool,
    /// All routers' ports.
    pub routers: bool,
    /// The subnet manager's own port.
    pub sm_port: bool,
}

/// An end port, as far as groups ask about it.
#[derive(Debug, Clone, Copy)]
pub struct QosPort<'a> {
    /// GUID.
    pub guid: PortGuid,
    /// Of the node.
    pub node_type: NodeType,
    /// NodeDescription, up to the first zero.
    pub description: &'a [u8],
    /// Number on the node.
    pub num: PortNum,
    /// Its P_Keys, where they are known.
    pub keys: Option<&'a PKeySet>,
    /// The subnet manager's own.
    pub is_sm_port: bool,
}

/// What a request says of a path, as far as rules ask about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosQuery {
    /// QoSClass.
    pub qos_class: Option<u16>,
    /// ServiceID.
    pub service_id: Option<u64>,
    /// P_Key.
    pub pkey: Option<PKey>,
}

impl QosPolicy {
    /// The level of a request for a path between two ports.
    #[must_use]
    pub fn select(&self, from: &QosPort<'_>, to: &QosPort<'_>, asked: &QosQuery) -> &Arc<QosLevel> {
        let rule = self.rules.iter().find(|rule| rule.matches(from, to, asked));
        rule.map_or(&self.default, |rule| &rule.level)
    }
}

impl QosRule {
    /// A rule without conditions.
    #[must_use]
    pub const fn new(purpose: String, level: Arc<QosLevel>) -> Self {
        Self {
            purpose,
            source: Vec::new(),
            destination: Vec::new(),
            either: Vec::new(),
            qos_class: RangeSet::NONE,
            service_id: RangeSet::NONE,
            pkey: RangeSet::NONE,
            level,
        }
    }

    fn matches(&self, from: &QosPort<'_>, to: &QosPort<'_>, asked: &QosQuery) -> bool {
        let says = |wanted: &RangeSet, said: Option<u64>| {
            wanted.is_empty() || said.is_some_and(|n| wanted.contains(n))
        };
        let has = |groups: &[Arc<QosPortGroup>], port: &QosPort<'_>| {
            groups.iter().any(|group| group.contains(port))
        };
        says(&self.qos_class, asked.qos_class.map(u64::from))
            && says(&self.service_id, asked.service_id)
            && says(
                &self.pkey,
                asked.pkey.map(|k| u64::from(k.0 & PARTITION_MASK)),
            )
            && (self.source.is_empty() || has(&self.source, from))
            && (self.destination.is_empty() || has(&self.destination, to))
            && (self.either.is_empty() || has(&self.either, from) || has(&self.either, to))
    }
}

impl QosPortGroup {
    /// Whether a port is in it.
    #[must_use]
    pub fn contains(&self, port: &QosPort<'_>) -> bool {
        let by_type = match port.node_type {
            NodeType::Ca => self.cas,
            NodeType::Switch => self.switches,
            NodeType::Router => self.routers,
            _ => false,
        };
        by_type
            || self.sm_port && port.is_sm_port
            || self.guids.contains(port.guid.0)
            || self.matches_name(port)
            || self.matches_partition(port)
    }

    fn matches_name(&self, port: &QosPort<'_>) -> bool {
        !self.names.is_empty()
            && core::str::from_utf8(port.description)
                .ok()
                .and_then(|name| self.names.get(name.trim()))
                // A switch has one end port, by whichever of its ports it is named.
                .is_some_and(|nums| nums.contains(&port.num) || port.num == PortNum::ZERO)
    }

    fn matches_partition(&self, port: &QosPort<'_>) -> bool {
        !self.pkeys.is_empty()
            && port.keys.is_some_and(|keys| {
                let mut all = keys.all().iter();
                all.any(|key| self.pkeys.contains(u64::from(key.0 & PARTITION_MASK)))
            })
    }
}

#[cfg(test)]
mod tests;
