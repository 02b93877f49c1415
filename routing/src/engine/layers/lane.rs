//! One lane: channels, and dependencies between them that never form a circle.
//!
//! The channels stand in an order in which every dependency points forwards. A new dependency that points forwards
//! costs nothing; another one moves only the channels between its two ends (Pearce and Kelly: A Dynamic Topological
//! Sort Algorithm for Directed Acyclic Graphs, JEA 11, 2006), or is found to close a circle. Dependencies are only ever
//! added, so one that closes a circle now will always do: that is remembered.

use super::wires::Wires;
use crate::work::{BudgetExceeded, WorkBudget};

/// "Packets come in over the first channel and leave over the second."
pub(crate) type Dependency = (u32, u32);

/// Work units of a channel that a search visits: its dependencies are followed.
const VISIT_UNITS: usize = 4;

/// An acyclic channel dependency graph that grows.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    /// Channels after each channel, as bits.
    after: Vec<u64>,
    /// The same, seen from the other end.
    before: Vec<u64>,
    /// Dependencies that would close a circle, as far as known.
    barred: Vec<u64>,
    /// Each channel's place in the order.
    place: Vec<u32>,
    /// Channels seen by the search that is under way, or the last one, have its number here.
    seen: Vec<u32>,
    search: u32,
    /// Of the search: channels to look at, channels found ahead and behind.
    stack: Vec<u32>,
    ahead: Vec<u32>,
    behind: Vec<u32>,
    /// Dependencies of the request that is under way.
    added: Vec<Dependency>,
    /// Channels visited by searches since the last [`Lane::admit_within`].
    visited: usize,
}

impl Lane {
    /// No dependency.
    pub(crate) fn new(wires: &Wires) -> Self {
        let channels = u32::try_from(wires.len()).unwrap_or(u32::MAX);
        Self {
            after: vec![0; wires.words_after()],
            before: vec![0; wires.words_before()],
            barred: vec![0; wires.words_after()],
            place: (0..channels).collect(),
            seen: vec![0; wires.len()],
            search: 0,
            stack: Vec::new(),
            ahead: Vec::new(),
            behind: Vec::new(),
            added: Vec::new(),
            visited: 0,
        }
    }

    /// All dependencies at once, by bits as in [`Wires::bit_after`]; `None` if they form a circle.
    pub(crate) fn of(wires: &Wires, after: Vec<u64>) -> Option<Self> {
        let mut lane = Self::new(wires);
        let mut waits_for = vec![0u32; wires.len()];
        for x in 0..lane.place.len() {
            let x = u32::try_from(x).unwrap_or(u32::MAX);
            for y in wires.after(&after, x) {
                let (word, bit) = wires.bit_before(x, y);
                lane.before[word] |= bit;
                waits_for[y as usize] += 1;
            }
        }
        lane.after = after;
        let channels = u32::try_from(wires.len()).unwrap_or(u32::MAX);
        let mut order: Vec<u32> = (0..channels)
            .filter(|&c| waits_for[c as usize] == 0)
            .collect();
        let mut done = 0;
        while let Some(&x) = order.get(done) {
            lane.place[x as usize] = u32::try_from(done).unwrap_or(u32::MAX);
            done += 1;
            for y in wires.after(&lane.after, x) {
                waits_for[y as usize] -= 1;
                if waits_for[y as usize] == 0 {
                    order.push(y);
                }
            }
        }
        (done == wires.len()).then_some(lane)
    }

    /// Whether it is there already.
    #[inline(always)]
    pub(crate) fn has(&self, wires: &Wires, (x, y): Dependency) -> bool {
        let (word, bit) = wires.bit_after(x, y);
        self.after[word] & bit != 0
    }

    /// Adds all of them, or none if that would close a circle.
    pub(crate) fn admit(&mut self, wires: &Wires, wanted: &[Dependency]) -> bool {
        let barred = |&(x, y): &Dependency| {
            let (word, bit) = wires.bit_after(x, y);
            self.barred[word] & bit != 0
        };
        if wanted.iter().any(barred) {
            return false;
        }
        self.added.clear();
        for &(x, y) in wanted {
            if self.has(wires, (x, y)) {
                continue;
            }
            if !self.make_way(wires, x, y) {
                let alone = self.added.is_empty();
                self.undo(wires);
                if alone || !self.make_way(wires, x, y) {
                    let (word, bit) = wires.bit_after(x, y);
                    self.barred[word] |= bit;
                }
                return false;
            }
            self.set(wires, x, y);
            self.added.push((x, y));
        }
        true
    }

    /// As [`Self::admit`], within a work budget.
    pub(crate) fn admit_within(
        &mut self,
        wires: &Wires,
        wanted: &[Dependency],
        budget: &WorkBudget,
    ) -> Result<bool, BudgetExceeded> {
        self.visited = 0;
        let fits = self.admit(wires, wanted);
        budget.spend_len(wanted.len() + VISIT_UNITS * self.visited)?;
        Ok(fits)
    }

    fn set(&mut self, wires: &Wires, x: u32, y: u32) {
        let (word, bit) = wires.bit_after(x, y);
        self.after[word] |= bit;
        let (word, bit) = wires.bit_before(x, y);
        self.before[word] |= bit;
    }

    /// Takes back what the request under way added. The order stays as it is: fewer dependencies never contradict it.
    fn undo(&mut self, wires: &Wires) {
        while let Some((x, y)) = self.added.pop() {
            let (word, bit) = wires.bit_after(x, y);
            self.after[word] &= !bit;
            let (word, bit) = wires.bit_before(x, y);
            self.before[word] &= !bit;
        }
    }

    /// Changes the order so that `x` comes before `y`; `false` if `x` comes after `y` by dependencies.
    fn make_way(&mut self, wires: &Wires, x: u32, y: u32) -> bool {
        let (low, high) = (self.place[y as usize], self.place[x as usize]);
        if high < low {
            return true;
        }
        if x == y {
            return false;
        }
        // What comes after y, up to x.
        self.search += 1;
        self.ahead.clear();
        self.stack.push(y);
        self.seen[y as usize] = self.search;
        while let Some(c) = self.stack.pop() {
            self.ahead.push(c);
            self.visited += 1;
            for next in wires.after(&self.after, c) {
                if next == x {
                    self.stack.clear();
                    return false;
                }
                if self.place[next as usize] < high && self.seen[next as usize] != self.search {
                    self.seen[next as usize] = self.search;
                    self.stack.push(next);
                }
            }
        }
        // What comes before x, down to y.
        self.behind.clear();
        self.stack.push(x);
        self.seen[x as usize] = self.search;
        while let Some(c) = self.stack.pop() {
            self.behind.push(c);
            self.visited += 1;
            for next in wires.before(&self.before, c) {
                if self.place[next as usize] > low && self.seen[next as usize] != self.search {
                    self.seen[next as usize] = self.search;
                    self.stack.push(next);
                }
            }
        }
        // The second lot, then the first, each in the order that it had, on the places of both.
        let place = &self.place;
        self.behind.sort_unstable_by_key(|&c| place[c as usize]);
        self.ahead.sort_unstable_by_key(|&c| place[c as usize]);
        let both = || self.behind.iter().chain(&self.ahead);
        let mut places: Vec<u32> = both().map(|&c| place[c as usize]).collect();
        places.sort_unstable();
        for (&c, free) in self.behind.iter().chain(&self.ahead).zip(places) {
            self.place[c as usize] = free;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::graph::Graph;
    use super::*;
    use crate::topology::{SwitchIdx, TopologyBuilder};
    use ferrosm_mad::ids::{Lid, PortNum};
    use petgraph::algo::toposort;
    use petgraph::graphmap::DiGraphMap;

    /// Every switch cabled to every other.
    fn mesh(switches: u8) -> Wires {
        let mut b = TopologyBuilder::new();
        let all: Vec<SwitchIdx> = (0..switches)
            .map(|i| b.switch(switches, Lid(u16::from(i) + 1)))
            .collect();
        for i in 0..switches {
            for j in i + 1..switches {
                let end = |a: u8, other: u8| (all[usize::from(a)], PortNum(other + 1));
                b.link(end(i, j), end(j, i));
            }
        }
        Wires::new(&Graph::new(&b.build()))
    }

    /// 3,000 random requests of one to three dependencies: taken exactly if the whole stays without a circle, says a
    /// topological sort of everything taken so far; and the order agrees with all of it.
    #[test]
    fn requests_are_taken_exactly_if_no_circle_closes() {
        let wires = mesh(6);
        let mut lane = Lane::new(&wires);
        let mut taken = DiGraphMap::<u32, ()>::new();
        let mut dice = 5u64;
        let mut below = |n: u32| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(dice >> 33).unwrap_or(0) % n
        };
        let channels = u32::try_from(wires.len()).unwrap();
        let (mut yes, mut no) = (0, 0);
        for _ in 0..3000 {
            let wanted: Vec<Dependency> = (0..=below(3))
                .map(|_| {
                    let x = below(channels);
                    (x, wires.first[wires.head[x as usize] as usize] + below(5))
                })
                .collect();
            let mut with = taken.clone();
            for &(x, y) in &wanted {
                with.add_edge(x, y, ());
            }
            let good = toposort(&with, None).is_ok();
            assert_eq!(lane.admit(&wires, &wanted), good);
            if good {
                taken = with;
                yes += 1;
            } else {
                no += 1;
            }
            for (x, y, ()) in taken.all_edges() {
                assert!(lane.has(&wires, (x, y)));
                assert!(lane.place[x as usize] < lane.place[y as usize]);
            }
        }
        assert!(yes > 50 && no > 50, "{yes} {no}");
        assert!(Lane::of(&wires, lane.after.clone()).is_some());
        for (x, y) in [
            (y_to(&wires, 0, 1), y_to(&wires, 1, 2)),
            (y_to(&wires, 1, 2), y_to(&wires, 2, 0)),
        ] {
            lane.set(&wires, x, y);
        }
        lane.set(&wires, y_to(&wires, 2, 0), y_to(&wires, 0, 1));
        assert!(Lane::of(&wires, lane.after).is_none());
    }

    /// The channel from one switch to another in the mesh.
    fn y_to(wires: &Wires, from: u32, to: u32) -> u32 {
        let leaving = wires.first[from as usize]..wires.first[from as usize + 1];
        leaving
            .into_iter()
            .find(|&c| wires.head[c as usize] == to)
            .unwrap()
    }
}
