//! Spreads the flows of shift patterns over links; in a shift, every end port sends to the end port
//! at a fixed distance in rank.
//!
//! Balancing the number of routes does not determine which pairs of end ports share a link. Pairs
//! at the same distance send at the same time in the stages of a collective operation. So routes
//! with a distance that is frequent on a link move to a link where it is less frequent, if no path
//! gets longer, no link carries more routes than the busiest did before, and all paths still agree
//! with the order of channels on their VLs. Minimizes the sum of the fourth powers of the flows on
//! each link in each shift. Not for large fabrics: needs a counter for each link and distance.

use std::ops::Range;

use ferrosm_mad::ids::PortNum;

use super::balance::BalanceScope;
use super::refinement::LidTree;

/// Maximum number of links times end ports.
const COUNTERS_MAX: usize = 4_000_000;

/// Maximum number of flows visited.
const VISITS_MAX: u64 = 40_000_000;

/// Maximum number of passes over all LIDs.
const PASSES: usize = 10;

/// Ranks of end ports: switches by the lowest LID of their end ports, and within a switch by LID.
struct EndPortRanks {
    /// Ranks of the end ports on each switch.
    on: Vec<Range<usize>>,
    /// Rank by LID index; `None` for switch LIDs and for all but the first LID of an end port.
    by_lid: Vec<Option<usize>>,
    count: usize,
}

impl BalanceScope<'_> {
    fn ranks(&self) -> EndPortRanks {
        let net = self.net;
        let mut ranks = EndPortRanks {
            on: vec![0..0; net.n],
            by_lid: vec![None; net.lids.len()],
            count: 0,
        };
        let lowest_lid = |v: usize| {
            let lids = &net.lids[net.lid_base[v]..net.lid_base[v + 1]];
            let end_port_lids = lids.iter().filter(|l| l.1 != PortNum::ZERO);
            end_port_lids.map(|l| l.0).min()
        };
        let mut order: Vec<usize> = (0..net.n).collect();
        order.sort_by_key(|&v| (lowest_lid(v), v));
        for v in order {
            let first = ranks.count;
            let lids = net.lid_base[v]..net.lid_base[v + 1];
            for at in lids.clone() {
                let port = net.lids[at].1;
                let is_additional_lid = net.lids[lids.start..at].iter().any(|l| l.1 == port);
                if port != PortNum::ZERO && !is_additional_lid {
                    ranks.by_lid[at] = Some(ranks.count);
                    ranks.count += 1;
                }
            }
            ranks.on[v] = first..ranks.count;
        }
        ranks
    }

    /// Improves all trees. `cells`: a row for each LID, with the output port of each switch as an
    /// index of its ports. `load`: number of routes over each link.
    pub(super) fn balance_shifts(&self, cells: &mut [u8], load: &mut [u64]) {
        let ranks = self.ranks();
        let Some(size) = ranks.count.checked_mul(load.len()) else {
            return;
        };
        if size > COUNTERS_MAX {
            return;
        }
        let mut shifts = Shifts {
            scope: self,
            max_load: load.iter().copied().max().unwrap_or(0),
            ranks,
            flows: vec![0; size],
            visits_left: VISITS_MAX,
            sources: Vec::new(),
        };
        // Optional improvement: if the budget is exceeded, the routing stays valid.
        let counted = self.for_each_tree(cells, |tree| {
            shifts.count(tree);
            0
        });
        if counted.is_err() {
            return;
        }
        for _ in 0..PASSES {
            let mut moves = 0u64;
            let pass = self.for_each_tree(cells, |tree| {
                let visits_left = shifts.visits_left;
                moves += shifts.improve(tree, load);
                visits_left - shifts.visits_left
            });
            if pass.is_err() || moves == 0 || shifts.visits_left == 0 {
                break;
            }
        }
    }
}

struct Shifts<'a, 'n> {
    scope: &'a BalanceScope<'n>,
    /// Routes over the busiest link.
    max_load: u64,
    ranks: EndPortRanks,
    /// Flows by link and distance.
    flows: Vec<u16>,
    visits_left: u64,
    /// Ranks of the end ports that send through the current switch.
    sources: Vec<usize>,
}

/// Increase of the fourth power from `flows` to the next number.
const fn step(flows: u16) -> i64 {
    let n = flows as i64;
    4 * n * n * n + 6 * n * n + 4 * n + 1
}

impl Shifts<'_, '_> {
    fn counter_index(&self, link: usize, from: usize, to: usize) -> usize {
        let count = self.ranks.count;
        link * count + (to + count - from) % count
    }

    /// Counts the flows of one tree.
    fn count(&mut self, tree: &LidTree<'_>) {
        let Some(to) = self.ranks.by_lid[tree.lid] else {
            return;
        };
        for u in (0..self.scope.net.n).filter(|&u| u != tree.dest) {
            self.sources.clear();
            self.sources.extend(self.ranks.on[u].clone());
            self.add_flows(tree, u, to, 1);
        }
    }

    /// Adds the flows of `sources` to all links from a switch on, or subtracts them.
    fn add_flows(&mut self, tree: &LidTree<'_>, u: usize, to: usize, by: i16) {
        let mut at = u;
        while at != tree.dest && tree.has_next_hop(at) {
            let link = self.scope.link(tree.row, at);
            for i in 0..self.sources.len() {
                let counter = self.counter_index(link, self.sources[i], to);
                self.flows[counter] = self.flows[counter].saturating_add_signed(by);
            }
            at = self.scope.head(link);
        }
    }

    /// Changes links where that is better; returns the number of changes.
    fn improve(&mut self, tree: &mut LidTree<'_>, load: &mut [u64]) -> u64 {
        let Some(to) = self.ranks.by_lid[tree.lid] else {
            return 0;
        };
        let scope = self.scope;
        let net = scope.net;
        let mut moves = 0;
        for u in 0..net.n {
            if self.visits_left == 0 {
                break;
            }
            if u == tree.dest || tree.flow[u] == 0 || !tree.has_next_hop(u) {
                continue;
            }
            let current_link = scope.link(tree.row, u);
            let nearer = |c: &u32| tree.is_nearer(net.channels.head[*c as usize] as usize, u);
            let options: Vec<usize> = net
                .channels
                .leaving(u)
                .filter(nearer)
                .flat_map(|c| net.port_range(c as usize))
                .filter(|&p| p != current_link)
                .collect();
            if options.is_empty() {
                continue;
            }
            self.sources.clear();
            for x in scope.senders(tree, u) {
                self.sources.extend(self.ranks.on[x].clone());
            }
            let mut best: Option<(i64, usize)> = None;
            for link in options {
                let gain = self.gain(tree, load, u, link, to);
                if gain > best.map_or(0, |b| b.0) && scope.agrees(tree, u, net.channel_of(link)) {
                    best = Some((gain, link));
                }
            }
            if let Some((_, link)) = best {
                self.add_flows(tree, u, to, -1);
                scope.move_to_link(tree, load, u, link);
                self.add_flows(tree, u, to, 1);
                moves += 1;
            }
        }
        moves
    }

    /// Decrease of the sum if `u` uses another link; 0 if a link would carry too many routes.
    fn gain(&mut self, tree: &LidTree<'_>, load: &[u64], u: usize, link: usize, to: usize) -> i64 {
        let scope = self.scope;
        let mut old = scope.link(tree.row, u);
        let mut new = link;
        let mut gain = 0;
        loop {
            if load[new] + tree.flow[u] > self.max_load {
                return 0;
            }
            self.visits_left = self.visits_left.saturating_sub(self.sources.len() as u64);
            for &from in &self.sources {
                let decreased = self.flows[self.counter_index(old, from, to)].saturating_sub(1);
                gain += step(decreased) - step(self.flows[self.counter_index(new, from, to)]);
            }
            let v = scope.head(old);
            let w = scope.head(new);
            if v == w || v == tree.dest || w == tree.dest {
                return gain;
            }
            (old, new) = (scope.link(tree.row, v), scope.link(tree.row, w));
        }
    }
}
