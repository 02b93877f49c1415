//! The part of the fabric that the SM reaches, with its links indexed by port.

use std::collections::{BTreeSet, VecDeque};

use super::expectations::Expectations;
use super::state::{FabricSnapshot, PortSnapshot};
use crate::spec::{NodeIdx, PortAt};

/// Switches, end ports and links that the SM reaches, without excluded nodes.
pub(super) struct Scope<'a> {
    pub(super) state: &'a FabricSnapshot,
    /// Sorted.
    pub(super) switches: Vec<NodeIdx>,
    /// Sorted: port 0 of switches, and the connected ports of other nodes.
    pub(super) end_ports: Vec<PortAt>,
    /// Each active link once, the lower port first; sorted.
    pub(super) links: Vec<(PortAt, PortAt)>,
    /// By node: whether the node is a switch with an attached CA or router.
    pub(super) is_edge: Vec<bool>,
    /// By node: slot of its port 0.
    base: Vec<usize>,
    /// By slot: the neighbour of the port.
    peers: Vec<LinkPeer>,
}

/// End ports of each part of the fabric that active links connect, sorted; parts are in the order
/// of their first end ports. End ports without a link belong to no part. The ports of a CA or
/// router are not connected through it.
#[must_use]
pub fn connected_end_ports(state: &FabricSnapshot) -> Vec<Vec<PortAt>> {
    let mut seen = BTreeSet::new();
    let mut parts = Vec::new();
    for (node, snapshot) in state.nodes.iter().enumerate() {
        let all = (0u8..=254).take(snapshot.ports.len());
        for port in all.filter(|port| (*port == 0) == snapshot.is_switch()) {
            let start = PortAt { node, port };
            if !seen.insert(start) {
                continue;
            }
            let mut part = vec![start];
            let mut next = 0;
            while let Some(at) = part.get(next).copied() {
                next += 1;
                let ports = &state.nodes[at.node].ports;
                let own_port = usize::from(at.port);
                let connected = if state.nodes[at.node].is_switch() {
                    &ports[..]
                } else {
                    &ports[own_port..=own_port]
                };
                for peer in connected.iter().filter_map(|port| port.peer) {
                    let is_switch = state.nodes[peer.node].is_switch();
                    let port = if is_switch { 0 } else { peer.port };
                    let end = PortAt { port, ..peer };
                    if seen.insert(end) {
                        part.push(end);
                    }
                }
            }
            if part.len() > 1 {
                part.sort_unstable();
                parts.push(part);
            }
        }
    }
    parts
}

/// The neighbour of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkPeer {
    /// No active link, or the neighbour is outside of the scope.
    None,
    /// A switch port.
    Switch(PortAt),
    /// An end port of a CA or router.
    EndPort(PortAt),
}

impl<'a> Scope<'a> {
    /// Returns `None` if the SM's port does not exist.
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
            peers: Vec::new(),
        };
        let mut seen = vec![false; state.nodes.len()];
        let mut queue = VecDeque::new();
        let visit =
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
        visit(expect.sm, &mut scope, &mut seen, &mut queue);
        let not_excluded = |at: &PortAt| !expect.excluded.contains(&at.node);
        if !state.nodes[expect.sm.node].is_switch()
            && let Some(peer) = start.peer.filter(not_excluded)
        {
            if !state.nodes[peer.node].is_switch() {
                scope.links.push((expect.sm.min(peer), expect.sm.max(peer)));
            }
            visit(peer, &mut scope, &mut seen, &mut queue);
        }
        while let Some(node) = queue.pop_front() {
            for (port, snapshot) in (0u8..=254).zip(&state.nodes[node].ports).skip(1) {
                let local = PortAt { node, port };
                let Some(peer) = snapshot.peer.filter(not_excluded) else {
                    continue;
                };
                let peer_is_switch = state.nodes[peer.node].is_switch();
                scope.is_edge[node] |= !peer_is_switch;
                if !peer_is_switch || local <= peer {
                    scope.links.push((local.min(peer), local.max(peer)));
                }
                visit(peer, &mut scope, &mut seen, &mut queue);
            }
        }
        scope.switches.sort_unstable();
        scope.end_ports.sort_unstable();
        scope.end_ports.dedup();
        scope.links.sort_unstable();
        scope.index_peers(slots);
        Some(scope)
    }

    fn index_peers(&mut self, slots: usize) {
        self.peers = vec![LinkPeer::None; slots];
        for (a, b) in &self.links {
            for (end, peer) in [(*a, *b), (*b, *a)] {
                let slot = self.base[end.node] + usize::from(end.port);
                self.peers[slot] = if self.state.nodes[peer.node].is_switch() {
                    LinkPeer::Switch(peer)
                } else {
                    LinkPeer::EndPort(peer)
                };
            }
        }
    }

    /// The snapshot of a port, which must exist.
    pub(super) fn port(&self, at: PortAt) -> &'a PortSnapshot {
        &self.state.nodes[at.node].ports[usize::from(at.port)]
    }

    /// The neighbour of a port; [`LinkPeer::None`] if the port does not exist.
    pub(super) fn peer_of(&self, at: PortAt) -> LinkPeer {
        self.slot(at)
            .map_or(LinkPeer::None, |slot| self.peers[slot])
    }

    /// The switch of an end port: itself, or the one that it is attached to.
    pub(super) fn switch_of(&self, end_port: PortAt) -> Option<NodeIdx> {
        if self.state.nodes[end_port.node].is_switch() {
            return Some(end_port.node);
        }
        match self.peer_of(end_port) {
            LinkPeer::Switch(at) => Some(at.node),
            LinkPeer::None | LinkPeer::EndPort(_) => None,
        }
    }

    /// Index of a port in vectors over all ports.
    pub(super) fn slot(&self, at: PortAt) -> Option<usize> {
        let exists = usize::from(at.port) < self.state.nodes[at.node].ports.len();
        exists.then(|| self.base[at.node] + usize::from(at.port))
    }

    /// Number of ports of all nodes.
    pub(super) fn slots(&self) -> usize {
        self.peers.len()
    }

    /// The connected ports of a switch with their neighbours.
    pub(super) fn connected_ports(
        &self,
        node: NodeIdx,
    ) -> impl Iterator<Item = (u8, LinkPeer)> + use<'_, 'a> {
        let first = self.base[node];
        let peers = &self.peers[first..first + self.state.nodes[node].ports.len()];
        let all = (0u8..=254).zip(peers.iter().copied());
        all.filter(|(_, peer)| *peer != LinkPeer::None)
    }

    /// The end ports attached to a switch, with its port numbers.
    pub(super) fn attached_end_ports(
        &self,
        node: NodeIdx,
    ) -> impl Iterator<Item = (u8, PortAt)> + use<'_, 'a> {
        self.connected_ports(node)
            .filter_map(|(port, peer)| match peer {
                LinkPeer::EndPort(end) => Some((port, end)),
                LinkPeer::None | LinkPeer::Switch(_) => None,
            })
    }
}
