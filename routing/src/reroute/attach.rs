//! Gives those who lost their way to a LID a new one: nearest first, each by a shortest way that the guard admits.
//!
//! Of several: the port that it had; else the way whose busiest channel carries least, with what others have just
//! found counted in, so that the routes of one LID do not all come down where those of another one do already; else the way
//! that others have just found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::PortNum;

use super::column::{Column, Place};
use super::guard::{Guard, Stage};
use super::loads::Loads;
use crate::channels::PortChannels;
use crate::topology::{Destination, SwitchIdx, Topology};

/// What attaching works with.
pub(super) struct Attach<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: &'a PortChannels,
    pub(super) column: Column<'a>,
    pub(super) guard: Guard<'a>,
    pub(super) loads: Loads,
    /// Each switch's place by LID.
    pub(super) rank: Vec<usize>,
    /// Whether the order is another one than the old ways were made for.
    pub(super) turned: bool,
    /// End ports whose packets to the present LID come to an orphan, or would if those below it stayed with it.
    pub(super) expected: Vec<u64>,
    /// Loads that were changed for the present LID: channel, routes, whether they came.
    pub(super) counted: Vec<(usize, u64, bool)>,
    /// Scratch.
    pub(super) heads: Vec<usize>,
    /// For which LID (the how many-th), when and with how many hops each switch was tried last.
    pub(super) tried: Vec<(u32, Stage, u32)>,
}

/// Who lost the cable that its packets to a LID went over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    pub(super) at: usize,
    /// Where the cable led.
    pub(super) to: usize,
    /// End ports whose packets went there.
    pub(super) load: u64,
}

/// A possible next hop, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    moves: bool,
    /// Routes over the busiest channel of the way.
    busiest: u64,
    flow: Reverse<u64>,
    first: u64,
    port: u8,
    next: usize,
}

impl Attach<'_> {
    /// Gives only those who lost a cable (switch, port, load per LID) another next hop, if their way gets no longer and
    /// climbs no more than before: then nobody who comes over them needs to know. False if that cannot be.
    pub(super) fn tails(&mut self, d: &Destination, tails: &[Tail]) -> bool {
        if !matches!(self.guard, Guard::Order) {
            return false;
        }
        self.heads.clear();
        self.heads.extend(tails.iter().map(|t| t.at));
        self.column.begin(*d, &self.heads);
        for tail in tails {
            let Place::Arrives(hops) = self.column.place(tail.to) else {
                return false;
            };
            let went_down = self.column.is_down(tail.at, tail.to) && self.column.goes_down(tail.to);
            // In another order than before nobody knows who came from above.
            let stage = if went_down || self.turned {
                Stage::DownOnly
            } else {
                Stage::Any
            };
            if !self.one(d, tail.at, hops + 1, stage) {
                return false;
            }
        }
        for tail in tails {
            self.count(d, tail.at, tail.load, true);
        }
        true
    }

    /// Routes a LID anew from its orphans. False if some cannot be.
    pub(super) fn lid(&mut self, d: &Destination, orphans: &[usize]) -> bool {
        self.column.begin(*d, orphans);
        self.expect(d, orphans);
        let mut stages: &[Stage] = &[Stage::Any];
        loop {
            let done = stages.iter().all(|&stage| {
                let left = self.nearest_first(d, orphans, stage);
                left == 0 || stage == Stage::DownOnly
            });
            if done {
                break;
            }
            if stages.len() > 1 || matches!(self.guard, Guard::Graph { .. }) {
                return false;
            }
            // Someone who climbs, because that is shorter, is in the way of one above who can only go down.
            for (channel, routes, came) in std::mem::take(&mut self.counted) {
                if came {
                    self.loads.lose(channel, routes);
                } else {
                    self.loads.gain(channel, routes);
                }
            }
            self.column.forget(orphans);
            self.expect(d, orphans);
            stages = &[Stage::DownOnly, Stage::Any];
        }
        true
    }

    /// Attaches whoever can be; how many are left.
    fn nearest_first(&mut self, d: &Destination, orphans: &[usize], stage: Stage) -> usize {
        let mut heap: BinaryHeap<Reverse<(u32, usize, usize)>> = BinaryHeap::new();
        let mut left = 0;
        for &v in orphans {
            if self.column.place(v) != Place::Orphan {
                continue;
            }
            left += 1;
            let mut seen: Vec<u32> = Vec::new();
            for link in self.topo.links(SwitchIdx::at(v)) {
                if let Place::Arrives(hops) = self.column.place(link.peer.index())
                    && !seen.contains(&hops)
                {
                    seen.push(hops);
                    heap.push(Reverse((hops + 1, self.rank[v], v)));
                }
            }
        }
        while let Some(Reverse((hops, _, v))) = heap.pop() {
            // All that can be reached with so many hops is known by now: one try is enough.
            if self.tried[v] == (self.column.turn(), stage, hops)
                || self.column.place(v) != Place::Orphan
            {
                continue;
            }
            self.tried[v] = (self.column.turn(), stage, hops);
            if !self.one(d, v, hops, stage) {
                continue;
            }
            left -= 1;
            self.settle(d, v);
            for link in self.topo.links(SwitchIdx::at(v)) {
                let u = link.peer.index();
                if self.column.place(u) == Place::Orphan {
                    heap.push(Reverse((hops + 1, self.rank[u], u)));
                }
            }
        }
        left
    }

    /// Attaches one switch with this many hops to go, if it may.
    fn one(&mut self, d: &Destination, v: usize, hops: u32, stage: Stage) -> bool {
        let old = self.column.old_port(v);
        let mut candidates: Vec<Candidate> = Vec::new();
        for link in self.topo.links(SwitchIdx::at(v)) {
            let next = link.peer.index();
            if self.column.place(next) == Place::Arrives(hops - 1)
                && self.guard.may(&self.column, v, next, stage)
            {
                candidates.push(Candidate {
                    moves: link.port.raw() != old,
                    flow: Reverse(0),
                    busiest: 0,
                    first: 0,
                    port: link.port.raw(),
                    next,
                });
            }
        }
        if candidates.len() > 1 && candidates.iter().all(|c| c.moves) {
            for c in &mut candidates {
                let channel = self.channels.at(v, c.port);
                c.first = self.loads.now[channel];
                c.busiest = c.first;
                let mut at = c.next;
                while let Some((next, port)) = self.column.hop(at) {
                    c.flow.0 += self.column.flow(at);
                    c.busiest = c.busiest.max(self.loads.now[self.channels.at(at, port)]);
                    at = next;
                }
            }
        }
        candidates.sort_unstable();
        // What takes nothing from those who come later is first.
        let known = candidates
            .iter()
            .position(|c| {
                self.guard
                    .knows(&self.column, d, v, (c.port, c.next), stage)
            })
            .unwrap_or(0);
        if let Some(first) = candidates.get_mut(..=known) {
            first.rotate_right(1);
        }
        let found = candidates.iter().find(|c| {
            self.guard
                .admits(&self.column, d, v, (c.port, c.next), stage)
        });
        if let Some(c) = found {
            let weight = self.weight(d, v);
            self.column.attach(v, c.port, c.next, weight);
        }
        found.is_some()
    }

    /// End ports that send to a LID from a switch.
    pub(super) fn weight(&self, d: &Destination, v: usize) -> u64 {
        if d.port == PortNum::ZERO {
            0
        } else {
            self.topo.end_ports(SwitchIdx::at(v)).len() as u64
        }
    }

    /// The next hop that an orphan had, if that is an orphan too.
    fn parent(&self, v: usize) -> Option<usize> {
        let (next, _) = self.channels.peer(v, self.column.old_port(v))?;
        self.column.is_orphan(next).then_some(next)
    }

    /// How much comes to each orphan, if all but those who lost a cable stay with whom they are. `orphans` has nobody
    /// before the one that it sends to.
    fn expect(&mut self, d: &Destination, orphans: &[usize]) {
        self.counted.clear();
        for &v in orphans {
            self.expected[v] = self.weight(d, v);
        }
        for &v in orphans.iter().rev() {
            if let Some(parent) = self.parent(v) {
                self.expected[parent] += self.expected[v];
            }
        }
    }

    /// Counts what comes with an orphan that has just been attached, unless it stays with whom it was.
    fn settle(&mut self, d: &Destination, v: usize) {
        let load = self.expected[v];
        let mut parent = self.parent(v);
        if parent.is_some() && self.column.next_port(v) == self.column.old_port(v) {
            return;
        }
        self.count(d, v, load, true);
        while let Some(p) = parent {
            if matches!(self.column.place(p), Place::Arrives(_)) {
                self.count(d, p, load, false);
                return;
            }
            self.expected[p] = self.expected[p].saturating_sub(load);
            parent = self.parent(p);
        }
    }

    /// Counts routes to a LID that come to the way from a switch, or leave it.
    fn count(&mut self, d: &Destination, from: usize, weight: u64, come: bool) {
        if weight == 0 || d.port == PortNum::ZERO {
            return;
        }
        let mut at = from;
        while let Some((next, port)) = self.column.hop(at) {
            let channel = self.channels.at(at, port);
            if come {
                self.loads.gain(channel, weight);
            } else {
                self.loads.lose(channel, weight);
            }
            self.counted.push((channel, weight, come));
            at = next;
        }
    }
}
