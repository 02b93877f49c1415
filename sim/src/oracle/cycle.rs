//! Which channel waits for which, and whether some wait for each other (Dally and Seitz).

use ferrosm_mad::ids::PortNum;

use super::state::FabricState;
use crate::spec::{NodeIdx, PortAt};

/// The channel dependency graph of one lane: a channel is an egress port between two switches.
pub(super) struct Channels<'a> {
    state: &'a FabricState,
    /// First channel of each node.
    base: Vec<usize>,
    /// For each channel, the egress ports at its far end that packets wait for, one bit each.
    waits: Vec<[u64; 4]>,
}

/// How far the search has come with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

impl<'a> Channels<'a> {
    pub(super) fn new(state: &'a FabricState) -> Self {
        let mut total = 0;
        let base = state
            .nodes
            .iter()
            .map(|node| {
                let first = total;
                total += if node.is_switch() {
                    node.ports.len()
                } else {
                    0
                };
                first
            })
            .collect();
        Self {
            state,
            base,
            waits: vec![[0; 4]; total],
        }
    }

    /// Packets that leave by a port wait for an egress port of the next switch.
    pub(super) fn wait(&mut self, at: NodeIdx, port: u8, egress: PortNum) {
        if egress != PortNum::DROP && egress != PortNum::ZERO {
            let waits = &mut self.waits[self.base[at] + usize::from(port)];
            waits[egress.index() / 64] |= 1 << (egress.0 % 64);
        }
    }

    /// The switch at the far end of a channel; `None` where packets end.
    fn far_switch(&self, at: PortAt) -> Option<NodeIdx> {
        let peer = self.state.port(at)?.peer?;
        self.state.nodes[peer.node].is_switch().then_some(peer.node)
    }

    fn index(&self, at: PortAt) -> usize {
        self.base[at.node] + usize::from(at.port)
    }

    /// The first port from `from` on that packets in the channel wait for.
    fn next_wait(&self, at: PortAt, from: u16) -> Option<u8> {
        let waits = &self.waits[self.index(at)];
        (from..256)
            .find(|port| waits[usize::from(port / 64)] >> (port % 64) & 1 != 0)
            .and_then(|port| u8::try_from(port).ok())
    }

    /// Channels that wait for each other in a circle, if there are any.
    pub(super) fn cycle(&self) -> Option<Vec<PortAt>> {
        let mut marks = vec![Mark::New; self.waits.len()];
        let mut path: Vec<(PortAt, u16)> = Vec::new();
        for (node, facts) in self
            .state
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| n.is_switch())
        {
            for (port, _) in (0u8..=254).zip(&facts.ports).skip(1) {
                let start = PortAt { node, port };
                if marks[self.index(start)] != Mark::New {
                    continue;
                }
                marks[self.index(start)] = Mark::Open;
                path.push((start, 0));
                while let Some((at, from)) = path.last_mut() {
                    let at = *at;
                    let next = self.far_switch(at).and_then(|far| {
                        self.next_wait(at, *from)
                            .map(|port| PortAt { node: far, port })
                    });
                    let Some(next) = next else {
                        marks[self.index(at)] = Mark::Done;
                        path.pop();
                        continue;
                    };
                    *from = u16::from(next.port) + 1;
                    if usize::from(next.port) >= self.state.nodes[next.node].ports.len() {
                        continue;
                    }
                    let mark = self.index(next);
                    match marks[mark] {
                        Mark::Done => {}
                        Mark::New => {
                            marks[mark] = Mark::Open;
                            path.push((next, 0));
                        }
                        Mark::Open => {
                            let circle =
                                path.iter().map(|(at, _)| *at).skip_while(|at| *at != next);
                            return Some(circle.collect());
                        }
                    }
                }
            }
        }
        None
    }
}
