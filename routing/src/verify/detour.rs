//! LIDs for which a few switches send another way than in tables that were proven: what that changes, without a walk over
//! all switches.
//!
//! Every path to such a LID is as it was up to the first switch that changed; from there it goes another way. So all
//! arrive if those switches do, and the routes that come to them move from their old ways to the new ones. Only for LIDs
//! of end ports whose packets are all on one lane: then every switch sends, and a dependency is there or not whoever
//! makes it.

use std::sync::Arc;

use rayon::prelude::*;

use super::channels::Channels;
use super::counts::{Changes, Counts};
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};

/// A LID with the VL of its packets and the switches that send another way.
pub(super) struct Detour<'a> {
    pub(super) dest: Destination,
    pub(super) vl: usize,
    pub(super) changed: &'a [u32],
}

/// Tables in their fabric.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: &'a Channels,
    pub(super) tables: &'a [Arc<Lft>],
}

impl<'a> Side<'a> {
    pub(super) fn new(topo: &'a Topology, channels: &'a Channels, tables: &'a Tables) -> Self {
        Self {
            topo,
            channels,
            tables,
        }
    }

    fn entry(&self, v: usize, d: &Destination) -> u8 {
        self.tables.get(v).map_or(u8::MAX, |t| t.get(d.lid).raw())
    }

    /// The channel by which a switch sends, its port, and the switch there.
    fn hop(&self, v: usize, d: &Destination) -> Option<(usize, u8, usize)> {
        let port = self.entry(v, d);
        let channel = self.channels.channel(v, port)?;
        Some((channel, port, self.channels.ends[channel].switch as usize))
    }

    /// Channels on the way from a switch; `None` if it does not end at the LID.
    fn path(&self, from: usize, d: &Destination, path: &mut Vec<usize>) -> Option<()> {
        path.clear();
        let owner = d.switch.index();
        let mut at = from;
        while at != owner {
            let (channel, _, next) = self.hop(at, d)?;
            path.push(channel);
            if path.len() > self.tables.len() {
                return None;
            }
            at = next;
        }
        (self.entry(owner, d) == d.port.raw()).then_some(())
    }
}

/// What changed in all.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) gone: Changes,
    pub(super) come: Changes,
    /// Routes between end ports that went, and that came, by channel.
    pub(super) load_gone: Vec<(usize, u64)>,
    pub(super) load_come: Vec<(usize, u64)>,
    /// End ports whose ways were, and are, so many hops long.
    pub(super) hops_gone: Vec<u64>,
    pub(super) hops_come: Vec<u64>,
}

/// What these LIDs change, in parts; `None` if packets for one of them do not arrive.
pub(super) fn follow(
    before: Side<'_>,
    after: Side<'_>,
    counts: &Counts,
    detours: &[Detour<'_>],
) -> Option<Vec<Found>> {
    let topo = after.topo;
    let hosts = |s| topo.end_ports(s).len() as u64;
    let hosts: Vec<u64> = topo.switches().map(hosts).collect();
    let share = detours.len().div_ceil(rayon::current_num_threads()).max(1);
    detours
        .par_chunks(share)
        .map(|detours| {
            let mut work = Work {
                before,
                after,
                counts,
                hosts: &hosts,
                changed: vec![0; hosts.len()],
                turn: 0,
                members: Vec::new(),
                was: Vec::new(),
                is: Vec::new(),
                found: Found::default(),
            };
            detours.iter().try_for_each(|d| work.lid(d))?;
            Some(work.found)
        })
        .collect()
}

struct Work<'a> {
    before: Side<'a>,
    after: Side<'a>,
    counts: &'a Counts,
    hosts: &'a [u64],
    /// For which LID (the how many-th) a switch changed last.
    changed: Vec<u32>,
    turn: u32,
    /// Switches whose way comes to the present one before any other that changed, with the hops to it.
    members: Vec<(usize, usize)>,
    was: Vec<usize>,
    is: Vec<usize>,
    found: Found,
}

impl Work<'_> {
    fn lid(&mut self, detour: &Detour<'_>) -> Option<()> {
        self.turn += 1;
        for &c in detour.changed {
            self.changed[c as usize] = self.turn;
        }
        for &c in detour.changed {
            self.switch(c as usize, &detour.dest, detour.vl)?;
        }
        Some(())
    }

    fn switch(&mut self, c: usize, d: &Destination, vl: usize) -> Option<()> {
        if c == d.switch.index() {
            return None;
        }
        self.before.path(c, d, &mut self.was)?;
        self.after.path(c, d, &mut self.is)?;
        self.dependencies(c, d, vl)?;
        let routes: u64 = self.members.iter().map(|&(v, _)| self.hosts[v]).sum();
        if routes > 0 {
            let all = |path: &[usize], load: &mut Vec<(usize, u64)>| {
                load.extend(path.iter().map(|&channel| (channel, routes)));
            };
            all(&self.was, &mut self.found.load_gone);
            all(&self.is, &mut self.found.load_come);
        }
        if self.was.len() != self.is.len() {
            for &(v, hops) in &self.members {
                count(
                    &mut self.found.hops_gone,
                    hops + self.was.len(),
                    self.hosts[v],
                );
                count(
                    &mut self.found.hops_come,
                    hops + self.is.len(),
                    self.hosts[v],
                );
            }
        }
        Some(())
    }

    /// Finds who comes to a switch that changed, and what its packets and theirs wait for.
    fn dependencies(&mut self, c: usize, d: &Destination, vl: usize) -> Option<()> {
        let owner = d.switch.index();
        let lanes = self.counts.lanes;
        let (was, was_port, before) = self.before.hop(c, d)?;
        let (is, is_port, after) = self.after.hop(c, d)?;
        let node = |channel: usize| u32::try_from(channel * lanes + vl).unwrap_or(u32::MAX);
        let Found { gone, come, .. } = &mut self.found;
        gone.on.push(node(was));
        come.on.push(node(is));
        if before != owner {
            let (second, port, _) = self.before.hop(before, d)?;
            gone.waits
                .push(self.counts.dependency(was, (second, port), vl));
        }
        if after != owner {
            let (second, port, _) = self.after.hop(after, d)?;
            come.waits
                .push(self.counts.dependency(is, (second, port), vl));
        }
        self.members.clear();
        self.members.push((c, 0));
        let mut at = 0;
        while let Some(&(v, hops)) = self.members.get(at) {
            at += 1;
            for link in self.after.topo.links(SwitchIdx::at(v)) {
                let u = link.peer.index();
                // Whoever did not change sends as before, over a cable that is still there.
                if self.changed[u] == self.turn
                    || u == owner
                    || self.after.entry(u, d) != link.peer_port.raw()
                {
                    continue;
                }
                self.members.push((u, hops + 1));
                if v == c {
                    let first = self.after.channels.base[u] + link.peer_port.index();
                    gone.waits
                        .push(self.counts.dependency(first, (was, was_port), vl));
                    come.waits
                        .push(self.counts.dependency(first, (is, is_port), vl));
                }
            }
        }
        Some(())
    }
}

fn count(histogram: &mut Vec<u64>, hops: usize, end_ports: u64) {
    if histogram.len() <= hops {
        histogram.resize(hops + 1, 0);
    }
    histogram[hops] += end_ports;
}
