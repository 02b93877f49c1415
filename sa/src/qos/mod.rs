//! The QoS policy: SL and limits of paths.
//!
//! Rules are tried in order; the first matching rule selects the level, otherwise the default level
//! applies. The policy can express what OpenSM's `qos-policy.conf` can. `ferrosm-opensm-compat`
//! reads the file, and [`crate::path`] applies levels to paths, which includes whether the routing
//! permits the level's SL.
//!
//! | module | contents |
//! |---|---|
//! | this | policy, rules, levels, port groups, selection |
//! | `ranges` | sets of numbers |

mod ranges;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType};
use ferrosm_mad::ids::{PKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::path::RateCode;
use serde::{Deserialize, Serialize};

pub use ranges::RangeSet;

use ferrosm_fabric::pkey_set::PKeySet;

/// Partition number of a P_Key, without the membership bit.
const PARTITION_MASK: u16 = 0x7FFF;

/// The policy of a subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosPolicy {
    /// In order of precedence.
    pub rules: Vec<QosRule>,
    /// Level of requests that no rule matches.
    pub default: Arc<QosLevel>,
}

/// SL and limits of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QosLevel {
    /// Name, used in messages.
    pub name: String,
    /// Service level.
    pub sl: Sl,
    /// Maximum MTU.
    pub mtu: Option<MtuCode>,
    /// Maximum rate.
    pub rate: Option<RateCode>,
    /// PacketLifeTime that replaces the subnet's.
    pub packet_life_time: Option<u8>,
    /// LID offsets that paths may use at ports with several LIDs; empty for all.
    pub path_bits: RangeSet,
    /// Partition numbers that paths may use; empty for all.
    pub pkeys: RangeSet,
}

/// Conditions that select a level. Empty conditions are ignored. A request must have the component
/// of each condition and satisfy all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosRule {
    /// Description, for messages.
    pub purpose: String,
    /// The source is in one of these groups.
    pub source: Vec<Arc<QosPortGroup>>,
    /// The destination is in one of these groups.
    pub destination: Vec<Arc<QosPortGroup>>,
    /// The source or destination is in one of these groups.
    pub either: Vec<Arc<QosPortGroup>>,
    /// QoSClass.
    pub qos_class: RangeSet,
    pub service_id: RangeSet,
    /// Partition number.
    pub pkey: RangeSet,
    /// The level of matching requests.
    pub level: Arc<QosLevel>,
}

/// A group of end ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QosPortGroup {
    /// Name, used in messages.
    pub name: String,
    /// By port GUID.
    pub guids: RangeSet,
    /// By NodeDescription and port number.
    pub names: BTreeMap<String, BTreeSet<PortNum>>,
    /// Members of these partitions.
    pub pkeys: RangeSet,
    /// All channel adapters' ports.
    pub cas: bool,
    /// All switches.
    pub switches: bool,
    /// All routers' ports.
    pub routers: bool,
    /// The SM's port.
    pub sm_port: bool,
}

/// Properties of an end port that groups can select by.
#[derive(Debug, Clone, Copy)]
pub struct QosPort<'a> {
    pub guid: PortGuid,
    pub node_type: NodeType,
    /// NodeDescription up to the first zero byte.
    pub description: &'a [u8],
    pub num: PortNum,
    /// Its P_Keys, if known.
    pub pkeys: Option<&'a PKeySet>,
    /// Whether it is the SM's port.
    pub is_sm_port: bool,
}

/// Components of a request that rules can select by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosQuery {
    /// QoSClass.
    pub qos_class: Option<u16>,
    pub service_id: Option<u64>,
    pub pkey: Option<PKey>,
}

impl QosPolicy {
    /// The level of a path between two ports.
    #[must_use]
    pub fn select(
        &self,
        from: &QosPort<'_>,
        to: &QosPort<'_>,
        requested: &QosQuery,
    ) -> &Arc<QosLevel> {
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.matches(from, to, requested));
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
            qos_class: RangeSet::EMPTY,
            service_id: RangeSet::EMPTY,
            pkey: RangeSet::EMPTY,
            level,
        }
    }

    fn matches(&self, from: &QosPort<'_>, to: &QosPort<'_>, requested: &QosQuery) -> bool {
        let accepts = |range: &RangeSet, value: Option<u64>| {
            range.is_empty() || value.is_some_and(|n| range.contains(n))
        };
        let contains_port = |groups: &[Arc<QosPortGroup>], port: &QosPort<'_>| {
            groups.iter().any(|group| group.contains(port))
        };
        accepts(&self.qos_class, requested.qos_class.map(u64::from))
            && accepts(&self.service_id, requested.service_id)
            && accepts(
                &self.pkey,
                requested.pkey.map(|k| u64::from(k.0 & PARTITION_MASK)),
            )
            && (self.source.is_empty() || contains_port(&self.source, from))
            && (self.destination.is_empty() || contains_port(&self.destination, to))
            && (self.either.is_empty()
                || contains_port(&self.either, from)
                || contains_port(&self.either, to))
    }
}

impl QosPortGroup {
    /// Whether a port is in the group.
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
                // A switch has one end port, whichever of its ports is named.
                .is_some_and(|nums| nums.contains(&port.num) || port.num == PortNum::ZERO)
    }

    fn matches_partition(&self, port: &QosPort<'_>) -> bool {
        !self.pkeys.is_empty()
            && port.pkeys.is_some_and(|pkeys| {
                let mut pkeys = pkeys.as_slice().iter();
                pkeys.any(|key| self.pkeys.contains(u64::from(key.0 & PARTITION_MASK)))
            })
    }
}

#[cfg(test)]
mod tests;
