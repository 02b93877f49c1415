//! One path from every switch to one destination, within the dependency graph of a VL.
//!
//! Breadth first from the destination: a switch selects a neighbour one hop nearer, the one with
//! the lightest path among those that the dependency graph admits. Some switches may find none,
//! since all paths to one destination share next hops. They are repaired, and a repair always
//! exists:
//!
//! The order of channels always agrees with the escape tree, so every switch has a path to the
//! destination with ascending channels. If such a path meets a switch that is already routed, it
//! either joins the path of that switch, or that switch changes to the repair path. The change is
//! allowed if the new channel of the switch comes after all channels that lead packets to it. This
//! always holds for the last channel, in the order, that starts a path to the destination. So no
//! destination falls back to the escape tree as a whole, unlike in the paper.

use super::network::{NO_SLOT, Network};
use crate::channels::{Dependency, DependencyStatus, VirtualLayer};
use crate::topology::index_to_u32;

const NONE: u32 = u32::MAX;
const UNREACHED: u32 = u32::MAX;

/// Whether a search may change the order of channels to shorten paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReorderPolicy {
    /// The order of channels may change.
    Reorder,
    /// Only dependencies that agree with the current order.
    KeepOrder,
}

/// Searches the paths to one destination after the other.
#[derive(Debug)]
pub(super) struct PathSearch<'a> {
    net: &'a Network,
    /// Routes over each channel so far.
    pub(super) load: Vec<u64>,
    /// Hops to the destination; not updated when repairs change the paths of other switches.
    hops: Vec<u32>,
    /// Channel that each switch uses.
    next: Vec<u32>,
    /// Sum of the loads on the path.
    weight: Vec<u64>,
    levels: Vec<Vec<u32>>,
    log: Vec<Dependency>,
    /// Preceding channel on the repair path.
    from: Vec<u32>,
}

impl<'a> PathSearch<'a> {
    pub(super) fn new(net: &'a Network) -> Self {
        Self {
            net,
            load: vec![0; net.channels.len()],
            hops: vec![UNREACHED; net.n],
            next: vec![NONE; net.n],
            weight: vec![0; net.n],
            levels: Vec::new(),
            log: Vec::new(),
            from: vec![NONE; net.channels.len()],
        }
    }

    /// Slot of each switch towards `dest`, [`NO_SLOT`] at `dest`. The graph must be connected. Adds
    /// the dependencies of the paths.
    pub(super) fn tree(
        &mut self,
        cdg: &mut VirtualLayer,
        dest: usize,
        policy: ReorderPolicy,
    ) -> Vec<u8> {
        let net = self.net;
        self.hops.fill(UNREACHED);
        self.next.fill(NONE);
        self.log.clear();
        self.levels.iter_mut().for_each(Vec::clear);
        self.hops[dest] = 0;
        self.weight[dest] = 0;
        self.push_to_level(dest);
        let mut unreached = 0;
        let mut level = 0;
        loop {
            while level < self.levels.len() {
                self.extend_level(cdg, dest, level, policy);
                level += 1;
            }
            // Repair switches without an admissible neighbour, lowest LID first.
            while unreached < net.n && self.hops[unreached] != UNREACHED {
                unreached += 1;
            }
            if unreached == net.n {
                break;
            }
            match self.repair(cdg, dest, unreached) {
                Some(nearest) => level = nearest,
                // Only if the graph is not connected.
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
        self.levels[at].push(index_to_u32(v));
    }

    /// Routes the neighbours of the switches at `level` hops through one of these.
    fn extend_level(
        &mut self,
        cdg: &mut VirtualLayer,
        dest: usize,
        level: usize,
        policy: ReorderPolicy,
    ) {
        let net = self.net;
        let mut neighbours: Vec<u32> = Vec::new();
        for &v in &self.levels[level] {
            let peers = net
                .channels
                .leaving(v as usize)
                .map(|c| net.channels.head[c as usize]);
            neighbours.extend(peers.filter(|&u| self.hops[u as usize] == UNREACHED));
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        let mut options: Vec<(DependencyStatus, u64, u32)> = Vec::new();
        for u in neighbours {
            let u = u as usize;
            options.clear();
            for c in net.channels.leaving(u) {
                let v = net.channels.head[c as usize] as usize;
                if self.hops[v] as usize != level {
                    continue;
                }
                let status = if v == dest {
                    DependencyStatus::InOrder
                } else {
                    cdg.status(&net.channels, (c, self.next[v]))
                };
                if status == DependencyStatus::InOrder
                    || (status == DependencyStatus::NeedsSearch && policy == ReorderPolicy::Reorder)
                {
                    options.push((status, self.weight[v] + self.load[c as usize], c));
                }
            }
            options.sort_unstable();
            for &(_, weight, c) in &options {
                let v = net.channels.head[c as usize] as usize;
                if v == dest || cdg.admit_one(&net.channels, (c, self.next[v]), &mut self.log) {
                    self.hops[u] = index_to_u32(level + 1);
                    self.next[u] = c;
                    self.weight[u] = weight;
                    self.push_to_level(u);
                    break;
                }
            }
        }
    }

    /// Finds a path with the fewest hops for a switch without an admissible neighbour. Returns the
    /// hops of the nearest switch that was routed by this.
    fn repair(&mut self, cdg: &VirtualLayer, dest: usize, unreached: usize) -> Option<usize> {
        let net = self.net;
        self.from.fill(NONE);
        let mut candidates: Vec<u32> = net.channels.leaving(unreached).collect();
        candidates.iter().for_each(|&c| self.from[c as usize] = c);
        let mut best: Option<(u32, u32)> = None;
        let mut start = 0;
        let mut steps = 0;
        while start < candidates.len() {
            let end = candidates.len();
            steps += 1;
            for i in start..end {
                let c = candidates[i];
                let v = net.channels.head[c as usize] as usize;
                let position = cdg.position(c as usize);
                let routed = self.hops[v] != UNREACHED;
                if routed && (v == dest || position < cdg.position(self.next[v] as usize)) {
                    let total = steps + self.hops[v];
                    best = Some(best.map_or((total, c), |b| b.min((total, c))));
                    continue;
                }
                let floor = if routed {
                    self.last_in(cdg, v).max(position)
                } else {
                    position
                };
                for d in net.channels.leaving(v) {
                    let i = d as usize;
                    if self.from[i] == NONE
                        && cdg.position(i) > floor
                        && d != net.channels.reverse[c as usize]
                    {
                        self.from[i] = c;
                        candidates.push(d);
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
            let is_new = self.hops[v] == UNREACHED;
            self.next[v] = c;
            if is_new {
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

    /// Highest position of a channel that leads packets to `v`.
    fn last_in(&self, cdg: &VirtualLayer, v: usize) -> u32 {
        let net = self.net;
        let into = net
            .channels
            .leaving(v)
            .map(|c| net.channels.reverse[c as usize]);
        let in_use = into.filter(|&b| self.next[net.channels.tail[b as usize] as usize] == b);
        in_use.map(|b| cdg.position(b as usize)).max().unwrap_or(0)
    }

    /// Adds the dependencies of the paths and removes those that were only tried.
    fn commit(&mut self, cdg: &mut VirtualLayer, dest: usize) {
        let net = self.net;
        for &(a, b) in &self.log {
            let v = net.channels.tail[a as usize] as usize;
            let w = net.channels.tail[b as usize] as usize;
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
