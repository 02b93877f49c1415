//! Who may wait for whose buffers: the channel dependency graph (Dally and Seitz) with a numbering that shows that it has
//! no circle, kept while dependencies are added.
//!
//! A node is a channel on one VL; an edge is there where a packet may come in over one and leave over the other. The
//! numbering is kept as Pearce and Kelly do ("A dynamic topological sort algorithm for directed acyclic graphs", 2006):
//! an edge that agrees with it costs nothing, another one a look at what lies between its ends.
//!
//! The numbering alone ([`Numbers`]) says all that has to be known of a graph that many edges agree with: it is kept with
//! a routing, and who adds a few ways to that routing looks up edges of its tables (`lookup`) only where a way disagrees.
//! The graph is owned by one computation. The proof builds its own.

mod build;
mod lookup;
mod spread;

use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::channels::Channels;

pub(crate) use build::{LanesOf, node_of, of_lids, of_tables};
pub(crate) use lookup::Lookup;
pub(crate) use spread::of_tree;

/// Dependencies without a circle.
#[derive(Debug)]
pub(crate) struct Waits<'a> {
    channels: &'a Channels,
    edges: Edges,
    /// Each node's number; every edge leads to a greater one.
    number: Vec<u32>,
    /// Where edges are looked up that `edges` may not have yet.
    lookup: Option<Lookup<'a>>,
    /// By channel: whether its edges were looked up, and whether the edges to it were.
    known: Vec<bool>,
    known_into: Vec<bool>,
    /// Channels that may still be looked up; without any left, edges are refused that would need one.
    lookups: usize,
    /// Scratch: the last search that came by.
    seen: Vec<u32>,
    search: u32,
    /// Nodes that searches may still look at; without any left, edges are refused that would need one.
    patience: usize,
    /// What was put by the last [`Self::add`], so that it can be taken back.
    last: Vec<Edge>,
}

/// How many channels are looked up at most: as many as take a part of the time that all of them would.
const LOOKUPS_MAX: usize = 1000;

/// How often each node may be looked at, on average, before patience ends.
const LOOKS_PER_NODE: usize = 8;

/// The edges of a dependency graph: for each node the (port, VL) pairs by which its packets leave the next switch.
#[derive(Debug, Clone)]
pub(crate) struct Edges {
    pub(crate) vls: usize,
    pub(crate) words: usize,
    pub(crate) masks: Vec<u64>,
}

impl Edges {
    /// None, for so many VLs.
    pub(crate) fn none(channels: &Channels, vls: usize) -> Self {
        let most = (0..channels.switches()).map(|v| channels.ports(v)).max();
        let words = (most.unwrap_or(0) * vls).div_ceil(64).max(1);
        Self {
            vls,
            words,
            masks: vec![0; channels.len() * vls * words],
        }
    }

    /// Nodes that there are.
    pub(crate) fn nodes(&self) -> usize {
        self.masks.len() / self.words
    }

    fn bits(&self, node: usize) -> Range<usize> {
        node * self.words..(node + 1) * self.words
    }

    /// Adds the edge from `node` to what leaves the next switch by `port` on `vl`; whether it is new.
    #[inline]
    pub(crate) fn put(&mut self, node: usize, port: usize, vl: usize) -> bool {
        let bit = port * self.vls + vl;
        let word = &mut self.masks[node * self.words + bit / 64];
        let new = *word >> (bit % 64) & 1 == 0;
        *word |= 1 << (bit % 64);
        new
    }

    fn has(&self, node: usize, bit: usize) -> bool {
        self.masks[node * self.words + bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Adds all edges of another graph over the same channels.
    pub(crate) fn add(&mut self, other: &Self) {
        for (a, b) in self.masks.iter_mut().zip(&other.masks) {
            *a |= b;
        }
    }

    /// Nodes that a node waits for.
    pub(crate) fn after<'e>(
        &'e self,
        channels: &'e Channels,
        node: usize,
    ) -> impl Iterator<Item = usize> + 'e {
        let first = channels
            .far(node / self.vls)
            .map_or(0, |(next, _)| channels.at(next, 0) * self.vls);
        let masks = self.masks[self.bits(node)].iter().enumerate();
        masks.flat_map(move |(w, &word)| Ones(word).map(move |bit| first + w * 64 + bit))
    }

    /// Takes away nodes that nobody waits for until none is left to take. Gives the nodes in the order in which they
    /// went; fewer than there are, if there is a circle.
    fn peel(&self, channels: &Channels) -> Vec<usize> {
        let n = self.nodes();
        let mut waiting = vec![0u32; n];
        for node in 0..n {
            self.after(channels, node)
                .for_each(|next| waiting[next] += 1);
        }
        let mut gone: Vec<usize> = (0..n).filter(|&node| waiting[node] == 0).collect();
        let mut at = 0;
        while let Some(&node) = gone.get(at) {
            at += 1;
            for next in self.after(channels, node) {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    gone.push(next);
                }
            }
        }
        gone
    }

    /// A short circle, as channels in the order in which they wait, or `None` if there is none.
    pub(crate) fn circle(&self, channels: &Channels) -> Option<Vec<usize>> {
        let n = self.nodes();
        let gone = self.peel(channels);
        if gone.len() == n {
            return None;
        }
        let mut left = vec![true; n];
        gone.iter().for_each(|&node| left[node] = false);
        // Every node left has one before it that is left, so going back ends in a circle.
        let mut before = vec![usize::MAX; n];
        for node in (0..n).filter(|&node| left[node]) {
            self.after(channels, node)
                .for_each(|next| before[next] = node);
        }
        let mut node = (0..n).find(|&node| left[node])?;
        for _ in 0..n {
            node = before[node];
        }
        // Breadth first from there back to it: no shorter circle goes through this node.
        let mut from = vec![usize::MAX; n];
        let mut queue = vec![node];
        let mut at = 0;
        while let Some(&here) = queue.get(at) {
            at += 1;
            for next in self.after(channels, here).filter(|&next| left[next]) {
                if next == node {
                    let mut circle = vec![here];
                    while let Some(&last) = circle.last().filter(|&&last| last != node) {
                        circle.push(from[last]);
                    }
                    circle.reverse();
                    return Some(circle.into_iter().map(|node| node / self.vls).collect());
                }
                if from[next] == usize::MAX {
                    from[next] = here;
                    queue.push(next);
                }
            }
        }
        None
    }
}

/// One edge: a node, and port and VL by which its packets leave the next switch.
pub(crate) type Edge = (usize, u8, u8);

/// The numbers of the nodes of a graph without a circle, the edges themselves forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<u32>);

impl Numbers {
    /// Bytes that they take.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

impl<'a> Waits<'a> {
    /// A graph to be added to; `None` if it has a circle already.
    pub(crate) fn new(channels: &'a Channels, edges: Edges) -> Option<Self> {
        let order = edges.peel(channels);
        let n = edges.nodes();
        let mut number = vec![0; n];
        for (at, &node) in (0u32..).zip(&order) {
            number[node] = at;
        }
        (order.len() == n).then(|| Self::numbered(channels, edges, number, None))
    }

    /// The graph of tables for which the numbers were made, cables lost since then left out. `None` if it has other nodes.
    pub(crate) fn going_on(
        channels: &'a Channels,
        numbers: &Numbers,
        lookup: Lookup<'a>,
    ) -> Option<Self> {
        let edges = Edges::none(channels, lookup.vls());
        (edges.nodes() == numbers.0.len())
            .then(|| Self::numbered(channels, edges, numbers.0.clone(), Some(lookup)))
    }

    fn numbered(
        channels: &'a Channels,
        edges: Edges,
        number: Vec<u32>,
        lookup: Option<Lookup<'a>>,
    ) -> Self {
        let n = number.len();
        Self {
            channels,
            edges,
            number,
            known: vec![lookup.is_none(); channels.len()],
            known_into: vec![lookup.is_none(); channels.len()],
            lookups: LOOKUPS_MAX,
            lookup,
            seen: vec![0; n],
            search: 0,
            patience: 10_000 + LOOKS_PER_NODE * n,
            last: Vec::new(),
        }
    }

    /// What is to be kept of it.
    pub(crate) fn into_numbers(self) -> Numbers {
        Numbers(self.number)
    }

    /// Whether all edges agree with the numbering, which then costs nothing to add.
    pub(crate) fn agrees(&self, edges: &[Edge]) -> bool {
        let vls = self.edges.vls;
        edges.iter().all(|&(node, port, vl)| {
            self.channels.far(node / vls).is_none_or(|(next, _)| {
                self.number[node] < self.number[node_of(self.channels.at(next, port), vl, vls)]
            })
        })
    }

    /// Makes the edges from a channel known, or those to it; false if that is too much.
    fn learn(&mut self, channel: usize, into: bool) -> bool {
        let known = if into {
            &mut self.known_into
        } else {
            &mut self.known
        };
        if std::mem::replace(&mut known[channel], true) {
            return true;
        }
        let Some(lookup) = &self.lookup else {
            return true;
        };
        if self.lookups == 0 {
            known[channel] = false;
            lookup.short.store(true, Ordering::Relaxed);
            return false;
        }
        self.lookups -= 1;
        if into {
            lookup.edges_to(self.channels, channel, &mut self.edges);
        } else {
            lookup.edges_of(self.channels, channel, &mut self.edges);
        }
        true
    }

    /// Adds all edges, or none if they would close a circle; whether it did.
    pub(crate) fn add(&mut self, edges: &[Edge]) -> bool {
        self.last.clear();
        for &(node, port, vl) in edges {
            let Some((next, _)) = self.channels.far(node / self.edges.vls) else {
                continue;
            };
            // Also what is known may disagree, if it was looked up.
            if self.edges.put(node, usize::from(port), usize::from(vl)) {
                self.last.push((node, port, vl));
            }
            let to = node_of(self.channels.at(next, port), vl, self.edges.vls);
            if !self.renumber(node, to) {
                self.take_back();
                return false;
            }
        }
        true
    }

    /// Takes away what the last [`Self::add`] put.
    pub(crate) fn take_back(&mut self) {
        for (node, port, vl) in std::mem::take(&mut self.last) {
            let bit = usize::from(port) * self.edges.vls + usize::from(vl);
            self.edges.masks[node * self.edges.words + bit / 64] &= !(1 << (bit % 64));
            // It may be an edge of the tables that is to be looked up again.
            let channel = node / self.edges.vls;
            self.known[channel] &= self.lookup.is_none();
            if let Some((next, _)) = self.channels.far(channel) {
                self.known_into[self.channels.at(next, port)] &= self.lookup.is_none();
            }
        }
    }

    /// Makes the numbering agree with a new edge; false if the edge closes a circle.
    fn renumber(&mut self, from: usize, to: usize) -> bool {
        let (low, high) = (self.number[to], self.number[from]);
        if high < low {
            return true;
        }
        // Looked up edges may be more than there are: those that go against the numbers are none.
        self.search += 1;
        let mut behind = vec![to];
        self.seen[to] = self.search;
        let mut at = 0;
        while let Some(&node) = behind.get(at) {
            at += 1;
            if node == from || self.patience == 0 || !self.learn(node / self.edges.vls, false) {
                return false;
            }
            for next in self.edges.after(self.channels, node) {
                if self.number[node] < self.number[next]
                    && self.number[next] <= high
                    && self.seen[next] != self.search
                {
                    self.seen[next] = self.search;
                    behind.push(next);
                    self.patience = self.patience.saturating_sub(1);
                }
            }
        }
        let mut ahead = vec![from];
        self.seen[from] = self.search;
        at = 0;
        while let Some(&node) = ahead.get(at) {
            at += 1;
            if !self.learn(node / self.edges.vls, true) {
                return false;
            }
            for prior in self.before(node) {
                if self.number[prior] < self.number[node]
                    && self.number[prior] >= low
                    && self.seen[prior] != self.search
                {
                    self.seen[prior] = self.search;
                    ahead.push(prior);
                }
            }
        }
        // What leads to `from` comes first now, both parts in the order that they had, on the same numbers.
        self.patience = self.patience.saturating_sub(ahead.len());
        ahead.sort_unstable_by_key(|&node| self.number[node]);
        behind.sort_unstable_by_key(|&node| self.number[node]);
        ahead.extend(behind);
        let mut numbers: Vec<u32> = ahead.iter().map(|&node| self.number[node]).collect();
        numbers.sort_unstable();
        for (node, number) in ahead.into_iter().zip(numbers) {
            self.number[node] = number;
        }
        true
    }

    /// Nodes that wait for a node.
    fn before(&self, node: usize) -> Vec<usize> {
        let vls = self.edges.vls;
        let (v, port) = self.channels.locate(node / vls);
        let bit = usize::from(port) * vls + node % vls;
        let ports = u8::try_from(self.channels.ports(v) - 1).unwrap_or(u8::MAX);
        let into = (1..=ports).filter_map(|p| self.channels.into(v, p));
        into.flat_map(|c| c * vls..(c + 1) * vls)
            .filter(|&prior| self.edges.has(prior, bit))
            .collect()
    }
}

/// Numbers of the set bits of a word, ascending.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            bit
        })
    }
}
