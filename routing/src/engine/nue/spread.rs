//! Gives every LID its own paths, within what the dependency graph allows, so that routes spread over the channels.
//!
//! The order of channels is final by now. For each destination switch the other switches get all next hops that keep the
//! number of hops and agree with the order whatever their neighbours choose. LID after LID, the lightest path of these is
//! taken; its load is the number of routes (end port, LID) that the channel carries so far.

use ferrosm_mad::ids::PortNum;

use super::cdg::Cdg;
use super::net::{NO_SLOT, Net, small};

/// Loads are compared in these parts of a route, so that they can be divided by the number of parallel cables.
const PARTS: u64 = 5040;

/// The slot that each switch takes to each LID: a row per LID (as in [`Net::lids`]), a cell per switch.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) slots: Vec<u8>,
    /// Routes on each channel.
    pub(super) load: Vec<u64>,
}

/// Hops from each switch to the root of a tree, `u32::MAX` where the tree does not reach.
pub(super) fn depths(net: &Net, tree: &[u8], dest: usize, hops: &mut Vec<u32>) {
    hops.clear();
    hops.resize(net.n, u32::MAX);
    hops[dest] = 0;
    let mut path = Vec::new();
    for v in 0..net.n {
        let mut at = v;
        while hops[at] == u32::MAX && tree[at] != NO_SLOT && path.len() <= net.n {
            path.push(at);
            at = net.head[net.channel(at, tree[at])] as usize;
        }
        let mut far = hops[at];
        while let Some(u) = path.pop() {
            far = far.saturating_add(1);
            hops[u] = far;
        }
    }
}

/// Switches by hops, nearest first, without those that are not reached.
pub(super) fn by_depth(hops: &[u32], order: &mut Vec<u32>) {
    let most = hops
        .iter()
        .filter(|&&h| h != u32::MAX)
        .max()
        .map_or(0, |&h| h as usize);
    let mut start = vec![0usize; most + 2];
    for &h in hops.iter().filter(|&&h| h != u32::MAX) {
        start[h as usize + 1] += 1;
    }
    for i in 1..start.len() {
        start[i] += start[i - 1];
    }
    order.clear();
    order.resize(start[most + 1], 0);
    for (v, &h) in hops.iter().enumerate().filter(|(_, h)| **h != u32::MAX) {
        order[start[h as usize]] = small(v);
        start[h as usize] += 1;
    }
}

/// What is installed: the slots that a switch may keep, by LID and switch.
pub(super) type Kept<'k> = &'k dyn Fn(usize, usize) -> Option<u8>;

/// Spreads the LIDs of all switches in this order of switches. `trees` has a row per switch, a cell per switch.
pub(super) fn spread(
    net: &Net,
    cdg: &Cdg<'_>,
    trees: &[u8],
    dests: &[usize],
    kept: Option<Kept<'_>>,
) -> Choice {
    let mut choice = Choice {
        slots: vec![NO_SLOT; net.lids.len() * net.n],
        load: vec![0; net.channels()],
    };
    let share: Vec<u64> = (0..net.channels())
        .map(|c| PARTS / (net.ports(c).len() as u64).max(1))
        .collect();
    let mut weight = vec![0u64; net.channels()];
    let (mut hops, mut near) = (Vec::new(), Vec::new());
    let mut options = Options::default();
    let (mut cost, mut flow) = (vec![0u64; net.n], vec![0u64; net.n]);
    for &dest in dests {
        let tree = &trees[dest * net.n..][..net.n];
        depths(net, tree, dest, &mut hops);
        by_depth(&hops, &mut near);
        options.find(net, cdg, tree, dest, &hops, &near);
        for lid in net.lid_base[dest]..net.lid_base[dest + 1] {
            let row = &mut choice.slots[lid * net.n..][..net.n];
            if net.lids[lid].1 == PortNum::ZERO {
                // Management packets are no load.
                row.copy_from_slice(tree);
                continue;
            }
            for &v in near.iter().skip(1) {
                let v = v as usize;
                let may = options.of(v);
                let total = |c: u32| cost[net.head[c as usize] as usize] + weight[c as usize];
                let old = kept
                    .and_then(|kept| kept(lid, v))
                    .map(|slot| small(net.channel(v, slot)));
                let best = match old.filter(|old| may.contains(old)) {
                    Some(old) => Some(old),
                    None => may.iter().copied().min_by_key(|&c| total(c)),
                };
                if let Some(c) = best {
                    cost[v] = total(c);
                    row[v] = net.slot(c as usize);
                }
            }
            flow.iter_mut()
                .zip(&net.hosts)
                .for_each(|(f, &h)| *f = u64::from(h));
            for &v in near.iter().skip(1).rev() {
                let v = v as usize;
                let c = net.channel(v, row[v]);
                choice.load[c] += flow[v];
                weight[c] += flow[v] * share[c];
                flow[net.head[c] as usize] += flow[v];
            }
        }
    }
    choice
}

/// Next hops of all switches to one destination, of which every combination agrees with the order.
#[derive(Debug, Default)]
struct Options {
    base: Vec<u32>,
    channels: Vec<u32>,
    /// The channel that comes first in the order, of each switch's.
    first: Vec<u32>,
    /// The place of the last channel of the tree that leads to each switch.
    floor: Vec<u32>,
    start: Vec<(u32, u32)>,
}

impl Options {
    fn find(
        &mut self,
        net: &Net,
        cdg: &Cdg<'_>,
        tree: &[u8],
        dest: usize,
        hops: &[u32],
        near: &[u32],
    ) {
        self.channels.clear();
        self.first.clear();
        self.first.resize(net.n, u32::MAX);
        self.floor.clear();
        self.floor.resize(net.n, 0);
        self.start.clear();
        self.start.resize(net.n, (0, 0));
        for (v, &slot) in tree.iter().enumerate().filter(|(_, s)| **s != NO_SLOT) {
            let c = net.channel(v, slot);
            let w = net.head[c] as usize;
            // Places count from 1 here: 0 is for switches that nobody sends to.
            self.floor[w] = self.floor[w].max(cdg.place(c) + 1);
        }
        for &v in near.iter().filter(|&&v| v as usize != dest) {
            let v = v as usize;
            let from = small(self.channels.len());
            let own = net.channel(v, tree[v]);
            for c in net.out(v) {
                let i = c as usize;
                let w = net.head[i] as usize;
                let place = cdg.place(i);
                let nearer = hops[w] != u32::MAX && hops[w] + 1 == hops[v];
                let agrees = place >= self.floor[v] && place < self.first[w];
                if i == own || (nearer && agrees) {
                    self.channels.push(c);
                    self.first[v] = self.first[v].min(place);
                }
            }
            self.start[v] = (from, small(self.channels.len()));
        }
        self.base.clear();
    }

    fn of(&self, v: usize) -> &[u32] {
        let (from, to) = self.start[v];
        &self.channels[from as usize..to as usize]
    }
}

/// The port of each switch to each LID, by LID and switch: of parallel cables the one with the fewest routes.
pub(super) fn cables(net: &Net, choice: &Choice) -> Vec<u8> {
    let mut ports = vec![PortNum::DROP.raw(); choice.slots.len()];
    let mut load = vec![0u64; net.num_ports()];
    let mut order = Vec::new();
    let (mut hops, mut flow) = (Vec::new(), vec![0u64; net.n]);
    for dest in 0..net.n {
        for lid in net.lid_base[dest]..net.lid_base[dest + 1] {
            let row = &choice.slots[lid * net.n..][..net.n];
            let out = &mut ports[lid * net.n..][..net.n];
            out[dest] = net.lids[lid].1.raw();
            depths(net, row, dest, &mut hops);
            by_depth(&hops, &mut order);
            let counts = net.lids[lid].1 != PortNum::ZERO;
            flow.iter_mut()
                .zip(&net.hosts)
                .for_each(|(f, &h)| *f = u64::from(h));
            for &v in order.iter().skip(1).rev() {
                let v = v as usize;
                let c = net.channel(v, row[v]);
                let range = net.port_range(c);
                let lightest = range
                    .clone()
                    .min_by_key(|&p| load[p])
                    .unwrap_or(range.start);
                out[v] = net.ports(c)[lightest - range.start];
                if counts {
                    load[lightest] += flow[v];
                }
                flow[net.head[c] as usize] += flow[v];
            }
        }
    }
    ports
}
