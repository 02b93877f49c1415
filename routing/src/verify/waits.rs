//! The channel dependency graph: which lane of which channel waits for which. Walkers enter what they see, `cycles`
//! looks for circles.
//!
//! One array for all workers. Entries are only ever set, so who sets what in which order leaves no trace.

use std::sync::atomic::{AtomicU16, Ordering};

use rayon::prelude::*;

use super::channels::Channels;
use super::inject::SingleVlLid;
use crate::tables::Tables;
use crate::vl_plan::{SlToVl, VlPlan};

/// Dependencies between lanes of channels.
pub(super) struct Waits {
    /// By pair of channels, or by pair and VL on the first of them: the VLs on the second.
    masks: Vec<AtomicU16>,
    /// VLs on the first channel that are told apart; `None` if packets never change their VL.
    across: Option<usize>,
}

impl Waits {
    pub(super) fn new(channels: &Channels, lanes: &VlPlan) -> Self {
        let across = match lanes.sl2vl {
            SlToVl::Modulo => None,
            SlToVl::PerPorts(_) => Some(usize::from(lanes.vls.clamp(1, 15))),
        };
        let len = channels.num_pairs() * across.unwrap_or(1);
        Self {
            masks: std::iter::repeat_with(AtomicU16::default)
                .take(len)
                .collect(),
            across,
        }
    }

    /// Packets on each of these VLs wait for the same VL across a pair of channels.
    #[inline(always)]
    pub(super) fn keep(&self, pair: usize, vls: u16) {
        let mask = &self.masks[pair];
        // Most dependencies are seen thousands of times: writing each time would have the workers fight for memory.
        if vls & !mask.load(Ordering::Relaxed) != 0 {
            mask.fetch_or(vls, Ordering::Relaxed);
        }
    }

    /// Adds the channel dependencies of these LIDs. Every switch must reach every LID, and no hop may change the VL. Returns a mask
    /// of the VLs in use for each channel.
    pub(super) fn add_rows(
        &self,
        tables: &Tables,
        channels: &Channels,
        plain: &[SingleVlLid],
    ) -> Vec<u16> {
        let row = |v: usize| tables.get(v).map_or(&[][..], |t| t.entries());
        let used = |v: usize| {
            let base = channels.base[v];
            let mut used = vec![0u16; channels.base[v + 1] - base];
            // By port of this switch, then port of the next one: VLs.
            let mut masks = vec![0u16; used.len() << 8];
            let mut next: [(usize, &[u8]); 256] = [(usize::MAX, &[]); 256];
            for channel in channels.out_of(v) {
                let switch = channels.ends[channel].switch as usize;
                next[channel - base] = (switch, row(switch));
            }
            let own = row(v);
            for (lid, vl, owner) in plain.iter().map(|p| p.indices()) {
                let Some(&port) = own.get(lid).filter(|_| v != owner) else {
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
            for channel in channels.out_of(v) {
                let to = channels.ends[channel].switch as usize;
                for second in channels.out_of(to) {
                    let vls = masks[(channel - base) << 8 | (second - channels.base[to])];
                    if vls != 0 {
                        self.keep(channels.pair(channel, second), vls);
                    }
                }
            }
            used
        };
        let switches = channels.base.len() - 1;
        let rows: Vec<Vec<u16>> = (0..switches).into_par_iter().map(used).collect();
        rows.concat()
    }

    /// Packets on each of these VLs wait for `to` across a pair of channels.
    #[inline(always)]
    pub(super) fn change(&self, pair: usize, from: u16, to: u8) {
        let lanes = self.across.unwrap_or(1);
        for vl in ones(from) {
            self.keep(pair * lanes + vl, 1 << to);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.masks
            .iter()
            .map(|m| u64::from(m.load(Ordering::Relaxed).count_ones()))
            .sum()
    }

    /// Graphs that are not connected with each other, without empty ones: a circle is within one of them.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> {
        let vls = if self.across.is_some() {
            1
        } else {
            let all = self.masks.iter();
            all.fold(0, |all, m| all | m.load(Ordering::Relaxed))
        };
        ones(vls)
    }

    /// Nodes of one part: the lanes of all channels, or one lane of each.
    pub(super) fn nodes(&self, channels: &Channels) -> usize {
        channels.num_links() * self.across.unwrap_or(1)
    }

    /// Link and VL of a node.
    pub(super) fn node(&self, part: usize, node: usize) -> (usize, u8) {
        let lanes = self.across.unwrap_or(1);
        let vl = if self.across.is_some() {
            node % lanes
        } else {
            part
        };
        (node / lanes, u8::try_from(vl).unwrap_or(u8::MAX))
    }

    /// Calls `f` with each node that waits for this one.
    #[inline(always)]
    pub(super) fn before(
        &self,
        channels: &Channels,
        part: usize,
        node: usize,
        mut f: impl FnMut(usize),
    ) {
        let lanes = self.across.unwrap_or(1);
        let vl = self.across.map_or(part, |lanes| node % lanes);
        let (links, pair) = channels.before(node / lanes);
        for (masks, link) in self.masks[pair * lanes..].chunks_exact(lanes).zip(links) {
            for (from, mask) in masks.iter().enumerate() {
                if mask.load(Ordering::Relaxed) >> vl & 1 == 1 {
                    f(link * lanes + from);
                }
            }
        }
    }
}

/// Places of the bits that are set, ascending.
#[inline(always)]
pub(super) fn ones(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            place
        })
    })
}
