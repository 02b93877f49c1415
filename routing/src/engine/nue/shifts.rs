//! Spreads the flows of one shift over cables: when every end port sends to the one so many places further.
//!
//! Balance of all routes leaves much open: which pairs of end ports share a cable. Those of the same distance send at the
//! same time in the stages of a collective, others do not. So routes with a distance that a cable carries often already are moved to
//! one that carries it less often, if nothing gets longer, no cable carries more routes than the busiest did before, and all
//! paths still agree with the order of channels in their vls. The measure is the sum of the fourth powers of the
//! flows on each cable in each shift. Only for fabrics that are not large: it counts for each cable and distance.

use std::ops::Range;

use ferrosm_mad::ids::PortNum;

use super::balance::BalanceScope;
use super::refinement::Tree;

/// Most cables times end ports.
const CELLS_MAX: usize = 4_000_000;

/// Flows that may be looked at in all.
const VISITS_MAX: u64 = 40_000_000;

/// Most passes over all LIDs.
const PASSES: usize = 10;

/// Places of end ports: switches by the first LID of their end ports, and those of a switch in the order of its LIDs.
struct Places {
    /// Of the end ports on each switch.
    on: Vec<Range<usize>>,
    /// Of each LID; nothing for a switch's own, and for all but the first of an end port.
    of: Vec<Option<usize>>,
    count: usize,
}

impl BalanceScope<'_> {
    fn places(&self) -> Places {
        let net = self.net;
        let mut places = Places {
            on: vec![0..0; net.n],
            of: vec![None; net.lids.len()],
            count: 0,
        };
        let ends = |v: usize| {
            let here = &net.lids[net.lid_base[v]..net.lid_base[v + 1]];
            let ends = here.iter().filter(|l| l.1 != PortNum::ZERO);
            ends.map(|l| l.0).min()
        };
        let mut order: Vec<usize> = (0..net.n).collect();
        order.sort_by_key(|&v| (ends(v), v));
        for v in order {
            let first = places.count;
            let here = net.lid_base[v]..net.lid_base[v + 1];
            for at in here.clone() {
                let port = net.lids[at].1;
                let known = net.lids[here.start..at].iter().any(|l| l.1 == port);
                if port != PortNum::ZERO && !known {
                    places.of[at] = Some(places.count);
                    places.count += 1;
                }
            }
            places.on[v] = first..places.count;
        }
        places
    }

    /// Works on all trees: a row per LID, a cell per switch with the place of a port among its ports. `load` are the routes
    /// on each cable.
    pub(super) fn balance_shifts(&self, cells: &mut [u8], load: &mut [u64]) {
        let places = self.places();
        let Some(size) = places.count.checked_mul(load.len()) else {
            return;
        };
        if size > CELLS_MAX {
            return;
        }
        let mut work = Shifts {
            scope: self,
            most: load.iter().copied().max().unwrap_or(0),
            places,
            flows: vec![0; size],
            left: VISITS_MAX,
            sources: Vec::new(),
        };
        // This is an improvement: without a budget for it, the routing stays valid.
        let counted = self.each(cells, |tree| {
            work.count(tree);
            0
        });
        if counted.is_err() {
            return;
        }
        for _ in 0..PASSES {
            let mut moves = 0u64;
            let pass = self.each(cells, |tree| {
                let left = work.left;
                moves += work.improve(tree, load);
                left - work.left
            });
            if pass.is_err() || moves == 0 || work.left == 0 {
                break;
            }
        }
    }
}

struct Shifts<'a, 'n> {
    scope: &'a BalanceScope<'n>,
    /// Routes over the busiest cable.
    most: u64,
    places: Places,
    /// By cable and distance: flows.
    flows: Vec<u16>,
    left: u64,
    /// Places of the end ports that send through the switch that is looked at.
    sources: Vec<usize>,
}

/// By how much the fourth power agrees_from from this number to the next.
const fn step(flows: u16) -> i64 {
    let n = flows as i64;
    4 * n * n * n + 6 * n * n + 4 * n + 1
}

impl Shifts<'_, '_> {
    fn cell(&self, link: usize, from: usize, to: usize) -> usize {
        let count = self.places.count;
        link * count + (to + count - from) % count
    }

    /// Counts the flows of one tree.
    fn count(&mut self, tree: &Tree<'_>) {
        let Some(to) = self.places.of[tree.lid] else {
            return;
        };
        for u in (0..self.scope.net.n).filter(|&u| u != tree.dest) {
            self.sources.clear();
            self.sources.extend(self.places.on[u].clone());
            self.along(tree, u, to, 1);
        }
    }

    /// Adds the flows of `sources` to all cables from a switch on, or takes them away.
    fn along(&mut self, tree: &Tree<'_>, u: usize, to: usize, by: i16) {
        let mut at = u;
        while at != tree.dest && tree.leads(at) {
            let link = self.scope.link(tree.row, at);
            for i in 0..self.sources.len() {
                let cell = self.cell(link, self.sources[i], to);
                self.flows[cell] = self.flows[cell].saturating_add_signed(by);
            }
            at = self.scope.head(link);
        }
    }

    /// Moves what is better elsewhere. Says how many did.
    fn improve(&mut self, tree: &mut Tree<'_>, load: &mut [u64]) -> u64 {
        let Some(to) = self.places.of[tree.lid] else {
            return 0;
        };
        let scope = self.scope;
        let net = scope.net;
        let mut moves = 0;
        for u in 0..net.n {
            if self.left == 0 {
                break;
            }
            if u == tree.dest || tree.flow[u] == 0 || !tree.leads(u) {
                continue;
            }
            let own = scope.link(tree.row, u);
            let nearer = |c: &u32| tree.is_nearer(net.channels.head[*c as usize] as usize, u);
            let options: Vec<usize> = net
                .channels
                .leaving(u)
                .filter(nearer)
                .flat_map(|c| net.port_range(c as usize))
                .filter(|&p| p != own)
                .collect();
            if options.is_empty() {
                continue;
            }
            self.sources.clear();
            for x in scope.senders(tree, u) {
                self.sources.extend(self.places.on[x].clone());
            }
            let mut best: Option<(i64, usize)> = None;
            for link in options {
                let gain = self.gain(tree, load, u, link, to);
                if gain > best.map_or(0, |b| b.0) && scope.agrees(tree, u, net.channel_of(link)) {
                    best = Some((gain, link));
                }
            }
            if let Some((_, link)) = best {
                self.along(tree, u, to, -1);
                scope.shift(tree, load, u, link);
                self.along(tree, u, to, 1);
                moves += 1;
            }
        }
        moves
    }

    /// By how much the sum falls if `u` takes another cable; nothing where one would carry too much.
    fn gain(&mut self, tree: &Tree<'_>, load: &[u64], u: usize, link: usize, to: usize) -> i64 {
        let scope = self.scope;
        let (mut old, mut new) = (scope.link(tree.row, u), link);
        let mut gain = 0;
        loop {
            if load[new] + tree.flow[u] > self.most {
                return 0;
            }
            self.left = self.left.saturating_sub(self.sources.len() as u64);
            for &from in &self.sources {
                let less = self.flows[self.cell(old, from, to)].saturating_sub(1);
                gain += step(less) - step(self.flows[self.cell(new, from, to)]);
            }
            let (v, w) = (scope.head(old), scope.head(new));
            if v == w || v == tree.dest || w == tree.dest {
                return gain;
            }
            (old, new) = (scope.link(tree.row, v), scope.link(tree.row, w));
        }
    }
}
