//! What keeps a repaired routing free of credit loops, while it is repaired.

use ferrosm_mad::ids::PortNum;

use super::column::Column;
use crate::channels::{Dependency, RoutedDependencies};
use crate::topology::{Destination, SwitchIdx, Topology};

/// Decides whether a switch may take a next hop.
pub(super) enum Guard<'a> {
    /// All routes first climb, then descend, in one order of the switches: they still do.
    Order,
    /// The dependency graph has no circle: it still has none.
    Graph {
        graph: Box<RoutedDependencies<'a>>,
        topo: &'a Topology,
    },
}

/// How strict the order is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Whatever is allowed.
    Any,
    /// Only ways that never climb.
    DownOnly,
}

impl Guard<'_> {
    /// What can be said at once of whether `v` may send to `next`: all, with an order.
    pub(super) fn may(&self, column: &Column<'_>, v: usize, next: usize, stage: Stage) -> bool {
        match self {
            Self::Order => by_order(column, v, next, stage),
            Self::Graph { .. } => true,
        }
    }

    /// Whether `v` may send packets for `d` to `next` by `port`, and that is clear without a search: what is waited for
    /// comes later in the numbering anyway.
    pub(super) fn knows(
        &self,
        column: &Column<'_>,
        d: &Destination,
        v: usize,
        way: (u8, usize),
        stage: Stage,
    ) -> bool {
        match self {
            Self::Order => by_order(column, v, way.1, stage),
            Self::Graph { graph, .. } => self
                .dependencies(column, d, v, way)
                .is_some_and(|wanted| graph.agrees_with(&wanted)),
        }
    }

    /// Whether `v` may send packets for `d` to `next` by `port`. If so, that is counted as done.
    pub(super) fn admits(
        &mut self,
        column: &Column<'_>,
        d: &Destination,
        v: usize,
        way: (u8, usize),
        stage: Stage,
    ) -> bool {
        let wanted = self.dependencies(column, d, v, way);
        match self {
            Self::Order => by_order(column, v, way.1, stage),
            Self::Graph { graph, .. } => wanted.is_some_and(|wanted| graph.admit(&wanted)),
        }
    }

    /// The dependencies of packets from a switch and its end ports; `None` if they are dropped for want of a lane.
    fn dependencies(
        &self,
        column: &Column<'_>,
        d: &Destination,
        v: usize,
        (port, next): (u8, usize),
    ) -> Option<Vec<Dependency>> {
        let mut found: Vec<Dependency> = Vec::new();
        let Self::Graph { graph, topo } = self else {
            return Some(found);
        };
        let (channels, packets) = (graph.channels, graph.channels.packets);
        let links = channels.ports;
        let ends = topo.end_ports(SwitchIdx::at(v));
        if d.port == PortNum::ZERO && ends.is_empty() {
            return Some(found);
        }
        let sl = packets.sl(v, d);
        // By which port a packet came in does not matter where its lane does not depend on it.
        let inputs = ends.iter().map(|e| e.port.raw());
        let inputs = inputs.take(if packets.depend_on_ports() {
            usize::MAX
        } else {
            0
        });
        for input in std::iter::once(0).chain(inputs) {
            let (mut at, mut input, mut way) = (v, input, Some((next, port)));
            let mut before: Option<u32> = None;
            while let Some((to, out)) = way {
                let vl = packets.vl(at, input, out, sl)?;
                let channel = channels.at(links.at(at, out), vl);
                found.extend(before.map(|before| (before, channel)));
                before = Some(channel);
                input = links.peer(at, out).map_or(0, |(_, p)| p);
                at = to;
                way = column.hop(at);
            }
        }
        Some(found)
    }
}

/// Nobody sends to `v` yet. Who comes later from above will see whether `v` climbs, and stay away.
fn by_order(column: &Column<'_>, v: usize, next: usize, stage: Stage) -> bool {
    if column.is_down(v, next) {
        column.goes_down(next)
    } else {
        stage == Stage::Any
    }
}
