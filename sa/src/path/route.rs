//! Along the forwarding tables from an end port to a LID: whether packets arrive, and what they meet (rule 11.5).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::sa::path::RateCode;

use crate::view::{EndPortIdx, HopPort, View};

/// Most switches that a packet may cross.
const HOPS_MAX: usize = 64;

/// What a way offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteLimits {
    /// The largest packet that passes everywhere.
    pub mtu: MtuCode,
    /// Place of the slowest link's rate among all rates.
    pub rate_rank: u8,
    /// Cables crossed; 0 from a port to itself.
    pub hops: u8,
}

impl RouteLimits {
    /// The rate of the slowest link.
    #[must_use]
    pub fn rate(&self) -> RateCode {
        RateCode::ASCENDING
            .get(usize::from(self.rate_rank))
            .copied()
            .unwrap_or(RateCode::G2_5)
    }

    fn pass_port(&mut self, port: HopPort) {
        self.mtu = self.mtu.min(port.mtu);
        self.rate_rank = self.rate_rank.min(port.rate_rank);
    }

    const fn unlimited() -> Self {
        Self {
            mtu: MtuCode::Mtu4096,
            rate_rank: u8::MAX,
            hops: 0,
        }
    }
}

/// A node on a way: the ports by which it is entered and left; 0 at the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteHop {
    /// The node.
    pub node: u32,
    /// The port by which packets come in.
    pub entry: PortNum,
    /// The port by which they leave.
    pub exit: PortNum,
}

/// The way from an end port to a LID of another; `None` where packets do not arrive. `seen` is told each node.
pub fn follow_route(
    view: &View,
    from: EndPortIdx,
    to: EndPortIdx,
    dlid: Lid,
    mut seen: impl FnMut(RouteHop),
) -> Option<RouteLimits> {
    let (start, goal) = (view.end_port(from).port, view.end_port(to).port);
    let mut node = start.node();
    let mut entry = PortNum::ZERO;
    let mut way = RouteLimits::unlimited();
    let mut hop = view.hop_port(node, start.num())?;
    way.pass_port(hop);
    if from == to {
        let exit = PortNum::ZERO;
        seen(RouteHop { node, entry, exit });
        return Some(way);
    }
    let mut exit = if view.is_switch(node) {
        view.output_port(node, dlid)?
    } else {
        // The only way out of an adapter's port is its cable.
        start.num()
    };
    for _ in 0..HOPS_MAX {
        seen(RouteHop { node, entry, exit });
        if exit == PortNum::ZERO {
            // The switch takes it for its own.
            way.pass_port(view.hop_port(node, exit)?);
            return ((node, exit) == (goal.node(), goal.num())).then_some(way);
        }
        if exit == PortNum::DROP {
            return None;
        }
        hop = view.hop_port(node, exit)?;
        let next = hop.peer()?;
        way.hops = way.hops.saturating_add(1);
        way.pass_port(hop);
        (node, entry) = (next.node(), next.num());
        way.pass_port(view.hop_port(node, entry)?);
        if next == goal {
            seen(RouteHop {
                node,
                entry,
                exit: PortNum::ZERO,
            });
            return Some(way);
        }
        exit = view.output_port(node, dlid)?;
    }
    None
}
