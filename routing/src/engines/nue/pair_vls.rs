//! Uses additional VLs to shorten paths that are detours on one VL, and to balance the load of
//! links.
//!
//! Starts from a routing on one VL. Switch by switch and destination by destination, the next hop
//! changes to one nearer to the destination, or to one at the same distance with less load. This
//! changes the paths of all sources behind that switch; each of them must find a VL on which its
//! new path closes no credit loop, otherwise the change is undone. The VL belongs to the pair of
//! switches, since replies use the SL of their request: the path back must fit as well. (The
//! published Nue algorithm, cited in the parent module, assigns VLs to sets of destinations;
//! replies could then deadlock.)

use super::balance::{depths, switches_by_depth};
use super::network::{NO_SLOT, Network};
use crate::channels::{Dependency, VirtualLayer};
use crate::topology::index_to_u32;
use crate::work::{BudgetExceeded, WorkBudget};

/// Maximum number of passes over all switches of a destination.
const ROUNDS: usize = 4;

/// Number of VLs tried for pairs of switches after which balancing ends; those tried by
/// [`PairVls::shorten`] count. Limits the time on large fabrics.
const TRIES_MAX: usize = 4_000_000;

/// Work units for trying a VL for a pair of switches, and per channel visited by a cycle search.
const TRY_UNITS: u64 = 20;
const SEARCH_UNITS: u64 = 2;

/// Load units per route, divisible by common numbers of parallel links.
const LOAD_SCALE: u64 = 5040;

/// The VLs, and the VL of each pair of switches.
#[derive(Debug)]
pub(super) struct PairVls<'a> {
    net: &'a Network,
    /// Dependency graph of each VL.
    pub(super) cdgs: Vec<VirtualLayer>,
    /// VL by source and destination switch, symmetric.
    pub(super) vl: Vec<u8>,
    /// Dependencies added by the current [`Self::reroute`], by VL, to be removed if it fails.
    journal: Vec<(usize, Dependency)>,
    /// Dependencies added for one VL by the current [`Self::find_vl`].
    new_dependencies: Vec<Dependency>,
    /// Routes over each channel, divided by its number of links.
    load: Vec<u64>,
    /// Remaining VLs to try ([`TRIES_MAX`]).
    tries_left: usize,
    budget: &'a WorkBudget,
    /// Work units not yet spent from `budget`.
    units: u64,
}

impl<'a> PairVls<'a> {
    /// Starts with all pairs on the first VL. `cdgs` has the dependency graph of each VL.
    pub(super) fn new(net: &'a Network, cdgs: Vec<VirtualLayer>, budget: &'a WorkBudget) -> Self {
        Self {
            net,
            cdgs,
            vl: vec![0; net.n * net.n],
            journal: Vec::new(),
            new_dependencies: Vec::new(),
            load: vec![0; net.channels.len()],
            tries_left: TRIES_MAX,
            budget,
            units: 0,
        }
    }

    /// Shortens the paths to `dest`; `min_hops` has the distance of each switch.
    pub(super) fn shorten(
        &mut self,
        trees: &mut [u8],
        dest: usize,
        min_hops: &[u32],
    ) -> Result<(), BudgetExceeded> {
        let net = self.net;
        let mut order: Vec<u32> = (0..index_to_u32(net.n))
            .filter(|&v| v as usize != dest)
            .collect();
        order.sort_by_key(|&v| (min_hops[v as usize], v));
        let mut hops = Vec::new();
        depths(net, &trees[dest * net.n..][..net.n], dest, &mut hops);
        for _ in 0..ROUNDS {
            let mut moved = false;
            for &u in &order {
                let u = u as usize;
                self.units += 1;
                self.spend_units()?;
                if hops[u] <= min_hops[u] {
                    continue;
                }
                let mut options: Vec<(u32, u32)> = net
                    .channels
                    .leaving(u)
                    .map(|c| {
                        (
                            hops[net.channels.head[c as usize] as usize].saturating_add(1),
                            c,
                        )
                    })
                    .filter(|&(far, _)| far < hops[u])
                    .collect();
                options.sort_unstable();
                if options
                    .iter()
                    .any(|&(_, c)| self.reroute(trees, dest, u, c as usize))
                {
                    moved = true;
                    self.units += net.n as u64;
                    depths(net, &trees[dest * net.n..][..net.n], dest, &mut hops);
                }
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Moves switches to next hops at the same distance so that the sum of the squared loads
    /// decreases.
    pub(super) fn balance(&mut self, trees: &mut [u8], dests: &[usize]) {
        let net = self.net;
        let mut hops = Vec::new();
        let mut by_distance = Vec::new();
        self.load.fill(0);
        for &dest in dests {
            let tree = &trees[dest * net.n..][..net.n];
            depths(net, tree, dest, &mut hops);
            switches_by_depth(&hops, &mut by_distance);
            let flow = flows(net, tree, &by_distance);
            for v in by_distance.iter().skip(1).map(|&v| v as usize) {
                let c = net.channel(v, tree[v]);
                self.load[c] += self.relative_load(c, flow[v] * net.host_lids(dest) as u64);
            }
        }
        for _ in 0..ROUNDS {
            let mut moved = false;
            for &dest in dests {
                match self.balance_destination(trees, dest) {
                    Ok(was_moved) => moved |= was_moved,
                    // Balancing is optional: the current state is valid.
                    Err(BudgetExceeded) => return,
                }
            }
            if !moved || self.tries_left == 0 {
                break;
            }
        }
    }

    fn balance_destination(
        &mut self,
        trees: &mut [u8],
        dest: usize,
    ) -> Result<bool, BudgetExceeded> {
        let net = self.net;
        let mut hops = Vec::new();
        let mut by_distance = Vec::new();
        depths(net, &trees[dest * net.n..][..net.n], dest, &mut hops);
        switches_by_depth(&hops, &mut by_distance);
        let mut flow = flows(net, &trees[dest * net.n..][..net.n], &by_distance);
        let lids = net.host_lids(dest) as u64;
        let mut moved = false;
        for u in by_distance.iter().skip(1).map(|&v| v as usize) {
            if self.tries_left == 0 {
                break;
            }
            self.units += 8;
            self.spend_units()?;
            let tree = &trees[dest * net.n..][..net.n];
            let routes = flow[u] * lids;
            let mut options: Vec<(i128, u32)> = net
                .channels
                .leaving(u)
                .filter(|&c| {
                    hops[net.channels.head[c as usize] as usize].saturating_add(1) == hops[u]
                })
                .map(|c| (-self.gain(tree, u, c as usize, routes), c))
                .filter(|&(loss, _)| loss < 0)
                .collect();
            options.sort_unstable();
            for (_, c) in options {
                let old = path(net, &trees[dest * net.n..][..net.n], u);
                if self.reroute(trees, dest, u, c as usize) {
                    let tree = &trees[dest * net.n..][..net.n];
                    for &c in &old {
                        self.load[c as usize] -= self.relative_load(c as usize, routes);
                    }
                    for c in path(net, tree, u) {
                        self.load[c as usize] += self.relative_load(c as usize, routes);
                    }
                    flow = flows(net, tree, &by_distance);
                    self.units += net.n as u64;
                    moved = true;
                    break;
                }
            }
        }
        Ok(moved)
    }

    fn spend_units(&mut self) -> Result<(), BudgetExceeded> {
        self.budget.spend(core::mem::take(&mut self.units))
    }

    /// Load of routes over a channel, divided by its number of links, in load units
    /// ([`LOAD_SCALE`]).
    fn relative_load(&self, channel: usize, routes: u64) -> u64 {
        routes * (LOAD_SCALE / (self.net.ports(channel).len() as u64).max(1))
    }

    /// Decrease of the sum of the squared loads if `u` uses another channel to a switch at the same
    /// distance.
    fn gain(&self, tree: &[u8], u: usize, channel: usize, routes: u64) -> i128 {
        let net = self.net;
        let mut old = net.channel(u, tree[u]);
        let mut new = channel;
        let mut gain = 0;
        while old != new {
            let a = i128::from(self.load[old]);
            let b = i128::from(self.load[new]);
            let decrease = i128::from(self.relative_load(old, routes));
            let increase = i128::from(self.relative_load(new, routes));
            gain += decrease * (2 * a - decrease) - increase * (2 * b + increase);
            let v = net.channels.head[old] as usize;
            let w = net.channels.head[new] as usize;
            if v == w || tree[v] == NO_SLOT || tree[w] == NO_SLOT {
                break;
            }
            (old, new) = (net.channel(v, tree[v]), net.channel(w, tree[w]));
        }
        gain
    }

    /// Routes `u` over `channel`, towards `dest`, if every source behind `u` finds a VL; otherwise
    /// changes nothing.
    fn reroute(&mut self, trees: &mut [u8], dest: usize, u: usize, channel: usize) -> bool {
        let net = self.net;
        let row = dest * net.n;
        let before = std::mem::replace(&mut trees[row + u], net.slot(channel));
        let through = senders(net, &trees[row..][..net.n], u);
        self.journal.clear();
        let mut vls = Vec::with_capacity(through.len());
        for &x in &through {
            let x = x as usize;
            let Some(vl) = self.find_vl(trees, x, dest) else {
                trees[row + u] = before;
                for (vl, added) in self.journal.drain(..) {
                    self.cdgs[vl].remove(&self.net.channels, added);
                }
                return false;
            };
            vls.push((x, vl));
        }
        for (x, vl) in vls {
            let vl = u8::try_from(vl).unwrap_or(0);
            self.vl[x * net.n + dest] = vl;
            self.vl[dest * net.n + x] = vl;
        }
        true
    }

    /// A VL for the paths between two switches, preferably the current one. Adds their dependencies
    /// there.
    fn find_vl(&mut self, trees: &[u8], x: usize, dest: usize) -> Option<usize> {
        let net = self.net;
        if net.hosts[x] == 0 && net.hosts[dest] == 0 {
            return Some(0);
        }
        let forward_path = path(net, &trees[dest * net.n..][..net.n], x);
        let reverse_path = path(net, &trees[x * net.n..][..net.n], dest);
        let current_vl = usize::from(self.vl[x * net.n + dest]);
        let other_vls = (0..self.cdgs.len()).filter(|&l| l != current_vl);
        std::iter::once(current_vl).chain(other_vls).find(|&vl| {
            self.tries_left = self.tries_left.saturating_sub(1);
            let cdg = &mut self.cdgs[vl];
            let visited = cdg.visited();
            self.new_dependencies.clear();
            let fits = [&forward_path, &reverse_path].iter().all(|path| {
                path.windows(2)
                    .all(|w| cdg.admit_one(&net.channels, (w[0], w[1]), &mut self.new_dependencies))
            });
            self.units += TRY_UNITS + SEARCH_UNITS * (cdg.visited() - visited) as u64;
            if fits {
                self.journal
                    .extend(self.new_dependencies.drain(..).map(|added| (vl, added)));
            } else {
                for added in self.new_dependencies.drain(..) {
                    cdg.remove(&net.channels, added);
                }
            }
            fits
        })
    }
}

/// Number of end ports that send through each switch; `by_distance` has the switches by hops.
pub(super) fn flows(net: &Network, tree: &[u8], by_distance: &[u32]) -> Vec<u64> {
    let mut flow: Vec<u64> = net.hosts.iter().map(|&h| u64::from(h)).collect();
    for v in by_distance.iter().skip(1).rev().map(|&v| v as usize) {
        flow[net.channels.head[net.channel(v, tree[v])] as usize] += flow[v];
    }
    flow
}

/// The channels from a switch to the root of a tree.
fn path(net: &Network, tree: &[u8], from: usize) -> Vec<u32> {
    let mut at = from;
    let mut path = Vec::new();
    while tree[at] != NO_SLOT && path.len() <= net.n {
        let c = net.channel(at, tree[at]);
        path.push(index_to_u32(c));
        at = net.channels.head[c] as usize;
    }
    path
}

/// A switch and all switches whose packets to the root of a tree pass it.
fn senders(net: &Network, tree: &[u8], u: usize) -> Vec<u32> {
    let mut switches = vec![index_to_u32(u)];
    let mut next = 0;
    while let Some(&w) = switches.get(next) {
        next += 1;
        for c in net.channels.leaving(w as usize) {
            let into = net.channels.reverse[c as usize] as usize;
            let v = net.channels.tail[into] as usize;
            if tree[v] != NO_SLOT && net.channel(v, tree[v]) == into {
                switches.push(index_to_u32(v));
            }
        }
    }
    switches
}
