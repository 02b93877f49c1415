//! Figures over all pairs of end ports: channel loads, hops, sources and destinations of channels.

use rayon::prelude::*;

use super::paths::{Host, RoutedPaths};
use crate::topology::{Destination, Topology, index_to_u32};
use crate::vl_plan::{SLS, VlPlan};

/// Figures over all pairs.
pub(super) struct PairLoads {
    /// Routes by channel.
    pub(super) load: Vec<u64>,
    /// Number of destination hosts, by channel.
    destinations: Vec<u32>,
    /// Pairs by number of channels on the path.
    pub(super) hop_histogram: Vec<u64>,
    pub(super) sl_pairs: Vec<u64>,
}

impl PairLoads {
    pub(super) fn empty(channels: usize) -> Self {
        Self {
            load: vec![0; channels],
            destinations: vec![0; channels],
            hop_histogram: Vec::new(),
            sl_pairs: Vec::new(),
        }
    }

    fn add(mut self, other: &Self) -> Self {
        add(&mut self.load, &other.load);
        add(&mut self.hop_histogram, &other.hop_histogram);
        add(&mut self.sl_pairs, &other.sl_pairs);
        let pairs = self.destinations.iter_mut().zip(&other.destinations);
        pairs.for_each(|(a, b)| *a += b);
        self
    }
}

fn add(to: &mut Vec<u64>, other: &[u64]) {
    if to.len() < other.len() {
        to.resize(other.len(), 0);
    }
    to.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}

/// Follows all pairs, destination by destination.
pub(super) fn loads(paths: &RoutedPaths<'_>, topo: &Topology, vl_plan: &VlPlan) -> PairLoads {
    let chunk_size = chunk_size(paths.hosts.len());
    let empty = || PairLoads::empty(paths.num_channels());
    paths
        .hosts
        .par_chunks(chunk_size)
        .map(|hosts| {
            let mut tree = Tree::new(paths);
            let mut loads = empty();
            for to in hosts {
                tree.compute(paths, to);
                tree.count(paths, to, &mut loads);
                count_sls(paths, topo, vl_plan, to, &tree, &mut loads.sl_pairs);
            }
            loads
        })
        .reduce_with(|a, b| a.add(&b))
        .unwrap_or_else(empty)
}

fn chunk_size(items: usize) -> usize {
    items.div_ceil(3 * rayon::current_num_threads()).max(1)
}

pub(super) const UNKNOWN: u32 = u32::MAX;
pub(super) const LOST: u32 = u32::MAX - 1;
const ON_PATH: u32 = u32::MAX - 2;

/// Paths from all switches to one host.
pub(super) struct Tree {
    /// Number of channels on the path, by switch.
    pub(super) hops: Vec<u32>,
    /// Switches that reach the host, each after its next switch.
    order: Vec<usize>,
    path: Vec<usize>,
    flow: Vec<u64>,
}

impl Tree {
    pub(super) fn new(paths: &RoutedPaths<'_>) -> Self {
        let n = paths.num_switches();
        Self {
            hops: vec![UNKNOWN; n],
            order: Vec::with_capacity(n),
            path: Vec::new(),
            flow: vec![0; n],
        }
    }

    pub(super) fn compute(&mut self, paths: &RoutedPaths<'_>, to: &Host) {
        self.hops.fill(UNKNOWN);
        self.order.clear();
        self.hops[to.switch] = 0;
        self.order.push(to.switch);
        // Only paths from switches with hosts count.
        let sources = (0..paths.num_switches()).filter(|&s| paths.hosts_on(s) > 0);
        for start in sources {
            let mut at = start;
            while self.hops[at] == UNKNOWN {
                self.hops[at] = ON_PATH;
                self.path.push(at);
                match paths.step(at, to.lid) {
                    Some((_, next)) => at = next,
                    None => break,
                }
            }
            let mut hops = self.hops[at];
            while let Some(v) = self.path.pop() {
                hops = if hops >= ON_PATH { LOST } else { hops + 1 };
                self.hops[v] = hops;
                if hops != LOST {
                    self.order.push(v);
                }
            }
        }
    }

    pub(super) fn count(&mut self, paths: &RoutedPaths<'_>, to: &Host, loads: &mut PairLoads) {
        for &v in &self.order {
            let hosts = paths.hosts_on(v) as u64;
            self.flow[v] = hosts;
            let pairs = hosts - u64::from(v == to.switch);
            let hops = self.hops[v] as usize;
            if pairs > 0 {
                let len = loads.hop_histogram.len().max(hops + 1);
                loads.hop_histogram.resize(len, 0);
                loads.hop_histogram[hops] += pairs;
            }
        }
        for &v in self.order.iter().rev().filter(|&&v| v != to.switch) {
            if let Some((channel, next)) = paths.step(v, to.lid) {
                loads.load[channel] += self.flow[v];
                loads.destinations[channel] += 1;
                self.flow[next] += self.flow[v];
            }
        }
    }
}

fn count_sls(
    paths: &RoutedPaths<'_>,
    topo: &Topology,
    vl_plan: &VlPlan,
    to: &Host,
    tree: &Tree,
    pairs: &mut Vec<u64>,
) {
    let destinations = topo.destinations();
    let owner: Option<&Destination> = destinations
        .binary_search_by_key(&to.lid, |d| d.lid)
        .ok()
        .and_then(|i| destinations.get(i));
    let Some(dest) = owner else { return };
    for &v in &tree.order {
        let sl = usize::from(vl_plan.sl(RoutedPaths::switch(v), dest)) % SLS;
        let hosts = paths.hosts_on(v) as u64 - u64::from(v == to.switch);
        if hosts > 0 {
            pairs.resize(pairs.len().max(sl + 1), 0);
            pairs[sl] += hosts;
        }
    }
}

/// Maximum over all channels of the lesser of sources and destinations.
pub(super) fn all_to_all(paths: &RoutedPaths<'_>, loads: &PairLoads) -> u64 {
    let switches: Vec<usize> = (0..paths.num_switches())
        .filter(|&s| paths.hosts_on(s) > 0)
        .collect();
    let empty = || vec![0u32; paths.num_channels()];
    let sources = switches
        .par_chunks(chunk_size(switches.len()))
        .map(|switches| {
            let mut sources = empty();
            let mut last_seen = vec![usize::MAX; paths.num_channels()];
            let mut path = Vec::new();
            for &from in switches {
                let hosts = index_to_u32(paths.hosts_on(from));
                for to in &paths.hosts {
                    path.clear();
                    if !paths.follow(from, to, |c| path.push(c)) {
                        continue;
                    }
                    for &c in &path {
                        if std::mem::replace(&mut last_seen[c], from) != from {
                            sources[c] += hosts;
                        }
                    }
                }
            }
            sources
        })
        .reduce_with(|mut a, b| {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            a
        })
        .unwrap_or_else(empty);
    let pairs = sources.iter().zip(&loads.destinations);
    pairs.map(|(&s, &d)| u64::from(s.min(d))).max().unwrap_or(0)
}

/// Total number of channels on shortest paths of all pairs. Unconnected pairs do not count.
pub(super) fn shortest(paths: &RoutedPaths<'_>, topo: &Topology) -> u64 {
    let n = topo.num_switches();
    let hosts: Vec<u64> = (0..n).map(|s| paths.hosts_on(s) as u64).collect();
    topo.switches()
        .collect::<Vec<_>>()
        .par_iter()
        .filter(|s| hosts[s.index()] > 0)
        .map(|&start| {
            let mut hops = vec![u64::MAX; n];
            let mut queue = vec![start];
            hops[start.index()] = 0;
            let mut at = 0;
            let mut sum = 0;
            while let Some(&v) = queue.get(at) {
                at += 1;
                sum += hops[v.index()] * hosts[v.index()];
                for link in topo.links(v) {
                    let next = link.peer.index();
                    if hops[next] == u64::MAX {
                        hops[next] = hops[v.index()] + 1;
                        queue.push(link.peer);
                    }
                }
            }
            sum * hosts[start.index()]
        })
        .sum()
}
