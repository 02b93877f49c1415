//! Compact forwarding data of a node: its LFT and, for each port, the peer, MTU and rate.
//!
//! Path queries follow LFTs over several hops for each reply. Full node and port records of a large
//! fabric exceed the CPU caches; this data has eight bytes a port. It is derived from the
//! [`SnapshotNode`].

use std::sync::Arc;

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::Lft;

use super::{PortIdx, SnapshotNode, SnapshotPort};

/// Forwarding properties of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopPort {
    peer: PortIdx,
    /// MTU of packets through the port.
    pub mtu: MtuCode,
    /// Index of its rate in `RateCode::ASCENDING`.
    pub rate_rank: u8,
}

impl HopPort {
    /// The port at the other end of the link.
    #[inline]
    #[must_use]
    pub fn peer(self) -> Option<PortIdx> {
        (self.peer != PortIdx::NONE).then_some(self.peer)
    }
}

/// Forwarding data of a node.
#[derive(Debug, Clone)]
pub(super) struct ForwardingNode {
    is_switch: bool,
    lft: Option<Arc<Lft>>,
    hops: Arc<[HopPort]>,
}

impl ForwardingNode {
    /// Derives the data of a node; `previous` is the data of the previous node in the slot, which
    /// is shared if it is unchanged.
    pub(super) fn new(
        node: &SnapshotNode,
        ports: &[SnapshotPort],
        previous: Option<&Self>,
    ) -> Self {
        let unchanged = previous
            .map(|previous| &previous.hops)
            .filter(|before| before.iter().copied().eq(hops(ports)));
        let switch = node.switch.as_ref();
        Self {
            is_switch: switch.is_some(),
            lft: switch.and_then(|s| s.lft.clone()),
            hops: unchanged.map_or_else(|| hops(ports).collect(), Arc::clone),
        }
    }

    /// Whether the node is a switch.
    #[inline]
    pub(super) const fn is_switch(&self) -> bool {
        self.is_switch
    }

    /// The output port for a LID; `None` if unknown.
    #[inline]
    pub(super) fn output_port(&self, lid: Lid) -> Option<PortNum> {
        self.lft.as_ref().map(|lft| lft.get(lid))
    }

    /// A port by port number.
    #[inline]
    pub(super) fn port(&self, num: usize) -> Option<HopPort> {
        self.hops.get(num).copied()
    }
}

fn hops(ports: &[SnapshotPort]) -> impl ExactSizeIterator<Item = HopPort> {
    ports.iter().map(|port| HopPort {
        peer: port.peer,
        mtu: port.mtu,
        rate_rank: port.rate_rank,
    })
}
