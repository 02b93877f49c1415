//! Follows packets by the tables: do they arrive, on which lanes, and which channels do they hold
//! while they wait.
//!
//! Routing is by destination, so all packets to a LID run in a tree towards it: each switch is
//! visited once a LID, whoever sends. The lane on a hop follows from SL, input and output port, so
//! it is enough to carry, down the tree, the lanes on which each SL leaves a switch.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::Verdict;
use super::cycle::Channels;
use super::expect::{Expectations, Traffic};
use super::lanes::{Injector, Lanes};
use super::links::Owners;
use super::scope::{Scope, Way};
use super::violation::{DeliveryFailure, Violation};
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

/// A switch in the tree towards the LID at hand.
#[derive(Clone, Copy)]
struct Place {
    /// The LID for which this holds.
    lid: u16,
    fate: Fate,
    egress: PortNum,
    /// The port of the next switch; `None` where packets arrive.
    next: Option<PortAt>,
    /// The SLs that have a lane from the next switch on, one bit each.
    open: u16,
    /// The SLs on which packets leave for the next switch.
    active: u16,
    /// By SL: the lanes on which they leave, one bit each.
    vls: [u16; 16],
}

const UNSEEN: Place = Place {
    lid: 0,
    fate: Fate::Lost,
    egress: PortNum::DROP,
    next: None,
    open: 0,
    active: 0,
    vls: [0; 16],
};

/// The walk to one LID after the other.
struct Walk<'a, 's> {
    scope: &'a Scope<'s>,
    lanes: &'a Lanes,
    places: Vec<Place>,
    /// The switches of the tree, the nearer to the LID the earlier.
    order: Vec<NodeIdx>,
    path: Vec<NodeIdx>,
    lid: u16,
    owner: PortAt,
}

/// A hop without a lane: switch, input, output, SL.
type LanelessHop = (NodeIdx, u8, u8, u8);

/// What was found about lanes.
#[derive(Default)]
pub(super) struct LaneFacts {
    /// SLs that some packets use, one bit each.
    pub(super) used: u16,
    /// LIDs cut off, the first of them, and who sends there.
    laneless: BTreeMap<LanelessHop, (usize, u16, PortAt)>,
    /// End ports and the SL on which they cannot send.
    silent: BTreeSet<(PortAt, u8)>,
}

impl LaneFacts {
    /// Notes a hop that has no lane for an SL.
    pub(super) fn note(&mut self, hop: LanelessHop, lid: Lid, source: PortAt) {
        let first = || (0, lid.raw(), source);
        self.laneless.entry(hop).or_insert_with(first).0 += 1;
    }

    /// Notes an end port that cannot send on an SL.
    pub(super) fn note_silent(&mut self, end: PortAt, sl: u8) {
        self.silent.insert((end, sl));
    }

    pub(super) fn report(self, scope: &Scope<'_>, lanes: &Lanes, verdict: &mut Verdict) {
        for (end, sl) in self.silent {
            let Some(slot) = scope.slot(end) else {
                continue;
            };
            let table = lanes.at(slot, 0);
            verdict.violations.push(Violation::NoSourceVl {
                port: scope.state.name(end),
                sl: Sl(sl),
                vl: table.vl[usize::from(sl)],
                data_vls: table.lanes,
            });
        }
        for ((node, input, output, sl), (lids, lid, source)) in self.laneless {
            let Some(slot) = scope.slot(PortAt { node, port: output }) else {
                continue;
            };
            let table = lanes.at(slot, input);
            verdict.violations.push(Violation::NoVl {
                switch: scope.state.nodes[node].name.clone(),
                input: PortNum(input),
                output: PortNum(output),
                sl: Sl(sl),
                vl: table.vl[usize::from(sl)],
                data_vls: table.lanes,
                lids,
                lid: Lid(lid),
                source_port: scope.state.name(source),
            });
        }
    }
}

/// Bits of a mask, ascending.
pub(super) fn bits(mask: u16) -> impl Iterator<Item = u8> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let bit = u8::try_from(rest.trailing_zeros()).unwrap_or(16);
        rest &= rest.wrapping_sub(1);
        (bit < 16).then_some(bit)
    })
}

impl Walk<'_, '_> {
    /// What becomes of a packet that starts at a switch.
    fn from(&mut self, start: NodeIdx) -> Fate {
        let mut at = start;
        self.path.clear();
        let end = loop {
            let place = &mut self.places[at];
            if place.lid == self.lid {
                break match place.fate {
                    Fate::Arrives => Fate::Arrives,
                    Fate::Walking | Fate::Lost => Fate::Lost,
                };
            }
            (place.lid, place.fate, place.active) = (self.lid, Fate::Walking, 0);
            self.path.push(at);
            let (egress, step) = self.next(at);
            let place = &mut self.places[at];
            place.egress = egress;
            place.next = None;
            match step {
                Ok(Some(next)) => {
                    place.next = Some(next);
                    at = next.node;
                }
                Ok(None) => break Fate::Arrives,
                Err(_) => break Fate::Lost,
            }
        };
        for node in &self.path {
            self.places[*node].fate = end;
        }
        self.order.extend(self.path.drain(..).rev());
        end
    }

    /// The egress port, and the next switch or `None` where the packet arrives.
    fn next(&self, node: NodeIdx) -> (PortNum, Result<Option<PortAt>, Hole>) {
        let egress = self.scope.state.nodes[node].egress(self.lid);
        let port = egress.raw();
        let here = PortAt { node, port };
        let step = if egress == PortNum::DROP {
            Err(Hole::Dropped)
        } else if egress == PortNum::ZERO {
            if here == self.owner {
                Ok(None)
            } else {
                Err(Hole::WrongEnd(here))
            }
        } else {
            match self.scope.way(here) {
                Way::Switch(next) => Ok(Some(next)),
                Way::End(end) if end == self.owner => Ok(None),
                Way::End(end) => Err(Hole::WrongEnd(end)),
                Way::Nowhere => Err(Hole::Nowhere(egress)),
            }
        };
        (egress, step)
    }

    /// Walks again, slowly, to say what happens.
    fn explain(&self, start: NodeIdx) -> DeliveryFailure {
        let state = self.scope.state;
        let name = |node: NodeIdx| state.nodes[node].name.clone();
        let mut passed = vec![false; state.nodes.len()];
        let mut at = start;
        while !passed[at] {
            passed[at] = true;
            match self.next(at).1 {
                Ok(Some(next)) => at = next.node,
                Ok(None) => break,
                Err(Hole::Dropped) => return DeliveryFailure::Dropped(name(at)),
                Err(Hole::Nowhere(port)) => {
                    return DeliveryFailure::UnconnectedPort {
                        switch: name(at),
                        port,
                    };
                }
                Err(Hole::WrongEnd(end)) => {
                    return DeliveryFailure::WrongEndPort {
                        switch: name(at),
                        end: state.name(end),
                    };
                }
            }
        }
        DeliveryFailure::Loop(name(at))
    }

    /// The SLs with a lane from an input port of a switch to its egress for the LID.
    fn legal(&self, at: PortAt) -> u16 {
        let egress = self.places[at.node].egress;
        let out = PortAt {
            node: at.node,
            port: egress.raw(),
        };
        match self.scope.slot(out) {
            // Nothing waits inside a switch.
            Some(slot) if egress != PortNum::ZERO => self.lanes.at(slot, at.port).legal,
            _ => u16::MAX,
        }
    }

    /// Finds the SLs that have a lane all the way from each switch on.
    fn open_lanes(&mut self) {
        for index in 0..self.order.len() {
            let node = self.order[index];
            let place = &self.places[node];
            let open = match place.next {
                _ if place.fate != Fate::Arrives => 0,
                None => u16::MAX,
                Some(next) => self.legal(next) & self.places[next.node].open,
            };
            self.places[node].open = open;
        }
    }

    /// Packets of an end port enter the tree by a port of its switch. Says on which of the SLs
    /// they pass.
    fn inject(&mut self, by: PortAt, sls: u16) -> u16 {
        let sls = sls & self.legal(by) & self.places[by.node].open;
        let place = &mut self.places[by.node];
        let out = PortAt {
            node: by.node,
            port: place.egress.raw(),
        };
        if place.next.is_some()
            && let Some(slot) = self.scope.slot(out)
        {
            let table = self.lanes.at(slot, by.port);
            for sl in bits(sls).map(usize::from) {
                if place.active >> sl & 1 == 0 {
                    place.active |= 1 << sl;
                    place.vls[sl] = 0;
                }
                place.vls[sl] |= 1 << table.vl[sl];
            }
        }
        sls
    }

    /// Carries the lanes in use down the tree and tells who waits for whom.
    fn spread(&mut self, channels: &mut Channels<'_, '_>) {
        for node in self.order.iter().rev().copied() {
            let Place {
                active,
                egress,
                next,
                vls,
                ..
            } = self.places[node];
            let Some(next) = next.filter(|_| active != 0) else {
                continue;
            };
            let far = &mut self.places[next.node];
            let out = PortAt {
                node: next.node,
                port: far.egress.raw(),
            };
            let Some(slot) = self.scope.slot(out).filter(|_| far.next.is_some()) else {
                continue;
            };
            let table = self.lanes.at(slot, next.port);
            let port = egress.raw();
            for sl in bits(active).map(usize::from) {
                let vl = table.vl[sl];
                for from in bits(vls[sl]) {
                    channels.wait(PortAt { node, port }, from, out.port, vl);
                }
                if far.active >> sl & 1 == 0 {
                    far.active |= 1 << sl;
                    far.vls[sl] = 0;
                }
                far.vls[sl] |= 1 << vl;
            }
        }
    }

    /// The first hop on which packets that come in by a port have no lane for an SL.
    fn laneless(&self, by: PortAt, sl: u8) -> Option<LanelessHop> {
        let mut at = by;
        // The tree has no loop where packets arrive.
        for _ in 0..=self.order.len() {
            if self.legal(at) >> sl & 1 == 0 {
                let egress = self.places[at.node].egress.raw();
                return Some((at.node, at.port, egress, sl));
            }
            at = self.places[at.node].next?;
        }
        None
    }
}

/// Why a packet goes no further.
enum Hole {
    Dropped,
    Nowhere(PortNum),
    WrongEnd(PortAt),
}

/// Checks that packets arrive, and tells which channels wait for which.
pub(super) fn check(
    scope: &Scope<'_>,
    expect: &Expectations,
    lanes: &Lanes,
    owners: &Owners,
    channels: &mut Channels<'_, '_>,
    verdict: &mut Verdict,
) -> LaneFacts {
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
    let mut injectors: Vec<Vec<Injector>> = vec![Vec::new(); scope.state.nodes.len()];
    for node in &scope.switches {
        let port0 = expect.port0_traffic || edges.is_empty();
        injectors[*node] = lanes.injectors(scope, *node, port0);
    }
    let mut facts = LaneFacts::default();
    let mut walk = Walk {
        scope,
        lanes,
        places: vec![UNSEEN; scope.state.nodes.len()],
        order: Vec::new(),
        path: Vec::new(),
        lid: 0,
        owner: expect.sm,
    };
    for (lid, owner) in (0u16..).zip(owners) {
        let Some(owner) = *owner else { continue };
        (walk.lid, walk.owner) = (lid, owner);
        walk.order.clear();
        let to_switch = scope.state.nodes[owner.node].is_switch();
        let sources = if expect.port0_traffic && !to_switch {
            &scope.switches
        } else {
            usual
        };
        let mut failing = Vec::new();
        for source in sources {
            if walk.from(*source) != Fate::Arrives {
                failing.push(*source);
            }
        }
        walk.open_lanes();
        for source in sources {
            if walk.places[*source].fate == Fate::Arrives {
                send(&mut walk, &injectors[*source], *source, expect, &mut facts);
            }
        }
        walk.spread(channels);
        let mut asked = sources.len();
        if expect.switches_reach_master && owner == expect.master && asked < scope.switches.len() {
            asked = scope.switches.len();
            for source in &scope.switches {
                if !scope.is_edge[*source] && walk.from(*source) != Fate::Arrives {
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
    facts
}

/// The end ports of a switch send to the LID at hand.
fn send(
    walk: &mut Walk<'_, '_>,
    injectors: &[Injector],
    node: NodeIdx,
    expect: &Expectations,
    facts: &mut LaneFacts,
) {
    let egress = walk.places[node].egress;
    for injector in injectors {
        match &expect.traffic {
            Traffic::OneSl(sl) => {
                if let Some((port, end)) = injector.other_than(egress) {
                    let by = PortAt { node, port };
                    send_on(walk, by, end, *sl, injector, facts);
                }
            }
            Traffic::PerPath(table) => {
                // Alike ports fare alike, so each SL needs one.
                let mut done = 0u16;
                for (port, end) in injector.ports.iter().zip(&injector.ends) {
                    if *port != egress.raw()
                        && let Some(sl) = table.sl(*end, Lid(walk.lid))
                        && done >> (sl.raw() & 0xF) & 1 == 0
                    {
                        done |= 1 << (sl.raw() & 0xF);
                        let by = PortAt { node, port: *port };
                        send_on(walk, by, *end, sl, injector, facts);
                    }
                }
            }
            Traffic::AllSls => {
                if let Some((port, _)) = injector.other_than(egress) {
                    facts.used |= walk.inject(PortAt { node, port }, injector.can_send);
                }
            }
        }
    }
}

/// An end port behind a switch's port sends to the LID at hand.
fn send_on(
    walk: &mut Walk<'_, '_>,
    by: PortAt,
    end: PortAt,
    sl: Sl,
    injector: &Injector,
    facts: &mut LaneFacts,
) {
    let sl = sl.raw() & 0xF;
    let bit = 1 << sl;
    facts.used |= bit;
    if injector.can_send & bit == 0 {
        facts.note_silent(end, sl);
    } else if walk.inject(by, bit) == 0
        && let Some(hop) = walk.laneless(by, sl)
    {
        facts.note(hop, Lid(walk.lid), end);
    }
}
