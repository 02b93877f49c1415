//! Attaches the orphans of a LID to switches that have a route: nearest first, each by a shortest
//! route that the guard allows.
//!
//! Of several next hops, the order of preference is: the previous port; the route with the lowest
//! maximum channel load, including the routes just moved, so that the routes of several LIDs do not
//! share one downward path; the route that other orphans have just taken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::PortNum;

use super::guard::{Guard, Stage};
use super::lid_routes::{LidRoutes, RouteState};
use super::loads::ChannelLoads;
use crate::topology::PortChannels;
use crate::topology::{Destination, SwitchIdx, Topology};

/// State of the reroute, reused from LID to LID.
pub(super) struct OrphanRouting<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: &'a PortChannels,
    /// The channels of the old graph.
    pub(super) old_channels: &'a PortChannels,
    pub(super) routes: LidRoutes<'a>,
    pub(super) guard: Guard<'a>,
    pub(super) loads: ChannelLoads,
    /// Rank of each switch by LID.
    pub(super) rank: Vec<usize>,
    /// Whether the switch order differs from that of the old routes.
    pub(super) order_changed: bool,
    /// End ports whose packets to the current LID cross an orphan, if the orphans below it keep
    /// their next hop.
    pub(super) expected: Vec<u64>,
    /// Load changes for the current LID: channel, routes, whether they were added.
    pub(super) counted: Vec<(usize, u64, bool)>,
    /// Scratch space: the switches of the current tails.
    pub(super) tail_switches: Vec<usize>,
    /// LID number, stage and hops of the last attempt for each switch.
    pub(super) tried: Vec<(u32, Stage, u32)>,
}

/// A switch that lost its output link for a LID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    pub(super) at: usize,
    /// The switch at the other end of the lost link.
    pub(super) to: usize,
    /// End ports whose packets used the link.
    pub(super) load: u64,
}

/// A possible next hop, ordered by preference: the best one is the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    changes_port: bool,
    /// Load of the busiest channel of the route.
    max_load: u64,
    flow: Reverse<u64>,
    /// Load of the first channel.
    first_load: u64,
    port: u8,
    next: usize,
}

impl OrphanRouting<'_> {
    /// Changes the next hops of the tails only, with no more hops and no more up hops than before:
    /// the switches behind them keep their entries. Returns false if this is impossible.
    pub(super) fn attach_tails(&mut self, d: &Destination, tails: &[Tail]) -> bool {
        if !matches!(self.guard, Guard::Order) {
            return false;
        }
        self.tail_switches.clear();
        self.tail_switches.extend(tails.iter().map(|t| t.at));
        self.routes.start_lid(*d, &self.tail_switches);
        for tail in tails {
            let RouteState::Reaches(hops) = self.routes.state(tail.to) else {
                return false;
            };
            let went_down = self.routes.is_down(tail.at, tail.to) && self.routes.goes_down(tail.to);
            // In a changed order, the tail may be reached from above.
            let stage = if went_down || self.order_changed {
                Stage::DownOnly
            } else {
                Stage::Any
            };
            if !self.attach_switch(d, tail.at, hops + 1, stage) {
                return false;
            }
        }
        for tail in tails {
            self.count(d, tail.at, tail.load, true);
        }
        true
    }

    /// Attaches all orphans of a LID. Returns false if some cannot be attached.
    pub(super) fn attach_orphans(&mut self, d: &Destination, orphans: &[usize]) -> bool {
        self.routes.start_lid(*d, orphans);
        self.guard.start_lid();
        self.compute_expected(d, orphans);
        let mut stages: &[Stage] = &[Stage::Any];
        loop {
            let is_attached = stages.iter().all(|&stage| {
                let remaining = self.attach_nearest_first(d, orphans, stage);
                remaining == 0 || stage == Stage::DownOnly
            });
            if is_attached {
                break;
            }
            if stages.len() > 1 || matches!(self.guard, Guard::Graph { .. }) {
                return false;
            }
            // A switch that goes up because that is shorter may block a switch above it that can
            // only go down.
            self.undo_loads();
            self.routes.restart_lid(orphans);
            self.compute_expected(d, orphans);
            stages = &[Stage::DownOnly, Stage::Any];
        }
        true
    }

    fn undo_loads(&mut self) {
        for (channel, routes, is_added) in std::mem::take(&mut self.counted) {
            if is_added {
                self.loads.remove_routes(channel, routes);
            } else {
                self.loads.add_routes(channel, routes);
            }
        }
    }

    /// Removes the loads and dependencies of the last LID, which could not be attached.
    pub(super) fn undo_lid(&mut self) {
        self.undo_loads();
        self.guard.undo_lid();
    }

    /// Attaches as many orphans as possible; returns the number of the others.
    fn attach_nearest_first(&mut self, d: &Destination, orphans: &[usize], stage: Stage) -> usize {
        let mut heap: BinaryHeap<Reverse<(u32, usize, usize)>> = BinaryHeap::new();
        let mut remaining = 0;
        for &v in orphans {
            if self.routes.state(v) != RouteState::Orphan {
                continue;
            }
            remaining += 1;
            let mut visited: Vec<u32> = Vec::new();
            for link in self.topo.links(SwitchIdx::from_index(v)) {
                if let RouteState::Reaches(hops) = self.routes.state(link.peer.index())
                    && !visited.contains(&hops)
                {
                    visited.push(hops);
                    heap.push(Reverse((hops + 1, self.rank[v], v)));
                }
            }
        }
        while let Some(Reverse((hops, _, v))) = heap.pop() {
            // All switches with fewer hops are already attached: one attempt per number of hops
            // suffices.
            if self.tried[v] == (self.routes.lid_number(), stage, hops)
                || self.routes.state(v) != RouteState::Orphan
            {
                continue;
            }
            self.tried[v] = (self.routes.lid_number(), stage, hops);
            if !self.attach_switch(d, v, hops, stage) {
                continue;
            }
            remaining -= 1;
            self.count_moved(d, v);
            for link in self.topo.links(SwitchIdx::from_index(v)) {
                let u = link.peer.index();
                if self.routes.state(u) == RouteState::Orphan {
                    heap.push(Reverse((hops + 1, self.rank[u], u)));
                }
            }
        }
        remaining
    }

    /// Attaches one switch with a route of `hops` hops, if the guard allows it.
    fn attach_switch(&mut self, d: &Destination, v: usize, hops: u32, stage: Stage) -> bool {
        let old = self.routes.old_port(v);
        let mut candidates: Vec<Candidate> = Vec::new();
        for link in self.topo.links(SwitchIdx::from_index(v)) {
            let next = link.peer.index();
            if self.routes.state(next) == RouteState::Reaches(hops - 1)
                && self.guard.may_allow(&self.routes, v, next, stage)
            {
                candidates.push(Candidate {
                    changes_port: link.port.raw() != old,
                    flow: Reverse(0),
                    max_load: 0,
                    first_load: 0,
                    port: link.port.raw(),
                    next,
                });
            }
        }
        if candidates.len() > 1 && candidates.iter().all(|c| c.changes_port) {
            for c in &mut candidates {
                let channel = self.channels.output_channel(v, c.port);
                c.first_load = self.loads.now[channel];
                c.max_load = c.first_load;
                let mut at = c.next;
                while let Some((next, port)) = self.routes.hop(at) {
                    c.flow.0 += self.routes.flow(at);
                    c.max_load = c
                        .max_load
                        .max(self.loads.now[self.channels.output_channel(at, port)]);
                    at = next;
                }
            }
        }
        candidates.sort_unstable();
        // A hop that agrees with the topological order goes first: it does not restrict later
        // switches.
        let unblocked = candidates
            .iter()
            .position(|c| {
                self.guard
                    .allows_without_search(&self.routes, d, v, c.port, c.next, stage)
            })
            .unwrap_or(0);
        if let Some(first) = candidates.get_mut(..=unblocked) {
            first.rotate_right(1);
        }
        let candidate = candidates.iter().find(|c| {
            self.guard
                .try_add(&self.routes, d, v, c.port, c.next, stage)
        });
        if let Some(c) = candidate {
            let weight = self.weight(d, v);
            self.routes.attach(v, c.port, c.next, weight);
        }
        candidate.is_some()
    }

    /// Number of end ports of a switch that send to a LID.
    pub(super) fn weight(&self, d: &Destination, v: usize) -> u64 {
        if d.port == PortNum::ZERO {
            0
        } else {
            self.topo.end_ports(SwitchIdx::from_index(v)).len() as u64
        }
    }

    /// The previous next hop of an orphan, if that is an orphan too and the link still exists.
    /// After cables were exchanged, the old port leads to another switch: such hops can form a
    /// loop, while the old routes cannot.
    fn parent(&self, v: usize) -> Option<usize> {
        let port = self.routes.old_port(v);
        let peer = self.channels.peer(v, port)?;
        let has_same_peer = self.old_channels.peer(v, port) == Some(peer);
        (has_same_peer && self.routes.is_orphan(peer.0)).then_some(peer.0)
    }

    /// Computes the load of each orphan, if all but the tails keep their next hop. In `orphans`,
    /// parents come before children.
    fn compute_expected(&mut self, d: &Destination, orphans: &[usize]) {
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

    /// Counts the load that an orphan just attached brings to its new route, unless it keeps its
    /// next hop.
    fn count_moved(&mut self, d: &Destination, v: usize) {
        let load = self.expected[v];
        let mut parent = self.parent(v);
        if parent.is_some() && self.routes.next_port(v) == self.routes.old_port(v) {
            return;
        }
        self.count(d, v, load, true);
        while let Some(p) = parent {
            if matches!(self.routes.state(p), RouteState::Reaches(_)) {
                self.count(d, p, load, false);
                return;
            }
            self.expected[p] = self.expected[p].saturating_sub(load);
            parent = self.parent(p);
        }
    }

    /// Adds routes to, or removes them from, the channels of the route of a switch.
    fn count(&mut self, d: &Destination, from: usize, weight: u64, is_added: bool) {
        if weight == 0 || d.port == PortNum::ZERO {
            return;
        }
        let mut at = from;
        while let Some((next, port)) = self.routes.hop(at) {
            let channel = self.channels.output_channel(at, port);
            if is_added {
                self.loads.add_routes(channel, weight);
            } else {
                self.loads.remove_routes(channel, weight);
            }
            self.counted.push((channel, weight, is_added));
            at = next;
        }
    }
}
