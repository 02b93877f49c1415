//! Follows packets by the tables: do they arrive, and which channels do they hold while they wait.
//!
//! Routing is by destination, so all packets to a LID run in a tree towards it: each switch is
//! visited once a LID, whoever sends.

use ferrosm_mad::ids::{Lid, PortNum};

use super::cycle::Channels;
use super::links::Owners;
use super::state::Scope;
use super::{Expect, Lost, Verdict, Violation};
use crate::spec::{NodeIdx, PortAt};

/// What is known of a switch for the LID at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// A packet is on its way through it.
    Walking,
    /// Packets from here arrive.
    Arrives,
    /// Packets from here get lost.
    Lost,
}

/// The walk to one LID after the other.
struct Walk<'a> {
    scope: &'a Scope<'a>,
    /// By node: the LID for which `fate` holds.
    seen: Vec<u16>,
    fate: Vec<Fate>,
    path: Vec<NodeIdx>,
    lid: u16,
    owner: PortAt,
}

impl Walk<'_> {
    /// What becomes of a packet that starts at a switch. Every step is told once a LID: switch,
    /// egress port, and the next switch.
    fn from(&mut self, start: NodeIdx, step: &mut impl FnMut(NodeIdx, u8, NodeIdx)) -> Fate {
        let mut at = start;
        self.path.clear();
        let end = loop {
            if self.seen[at] == self.lid {
                break match self.fate[at] {
                    Fate::Arrives => Fate::Arrives,
                    Fate::Walking | Fate::Lost => Fate::Lost,
                };
            }
            self.seen[at] = self.lid;
            self.fate[at] = Fate::Walking;
            self.path.push(at);
            match self.next(at) {
                Ok(Some((port, next))) => {
                    step(at, port, next);
                    at = next;
                }
                Ok(None) => break Fate::Arrives,
                Err(_) => break Fate::Lost,
            }
        };
        for node in self.path.drain(..) {
            self.fate[node] = end;
        }
        end
    }

    /// The next switch, or `None` where the packet arrives.
    fn next(&self, at: NodeIdx) -> Result<Option<(u8, NodeIdx)>, Hole> {
        let node = &self.scope.state.nodes[at];
        let port = node.egress(self.lid);
        if port == PortNum::DROP {
            return Err(Hole::Dropped);
        }
        let here = PortAt {
            node: at,
            port: port.0,
        };
        if port == PortNum::ZERO {
            return if here == self.owner {
                Ok(None)
            } else {
                Err(Hole::WrongEnd(here))
            };
        }
        let Some(peer) = node.ports.get(port.index()).and_then(|p| p.peer) else {
            return Err(Hole::Nowhere(port));
        };
        if peer == self.owner {
            Ok(None)
        } else if !self.scope.state.nodes[peer.node].is_switch() {
            Err(Hole::WrongEnd(peer))
        } else if self.scope.switches.binary_search(&peer.node).is_err() {
            Err(Hole::Nowhere(port))
        } else {
            Ok(Some((port.0, peer.node)))
        }
    }

    /// Walks again, slowly, to say what happens.
    fn explain(&self, start: NodeIdx) -> Lost {
        let state = self.scope.state;
        let name = |node: NodeIdx| state.nodes[node].name.clone();
        let mut passed = vec![false; state.nodes.len()];
        let mut at = start;
        while !passed[at] {
            passed[at] = true;
            match self.next(at) {
                Ok(Some((_, next))) => at = next,
                Ok(None) => break,
                Err(Hole::Dropped) => return Lost::Dropped(name(at)),
                Err(Hole::Nowhere(port)) => {
                    return Lost::Nowhere {
                        switch: name(at),
                        port,
                    };
                }
                Err(Hole::WrongEnd(end)) => {
                    return Lost::WrongEnd {
                        switch: name(at),
                        end: state.name(end),
                    };
                }
            }
        }
        Lost::Loop(name(at))
    }
}

/// Why a packet goes no further.
enum Hole {
    Dropped,
    Nowhere(PortNum),
    WrongEnd(PortAt),
}

/// Checks that packets arrive, and that no channels wait for each other.
pub(super) fn check(scope: &Scope<'_>, expect: &Expect, owners: &Owners, verdict: &mut Verdict) {
    let count = scope.state.nodes.len();
    let edges: Vec<NodeIdx> = scope
        .switches
        .iter()
        .copied()
        .filter(|s| scope.is_edge[*s])
        .collect();
    // Without any host on it, a fabric still has to let its switches talk.
    let usual = if edges.is_empty() {
        &scope.switches
    } else {
        &edges
    };
    let mut channels = Channels::new(scope.state);
    let mut walk = Walk {
        scope,
        seen: vec![0; count],
        fate: vec![Fate::Lost; count],
        path: Vec::new(),
        lid: 0,
        owner: expect.sm,
    };
    for (lid, owner) in (0u16..).zip(owners) {
        let Some(owner) = *owner else { continue };
        (walk.lid, walk.owner) = (lid, owner);
        let to_switch = scope.state.nodes[owner.node].is_switch();
        let mut failing = Vec::new();
        let sources = if expect.port0_traffic && !to_switch {
            &scope.switches
        } else {
            usual
        };
        for source in sources {
            let fate = walk.from(*source, &mut |at, port, next| {
                channels.wait(at, port, scope.state.nodes[next].egress(lid));
            });
            if fate != Fate::Arrives {
                failing.push(*source);
            }
        }
        let mut asked = sources.len();
        if expect.switches_reach_master && owner == expect.master && asked < scope.switches.len() {
            asked = scope.switches.len();
            for source in &scope.switches {
                if !scope.is_edge[*source] && walk.from(*source, &mut |_, _, _| {}) != Fate::Arrives
                {
                    failing.push(*source);
                }
            }
        }
        if let Some(first) = failing.first() {
            verdict.violations.push(Violation::Undelivered {
                lid: Lid(lid),
                port: scope.state.name(owner),
                failing: failing.len(),
                sources: asked,
                example: scope.state.nodes[*first].name.clone(),
                why: walk.explain(*first),
            });
        }
    }
    if expect.one_lane
        && let Some(cycle) = channels.cycle()
    {
        let names = cycle.into_iter().map(|at| scope.state.name(at)).collect();
        verdict.violations.push(Violation::CreditLoop(names));
    }
}
