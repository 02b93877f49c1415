//! Follows LFTs from an end port to a LID, and determines MTU and rate of the route
//! (docs/sm-behaviour.md 11.5).

use ferrosm_fabric::snapshot::{EndPortIdx, HopPort};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::sa::path::RateCode;

use crate::view::View;

/// Maximum number of hops; longer routes count as loops.
const HOPS_MAX: usize = 64;

/// Properties of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteLimits {
    /// Minimum MTU of all ports.
    pub mtu: MtuCode,
    /// Minimum rate of all ports, as index in [`RateCode::ASCENDING`].
    pub rate_rank: u8,
    /// Links crossed; 0 from a port to itself.
    pub hops: u8,
}

impl RouteLimits {
    /// The minimum rate.
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

/// A node of a route with its entry and exit ports. The entry port of the source and the exit port
/// of the destination are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteHop {
    pub node: u32,
    /// The port where packets enter.
    pub entry: PortNum,
    /// The port where packets leave.
    pub exit: PortNum,
}

/// Follows the route from an end port to a LID of another; `None` if packets do not arrive. Calls
/// `visit` for each node.
pub fn follow_route(
    view: &View,
    from: EndPortIdx,
    to: EndPortIdx,
    dlid: Lid,
    mut visit: impl FnMut(RouteHop),
) -> Option<RouteLimits> {
    let start = view.end_port(from).port;
    let goal = view.end_port(to).port;
    let mut node = start.node();
    let mut entry = PortNum::ZERO;
    let mut limits = RouteLimits::unlimited();
    let mut hop = view.hop_port(node, start.num())?;
    limits.pass_port(hop);
    if from == to {
        let exit = PortNum::ZERO;
        visit(RouteHop { node, entry, exit });
        return Some(limits);
    }
    let mut exit = if view.is_switch(node) {
        view.output_port(node, dlid)?
    } else {
        // A CA port has one link.
        start.num()
    };
    for _ in 0..HOPS_MAX {
        visit(RouteHop { node, entry, exit });
        if exit == PortNum::ZERO {
            // The LID belongs to this switch.
            limits.pass_port(view.hop_port(node, exit)?);
            return ((node, exit) == (goal.node(), goal.num())).then_some(limits);
        }
        if exit == PortNum::DROP {
            return None;
        }
        hop = view.hop_port(node, exit)?;
        let next = hop.peer()?;
        limits.hops = limits.hops.saturating_add(1);
        limits.pass_port(hop);
        (node, entry) = (next.node(), next.num());
        limits.pass_port(view.hop_port(node, entry)?);
        if next == goal {
            visit(RouteHop {
                node,
                entry,
                exit: PortNum::ZERO,
            });
            return Some(limits);
        }
        exit = view.output_port(node, dlid)?;
    }
    None
}
