//! Moves routes off busy links, one switch and LID at a time.
//!
//! A switch changes to another link, to a neighbour at the same distance from the LID, if that
//! lowers the sum of a power of all loads and if the paths of all sources behind it still agree
//! with the order of channels on their VLs. So the routing is deadlock-free after every step and no
//! path gets longer. The orders do not change here.

use ferrosm_mad::ids::PortNum;

use super::balance::{BalanceScope, depths, switches_by_depth};
use super::network::NO_SLOT;
use crate::channels::VirtualLayer;
use crate::topology::index_to_u32;
use crate::work::BudgetExceeded;

/// Work units per switch for building the tree of a LID.
const COLUMN_UNITS: usize = 4;

/// Maximum number of channels visited; limits the time on large fabrics.
const VISITS_MAX: u64 = 150_000_000;

/// Maximum number of passes over all LIDs for each power.
const PASSES: usize = 12;

/// A fabric is balanced if the busiest link has at most this percentage of the mean load.
const BALANCED_PERCENT: u64 = 105;

/// Whether the highest load is at most this percentage of the mean.
pub(super) fn is_balanced(load: &[u64], percent: u64) -> bool {
    let max_load = u128::from(load.iter().copied().max().unwrap_or(0));
    let sum: u128 = load.iter().map(|&l| u128::from(l)).sum();
    max_load * 100 * load.len() as u128 <= sum * u128::from(percent)
}

/// The tree of the current LID.
pub(super) struct LidTree<'r> {
    /// Row of the LID.
    pub(super) lid: usize,
    pub(super) dest: usize,
    pub(super) row: &'r mut [u8],
    hops: &'r [u32],
    /// End ports that send through each switch.
    pub(super) flow: &'r mut [u64],
}

impl LidTree<'_> {
    /// Whether a switch has a next hop for the LID.
    pub(super) fn has_next_hop(&self, v: usize) -> bool {
        self.row[v] != NO_SLOT
    }

    /// Whether switch `v` is one hop nearer to the LID than `u`.
    #[inline(always)]
    pub(super) fn is_nearer(&self, v: usize, u: usize) -> bool {
        self.hops[v].saturating_add(1) == self.hops[u]
    }
}

/// Increase of the second or fourth power of a load that grows by `added`.
#[inline(always)]
fn power_increase(load: u64, added: u64, power: u32) -> i128 {
    let old = i128::from(load);
    let new = i128::from(load + added);
    let squares = i128::from(added) * (old + new);
    if power == 2 {
        squares
    } else {
        squares * (old * old + new * new)
    }
}

impl BalanceScope<'_> {
    /// Refines all trees: a row per LID, a cell per switch with the index of a port among its
    /// ports. Returns the routes over each link.
    pub(super) fn refine(&self, cells: &mut [u8]) -> Result<Vec<u64>, BudgetExceeded> {
        let net = self.net;
        let mut load = vec![0u64; net.num_ports()];
        let mut by_distance = Vec::new();
        self.for_each_tree(cells, |tree| {
            switches_by_depth(tree.hops, &mut by_distance);
            for &v in by_distance.iter().skip(1) {
                load[self.link(tree.row, v as usize)] += tree.flow[v as usize];
            }
            0
        })?;
        let mut visits_left = VISITS_MAX;
        for power in [2, 4] {
            for _ in 0..PASSES {
                let mut moves = 0u64;
                if is_balanced(&load, BALANCED_PERCENT) {
                    return Ok(load);
                }
                let pass = self.for_each_tree(cells, |tree| {
                    let before = visits_left;
                    if visits_left > 0 {
                        moves += self.improve(tree, &mut load, power, &mut visits_left);
                    }
                    before - visits_left
                });
                if pass.is_err() {
                    // Refinement is optional: the current routing is valid.
                    return Ok(load);
                }
                if moves == 0 || visits_left == 0 {
                    break;
                }
            }
        }
        Ok(load)
    }

    /// Calls `work`, which returns its work units, with the tree of each LID of an end port.
    pub(super) fn for_each_tree(
        &self,
        cells: &mut [u8],
        mut work: impl FnMut(&mut LidTree<'_>) -> u64,
    ) -> Result<(), BudgetExceeded> {
        let net = self.net;
        let mut by_distance = Vec::new();
        let mut tree_slots = vec![NO_SLOT; net.n];
        let mut hops = Vec::new();
        let mut flow = Vec::new();
        for dest in 0..net.n {
            for lid in net.lid_base[dest]..net.lid_base[dest + 1] {
                if net.lids[lid].1 == PortNum::ZERO {
                    continue;
                }
                let row = &mut cells[lid * net.n..][..net.n];
                for (v, slot) in tree_slots.iter_mut().enumerate() {
                    *slot = if row[v] == NO_SLOT {
                        NO_SLOT
                    } else {
                        net.slot(net.channel_of(self.link(row, v)))
                    };
                }
                depths(net, &tree_slots, dest, &mut hops);
                switches_by_depth(&hops, &mut by_distance);
                flow.clear();
                flow.extend(net.hosts.iter().map(|&h| u64::from(h)));
                for &v in by_distance.iter().skip(1).rev() {
                    let v = v as usize;
                    let w = net.channels.head[net.channel_of(self.link(row, v))] as usize;
                    flow[w] += flow[v];
                }
                let units = work(&mut LidTree {
                    lid,
                    dest,
                    row,
                    hops: &hops,
                    flow: &mut flow,
                });
                self.budget.spend(units)?;
                self.budget.spend_len(COLUMN_UNITS * net.n)?;
            }
        }
        Ok(())
    }

    /// Index, in the list of all ports, of the link that a switch uses.
    #[inline(always)]
    pub(super) fn link(&self, row: &[u8], v: usize) -> usize {
        self.net.first_port(v) + usize::from(row[v])
    }

    /// Changes links where that is better; returns the number of changes.
    fn improve(
        &self,
        tree: &mut LidTree<'_>,
        load: &mut [u64],
        power: u32,
        visits_left: &mut u64,
    ) -> u64 {
        let net = self.net;
        let mut moves = 0;
        for u in 0..net.n {
            let flow = tree.flow[u];
            if u == tree.dest || flow == 0 || tree.row[u] == NO_SLOT {
                continue;
            }
            let current_link = self.link(tree.row, u);
            let mut best: Option<(i128, usize)> = None;
            for c in net.channels.leaving(u) {
                if !tree.is_nearer(net.channels.head[c as usize] as usize, u) {
                    continue;
                }
                for link in net.port_range(c as usize).filter(|&p| p != current_link) {
                    let gain = self.gain(tree, load, u, link, power, visits_left);
                    if gain > 0
                        && best.is_none_or(|(g, _)| gain > g)
                        && self.agrees(tree, u, c as usize)
                    {
                        best = Some((gain, link));
                    }
                }
            }
            if let Some((_, link)) = best {
                self.move_to_link(tree, load, u, link);
                moves += 1;
            }
        }
        moves
    }

    /// Decrease of the sum of powers of loads if `u` uses another link.
    fn gain(
        &self,
        tree: &LidTree<'_>,
        load: &[u64],
        u: usize,
        link: usize,
        power: u32,
        visits_left: &mut u64,
    ) -> i128 {
        let flow = tree.flow[u];
        let mut old = self.link(tree.row, u);
        let mut new = link;
        let mut gain = 0;
        loop {
            *visits_left = visits_left.saturating_sub(1);
            gain += power_increase(load[old].saturating_sub(flow), flow, power)
                - power_increase(load[new], flow, power);
            let v = self.head(old);
            let w = self.head(new);
            if v == w || v == tree.dest || w == tree.dest {
                return gain;
            }
            (old, new) = (self.link(tree.row, v), self.link(tree.row, w));
        }
    }

    #[inline(always)]
    pub(super) fn head(&self, link: usize) -> usize {
        self.net.channels.head[self.net.channel_of(link)] as usize
    }

    /// Whether the paths of all sources behind `u` may continue over `channel`.
    pub(super) fn agrees(&self, tree: &LidTree<'_>, u: usize, channel: usize) -> bool {
        let net = self.net;
        // Sources behind each neighbour, and the channel over which their packets arrive.
        let mut from: Vec<(usize, u32)> = vec![(u, u32::MAX)];
        let mut next = 0;
        let mut checked = 0u32;
        while let Some(&(x, via)) = from.get(next) {
            next += 1;
            let vl = self.vl_of(x, tree.dest);
            let cdg = &self.cdgs[vl];
            if via != u32::MAX && cdg.position(via as usize) >= cdg.position(channel) {
                return false;
            }
            if checked >> vl & 1 == 0 {
                checked |= 1 << vl;
                if !self.agrees_from(cdg, tree, channel) {
                    return false;
                }
            }
            for c in net.channels.leaving(x) {
                let into = net.channels.reverse[c as usize] as usize;
                let y = net.channels.tail[into] as usize;
                if tree.row[y] != NO_SLOT && net.channel_of(self.link(tree.row, y)) == into {
                    from.push((y, if x == u { index_to_u32(into) } else { via }));
                }
            }
        }
        true
    }

    /// A switch and all sources whose packets pass it.
    pub(super) fn senders(&self, tree: &LidTree<'_>, u: usize) -> Vec<usize> {
        let net = self.net;
        let mut subtree = vec![u];
        let mut next = 0;
        while let Some(&x) = subtree.get(next) {
            next += 1;
            for c in net.channels.leaving(x) {
                let into = net.channels.reverse[c as usize] as usize;
                let y = net.channels.tail[into] as usize;
                if tree.has_next_hop(y) && net.channel_of(self.link(tree.row, y)) == into {
                    subtree.push(y);
                }
            }
        }
        subtree
    }

    /// Whether the path from `channel` on agrees with the order of a VL.
    fn agrees_from(&self, cdg: &VirtualLayer, tree: &LidTree<'_>, channel: usize) -> bool {
        let net = self.net;
        let mut at = channel;
        loop {
            let v = net.channels.head[at] as usize;
            if v == tree.dest {
                return true;
            }
            let next = net.channel_of(self.link(tree.row, v));
            if cdg.position(at) >= cdg.position(next) {
                return false;
            }
            at = next;
        }
    }

    /// Changes the link of `u`.
    pub(super) fn move_to_link(
        &self,
        tree: &mut LidTree<'_>,
        load: &mut [u64],
        u: usize,
        link: usize,
    ) {
        let flow = tree.flow[u];
        let mut at = self.link(tree.row, u);
        loop {
            load[at] -= flow;
            let v = self.head(at);
            tree.flow[v] -= flow;
            if v == tree.dest {
                break;
            }
            at = self.link(tree.row, v);
        }
        tree.row[u] = u8::try_from(link - self.net.first_port(u)).unwrap_or(NO_SLOT);
        at = link;
        loop {
            load[at] += flow;
            let v = self.head(at);
            tree.flow[v] += flow;
            if v == tree.dest {
                break;
            }
            at = self.link(tree.row, v);
        }
    }
}
