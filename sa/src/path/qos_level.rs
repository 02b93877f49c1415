//! Application of the QoS policy to paths (docs/sm-behaviour.md 11.10, 11.11, 11.15).
//!
//! MTU and rate of a level are upper bounds, its PacketLifeTime replaces the subnet's, and its
//! P_Keys and path bits restrict the choice. Its SL applies if the routing uses one VL, where any
//! SL is safe. If the routing assigns SLs (lash, dfsssp, nue, torus-2QoS and others), each path has
//! the SL that it was verified for, and the level's SL is ignored, as with OpenSM's engines that
//! assign SLs.

use std::sync::Arc;

use ferrosm_fabric::pkey_set::{PKeySet, partition_number};
use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::PKey;

use super::limits::PathValues;
use super::pair::PathEnds;
use crate::qos::{QosLevel, QosPort, QosQuery};
use crate::view::View;

impl View {
    /// The level of a path, if there is a policy.
    pub(super) fn qos_level(
        &self,
        path_ends: &PathEnds,
        requested: &QosQuery,
    ) -> Option<&Arc<QosLevel>> {
        let policy = self.settings.qos.as_ref()?;
        Some(policy.select(
            &self.qos_port(path_ends.from),
            &self.qos_port(path_ends.to),
            requested,
        ))
    }

    fn qos_port(&self, at: EndPortIdx) -> QosPort<'_> {
        let end_port = self.end_port(at);
        let node = self.node(end_port.node);
        let description = &node.description;
        let len = description.iter().position(|b| *b == 0);
        QosPort {
            guid: end_port.guid,
            node_type: node.node_type,
            description: &description[..len.unwrap_or(description.len())],
            num: self.port(end_port.port).num,
            pkeys: end_port.pkeys.as_ref(),
            is_sm_port: self.local == Some(at),
        }
    }
}

impl QosLevel {
    /// Applies the level's limits to the values of a path.
    pub(super) fn apply(&self, values: PathValues) -> PathValues {
        PathValues {
            mtu: self.mtu.map_or(values.mtu, |bound| values.mtu.min(bound)),
            rate: match self.rate {
                Some(bound) if bound.rank() < values.rate.rank() => bound,
                _ => values.rate,
            },
            packet_life_time: match self.packet_life_time {
                // A port's path to itself has PacketLifeTime 0 (docs/sm-behaviour.md 11.7).
                Some(lifetime) if values.packet_life_time != 0 => lifetime,
                _ => values.packet_life_time,
            },
        }
    }

    /// Whether a path may use the LID at offset `bits` of a port with `lids` LIDs. A port with one
    /// LID has no choice.
    pub(super) fn allows_path_bits(&self, bits: u16, lids: u16) -> bool {
        lids <= 1 || self.path_bits.is_empty() || self.path_bits.contains(bits.into())
    }

    /// Whether paths may be in the partition of this P_Key.
    pub(super) fn allows_pkey(&self, key: PKey) -> bool {
        self.pkeys.is_empty() || self.pkeys.contains(partition_number(key).into())
    }

    /// The P_Key of the first partition that both ports share and the level allows, with the
    /// membership of `from`.
    pub(super) fn common_pkey(&self, from: &PKeySet, to: &PKeySet) -> Option<PKey> {
        if self.pkeys.is_empty() {
            return from.common_pkey(to);
        }
        let mut pkeys = from.as_slice().iter().copied();
        pkeys.find(|key| self.allows_pkey(*key) && from.shares_pkey(to, *key))
    }

    /// The P_Key of a path between ports with unknown P_Keys.
    pub(super) fn default_pkey(&self) -> PKey {
        let first = self.pkeys.first().and_then(|n| u16::try_from(n).ok());
        first.map_or(PKey::DEFAULT_FULL, |n| {
            PKey(n | (PKey::DEFAULT_FULL.0 & !PKey::DEFAULT_LIMITED.0))
        })
    }
}
