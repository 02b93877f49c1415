//! Changed next hops of a few switches for a LID: changes of dependencies, loads and hops, without
//! a walk over all switches.
//!
//! Every path to such a LID is unchanged up to the first switch with a changed next hop. All
//! switches reach the LID if these switches do, and the routes through them move from the old to
//! the new path. Applies only to LIDs of CA and router ports that packets reach on one VL from
//! every source (`SingleVlLid`): their dependencies are counted as if every switch sent to the LID,
//! so they do not depend on sources.

use std::sync::Arc;

use rayon::prelude::*;

use super::channels::Channels;
use super::counts::{CountChanges, DependencyCounts};
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology, index_to_u32};

/// A LID, its VL, and the switches with a changed next hop.
pub(super) struct RouteChange<'a> {
    pub(super) dest: Destination,
    pub(super) vl: usize,
    pub(super) changed: &'a [u32],
}

/// Tables and their topology.
#[derive(Clone, Copy)]
pub(super) struct TablesView<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: &'a Channels,
    pub(super) tables: &'a [Arc<Lft>],
}

impl<'a> TablesView<'a> {
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

    /// Output channel of a switch for a LID, its port, and the next switch.
    fn hop(&self, v: usize, d: &Destination) -> Option<(usize, u8, usize)> {
        let port = self.entry(v, d);
        let channel = self.channels.channel(v, port)?;
        Some((channel, port, self.channels.heads[channel].switch as usize))
    }

    /// Channels of the path from a switch; `None` if it does not reach the LID.
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

/// All changes.
#[derive(Debug, Default)]
pub(super) struct RouteDeltas {
    pub(super) removed: CountChanges,
    pub(super) added: CountChanges,
    /// Routes between end ports removed from, and added to, channels.
    pub(super) load_removed: Vec<(usize, u64)>,
    pub(super) load_added: Vec<(usize, u64)>,
    /// End ports by number of hops of their old, and of their new, route.
    pub(super) hops_removed: Vec<u64>,
    pub(super) hops_added: Vec<u64>,
}

/// Evaluates the route changes in parallel; `None` if a LID is not reachable.
pub(super) fn evaluate(
    before: TablesView<'_>,
    after: TablesView<'_>,
    counts: &DependencyCounts,
    changes: &[RouteChange<'_>],
) -> Option<Vec<RouteDeltas>> {
    let topo = after.topo;
    let num_end_ports: Vec<u64> = topo
        .switches()
        .map(|s| topo.end_ports(s).len() as u64)
        .collect();
    let chunk_size = changes.len().div_ceil(rayon::current_num_threads()).max(1);
    changes
        .par_chunks(chunk_size)
        .map(|changes| {
            let mut evaluation = Evaluation {
                before,
                after,
                counts,
                num_end_ports: &num_end_ports,
                changed: vec![0; num_end_ports.len()],
                lid_number: 0,
                members: Vec::new(),
                old_path: Vec::new(),
                new_path: Vec::new(),
                deltas: RouteDeltas::default(),
            };
            changes
                .iter()
                .try_for_each(|change| evaluation.evaluate_lid(change))?;
            Some(evaluation.deltas)
        })
        .collect()
}

struct Evaluation<'a> {
    before: TablesView<'a>,
    after: TablesView<'a>,
    counts: &'a DependencyCounts,
    /// By switch: number of its end ports.
    num_end_ports: &'a [u64],
    /// By switch: sequence number of the last LID for which its next hop changed.
    changed: Vec<u32>,
    /// Sequence number of the current LID.
    lid_number: u32,
    /// Switches whose path reaches the current switch before any other changed switch, with the
    /// number of hops to it.
    members: Vec<(usize, usize)>,
    old_path: Vec<usize>,
    new_path: Vec<usize>,
    deltas: RouteDeltas,
}

impl Evaluation<'_> {
    fn evaluate_lid(&mut self, change: &RouteChange<'_>) -> Option<()> {
        self.lid_number += 1;
        for &c in change.changed {
            self.changed[c as usize] = self.lid_number;
        }
        for &c in change.changed {
            self.evaluate_switch(c as usize, &change.dest, change.vl)?;
        }
        Some(())
    }

    fn evaluate_switch(&mut self, c: usize, d: &Destination, vl: usize) -> Option<()> {
        if c == d.switch.index() {
            return None;
        }
        self.before.path(c, d, &mut self.old_path)?;
        self.after.path(c, d, &mut self.new_path)?;
        self.change_dependencies(c, d, vl)?;
        let routes: u64 = self
            .members
            .iter()
            .map(|&(v, _)| self.num_end_ports[v])
            .sum();
        if routes > 0 {
            let load_of_path = |path: &[usize], load: &mut Vec<(usize, u64)>| {
                load.extend(path.iter().map(|&channel| (channel, routes)));
            };
            load_of_path(&self.old_path, &mut self.deltas.load_removed);
            load_of_path(&self.new_path, &mut self.deltas.load_added);
        }
        if self.old_path.len() != self.new_path.len() {
            for &(v, hops) in &self.members {
                count(
                    &mut self.deltas.hops_removed,
                    hops + self.old_path.len(),
                    self.num_end_ports[v],
                );
                count(
                    &mut self.deltas.hops_added,
                    hops + self.new_path.len(),
                    self.num_end_ports[v],
                );
            }
        }
        Some(())
    }

    /// Finds the switches behind a changed switch, and the changed dependencies of their packets.
    fn change_dependencies(&mut self, c: usize, d: &Destination, vl: usize) -> Option<()> {
        let owner = d.switch.index();
        let num_vls = self.counts.num_vls;
        let (old_channel, old_port, old_next) = self.before.hop(c, d)?;
        let (new_channel, new_port, new_next) = self.after.hop(c, d)?;
        let node = |channel: usize| index_to_u32(channel * num_vls + vl);
        let RouteDeltas { removed, added, .. } = &mut self.deltas;
        removed.uses.push(node(old_channel));
        added.uses.push(node(new_channel));
        if old_next != owner {
            let (second, port, _) = self.before.hop(old_next, d)?;
            removed
                .dependencies
                .push(self.counts.dependency(old_channel, second, port, vl));
        }
        if new_next != owner {
            let (second, port, _) = self.after.hop(new_next, d)?;
            added
                .dependencies
                .push(self.counts.dependency(new_channel, second, port, vl));
        }
        self.members.clear();
        self.members.push((c, 0));
        let mut at = 0;
        while let Some(&(v, hops)) = self.members.get(at) {
            at += 1;
            for link in self.after.topo.links(SwitchIdx::from_index(v)) {
                let u = link.peer.index();
                // An unchanged switch still sends over the same link.
                if self.changed[u] == self.lid_number
                    || u == owner
                    || self.after.entry(u, d) != link.peer_port.raw()
                {
                    continue;
                }
                self.members.push((u, hops + 1));
                if v == c {
                    let first = self.after.channels.base[u] + link.peer_port.index();
                    removed.dependencies.push(self.counts.dependency(
                        first,
                        old_channel,
                        old_port,
                        vl,
                    ));
                    added.dependencies.push(self.counts.dependency(
                        first,
                        new_channel,
                        new_port,
                        vl,
                    ));
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
