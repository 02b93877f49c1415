//! The channel dependency graph. Walkers add dependencies, `cycles` searches for cycles.
//!
//! All workers share one array. Bits are only ever set, so the result does not depend on the order.

use std::sync::atomic::{AtomicU16, Ordering};

use rayon::prelude::*;

use super::channels::Channels;
use super::inject::SingleVlLid;
use crate::tables::Tables;
use crate::topology::index_to_u8;
use crate::vl_plan::{SlToVl, VlPlan};

/// Dependencies between the VLs of channels.
pub(super) struct ChannelDependencyGraph {
    /// By pair of channels, or by pair and VL of the first channel: mask of VLs of the second
    /// channel.
    masks: Vec<AtomicU16>,
    /// Number of VLs, if packets can change their VL; `None` if they never do.
    vls_if_changing: Option<usize>,
}

impl ChannelDependencyGraph {
    pub(super) fn new(channels: &Channels, vl_plan: &VlPlan) -> Self {
        let vls_if_changing = match vl_plan.sl_to_vl {
            SlToVl::Modulo => None,
            SlToVl::PerPorts(_) => Some(usize::from(vl_plan.vls.clamp(1, 15))),
        };
        let len = channels.num_pairs() * vls_if_changing.unwrap_or(1);
        Self {
            masks: std::iter::repeat_with(AtomicU16::default)
                .take(len)
                .collect(),
            vls_if_changing,
        }
    }

    /// Adds the dependencies of packets that cross a pair of channels on each of these VLs.
    #[inline(always)]
    pub(super) fn add_same_vl(&self, pair: usize, vls: u16) {
        let mask = &self.masks[pair];
        // Most dependencies occur thousands of times. Writing each time would cause cache
        // contention between workers.
        if vls & !mask.load(Ordering::Relaxed) != 0 {
            mask.fetch_or(vls, Ordering::Relaxed);
        }
    }

    /// Adds the channel dependencies of these LIDs. Every switch must reach every LID, and no hop
    /// may change the VL. Returns a mask of the VLs in use for each channel.
    pub(super) fn add_rows(
        &self,
        tables: &Tables,
        channels: &Channels,
        lids: &[SingleVlLid],
    ) -> Vec<u16> {
        let row = |v: usize| tables.get(v).map_or(&[][..], |t| t.entries());
        let used = |v: usize| {
            let base = channels.base[v];
            let mut used = vec![0u16; channels.base[v + 1] - base];
            // By port of this switch, then port of the next one: VLs.
            let mut masks = vec![0u16; used.len() << 8];
            let mut next: [(usize, &[u8]); 256] = [(usize::MAX, &[]); 256];
            for channel in channels.leaving(v) {
                let switch = channels.heads[channel].switch as usize;
                next[channel - base] = (switch, row(switch));
            }
            let own_row = row(v);
            for (lid, vl, owner) in lids.iter().map(|p| p.indices()) {
                let Some(&port) = own_row.get(lid).filter(|_| v != owner) else {
                    continue;
                };
                let (switch, entries) = next[usize::from(port)];
                if switch == usize::MAX {
                    continue;
                }
                used[usize::from(port)] |= 1 << vl;
                if switch != owner
                    && let Some(&out) = entries.get(lid)
                {
                    masks[usize::from(port) << 8 | usize::from(out)] |= 1 << vl;
                }
            }
            for channel in channels.leaving(v) {
                let to = channels.heads[channel].switch as usize;
                for second in channels.leaving(to) {
                    let vls = masks[(channel - base) << 8 | (second - channels.base[to])];
                    if vls != 0 {
                        self.add_same_vl(channels.pair(channel, second), vls);
                    }
                }
            }
            used
        };
        let switches = channels.base.len() - 1;
        let rows: Vec<Vec<u16>> = (0..switches).into_par_iter().map(used).collect();
        rows.concat()
    }

    /// Adds the dependencies of packets that change from each of the VLs `from` to VL `to` across a
    /// pair of channels.
    #[inline(always)]
    pub(super) fn add_vl_change(&self, pair: usize, from: u16, to: u8) {
        let num_vls = self.vls_if_changing.unwrap_or(1);
        for vl in ones(from) {
            self.add_same_vl(pair * num_vls + vl, 1 << to);
        }
    }

    /// Number of dependencies.
    pub(super) fn num_dependencies(&self) -> u64 {
        self.masks
            .iter()
            .map(|m| u64::from(m.load(Ordering::Relaxed).count_ones()))
            .sum()
    }

    /// Non-empty subgraphs without dependencies between them: one per VL if packets never change
    /// their VL.
    pub(super) fn components(&self) -> impl Iterator<Item = usize> {
        let vls = if self.vls_if_changing.is_some() {
            1
        } else {
            self.masks
                .iter()
                .fold(0, |mask, m| mask | m.load(Ordering::Relaxed))
        };
        ones(vls)
    }

    /// Number of nodes of one component: all VLs of all channels, or one VL of each.
    pub(super) fn num_nodes(&self, channels: &Channels) -> usize {
        channels.num_links() * self.vls_if_changing.unwrap_or(1)
    }

    /// Link and VL of a node.
    pub(super) fn link_and_vl(&self, component: usize, node: usize) -> (usize, u8) {
        let num_vls = self.vls_if_changing.unwrap_or(1);
        let vl = if self.vls_if_changing.is_some() {
            node % num_vls
        } else {
            component
        };
        (node / num_vls, index_to_u8(vl))
    }

    /// Calls `f` with each node that depends on this one.
    #[inline(always)]
    pub(super) fn for_each_predecessor(
        &self,
        channels: &Channels,
        component: usize,
        node: usize,
        mut f: impl FnMut(usize),
    ) {
        let num_vls = self.vls_if_changing.unwrap_or(1);
        let vl = self
            .vls_if_changing
            .map_or(component, |num_vls| node % num_vls);
        let (links, pair) = channels.before(node / num_vls);
        for (masks, link) in self.masks[pair * num_vls..]
            .chunks_exact(num_vls)
            .zip(links)
        {
            for (from, mask) in masks.iter().enumerate() {
                if mask.load(Ordering::Relaxed) >> vl & 1 == 1 {
                    f(link * num_vls + from);
                }
            }
        }
    }
}

/// Positions of the bits that are set, ascending.
#[inline(always)]
pub(super) fn ones(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
