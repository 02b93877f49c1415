//! The channel dependency graph and the search for credit loops (Dally and Seitz, 1987).

use super::scope::{LinkPeer, Scope};
use super::state::PortSet;
use crate::index::index_to_u8;
use crate::spec::{NodeIdx, PortAt};

/// The channel dependency graph. A channel is a VL of an output port between two switches.
pub(super) struct ChannelDependencies<'a, 's> {
    scope: &'a Scope<'s>,
    /// By slot: the port's first channel, if its neighbour is a switch.
    base: Vec<u32>,
    vls: usize,
    /// By channel: the output ports of the next switch on which its packets depend, by VL.
    dependencies: Vec<Vec<(u8, PortSet)>>,
    /// Output port of each group of `vls` channels.
    ports: Vec<PortAt>,
}

/// The port has no channels.
const NONE: u32 = u32::MAX;

/// State of a channel in the depth-first search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Unvisited,
    OnPath,
    Done,
}

/// Position of the depth-first search in a channel.
struct SearchStep {
    channel: usize,
    /// Index in the channel's dependencies.
    entry: usize,
    /// Next output port to consider.
    from: u16,
}

impl<'a, 's> ChannelDependencies<'a, 's> {
    pub(super) fn new(scope: &'a Scope<'s>, vls: usize) -> Self {
        let mut base = vec![NONE; scope.slots()];
        let mut ports = Vec::new();
        for node in &scope.switches {
            for (port, peer) in scope.connected_ports(*node) {
                let at = PortAt { node: *node, port };
                if let (LinkPeer::Switch(_), Some(slot)) = (peer, scope.slot(at)) {
                    base[slot] = u32::try_from(ports.len()).unwrap_or(NONE);
                    ports.push(at);
                }
            }
        }
        Self {
            scope,
            base,
            vls,
            dependencies: vec![Vec::new(); ports.len() * vls],
            ports,
        }
    }

    fn index(&self, at: PortAt, vl: u8) -> Option<usize> {
        let base = self.base[self.scope.slot(at)?];
        (base != NONE).then_some(base as usize * self.vls + usize::from(vl))
    }

    /// Records that packets on VL `vl` of port `at` continue on VL `next_vl` of port `egress` of
    /// the next switch.
    #[inline]
    pub(super) fn add(&mut self, at: PortAt, vl: u8, egress: u8, next_vl: u8) {
        let Some(dependencies) = self
            .index(at, vl)
            .and_then(|c| self.dependencies.get_mut(c))
        else {
            return;
        };
        if let Some((_, ports)) = dependencies.iter_mut().find(|(vl, _)| *vl == next_vl) {
            ports.insert(egress);
        } else {
            dependencies.push((next_vl, PortSet::from_iter([egress])));
        }
    }

    /// The switch at the end of a channel.
    fn next_switch(&self, channel: usize) -> Option<NodeIdx> {
        match self.scope.peer_of(self.ports[channel / self.vls]) {
            LinkPeer::Switch(peer) => Some(peer.node),
            LinkPeer::None | LinkPeer::EndPort(_) => None,
        }
    }

    /// The next channel on which `step`'s channel depends.
    fn next_dependency(&self, step: &mut SearchStep) -> Option<usize> {
        let switch = self.next_switch(step.channel)?;
        while let Some((vl, ports)) = self.dependencies[step.channel].get(step.entry) {
            while let Some(port) = ports.first_from(step.from) {
                step.from = u16::from(port) + 1;
                // Packets to an end port depend on no further channel.
                if let Some(next) = self.index(PortAt { node: switch, port }, *vl) {
                    return Some(next);
                }
            }
            step.entry += 1;
            step.from = 0;
        }
        None
    }

    /// A cycle of channels, if there is one.
    pub(super) fn find_cycle(&self) -> Option<Vec<(PortAt, u8)>> {
        let mut states = vec![VisitState::Unvisited; self.dependencies.len()];
        let mut path: Vec<SearchStep> = Vec::new();
        let enter = |channel| SearchStep {
            channel,
            entry: 0,
            from: 0,
        };
        for start in 0..self.dependencies.len() {
            if states[start] != VisitState::Unvisited || self.dependencies[start].is_empty() {
                continue;
            }
            states[start] = VisitState::OnPath;
            path.push(enter(start));
            while let Some(step) = path.last_mut() {
                let Some(next) = self.next_dependency(step) else {
                    states[step.channel] = VisitState::Done;
                    path.pop();
                    continue;
                };
                match states[next] {
                    VisitState::Done => {}
                    VisitState::Unvisited => {
                        states[next] = VisitState::OnPath;
                        path.push(enter(next));
                    }
                    VisitState::OnPath => {
                        let cycle = path.iter().map(|s| s.channel).skip_while(|c| *c != next);
                        return Some(cycle.map(|c| self.name(c)).collect());
                    }
                }
            }
        }
        None
    }

    fn name(&self, channel: usize) -> (PortAt, u8) {
        let vl = index_to_u8(channel % self.vls);
        (self.ports[channel / self.vls], vl)
    }
}
