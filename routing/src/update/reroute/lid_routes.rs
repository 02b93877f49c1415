//! Routes to one LID during the reroute: which switches have a route, and which have lost it.
//!
//! Evaluated on demand: the reroute after one lost link affects hundreds of LIDs, each at a few
//! switches.

use crate::tables::Lft;
use crate::topology::Destination;
use crate::topology::PortChannels;

/// State of a switch for the current LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteState {
    /// Not evaluated yet.
    Unknown,
    /// It has lost its route.
    Orphan,
    /// It has a route of this number of hops.
    Reaches(u32),
    /// It had no route before the loss.
    Unreachable,
}

/// The routes to one LID. Reused for the next LID.
pub(super) struct LidRoutes<'a> {
    channels: &'a PortChannels,
    tables: &'a [&'a Lft],
    /// Position of each switch in the switch order, if the routing has one.
    order: Option<&'a [u32]>,
    dest: Option<Destination>,
    /// Sequence number of the current LID.
    lid_number: u32,
    /// LID number for which the following fields of a switch are valid.
    valid_for: Vec<u32>,
    state: Vec<RouteState>,
    /// Last LID number for which the switch was an orphan.
    orphan_for: Vec<u32>,
    /// Whether the route has no up hop.
    down: Vec<bool>,
    /// Output port of a reattached orphan.
    port: Vec<u8>,
    /// Whether `port` replaces the table entry.
    is_reattached: Vec<bool>,
    /// End ports of reattached orphans whose route crosses the switch, plus one per orphan.
    flow: Vec<u64>,
}

impl<'a> LidRoutes<'a> {
    pub(super) fn new(
        channels: &'a PortChannels,
        tables: &'a [&'a Lft],
        order: Option<&'a [u32]>,
    ) -> Self {
        let n = channels.switches();
        Self {
            channels,
            tables,
            order,
            dest: None,
            lid_number: 0,
            valid_for: vec![0; n],
            state: vec![RouteState::Unknown; n],
            orphan_for: vec![0; n],
            down: vec![false; n],
            port: vec![0; n],
            is_reattached: vec![false; n],
            flow: vec![0; n],
        }
    }

    /// Starts with a LID. `orphans` have lost their route to it.
    pub(super) fn start_lid(&mut self, dest: Destination, orphans: &[usize]) {
        self.dest = Some(dest);
        self.lid_number += 1;
        self.set(dest.switch.index(), RouteState::Reaches(0), true);
        for &v in orphans {
            self.set(v, RouteState::Orphan, false);
            self.orphan_for[v] = self.lid_number;
        }
    }

    /// Whether a switch has lost its route to this LID, including reattached switches.
    pub(super) fn is_orphan(&self, v: usize) -> bool {
        self.orphan_for[v] == self.lid_number
    }

    /// Sequence number of the current LID.
    pub(super) const fn lid_number(&self) -> u32 {
        self.lid_number
    }

    fn set(&mut self, v: usize, state: RouteState, down: bool) {
        self.valid_for[v] = self.lid_number;
        self.state[v] = state;
        self.down[v] = down;
        self.is_reattached[v] = false;
        self.flow[v] = 0;
    }

    fn is_valid(&self, v: usize) -> bool {
        self.valid_for[v] == self.lid_number
    }

    /// State of a switch, evaluated on first use.
    pub(super) fn state(&mut self, v: usize) -> RouteState {
        if self.is_valid(v) {
            return self.state[v];
        }
        let mut path = Vec::new();
        let mut at = v;
        while !self.is_valid(at) {
            // Marked before its next hop is evaluated, so that a loop terminates.
            self.set(at, RouteState::Unreachable, false);
            path.push(at);
            match self.channels.peer(at, self.next_port(at)) {
                Some((next, _)) => at = next,
                None => break,
            }
        }
        let mut state = match self.state[at] {
            RouteState::Reaches(hops) => Some((hops, at)),
            RouteState::Unknown | RouteState::Orphan | RouteState::Unreachable => None,
        };
        for &v in path.iter().rev() {
            if let Some((hops, next)) = state {
                let down = self.is_down(v, next) && self.down[next];
                self.set(v, RouteState::Reaches(hops + 1), down);
                state = Some((hops + 1, v));
            }
        }
        self.state[v]
    }

    /// Whether the route of a switch has no up hop.
    pub(super) fn goes_down(&self, v: usize) -> bool {
        self.down[v]
    }

    /// Whether the hop from `v` to `next` is a down hop.
    pub(super) fn is_down(&self, v: usize, next: usize) -> bool {
        self.order.is_some_and(|order| order[next] > order[v])
    }

    /// Output port of a switch, by the new route of a reattached orphan or by the old table.
    pub(super) fn next_port(&self, v: usize) -> u8 {
        if self.is_valid(v) && self.is_reattached[v] {
            return self.port[v];
        }
        self.dest.map_or(0, |d| self.tables[v].get(d.lid).raw())
    }

    /// Output port of a switch by the old table.
    pub(super) fn old_port(&self, v: usize) -> u8 {
        self.dest.map_or(0, |d| self.tables[v].get(d.lid).raw())
    }

    /// Attaches an orphan by `port` to `next`; its route has the weight of `weight` end ports.
    pub(super) fn attach(&mut self, v: usize, port: u8, next: usize, weight: u64) {
        let RouteState::Reaches(hops) = self.state(next) else {
            return;
        };
        let down = self.is_down(v, next) && self.down[next];
        self.set(v, RouteState::Reaches(hops + 1), down);
        self.is_reattached[v] = true;
        self.port[v] = port;
        let mut at = v;
        loop {
            // Plus one, so that routes without end ports count too.
            self.flow[at] += weight + 1;
            let Some((next, _)) = self.hop(at) else { break };
            at = next;
        }
    }

    /// Next switch on the route and output port; `None` at the destination.
    pub(super) fn hop(&self, v: usize) -> Option<(usize, u8)> {
        if self.dest.is_some_and(|d| d.switch.index() == v) {
            return None;
        }
        let port = self.next_port(v);
        self.channels.peer(v, port).map(|(next, _)| (next, port))
    }

    /// Weight of the reattached orphans whose route crosses a switch.
    pub(super) fn flow(&self, v: usize) -> u64 {
        if self.is_valid(v) { self.flow[v] } else { 0 }
    }

    /// Restarts with the same LID.
    pub(super) fn restart_lid(&mut self, orphans: &[usize]) {
        if let Some(dest) = self.dest {
            self.start_lid(dest, orphans);
        }
    }
}
