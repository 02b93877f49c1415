//! What the QoS policy makes of a path: which level it gets, and what that leaves of it (rules 11.10, 11.11, 11.15).
//!
//! The MTU and rate of a level are bounds, its life time stands instead of the subnet's, its partitions and path bits leave
//! out the other ones. Its SL is the path's where the routing keeps to one lane, on which any SL is safe. Where the routing has
//! lanes of its own (lash, dfsssp, nue, torus-2QoS and others), each path has the one SL that it is proven for and the level's does not
//! count, as it does not for OpenSM's engines that choose SLs; everything else of the level does.

use std::sync::Arc;

use ferrosm_mad::ids::PKey;

use super::limits::PathValues;
use super::pair::PathEnds;
use crate::message::partition_number;
use crate::pkey_set::PKeySet;
use crate::qos::{QosLevel, QosPort, QosQuery};
use crate::view::{EndPortIdx, View};

impl View {
    /// The level of a path, where there is a policy.
    pub(super) fn qos_level(&self, ends: &PathEnds, asked: &QosQuery) -> Option<&Arc<QosLevel>> {
        let policy = self.settings.qos.as_ref()?;
        Some(policy.select(&self.qos_port(ends.from), &self.qos_port(ends.to), asked))
    }

    fn qos_port(&self, at: EndPortIdx) -> QosPort<'_> {
        let end = self.end_port(at);
        let node = self.node(end.node);
        let description = &node.description;
        let len = description.iter().position(|b| *b == 0);
        QosPort {
            guid: end.guid,
            node_type: node.node_type,
            description: &description[..len.unwrap_or(description.len())],
            num: self.port(end.port).num,
            keys: end.pkeys.as_ref(),
            is_sm_port: self.local == Some(at),
        }
    }
}

impl QosLevel {
    /// What a path with these values may have.
    pub(super) fn apply(&self, has: PathValues) -> PathValues {
        PathValues {
            mtu: self.mtu.map_or(has.mtu, |most| has.mtu.min(most)),
            rate: match self.rate {
                Some(most) if most.rank() < has.rate.rank() => most,
                _ => has.rate,
            },
            packet_life_time: match self.packet_life_time {
                // Of a port to itself it is 0 in any case (rule 11.7).
                Some(instead) if has.packet_life_time != 0 => instead,
                _ => has.packet_life_time,
            },
        }
    }

    /// Whether a path may use this one of a port's LIDs, counted from its first. Where there is one, there is no choice.
    pub(super) fn allows_path_bits(&self, bits: u16, lids: u16) -> bool {
        lids <= 1 || self.path_bits.is_empty() || self.path_bits.contains(bits.into())
    }

    /// Whether paths may be in the partition of this key.
    pub(super) fn allows_pkey(&self, key: PKey) -> bool {
        self.pkeys.is_empty() || self.pkeys.contains(partition_number(key).into())
    }

    /// The first partition in which both may talk and paths may be, with the membership that `from` has.
    pub(super) fn common_pkey(&self, from: &PKeySet, to: &PKeySet) -> Option<PKey> {
        if self.pkeys.is_empty() {
            return from.common_pkey(to);
        }
        let mut all = from.all().iter().copied();
        all.find(|key| self.allows_pkey(*key) && from.shares_pkey(to, *key))
    }

    /// The partition of a path between ports whose keys are not known.
    pub(super) fn default_pkey(&self) -> PKey {
        let first = self.pkeys.first().and_then(|n| u16::try_from(n).ok());
        first.map_or(PKey::DEFAULT_FULL, |n| {
            PKey(n | (PKey::DEFAULT_FULL.0 & !PKey::DEFAULT_LIMITED.0))
        })
    }
}
