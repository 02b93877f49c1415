//! How much channels carry: estimated before the repair, exact for what the repair adds.
//!
//! To follow every route would take longer than the repair. Destination-based routes to one LID soon share their way,
//! so the routes from a few switches show where LIDs come down; small fabrics are counted in full.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::channels::PortChannels;
use crate::tables::Lft;
use crate::topology::{Destination, SwitchIdx, Topology};

/// Routes that are followed to estimate the load, at least four for each LID.
const ROUTES_FOLLOWED: usize = 60_000;
const SOURCES_MIN: usize = 4;

/// Routes between end ports over each channel.
pub(super) struct Loads {
    /// What it carries of the routes that stay, and of those that came.
    pub(super) now: Vec<u64>,
    /// Whether a route came.
    pub(super) gained: Vec<bool>,
    /// The most that a channel carried before, those that are lost included.
    pub(super) most_before: u64,
}

impl Loads {
    /// Counts the routes of tables that were made when the lost channels were there.
    pub(super) fn before(
        topo: &Topology,
        before: &PortChannels,
        now: &PortChannels,
        tables: &[&Lft],
        by_lid: &[usize],
        lost: &[(usize, u8)],
    ) -> Self {
        let hosts = |v: usize| topo.end_ports(SwitchIdx::at(v)).len();
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
        let all: usize = sources.iter().map(|&v| hosts(v)).sum();
        let part: usize = chosen.iter().map(|&v| hosts(v)).sum::<usize>().max(1);
        let share = lids.len().div_ceil(rayon::current_num_threads()).max(1);
        let zero = || (vec![0u64; before.len()], vec![0u64; before.len()]);
        let (mut kept, was) = lids
            .par_chunks(share)
            .map(|lids| {
                let (mut kept, mut was) = zero();
                let mut path = Vec::new();
                for d in lids {
                    for &from in &chosen {
                        let routes = (hosts(from) * all / part).max(1) as u64;
                        let whole = follow(before, now, tables, d, from, &mut path);
                        for &c in &path {
                            was[c] += routes;
                            kept[c] += if whole { routes } else { 0 };
                        }
                    }
                }
                (kept, was)
            })
            .reduce_with(|mut a, b| {
                a.0.iter_mut().zip(b.0).for_each(|(x, y)| *x += y);
                a.1.iter_mut().zip(b.1).for_each(|(x, y)| *x += y);
                a
            })
            .unwrap_or_else(zero);
        // Those who lost a cable choose most: what their own end ports send is counted in full.
        let mut tails: Vec<usize> = lost.iter().map(|&(v, _)| v).collect();
        tails.dedup();
        for v in tails.into_iter().filter(|&v| hosts(v) > 0) {
            let mut used = [0u64; 256];
            for d in lids.iter().filter(|d| d.switch.index() != v) {
                used[tables[v].get(d.lid).index()] += 1;
            }
            for port in (1..=u8::MAX).take_while(|&p| usize::from(p) < before.ports(v)) {
                let c = before.at(v, port);
                if now.head(c).is_some() {
                    kept[c] = kept[c].max(used[usize::from(port)] * hosts(v) as u64);
                }
            }
        }
        Self {
            gained: vec![false; kept.len()],
            now: kept,
            most_before: was.iter().copied().max().unwrap_or(0),
        }
    }

    /// A route of so many end ports goes over a channel from now on.
    pub(super) fn gain(&mut self, channel: usize, end_ports: u64) {
        self.now[channel] += end_ports;
        self.gained[channel] = true;
    }

    /// It goes another way after all.
    pub(super) fn lose(&mut self, channel: usize, end_ports: u64) {
        self.now[channel] = self.now[channel].saturating_sub(end_ports);
    }

    /// The most that a channel carries to which a route came.
    pub(super) fn most_gained(&self) -> u64 {
        let pairs = self.now.iter().zip(&self.gained);
        pairs
            .filter(|(_, gained)| **gained)
            .map(|(&load, _)| load)
            .max()
            .unwrap_or(0)
    }

    /// Mean load of the channels that there are now.
    pub(super) fn mean(&self, topo: &Topology) -> u64 {
        self.now.iter().sum::<u64>() / (topo.num_channels() as u64).max(1)
    }
}

/// The channels of a path by the tables before; whether all of them are still there.
fn follow(
    before: &PortChannels,
    now: &PortChannels,
    tables: &[&Lft],
    d: &Destination,
    from: usize,
    path: &mut Vec<usize>,
) -> bool {
    path.clear();
    let (mut at, mut whole) = (from, true);
    while at != d.switch.index() && path.len() <= tables.len() {
        let port = tables[at].get(d.lid).raw();
        let Some((next, _)) = before.peer(at, port) else {
            return false;
        };
        let c = before.at(at, port);
        whole &= now.head(c).is_some();
        path.push(c);
        at = next;
    }
    whole
}
