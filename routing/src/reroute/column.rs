//! The way to one LID while it is repaired: who still arrives, who has lost the way, who has it again.
//!
//! Only what is asked for is looked at: the repair of one cable touches hundreds of LIDs, each at a few switches.

use crate::channels::PortChannels;
use crate::tables::Lft;
use crate::topology::Destination;

/// What is known of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing yet.
    Unknown,
    /// Its path is lost.
    Orphan,
    /// It arrives after so many hops.
    Arrives(u32),
    /// It never did.
    Never,
}

/// The state of one LID; used again for the next one.
pub(super) struct Column<'a> {
    channels: &'a PortChannels,
    tables: &'a [&'a Lft],
    /// Each switch's place in the order of switches, if the routing keeps to one.
    order: Option<&'a [u32]>,
    dest: Option<Destination>,
    /// For which LID (the how many-th) what follows is known.
    turn: u32,
    known: Vec<u32>,
    place: Vec<Place>,
    /// For which LID a switch lost its way last.
    lost: Vec<u32>,
    /// Whether the way to the LID only goes down.
    down: Vec<bool>,
    /// The port of a switch whose path was lost and found again.
    port: Vec<u8>,
    /// Whose port counts instead of the table's.
    anew: Vec<bool>,
    /// End ports of found paths that pass a switch, and one for each path.
    flow: Vec<u64>,
}

impl<'a> Column<'a> {
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
            turn: 0,
            known: vec![0; n],
            place: vec![Place::Unknown; n],
            lost: vec![0; n],
            down: vec![false; n],
            port: vec![0; n],
            anew: vec![false; n],
            flow: vec![0; n],
        }
    }

    /// Begins with a LID; `orphans` have lost their way to it.
    pub(super) fn begin(&mut self, dest: Destination, orphans: &[usize]) {
        self.dest = Some(dest);
        self.turn += 1;
        self.set(dest.switch.index(), Place::Arrives(0), true);
        for &v in orphans {
            self.set(v, Place::Orphan, false);
            self.lost[v] = self.turn;
        }
    }

    /// Whether a switch lost its way to this LID, also when it has it again.
    pub(super) fn is_orphan(&self, v: usize) -> bool {
        self.lost[v] == self.turn
    }

    /// The how many-th LID this is.
    pub(super) const fn turn(&self) -> u32 {
        self.turn
    }

    fn set(&mut self, v: usize, place: Place, down: bool) {
        self.known[v] = self.turn;
        self.place[v] = place;
        self.down[v] = down;
        self.anew[v] = false;
        self.flow[v] = 0;
    }

    fn is_known(&self, v: usize) -> bool {
        self.known[v] == self.turn
    }

    /// What is known of a switch, found out if need be.
    pub(super) fn place(&mut self, v: usize) -> Place {
        if self.is_known(v) {
            return self.place[v];
        }
        let mut path = Vec::new();
        let mut at = v;
        while !self.is_known(at) {
            // Marked while it is under way, so that a loop ends.
            self.set(at, Place::Never, false);
            path.push(at);
            match self.channels.peer(at, self.next_port(at)) {
                Some((next, _)) => at = next,
                None => break,
            }
        }
        let mut end = match self.place[at] {
            Place::Arrives(hops) => Some((hops, at)),
            Place::Unknown | Place::Orphan | Place::Never => None,
        };
        for &v in path.iter().rev() {
            if let Some((hops, next)) = end {
                let down = self.is_down(v, next) && self.down[next];
                self.set(v, Place::Arrives(hops + 1), down);
                end = Some((hops + 1, v));
            }
        }
        self.place[v]
    }

    /// Whether a switch that arrives never climbs on its way.
    pub(super) fn goes_down(&self, v: usize) -> bool {
        self.down[v]
    }

    /// Whether the cable from `v` to `next` leads down.
    pub(super) fn is_down(&self, v: usize, next: usize) -> bool {
        self.order.is_some_and(|order| order[next] > order[v])
    }

    /// By which port packets leave a switch.
    pub(super) fn next_port(&self, v: usize) -> u8 {
        if self.is_known(v) && self.anew[v] {
            return self.port[v];
        }
        self.dest.map_or(0, |d| self.tables[v].get(d.lid).raw())
    }

    /// The port that the table said.
    pub(super) fn old_port(&self, v: usize) -> u8 {
        self.dest.map_or(0, |d| self.tables[v].get(d.lid).raw())
    }

    /// A lost switch takes this port, which leads to `next`; the way counts for `weight` end ports.
    pub(super) fn attach(&mut self, v: usize, port: u8, next: usize, weight: u64) {
        let Place::Arrives(hops) = self.place(next) else {
            return;
        };
        let down = self.is_down(v, next) && self.down[next];
        self.set(v, Place::Arrives(hops + 1), down);
        self.anew[v] = true;
        self.port[v] = port;
        let mut at = v;
        loop {
            // The tip counts too, so that even paths without end ports attract others.
            self.flow[at] += weight + 1;
            let Some((next, _)) = self.hop(at) else { break };
            at = next;
        }
    }

    /// The next switch on the way and the port that leads to it, `None` at the destination.
    pub(super) fn hop(&self, v: usize) -> Option<(usize, u8)> {
        if self.dest.is_some_and(|d| d.switch.index() == v) {
            return None;
        }
        let port = self.next_port(v);
        self.channels.peer(v, port).map(|(next, _)| (next, port))
    }

    /// How many found paths go through a switch.
    pub(super) fn flow(&self, v: usize) -> u64 {
        if self.is_known(v) { self.flow[v] } else { 0 }
    }

    /// Begins with the same LID again.
    pub(super) fn forget(&mut self, orphans: &[usize]) {
        if let Some(dest) = self.dest {
            self.begin(dest, orphans);
        }
    }
}
