//! Number of LIDs per dependency, so that a dependency can be removed with the last LID that causes
//! it; and the channel dependency graph of these counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use rayon::prelude::*;

use super::channels::Channels;
use super::dependency_graph::{ChannelDependencyGraph, ones};
use super::inject::SingleVlLid;
use super::sink::Sink;
use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology, index_to_u8, index_to_u32};
use crate::vl_plan::VlPlan;

/// Number of LIDs per dependency, and per VL of each channel. There are fewer than 2^16 LIDs.
#[derive(Debug, Clone)]
pub(super) struct DependencyCounts {
    pub(super) num_vls: usize,
    /// By channel: its first index in `dependencies`, and the total. A channel has an index for
    /// each port of the switch that it leads to and each VL.
    rows: Arc<[u32]>,
    dependencies: Vec<u16>,
    /// LIDs by channel and VL.
    uses: Vec<u16>,
}

/// A dependency: the index of its count, and the two nodes. A node is a channel and a VL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    index: u32,
    pub(super) first: u32,
    pub(super) second: u32,
}

/// Maximum number of counts, of two bytes each. Several VLs on a fabric of 10,000 end ports need
/// half of it.
const COUNTS_MAX: usize = 50_000_000;

impl DependencyCounts {
    /// Zero counts; `None` if there would be too many.
    pub(super) fn new(topo: &Topology, channels: &Channels, vl_plan: &VlPlan) -> Option<Self> {
        let num_vls = usize::from(vl_plan.vls.clamp(1, 15));
        let mut rows = Vec::with_capacity(channels.len() + 1);
        let mut next = 0;
        for head in &channels.heads {
            if next > COUNTS_MAX {
                return None;
            }
            rows.push(index_to_u32(next));
            if head.switch != Channels::NOWHERE {
                let ports = usize::from(topo.num_ports(SwitchIdx(head.switch))) + 1;
                next += ports * num_vls;
            }
        }
        if next > COUNTS_MAX {
            return None;
        }
        rows.push(index_to_u32(next));
        Some(Self {
            num_vls,
            dependencies: vec![0; next],
            uses: vec![0; channels.len() * num_vls],
            rows: rows.into(),
        })
    }

    /// Whether the dependencies of another topology have indices here.
    pub(super) fn has_room(&self, topo: &Topology, channels: &Channels) -> bool {
        let room = |channel: usize| (self.rows[channel + 1] - self.rows[channel]) as usize;
        channels.len() + 1 == self.rows.len()
            && channels.heads.iter().enumerate().all(|(channel, head)| {
                head.switch == Channels::NOWHERE
                    || (usize::from(topo.num_ports(SwitchIdx(head.switch))) + 1) * self.num_vls
                        <= room(channel)
            })
    }

    /// Adds the channel dependencies of these LIDs. Every switch must reach every LID.
    pub(super) fn add_rows(&mut self, tables: &Tables, channels: &Channels, lids: &[SingleVlLid]) {
        let num_vls = self.num_vls;
        let rows = &self.rows;
        let mut parts: Vec<(usize, &mut [u16], &mut [u16])> = Vec::new();
        let mut dependencies = self.dependencies.as_mut_slice();
        let mut uses = self.uses.as_mut_slice();
        for v in 0..channels.base.len() - 1 {
            let from = channels.base[v];
            let to = channels.base[v + 1];
            let (own_counts, remaining) =
                dependencies.split_at_mut((rows[to] - rows[from]) as usize);
            let (used, remaining_uses) = uses.split_at_mut((to - from) * num_vls);
            parts.push((v, own_counts, used));
            (dependencies, uses) = (remaining, remaining_uses);
        }
        let row = |v: usize| tables.get(v).map_or(&[][..], |t| t.entries());
        parts.into_par_iter().for_each(|(v, dependencies, uses)| {
            let base = channels.base[v];
            let mut next_hops: [(usize, usize, &[u8]); 256] = [(0, usize::MAX, &[]); 256];
            for channel in channels.leaving(v) {
                let next = channels.heads[channel].switch as usize;
                let at = (rows[channel] - rows[base]) as usize;
                next_hops[channel - base] = (at, next, row(next));
            }
            let own_row = row(v);
            for (lid, vl, owner) in lids.iter().map(|p| p.indices()) {
                let Some(&port) = own_row.get(lid).filter(|_| v != owner) else {
                    continue;
                };
                let (at, next, next_row) = next_hops[usize::from(port)];
                if next == usize::MAX {
                    continue;
                }
                uses[usize::from(port) * num_vls + vl] += 1;
                if next != owner
                    && let Some(&out) = next_row.get(lid)
                {
                    dependencies[at + usize::from(out) * num_vls + vl] += 1;
                }
            }
        });
    }

    /// Converts into counts that several workers can change at once.
    pub(super) fn into_shared(self) -> SharedCounts {
        let atomic = |counts: Vec<u16>| counts.into_iter().map(AtomicU16::new).collect();
        SharedCounts {
            num_vls: self.num_vls,
            dependencies: atomic(self.dependencies),
            uses: atomic(self.uses),
            rows: self.rows,
        }
    }

    /// The dependency between a VL of one channel and the same VL of the next channel, which leaves
    /// by `port`.
    #[inline(always)]
    pub(super) fn dependency(
        &self,
        first: usize,
        second: usize,
        port: u8,
        vl: usize,
    ) -> Dependency {
        dependency(&self.rows, self.num_vls, first, second, port, vl)
    }

    /// Subtracts the removed dependencies and nodes, then adds the added ones. Returns the new
    /// dependencies.
    pub(super) fn apply(
        &mut self,
        removed: &CountChanges,
        added: &CountChanges,
    ) -> Vec<(u32, u32)> {
        let mut new_dependencies = Vec::new();
        for d in &removed.dependencies {
            self.dependencies[d.index as usize] -= 1;
        }
        for d in &added.dependencies {
            let count = &mut self.dependencies[d.index as usize];
            if *count == 0 {
                new_dependencies.push((d.first, d.second));
            }
            *count += 1;
        }
        removed
            .uses
            .iter()
            .for_each(|&n| self.uses[n as usize] -= 1);
        added.uses.iter().for_each(|&n| self.uses[n as usize] += 1);
        new_dependencies
    }

    pub(super) fn graph<'a>(&'a self, channels: &'a Channels) -> CountedGraph<'a> {
        CountedGraph {
            counts: self,
            channels,
        }
    }

    /// Number of channels with traffic on a VL.
    pub(super) fn channels_with(&self, vl: usize) -> usize {
        if vl >= self.num_vls {
            return 0;
        }
        let uses_of_vl = self.uses.iter().skip(vl).step_by(self.num_vls);
        uses_of_vl.filter(|&&n| n > 0).count()
    }

    /// Memory use, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.dependencies.as_slice())
            + size_of_val(self.uses.as_slice())
            + size_of_val(&*self.rows)
    }

    pub(super) fn dependencies(&self) -> u64 {
        self.dependencies.iter().filter(|&&n| n > 0).count() as u64
    }
}

#[inline(always)]
fn dependency(
    rows: &[u32],
    num_vls: usize,
    first: usize,
    second: usize,
    port: u8,
    vl: usize,
) -> Dependency {
    Dependency {
        index: rows[first] + index_to_u32(usize::from(port) * num_vls + vl),
        first: index_to_u32(first * num_vls + vl),
        second: index_to_u32(second * num_vls + vl),
    }
}

/// Changes of counts: one element per LID.
#[derive(Debug, Default)]
pub(super) struct CountChanges {
    pub(super) dependencies: Vec<Dependency>,
    /// Nodes.
    pub(super) uses: Vec<u32>,
}

/// [`DependencyCounts`] during a walk.
pub(super) struct SharedCounts {
    num_vls: usize,
    rows: Arc<[u32]>,
    dependencies: Vec<AtomicU16>,
    uses: Vec<AtomicU16>,
}

impl SharedCounts {
    pub(super) fn into_counts(self) -> DependencyCounts {
        let into_plain =
            |counts: Vec<AtomicU16>| counts.into_iter().map(AtomicU16::into_inner).collect();
        DependencyCounts {
            num_vls: self.num_vls,
            dependencies: into_plain(self.dependencies),
            uses: into_plain(self.uses),
            rows: self.rows,
        }
    }
}

/// Adds the dependencies of a walk to the counts, or removes them.
#[derive(Clone)]
pub(super) struct CountSink<'a> {
    pub(super) counts: &'a SharedCounts,
    pub(super) is_added: bool,
    /// New dependencies: pairs of nodes.
    pub(super) new_dependencies: Vec<(u32, u32)>,
}

impl Sink for CountSink<'_> {
    const BY_ROWS: bool = false;

    #[inline(always)]
    fn add_dependency(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        let SharedCounts {
            num_vls,
            rows,
            dependencies,
            ..
        } = self.counts;
        let next = channels.heads[first].switch as usize;
        let port = index_to_u8(second - channels.base[next]);
        for vl in ones(vls) {
            let d = dependency(rows, *num_vls, first, second, port, vl);
            let count = &dependencies[d.index as usize];
            if !self.is_added {
                count.fetch_sub(1, Ordering::Relaxed);
            } else if count.fetch_add(1, Ordering::Relaxed) == 0 {
                self.new_dependencies.push((d.first, d.second));
            }
        }
    }

    #[inline(always)]
    fn add_use(&mut self, channel: usize, vls: u16) {
        for vl in ones(vls) {
            let count = &self.counts.uses[channel * self.counts.num_vls + vl];
            if self.is_added {
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn vl_change_graph(&self) -> Option<&ChannelDependencyGraph> {
        None
    }
}

/// Ignores dependencies: for LIDs whose dependencies are counted by [`DependencyCounts::add_rows`].
#[derive(Clone)]
pub(super) struct NullSink;

impl Sink for NullSink {
    const BY_ROWS: bool = true;

    #[inline(always)]
    fn add_dependency(&mut self, _: &Channels, _: usize, _: usize, _: u16) {}

    #[inline(always)]
    fn add_use(&mut self, _: usize, _: u16) {}

    fn vl_change_graph(&self) -> Option<&ChannelDependencyGraph> {
        None
    }
}

/// The channel dependency graph of the counts.
pub(super) struct CountedGraph<'a> {
    counts: &'a DependencyCounts,
    channels: &'a Channels,
}

impl CountedGraph<'_> {
    pub(super) fn nodes(&self) -> usize {
        self.counts.uses.len()
    }

    /// Calls `f` with each node that depends on this one.
    #[inline(always)]
    pub(super) fn before(&self, node: usize, mut f: impl FnMut(usize)) {
        let num_vls = self.counts.num_vls;
        let channel = node / num_vls;
        let vl = node % num_vls;
        let (port, arriving) = self.channels.arriving_before(channel);
        for first in arriving {
            if self.has_dependency(first, port, vl) {
                f(first * num_vls + vl);
            }
        }
    }

    /// Calls `f` with each node that this one depends on.
    #[inline(always)]
    pub(super) fn after(&self, node: usize, mut f: impl FnMut(usize)) {
        let num_vls = self.counts.num_vls;
        let channel = node / num_vls;
        let vl = node % num_vls;
        let head = self.channels.heads[channel];
        if head.switch == Channels::NOWHERE {
            return;
        }
        let base = self.channels.base[head.switch as usize];
        for second in self.channels.leaving(head.switch as usize) {
            if self.has_dependency(channel, second - base, vl) {
                f(second * num_vls + vl);
            }
        }
    }

    /// Whether a VL of a channel depends on the same VL of the channel that leaves the next switch
    /// by `port`.
    #[inline(always)]
    fn has_dependency(&self, first: usize, port: usize, vl: usize) -> bool {
        let at = self.counts.rows[first] as usize + port * self.counts.num_vls + vl;
        self.counts.dependencies[at] > 0
    }
}
