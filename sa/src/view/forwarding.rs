//! What a packet meets at a node, and nothing else: the forwarding table and, for each port, the cable and its limits.
//!
//! Path queries follow forwarding tables hop by hop, several hops for each answer. The records of nodes and ports are far too
//! large for the processor's caches on a big fabric; this is what is left of them for that purpose, eight bytes a port. It is
//! made from the node's record and never says anything else.

use std::sync::Arc;

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::Lft;

use super::{NodeView, PortIdx};

/// A port, as packets meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopPort {
    peer: PortIdx,
    /// MTU that packets through it may have.
    pub mtu: MtuCode,
    /// NodeSlot of its rate among all rates, slowest first.
    pub rate_rank: u8,
}

impl HopPort {
    /// The port at the other end of the cable.
    #[must_use]
    pub fn peer(self) -> Option<PortIdx> {
        (self.peer != PortIdx::NONE).then_some(self.peer)
    }
}

/// A node, as packets meet it.
#[derive(Debug, Clone)]
pub(super) struct ForwardingNode {
    is_switch: bool,
    lft: Option<Arc<Lft>>,
    hops: Arc<[HopPort]>,
}

impl ForwardingNode {
    /// Of a node; `before` is what was made of the node that was at its slot.
    pub(super) fn new(node: &NodeView, before: Option<(&NodeView, &Self)>) -> Self {
        let kept = before.filter(|(was, _)| Arc::ptr_eq(&was.ports, &node.ports));
        let switch = node.switch.as_ref();
        Self {
            is_switch: switch.is_some(),
            lft: switch.and_then(|s| s.lft.clone()),
            hops: kept.map_or_else(|| hops(node), |(_, relay)| Arc::clone(&relay.hops)),
        }
    }

    /// Whether packets are forwarded here.
    pub(super) const fn is_switch(&self) -> bool {
        self.is_switch
    }

    /// Where packets for a LID leave; `None` if that is not known.
    pub(super) fn output_port(&self, lid: Lid) -> Option<PortNum> {
        self.lft.as_ref().map(|lft| lft.get(lid))
    }

    /// A port by its number.
    pub(super) fn port(&self, num: usize) -> Option<HopPort> {
        self.hops.get(num).copied()
    }
}

fn hops(node: &NodeView) -> Arc<[HopPort]> {
    let hop = |port: &super::PortView| HopPort {
        peer: port.peer,
        mtu: port.mtu,
        rate_rank: port.rate_rank,
    };
    node.ports.iter().map(hop).collect()
}
