//! One path from every switch to one destination, inside the dependency graph of a vl.
//!
//! Breadth first from the destination: a switch takes a neighbour that is one hop nearer, the one with the lightest path
//! among those that the dependency graph lets it use. Some switches may find none, since all paths to one
//! destination share next hops. They are repaired, and a repair always exists:
//!
//! The order of channels always agrees with the escape tree, so from every switch there is a path to the destination
//! along which the order agrees_from. Where such a path meets a switch that is routed already, that switch either lets it
//! in, or it is sent along the path as well. It may be if the channel it now takes comes after all channels that
//! lead packets to it. The last channel, in the order, with which a way to the destination begins always does. So no
//! destination has to fall back to the escape tree as a whole, as in the paper.

use super::network::{NO_SLOT, Network};
use crate::channels::{Dependency, DependencyStatus, VirtualLayer, narrow};

const NONE: u32 = u32::MAX;
const FAR: u32 = u32::MAX;

/// How far a search goes for short paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReorderPolicy {
    /// The order of channels may be changed.
    Reorder,
    /// Only what agrees with the order as it is.
    KeepOrder,
}

/// Finds the paths to one destination after the other.
#[derive(Debug)]
pub(super) struct PathSearch<'a> {
    net: &'a Network,
    /// Routes over each channel so far.
    pub(super) load: Vec<u64>,
    /// Hops to the destination; after a repair of others, as they were when the switch was routed.
    hops: Vec<u32>,
    /// The channel that each switch takes.
    next: Vec<u32>,
    /// Sum of the loads of the path.
    weight: Vec<u64>,
    levels: Vec<Vec<u32>>,
    log: Vec<Dependency>,
    /// The channel before each one on a path of repair.
    from: Vec<u32>,
}

impl<'a> PathSearch<'a> {
    pub(super) fn new(net: &'a Network) -> Self {
        Self {
            net,
            load: vec![0; net.channels.len()],
            hops: vec![FAR; net.n],
            next: vec![NONE; net.n],
            weight: vec![0; net.n],
            levels: Vec::new(),
            log: Vec::new(),
            from: vec![NONE; net.channels.len()],
        }
    }

    /// The slot that each switch takes to `dest`, [`NO_SLOT`] at `dest`. The graph must be connected. Their
    /// dependencies are used from now on.
    pub(super) fn tree(
        &mut self,
        cdg: &mut VirtualLayer,
        dest: usize,
        policy: ReorderPolicy,
    ) -> Vec<u8> {
        let net = self.net;
        self.hops.fill(FAR);
        self.next.fill(NONE);
        self.log.clear();
        self.levels.iter_mut().for_each(Vec::clear);
        self.hops[dest] = 0;
        self.weight[dest] = 0;
        self.push_to_level(dest);
        let mut lost = 0;
        let mut level = 0;
        loop {
            while level < self.levels.len() {
                self.extend_level(cdg, dest, level, policy);
                level += 1;
            }
            // Switches that no neighbour could take, lowest LID first; one that has none but other such switches waits.
            while lost < net.n && self.hops[lost] != FAR {
                lost += 1;
            }
            if lost == net.n {
                break;
            }
            match self.repair(cdg, dest, lost) {
                Some(nearest) => level = nearest,
                // Only without a connection.
                None => break,
            }
        }
        self.commit(cdg, dest);
        (0..net.n)
            .map(|v| match self.next[v] {
                NONE => NO_SLOT,
                c => net.slot(c as usize),
            })
            .collect()
    }

    fn push_to_level(&mut self, v: usize) {
        let at = self.hops[v] as usize;
        while self.levels.len() <= at {
            self.levels.push(Vec::new());
        }
        self.levels[at].push(narrow(v));
    }

    /// Lets the neighbours of the switches at `level` hops choose one of them.
    fn extend_level(
        &mut self,
        cdg: &mut VirtualLayer,
        dest: usize,
        level: usize,
        policy: ReorderPolicy,
    ) {
        let net = self.net;
        let mut waiting: Vec<u32> = Vec::new();
        for &v in &self.levels[level] {
            let peers = net
                .channels
                .leaving(v as usize)
                .map(|c| net.channels.head[c as usize]);
            waiting.extend(peers.filter(|&u| self.hops[u as usize] == FAR));
        }
        waiting.sort_unstable();
        waiting.dedup();
        let mut options: Vec<(DependencyStatus, u64, u32)> = Vec::new();
        for u in waiting {
            let u = u as usize;
            options.clear();
            for c in net.channels.leaving(u) {
                let v = net.channels.head[c as usize] as usize;
                if self.hops[v] as usize != level {
                    continue;
                }
                let dep = if v == dest {
                    DependencyStatus::Free
                } else {
                    cdg.status(&net.channels, (c, self.next[v]))
                };
                if dep == DependencyStatus::Free
                    || (dep == DependencyStatus::Against && policy == ReorderPolicy::Reorder)
                {
                    options.push((dep, self.weight[v] + self.load[c as usize], c));
                }
            }
            options.sort_unstable();
            for &(_, weight, c) in &options {
                let v = net.channels.head[c as usize] as usize;
                if v == dest || cdg.admit_one(&net.channels, (c, self.next[v]), &mut self.log) {
                    self.hops[u] = narrow(level + 1);
                    self.next[u] = c;
                    self.weight[u] = weight;
                    self.push_to_level(u);
                    break;
                }
            }
        }
    }

    /// Finds a path for a switch that no neighbour could take, with the fewest hops. Gives the hops of the nearest switch
    /// that is routed now and was not before.
    fn repair(&mut self, cdg: &VirtualLayer, dest: usize, lost: usize) -> Option<usize> {
        let net = self.net;
        self.from.fill(NONE);
        let mut found: Vec<u32> = net.channels.leaving(lost).collect();
        found.iter().for_each(|&c| self.from[c as usize] = c);
        let mut best: Option<(u32, u32)> = None;
        let (mut start, mut steps) = (0, 0);
        while start < found.len() {
            let end = found.len();
            steps += 1;
            for i in start..end {
                let c = found[i];
                let v = net.channels.head[c as usize] as usize;
                let place = cdg.position(c as usize);
                let routed = self.hops[v] != FAR;
                if routed && (v == dest || place < cdg.position(self.next[v] as usize)) {
                    let total = steps + self.hops[v];
                    best = Some(best.map_or((total, c), |b| b.min((total, c))));
                    continue;
                }
                let floor = if routed {
                    self.last_in(cdg, v).max(place)
                } else {
                    place
                };
                for d in net.channels.leaving(v) {
                    let i = d as usize;
                    if self.from[i] == NONE
                        && cdg.position(i) > floor
                        && d != net.channels.back[c as usize]
                    {
                        self.from[i] = c;
                        found.push(d);
                    }
                }
            }
            if best.is_some_and(|(total, _)| total <= steps + 1) {
                break;
            }
            start = end;
        }
        let (_, last) = best?;
        let mut nearest = usize::MAX;
        let mut c = last;
        let mut hops = self.hops[net.channels.head[c as usize] as usize];
        loop {
            let v = net.channels.tail[c as usize] as usize;
            hops += 1;
            let fresh = self.hops[v] == FAR;
            self.next[v] = c;
            if fresh {
                self.hops[v] = hops;
                self.weight[v] = 0;
                self.push_to_level(v);
                nearest = nearest.min(hops as usize);
            }
            let before = self.from[c as usize];
            if before == c {
                return Some(nearest);
            }
            c = before;
        }
    }

    /// The greatest place of a channel that leads packets to `v`.
    fn last_in(&self, cdg: &VirtualLayer, v: usize) -> u32 {
        let net = self.net;
        let into = net
            .channels
            .leaving(v)
            .map(|c| net.channels.back[c as usize]);
        let used = into.filter(|&b| self.next[net.channels.tail[b as usize] as usize] == b);
        used.map(|b| cdg.position(b as usize)).max().unwrap_or(0)
    }

    /// Uses the dependencies of the paths, and takes back what was tried and left.
    fn commit(&mut self, cdg: &mut VirtualLayer, dest: usize) {
        let net = self.net;
        for &(a, b) in &self.log {
            let (v, w) = (
                net.channels.tail[a as usize] as usize,
                net.channels.tail[b as usize] as usize,
            );
            if self.next[v] != a || self.next[w] != b {
                cdg.remove(&net.channels, (a, b));
            }
        }
        for v in 0..net.n {
            if self.next[v] == NONE {
                continue;
            }
            let c = self.next[v];
            let w = net.channels.head[c as usize] as usize;
            if w != dest && self.next[w] != NONE {
                cdg.insert(&net.channels, (c, self.next[w]));
            }
        }
    }
}
