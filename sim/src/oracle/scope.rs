//! Which of the facts are in reach of the subnet manager, and the cables between them, packed for
//! walks.

use std::collections::VecDeque;

use super::expect::Expectations;
use super::state::{FabricSnapshot, PortSnapshot};
use crate::spec::{NodeIdx, PortAt};

/// What the subnet manager can reach and must look after.
pub(super) struct Scope<'a> {
    pub(super) state: &'a FabricSnapshot,
    /// By node.
    pub(super) switches: Vec<NodeIdx>,
    /// Sorted: port 0 of switches, and the ports of other nodes by which they were reached.
    pub(super) end_ports: Vec<PortAt>,
    /// Each live link once, the lower end first.
    pub(super) links: Vec<(PortAt, PortAt)>,
    /// For each switch, whether an end port of another node is cabled to it; by node.
    pub(super) is_edge: Vec<bool>,
    /// Slot of port 0 of each node.
    base: Vec<usize>,
    /// Where each port leads, by slot.
    ways: Vec<Way>,
}

/// Where a port leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// No live link, or to a node that is not judged.
    Nowhere,
    /// To a port of a switch.
    Switch(PortAt),
    /// To an end port.
    End(PortAt),
}

impl<'a> Scope<'a> {
    /// `None` if the manager's port does not exist.
    pub(super) fn new(state: &'a FabricSnapshot, expect: &Expectations) -> Option<Self> {
        let start = state.port(expect.sm)?;
        let mut slots = 0;
        let base = state.nodes.iter().map(|node| {
            slots += node.ports.len();
            slots - node.ports.len()
        });
        let mut scope = Self {
            state,
            switches: Vec::new(),
            end_ports: Vec::new(),
            links: Vec::new(),
            is_edge: vec![false; state.nodes.len()],
            base: base.collect(),
            ways: Vec::new(),
        };
        let mut seen = vec![false; state.nodes.len()];
        let mut queue = VecDeque::new();
        let arrive =
            |at: PortAt, scope: &mut Self, seen: &mut [bool], queue: &mut VecDeque<NodeIdx>| {
                if !state.nodes[at.node].is_switch() {
                    scope.end_ports.push(at);
                } else if !seen[at.node] {
                    seen[at.node] = true;
                    scope.switches.push(at.node);
                    scope.end_ports.push(PortAt {
                        node: at.node,
                        port: 0,
                    });
                    queue.push_back(at.node);
                }
            };
        arrive(expect.sm, &mut scope, &mut seen, &mut queue);
        let judged = |at: &PortAt| !expect.quarantined.contains(&at.node);
        if !state.nodes[expect.sm.node].is_switch()
            && let Some(peer) = start.peer.filter(judged)
        {
            if !state.nodes[peer.node].is_switch() {
                scope.links.push((expect.sm.min(peer), expect.sm.max(peer)));
            }
            arrive(peer, &mut scope, &mut seen, &mut queue);
        }
        while let Some(node) = queue.pop_front() {
            for (port, facts) in (0u8..=254).zip(&state.nodes[node].ports).skip(1) {
                let here = PortAt { node, port };
                let Some(peer) = facts.peer.filter(judged) else {
                    continue;
                };
                let from_switch = state.nodes[peer.node].is_switch();
                scope.is_edge[node] |= !from_switch;
                if !from_switch || here <= peer {
                    scope.links.push((here.min(peer), here.max(peer)));
                }
                arrive(peer, &mut scope, &mut seen, &mut queue);
            }
        }
        scope.switches.sort_unstable();
        scope.end_ports.sort_unstable();
        scope.end_ports.dedup();
        scope.links.sort_unstable();
        scope.pack(slots);
        Some(scope)
    }

    fn pack(&mut self, slots: usize) {
        self.ways = vec![Way::Nowhere; slots];
        for (a, b) in &self.links {
            for (end, peer) in [(*a, *b), (*b, *a)] {
                let slot = self.base[end.node] + usize::from(end.port);
                self.ways[slot] = if self.state.nodes[peer.node].is_switch() {
                    Way::Switch(peer)
                } else {
                    Way::End(peer)
                };
            }
        }
    }

    /// The facts about a port that is known to exist.
    pub(super) fn port(&self, at: PortAt) -> &'a PortSnapshot {
        &self.state.nodes[at.node].ports[usize::from(at.port)]
    }

    /// Where a port leads; nowhere if it does not exist.
    pub(super) fn way(&self, at: PortAt) -> Way {
        self.slot(at).map_or(Way::Nowhere, |slot| self.ways[slot])
    }

    /// Index of a port into arrays of all ports.
    pub(super) fn slot(&self, at: PortAt) -> Option<usize> {
        let exists = usize::from(at.port) < self.state.nodes[at.node].ports.len();
        exists.then(|| self.base[at.node] + usize::from(at.port))
    }

    /// Ports of all nodes together.
    pub(super) fn slots(&self) -> usize {
        self.ways.len()
    }

    /// The ports of a switch that lead somewhere, and where.
    pub(super) fn ways_of(&self, node: NodeIdx) -> impl Iterator<Item = (u8, Way)> + use<'_, 'a> {
        let first = self.base[node];
        let ways = &self.ways[first..first + self.state.nodes[node].ports.len()];
        let all = (0u8..=254).zip(ways.iter().copied());
        all.filter(|(_, way)| *way != Way::Nowhere)
    }

    /// The end ports cabled to a switch, by its port.
    pub(super) fn hosts_of(
        &self,
        node: NodeIdx,
    ) -> impl Iterator<Item = (u8, PortAt)> + use<'_, 'a> {
        self.ways_of(node).filter_map(|(port, way)| match way {
            Way::End(end) => Some((port, end)),
            Way::Nowhere | Way::Switch(_) => None,
        })
    }
}
