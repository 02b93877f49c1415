//! Checks that new routes are free of credit loops.

use ferrosm_mad::ids::PortNum;

use super::lid_routes::LidRoutes;
use crate::channels::{Dependency, RoutedDependencies};
use crate::topology::{Destination, SwitchIdx, Topology};

/// The condition that every new next hop must satisfy.
pub(super) enum Guard<'a> {
    /// All routes are up/down in the switch order.
    Order,
    /// The channel dependency graph has no cycle.
    Graph {
        graph: Box<RoutedDependencies<'a>>,
        topo: &'a Topology,
    },
}

/// Which routes the order allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// All up/down routes.
    Any,
    /// Only routes without an up hop.
    DownOnly,
}

impl Guard<'_> {
    /// Routes to another LID follow.
    pub(super) fn start_lid(&mut self) {
        if let Self::Graph { graph, .. } = self {
            graph.begin_group();
        }
    }

    /// Removes the dependencies of the last LID.
    pub(super) fn undo_lid(&mut self) {
        if let Self::Graph { graph, .. } = self {
            graph.remove_group();
        }
    }

    /// Cheap check of a next hop: complete for an order, always true for a graph.
    pub(super) fn may_allow(
        &self,
        routes: &LidRoutes<'_>,
        v: usize,
        next: usize,
        stage: Stage,
    ) -> bool {
        match self {
            Self::Order => order_allows(routes, v, next, stage),
            Self::Graph { .. } => true,
        }
    }

    /// Whether `v` may send packets for `d` through `port` to the switch `next` without a search:
    /// the new dependencies agree with the topological order.
    pub(super) fn allows_without_search(
        &self,
        routes: &LidRoutes<'_>,
        d: &Destination,
        v: usize,
        port: u8,
        next: usize,
        stage: Stage,
    ) -> bool {
        match self {
            Self::Order => order_allows(routes, v, next, stage),
            Self::Graph { graph, .. } => self
                .dependencies(routes, d, v, port, next)
                .is_some_and(|dependencies| graph.agrees_with(&dependencies)),
        }
    }

    /// Whether `v` may send packets for `d` through `port` to the switch `next`. If so, adds the
    /// dependencies to the graph.
    pub(super) fn try_add(
        &mut self,
        routes: &LidRoutes<'_>,
        d: &Destination,
        v: usize,
        port: u8,
        next: usize,
        stage: Stage,
    ) -> bool {
        let dependencies = self.dependencies(routes, d, v, port, next);
        match self {
            Self::Order => order_allows(routes, v, next, stage),
            Self::Graph { graph, .. } => {
                dependencies.is_some_and(|dependencies| graph.admit(&dependencies))
            }
        }
    }

    /// Dependencies of packets from a switch and its end ports; `None` if a packet is dropped
    /// because it has no VL.
    fn dependencies(
        &self,
        routes: &LidRoutes<'_>,
        d: &Destination,
        v: usize,
        port: u8,
        next: usize,
    ) -> Option<Vec<Dependency>> {
        let mut dependencies: Vec<Dependency> = Vec::new();
        let Self::Graph { graph, topo } = self else {
            return Some(dependencies);
        };
        let channels = graph.channels;
        let packets = graph.channels.packets;
        let links = channels.ports;
        let end_ports = topo.end_ports(SwitchIdx::from_index(v));
        if d.port == PortNum::ZERO && end_ports.is_empty() {
            return Some(dependencies);
        }
        let sl = packets.sl(v, d);
        // The input port matters only if the VL depends on it.
        let inputs = end_ports
            .iter()
            .map(|e| e.port.raw())
            .take(if packets.depend_on_ports() {
                usize::MAX
            } else {
                0
            });
        for input in std::iter::once(0).chain(inputs) {
            let mut at = v;
            let mut input = input;
            let mut hop = Some((next, port));
            let mut before: Option<u32> = None;
            while let Some((to, out)) = hop {
                let vl = packets.vl(at, input, out, sl)?;
                let channel = channels.on_vl(links.output_channel(at, out), vl);
                dependencies.extend(before.map(|before| (before, channel)));
                before = Some(channel);
                input = links.peer(at, out).map_or(0, |(_, p)| p);
                at = to;
                hop = routes.hop(at);
            }
        }
        Some(dependencies)
    }
}

/// Whether the order allows `v` to send to `next`. No switch sends to `v` yet; a later one above
/// `v` checks that `v` does not go up.
fn order_allows(routes: &LidRoutes<'_>, v: usize, next: usize, stage: Stage) -> bool {
    if routes.is_down(v, next) {
        routes.goes_down(next)
    } else {
        stage == Stage::Any
    }
}
