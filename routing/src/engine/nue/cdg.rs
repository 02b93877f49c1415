//! The channel dependency graph of one lane, kept free of circles while dependencies are added.
//!
//! A dependency is a pair of channels that some packet crosses one after the other. It is *used*, *blocked* (it would
//! close a circle) or neither. All channels stand in an order with which every used dependency agrees; so one that
//! agrees can be used at once. One that does not is used after the channels between its ends have been searched and put
//! in another order (Pearce and Kelly, "A dynamic topological sort algorithm", JEA 2006), or is blocked if the search finds
//! a circle. Dependencies back to the switch that a packet came from are never asked for.

use super::net::{Net, small};

/// What can be said of a dependency without a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dep {
    /// It is used, or agrees with the order.
    Free,
    /// It is against the order: only a search tells.
    Against,
    /// It would close a circle.
    Blocked,
}

/// A used dependency that somebody may want to take back: from this channel to this one.
pub(super) type Added = (u32, u32);

/// Channels that one search may visit.
const SEARCH_MAX: usize = 20_000;

/// Dependencies of one lane.
#[derive(Debug, Clone)]
pub(super) struct Cdg<'a> {
    net: &'a Net,
    words: usize,
    /// Place of each channel in the order, and the channel at each place.
    place: Vec<u32>,
    at: Vec<u32>,
    /// By channel, one bit for each slot of the switch that it leads to: used, and blocked.
    after: Vec<u64>,
    blocked: Vec<u64>,
    /// By channel, one bit for each slot of the switch that it leaves: used with the channel that comes in there.
    before: Vec<u64>,
    /// Channels that searches may still visit.
    pub(super) budget: u64,
    seen: Vec<u32>,
    round: u32,
}

impl<'a> Cdg<'a> {
    /// Nothing is used yet; channels stand in this order.
    pub(super) fn new(net: &'a Net, at: Vec<u32>, budget: u64) -> Self {
        let mut place = vec![0; at.len()];
        for (i, &c) in at.iter().enumerate() {
            place[c as usize] = small(i);
        }
        let words = net.most_slots().div_ceil(64).max(1);
        let bits = vec![0; at.len() * words];
        Self {
            net,
            words,
            place,
            after: bits.clone(),
            blocked: bits.clone(),
            before: bits,
            seen: vec![0; at.len()],
            at,
            budget,
            round: 0,
        }
    }

    /// Place of a channel in the order: it grows along every path.
    #[inline(always)]
    pub(super) fn place(&self, channel: usize) -> u32 {
        self.place[channel]
    }

    fn bit_after(&self, a: usize, b: usize) -> (usize, u64) {
        let k = b - self.net.base[self.net.head[a] as usize] as usize;
        (a * self.words + k / 64, 1 << (k % 64))
    }

    fn bit_before(&self, a: usize, b: usize) -> (usize, u64) {
        let back = self.net.back[a] as usize;
        let k = back - self.net.base[self.net.tail[b] as usize] as usize;
        (b * self.words + k / 64, 1 << (k % 64))
    }

    /// What is known of the dependency from `a` to `b`, which leaves where `a` leads to.
    #[inline(always)]
    pub(super) fn look(&self, a: usize, b: usize) -> Dep {
        if self.place[a] < self.place[b] {
            return Dep::Free;
        }
        let (word, bit) = self.bit_after(a, b);
        if self.blocked[word] & bit != 0 {
            Dep::Blocked
        } else {
            Dep::Against
        }
    }

    /// Uses a dependency that agrees with the order. Says whether it is new.
    pub(super) fn mark(&mut self, a: usize, b: usize) -> bool {
        let (word, bit) = self.bit_after(a, b);
        let new = self.after[word] & bit == 0;
        if new {
            self.after[word] |= bit;
            let (word, bit) = self.bit_before(a, b);
            self.before[word] |= bit;
        }
        new
    }

    /// Takes a dependency back. Blocked ones stay blocked: that is safe, and seldom a loss.
    pub(super) fn unmark(&mut self, (a, b): Added) {
        let (a, b) = (a as usize, b as usize);
        let (word, bit) = self.bit_after(a, b);
        self.after[word] &= !bit;
        let (word, bit) = self.bit_before(a, b);
        self.before[word] &= !bit;
    }

    /// Uses a dependency if that closes no circle; `log` gets what was not used before.
    pub(super) fn admit(&mut self, a: usize, b: usize, log: &mut Vec<Added>) -> bool {
        let may = match self.look(a, b) {
            Dep::Free => true,
            Dep::Against => self.turn(a, b),
            Dep::Blocked => false,
        };
        if may && self.mark(a, b) {
            log.push((small(a), small(b)));
        }
        may
    }

    /// Changes the order so that `a` stands before `b`, if that can be.
    fn turn(&mut self, a: usize, b: usize) -> bool {
        let (low, high) = (self.place[b], self.place[a]);
        let Some(mut later) = self.reached(b, |place| place <= high, Self::push_after) else {
            return false;
        };
        if self.seen[a] == self.round {
            let (word, bit) = self.bit_after(a, b);
            self.blocked[word] |= bit;
            return false;
        }
        let Some(mut sooner) = self.reached(a, |place| place >= low, Self::push_before) else {
            return false;
        };
        let mut free: Vec<u32> = later
            .iter()
            .chain(&sooner)
            .map(|&c| self.place[c as usize])
            .collect();
        free.sort_unstable();
        later.sort_unstable_by_key(|&c| self.place[c as usize]);
        sooner.sort_unstable_by_key(|&c| self.place[c as usize]);
        for (&c, place) in sooner.iter().chain(&later).zip(free) {
            self.place[c as usize] = place;
            self.at[place as usize] = c;
        }
        true
    }

    /// Channels that used dependencies lead to from `start`, at places that are `within`. `None` when the search is too long.
    fn reached(
        &mut self,
        start: usize,
        within: impl Fn(u32) -> bool,
        push: impl Fn(&Self, usize, &mut Vec<u32>),
    ) -> Option<Vec<u32>> {
        self.round += 1;
        self.seen[start] = self.round;
        let mut found = vec![small(start)];
        let mut next = 0;
        let mut near = Vec::new();
        let limit = SEARCH_MAX.min(usize::try_from(self.budget).unwrap_or(usize::MAX));
        while next < found.len() {
            if found.len() > limit {
                self.budget = self.budget.saturating_sub(next as u64);
                return None;
            }
            near.clear();
            push(self, found[next] as usize, &mut near);
            next += 1;
            for &c in &near {
                let i = c as usize;
                if self.seen[i] != self.round && within(self.place[i]) {
                    self.seen[i] = self.round;
                    found.push(c);
                }
            }
        }
        self.budget = self.budget.saturating_sub(next as u64);
        Some(found)
    }

    fn push_after(&self, c: usize, into: &mut Vec<u32>) {
        let base = self.net.base[self.net.head[c] as usize];
        let words = &self.after[c * self.words..][..self.words];
        into.extend(bits(words).map(|k| base + k));
    }

    fn push_before(&self, c: usize, into: &mut Vec<u32>) {
        let base = self.net.base[self.net.tail[c] as usize];
        let words = &self.before[c * self.words..][..self.words];
        into.extend(bits(words).map(|k| self.net.back[(base + k) as usize]));
    }
}

/// Numbers of the set bits, ascending.
pub(super) fn bits(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    (0u32..).zip(words).flat_map(|(w, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros();
                left &= left - 1;
                w * 64 + bit
            })
        })
    })
}
