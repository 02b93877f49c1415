//! Which channel waits for which, and whether some wait for each other (Dally and Seitz).

use super::scope::{Scope, Way};
use super::state::PortSet;
use crate::spec::{NodeIdx, PortAt};

/// The channel dependency graph: a channel is a lane of an egress port between two switches.
pub(super) struct Channels<'a, 's> {
    scope: &'a Scope<'s>,
    /// By slot: the first channel of the port, where it leads to a switch.
    base: Vec<u32>,
    lanes: usize,
    /// For each channel: the egress ports at its far end that packets wait for, lane by lane.
    waits: Vec<Vec<(u8, PortSet)>>,
    /// The port of each channel.
    ports: Vec<PortAt>,
}

/// No channel starts here.
const NONE: u32 = u32::MAX;

/// How far the search has come with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Where the search goes on in a channel.
struct Step {
    channel: usize,
    /// Entry of its waits.
    entry: usize,
    /// Port from which on.
    from: u16,
}

impl<'a, 's> Channels<'a, 's> {
    pub(super) fn new(scope: &'a Scope<'s>, lanes: usize) -> Self {
        let mut base = vec![NONE; scope.slots()];
        let mut ports = Vec::new();
        for node in &scope.switches {
            for (port, way) in scope.ways_of(*node) {
                let at = PortAt { node: *node, port };
                if let (Way::Switch(_), Some(slot)) = (way, scope.slot(at)) {
                    base[slot] = u32::try_from(ports.len()).unwrap_or(NONE);
                    ports.push(at);
                }
            }
        }
        Self {
            scope,
            base,
            lanes,
            waits: vec![Vec::new(); ports.len() * lanes],
            ports,
        }
    }

    fn index(&self, at: PortAt, vl: u8) -> Option<usize> {
        let base = self.base[self.scope.slot(at)?];
        (base != NONE).then_some(base as usize * self.lanes + usize::from(vl))
    }

    /// Packets that leave by a port on a lane wait for an egress port of the next switch.
    #[inline]
    pub(super) fn wait(&mut self, at: PortAt, vl: u8, egress: u8, next_vl: u8) {
        let Some(waits) = self.index(at, vl).and_then(|c| self.waits.get_mut(c)) else {
            return;
        };
        if let Some((_, ports)) = waits.iter_mut().find(|(lane, _)| *lane == next_vl) {
            ports.insert(egress);
        } else {
            waits.push((next_vl, PortSet::from_iter([egress])));
        }
    }

    /// The switch at the far end of a channel.
    fn far(&self, channel: usize) -> Option<NodeIdx> {
        match self.scope.way(self.ports[channel / self.lanes]) {
            Way::Switch(peer) => Some(peer.node),
            Way::Nowhere | Way::End(_) => None,
        }
    }

    /// The next channel that packets in this one wait for.
    fn next(&self, step: &mut Step) -> Option<usize> {
        let far = self.far(step.channel)?;
        while let Some((vl, ports)) = self.waits[step.channel].get(step.entry) {
            while let Some(port) = ports.first_from(step.from) {
                step.from = u16::from(port) + 1;
                // Packets that leave for an end port wait for nobody.
                if let Some(next) = self.index(PortAt { node: far, port }, *vl) {
                    return Some(next);
                }
            }
            step.entry += 1;
            step.from = 0;
        }
        None
    }

    /// Channels that wait for each other in a circle, if there are any.
    pub(super) fn cycle(&self) -> Option<Vec<(PortAt, u8)>> {
        let mut marks = vec![Mark::New; self.waits.len()];
        let mut path: Vec<Step> = Vec::new();
        let enter = |channel| Step {
            channel,
            entry: 0,
            from: 0,
        };
        for start in 0..self.waits.len() {
            if marks[start] != Mark::New || self.waits[start].is_empty() {
                continue;
            }
            marks[start] = Mark::Open;
            path.push(enter(start));
            while let Some(step) = path.last_mut() {
                let Some(next) = self.next(step) else {
                    marks[step.channel] = Mark::Done;
                    path.pop();
                    continue;
                };
                match marks[next] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[next] = Mark::Open;
                        path.push(enter(next));
                    }
                    Mark::Open => {
                        let circle = path.iter().map(|s| s.channel).skip_while(|c| *c != next);
                        return Some(circle.map(|c| self.name(c)).collect());
                    }
                }
            }
        }
        None
    }

    fn name(&self, channel: usize) -> (PortAt, u8) {
        let vl = u8::try_from(channel % self.lanes).unwrap_or(u8::MAX);
        (self.ports[channel / self.lanes], vl)
    }
}
