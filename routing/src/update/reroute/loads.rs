//! Channel loads: an estimate before the reroute, and exact counts of the routes that the reroute
//! moves.
//!
//! Following every route would take longer than the reroute. Destination-based routes to one LID
//! converge after a few hops, so the routes from a sample of switches cover most channels near the
//! destination. Small fabrics are counted completely.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::tables::Lft;
use crate::topology::PortChannels;
use crate::topology::{Destination, SwitchIdx, Topology};

/// Number of routes followed for the estimate, at least [`SOURCES_MIN`] per LID.
const ROUTES_FOLLOWED: usize = 60_000;
const SOURCES_MIN: usize = 4;

/// Routes between end ports over each channel.
pub(super) struct ChannelLoads {
    /// Load by channel: unchanged and new routes.
    pub(super) now: Vec<u64>,
    /// Whether the channel gained a route.
    pub(super) gained: Vec<bool>,
    /// Maximum load of a channel before, including lost channels.
    pub(super) max_before: u64,
}

impl ChannelLoads {
    /// Estimates, from the tables before the loss, the load of the routes that remain and the
    /// maximum load before.
    pub(super) fn estimate(
        topo: &Topology,
        before: &PortChannels,
        now: &PortChannels,
        tables: &[&Lft],
        by_lid: &[usize],
        lost: &[(usize, u8)],
    ) -> Self {
        let hosts = |v: usize| topo.end_ports(SwitchIdx::from_index(v)).len();
        let sources: Vec<usize> = by_lid.iter().copied().filter(|&v| hosts(v) > 0).collect();
        let lids: Vec<&Destination> = topo
            .destinations()
            .iter()
            .filter(|d| d.port != PortNum::ZERO)
            .collect();
        let count = (ROUTES_FOLLOWED / lids.len().max(1))
            .max(SOURCES_MIN)
            .min(sources.len());
        let chosen: Vec<usize> = (0..count)
            .map(|i| sources[i * sources.len() / count])
            .collect();
        let all_hosts: usize = sources.iter().map(|&v| hosts(v)).sum();
        let sampled_hosts: usize = chosen.iter().map(|&v| hosts(v)).sum::<usize>().max(1);
        let chunk_size = lids.len().div_ceil(rayon::current_num_threads()).max(1);
        let zero = || (vec![0u64; before.len()], vec![0u64; before.len()]);
        let (mut remaining, load_before) = lids
            .par_chunks(chunk_size)
            .map(|lids| {
                let (mut remaining, mut load_before) = zero();
                let mut path = Vec::new();
                for d in lids {
                    for &from in &chosen {
                        let routes = (hosts(from) * all_hosts / sampled_hosts).max(1) as u64;
                        let is_complete = follow(before, now, tables, d, from, &mut path);
                        for &c in &path {
                            load_before[c] += routes;
                            remaining[c] += if is_complete { routes } else { 0 };
                        }
                    }
                }
                (remaining, load_before)
            })
            .reduce_with(|mut a, b| {
                a.0.iter_mut().zip(b.0).for_each(|(x, y)| *x += y);
                a.1.iter_mut().zip(b.1).for_each(|(x, y)| *x += y);
                a
            })
            .unwrap_or_else(zero);
        // Most new ports are chosen at switches that lost a link, so the routes of their own end
        // ports are counted exactly.
        let mut tails: Vec<usize> = lost.iter().map(|&(v, _)| v).collect();
        tails.dedup();
        for v in tails.into_iter().filter(|&v| hosts(v) > 0) {
            let mut used = [0u64; 256];
            for d in lids.iter().filter(|d| d.switch.index() != v) {
                used[tables[v].get(d.lid).index()] += 1;
            }
            for port in (1..=u8::MAX).take_while(|&p| usize::from(p) < before.ports(v)) {
                let c = before.output_channel(v, port);
                if now.head(c).is_some() {
                    remaining[c] = remaining[c].max(used[usize::from(port)] * hosts(v) as u64);
                }
            }
        }
        Self {
            gained: vec![false; remaining.len()],
            now: remaining,
            max_before: load_before.iter().copied().max().unwrap_or(0),
        }
    }

    /// Adds a route of `end_ports` end ports to a channel.
    pub(super) fn add_routes(&mut self, channel: usize, end_ports: u64) {
        self.now[channel] += end_ports;
        self.gained[channel] = true;
    }

    /// Removes a route of `end_ports` end ports from a channel.
    pub(super) fn remove_routes(&mut self, channel: usize, end_ports: u64) {
        self.now[channel] = self.now[channel].saturating_sub(end_ports);
    }

    /// Maximum load of the channels that gained a route.
    pub(super) fn max_of_gaining(&self) -> u64 {
        let pairs = self.now.iter().zip(&self.gained);
        pairs
            .filter(|(_, gained)| **gained)
            .map(|(&load, _)| load)
            .max()
            .unwrap_or(0)
    }

    /// Current mean load of all channels.
    pub(super) fn mean(&self, topo: &Topology) -> u64 {
        self.now.iter().sum::<u64>() / (topo.num_channels() as u64).max(1)
    }
}

/// Collects the channels of a path by the old tables; returns whether all of them still exist.
fn follow(
    before: &PortChannels,
    now: &PortChannels,
    tables: &[&Lft],
    d: &Destination,
    from: usize,
    path: &mut Vec<usize>,
) -> bool {
    path.clear();
    let mut at = from;
    let mut is_complete = true;
    while at != d.switch.index() && path.len() <= tables.len() {
        let port = tables[at].get(d.lid).raw();
        let Some((next, _)) = before.peer(at, port) else {
            return false;
        };
        let c = before.output_channel(at, port);
        is_complete &= now.head(c).is_some();
        path.push(c);
        at = next;
    }
    is_complete
}
