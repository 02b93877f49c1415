//! Gives every LID its own paths within the dependency graph, so that routes spread over the
//! channels.
//!
//! The order of channels is final here. For each destination switch, every other switch gets the
//! next hops that keep the number of hops and agree with the order for any choice of its
//! neighbours. For one LID after the other, the lightest of these paths is chosen; the load of a
//! channel is the number of routes (end port, LID) over it so far.

use ferrosm_mad::ids::PortNum;

use super::network::{NO_SLOT, Network};
use crate::channels::VirtualLayer;
use crate::topology::index_to_u32;
use crate::work::{BudgetExceeded, WorkBudget};

/// Work units per switch for routing one LID.
const COLUMN_UNITS: usize = 2;

/// Load units per route, divisible by common numbers of parallel links.
const LOAD_SCALE: u64 = 5040;

/// Hops from each switch to the root of a tree, `u32::MAX` where the tree does not reach.
pub(super) fn depths(net: &Network, tree: &[u8], dest: usize, hops: &mut Vec<u32>) {
    hops.clear();
    hops.resize(net.n, u32::MAX);
    hops[dest] = 0;
    let mut path = Vec::new();
    for v in 0..net.n {
        let mut at = v;
        while hops[at] == u32::MAX && tree[at] != NO_SLOT && path.len() <= net.n {
            path.push(at);
            at = net.channels.head[net.channel(at, tree[at])] as usize;
        }
        let mut distance = hops[at];
        while let Some(u) = path.pop() {
            distance = distance.saturating_add(1);
            hops[u] = distance;
        }
    }
}

/// Switches by hops, nearest first, without unreached ones.
pub(super) fn switches_by_depth(hops: &[u32], order: &mut Vec<u32>) {
    let max_hops = hops
        .iter()
        .filter(|&&h| h != u32::MAX)
        .max()
        .map_or(0, |&h| h as usize);
    let mut start = vec![0usize; max_hops + 2];
    for &h in hops.iter().filter(|&&h| h != u32::MAX) {
        start[h as usize + 1] += 1;
    }
    for i in 1..start.len() {
        start[i] += start[i - 1];
    }
    order.clear();
    order.resize(start[max_hops + 1], 0);
    for (v, &h) in hops.iter().enumerate().filter(|(_, h)| **h != u32::MAX) {
        order[start[h as usize]] = index_to_u32(v);
        start[h as usize] += 1;
    }
}

/// Input of the load balancing.
#[derive(Debug, Clone, Copy)]
pub(super) struct BalanceScope<'a> {
    pub(super) net: &'a Network,
    /// Dependency graph of each VL, in its final order.
    pub(super) cdgs: &'a [VirtualLayer],
    /// The VL of each pair of switches; empty if there is one VL.
    pub(super) vl: &'a [u8],
    /// The trees so far: a row per destination switch, a cell per switch.
    pub(super) trees: &'a [u8],
    pub(super) budget: &'a WorkBudget,
}

impl BalanceScope<'_> {
    /// The VL between two switches.
    #[inline(always)]
    pub(super) fn vl_of(&self, a: usize, b: usize) -> usize {
        if self.vl.is_empty() {
            0
        } else {
            usize::from(self.vl[a * self.net.n + b])
        }
    }

    /// Slot of each switch for each LID: a row per LID (as in [`Network::lids`]), a cell per
    /// switch. Destination switches are processed in the order of `dests`.
    pub(super) fn balance(&self, dests: &[usize]) -> Result<Vec<u8>, BudgetExceeded> {
        let net = self.net;
        let mut slots = vec![NO_SLOT; net.lids.len() * net.n];
        let load_per_route: Vec<u64> = (0..net.channels.len())
            .map(|c| LOAD_SCALE / (net.ports(c).len() as u64).max(1))
            .collect();
        let mut weight = vec![0u64; net.channels.len()];
        let mut hops = Vec::new();
        let mut by_distance = Vec::new();
        let mut options = Options::default();
        let mut cost = vec![0u64; net.n];
        let mut flow = vec![0u64; net.n];
        let mut vls = vec![0u16; net.n];
        for &dest in dests {
            let tree = &self.trees[dest * net.n..][..net.n];
            depths(net, tree, dest, &mut hops);
            switches_by_depth(&hops, &mut by_distance);
            options.find(self, dest, &hops, &by_distance);
            let lids = net.lid_base[dest + 1] - net.lid_base[dest];
            let units = options.channels.len() + COLUMN_UNITS * net.n;
            self.budget.spend_len(net.channels.len() + lids * units)?;
            for lid in net.lid_base[dest]..net.lid_base[dest + 1] {
                let row = &mut slots[lid * net.n..][..net.n];
                row.copy_from_slice(tree);
                if net.lids[lid].1 == PortNum::ZERO {
                    // Management packets do not count as load.
                    continue;
                }
                vls[dest] = u16::MAX;
                for &v in by_distance.iter().skip(1) {
                    let v = v as usize;
                    let total =
                        |c: u32| cost[net.channels.head[c as usize] as usize] + weight[c as usize];
                    let options_of_switch = options.options_of(v);
                    let best = if self.cdgs.len() == 1 {
                        options_of_switch.iter().copied().min_by_key(|&c| total(c))
                    } else {
                        let fits = options_of_switch
                            .iter()
                            .copied()
                            .filter(|&c| self.fits(dest, v, c, row, &vls));
                        fits.min_by_key(|&c| total(c))
                    };
                    let Some(c) = best else {
                        // No next hop fits the chosen paths of nearer switches: use the tree for
                        // this LID.
                        row.copy_from_slice(tree);
                        break;
                    };
                    cost[v] = total(c);
                    row[v] = net.slot(c as usize);
                    if self.cdgs.len() > 1 {
                        vls[v] = self.vls_along(dest, c, row, &vls);
                    }
                }
                flow.iter_mut()
                    .zip(&net.hosts)
                    .for_each(|(f, &h)| *f = u64::from(h));
                for &v in by_distance.iter().skip(1).rev() {
                    let v = v as usize;
                    let c = net.channel(v, row[v]);
                    weight[c] += flow[v] * load_per_route[c];
                    flow[net.channels.head[c] as usize] += flow[v];
                }
            }
        }
        Ok(slots)
    }

    /// Whether the path of `v` over `c` agrees with the order of its VL. `vls` has the VLs with
    /// which the paths of nearer switches agree, one bit each.
    fn fits(&self, dest: usize, v: usize, c: u32, row: &[u8], vls: &[u16]) -> bool {
        let w = self.net.channels.head[c as usize] as usize;
        let vl = self.vl_of(v, dest);
        let cdg = &self.cdgs[vl];
        w == dest
            || (vls[w] >> vl & 1 == 1
                && cdg.position(c as usize) < cdg.position(self.net.channel(w, row[w])))
    }

    /// VLs with which the path over `c` agrees.
    fn vls_along(&self, dest: usize, c: u32, row: &[u8], vls: &[u16]) -> u16 {
        let w = self.net.channels.head[c as usize] as usize;
        if w == dest {
            return u16::MAX;
        }
        let next = self.net.channel(w, row[w]);
        let agree = self
            .cdgs
            .iter()
            .enumerate()
            .filter(|(_, cdg)| cdg.position(c as usize) < cdg.position(next));
        agree.fold(0, |mask, (vl, _)| mask | 1 << vl) & vls[w]
    }
}

/// Next hops of all switches to one destination that keep the number of hops. On one VL, every
/// combination of them agrees with the order.
#[derive(Debug, Default)]
struct Options {
    channels: Vec<u32>,
    /// Lowest position of the channels of each switch.
    first: Vec<u32>,
    /// Highest position of the channels of the tree that lead to each switch, plus 1.
    floor: Vec<u32>,
    range: Vec<(u32, u32)>,
}

impl Options {
    fn find(&mut self, scope: &BalanceScope<'_>, dest: usize, hops: &[u32], by_distance: &[u32]) {
        let net = scope.net;
        let tree = &scope.trees[dest * net.n..][..net.n];
        let single = scope.cdgs.len() == 1;
        let position = |c: usize| scope.cdgs.first().map_or(0, |cdg| cdg.position(c));
        self.channels.clear();
        self.first.clear();
        self.first.resize(net.n, u32::MAX);
        self.floor.clear();
        self.floor.resize(net.n, 0);
        self.range.clear();
        self.range.resize(net.n, (0, 0));
        for (v, &slot) in tree.iter().enumerate().filter(|(_, s)| **s != NO_SLOT) {
            let c = net.channel(v, slot);
            let w = net.channels.head[c] as usize;
            self.floor[w] = self.floor[w].max(position(c) + 1);
        }
        for v in by_distance
            .iter()
            .map(|&v| v as usize)
            .filter(|&v| v != dest)
        {
            let from = index_to_u32(self.channels.len());
            let own_channel = net.channel(v, tree[v]);
            for c in net.channels.leaving(v) {
                let i = c as usize;
                let w = net.channels.head[i] as usize;
                let nearer = hops[w].saturating_add(1) == hops[v];
                let at = position(i);
                let agrees = !single || (at >= self.floor[v] && at < self.first[w]);
                if i == own_channel || (nearer && agrees) {
                    self.channels.push(c);
                    self.first[v] = self.first[v].min(at);
                }
            }
            self.range[v] = (from, index_to_u32(self.channels.len()));
        }
    }

    fn options_of(&self, v: usize) -> &[u32] {
        let (from, to) = self.range[v];
        &self.channels[from as usize..to as usize]
    }
}

/// Converts slots to links, in place: the index of the port among all ports of the switch to other
/// switches. Of parallel links, the one with the fewest routes is used.
pub(super) fn choose_links(
    net: &Network,
    slots: &mut [u8],
    budget: &WorkBudget,
) -> Result<(), BudgetExceeded> {
    let mut load = vec![0u64; net.num_ports()];
    let mut by_distance = Vec::new();
    let mut hops = Vec::new();
    let mut flow = vec![0u64; net.n];
    for dest in 0..net.n {
        for lid in net.lid_base[dest]..net.lid_base[dest + 1] {
            budget.spend_len(2 * COLUMN_UNITS * net.n)?;
            let row = &mut slots[lid * net.n..][..net.n];
            depths(net, row, dest, &mut hops);
            switches_by_depth(&hops, &mut by_distance);
            let is_host_lid = net.lids[lid].1 != PortNum::ZERO;
            flow.iter_mut()
                .zip(&net.hosts)
                .for_each(|(f, &h)| *f = u64::from(h));
            for &v in by_distance.iter().skip(1).rev() {
                let v = v as usize;
                let c = net.channel(v, row[v]);
                let range = net.port_range(c);
                let lightest = range
                    .clone()
                    .min_by_key(|&p| load[p])
                    .unwrap_or(range.start);
                row[v] = u8::try_from(lightest - net.first_port(v)).unwrap_or(NO_SLOT);
                if is_host_lid {
                    load[lightest] += flow[v];
                }
                flow[net.channels.head[c] as usize] += flow[v];
            }
        }
    }
    Ok(())
}
