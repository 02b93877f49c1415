//! The channel dependency graph: which lane of which channel waits for which. Walkers enter what they see, `cycles`
//! looks for circles.
//!
//! One array for all workers. Entries are only ever set, so who sets what in which order leaves no trace.

use std::sync::atomic::{AtomicU16, Ordering};

use super::channels::Channels;
use crate::lanes::{Lanes, Sl2Vl};

/// Dependencies between lanes of channels.
pub(super) struct Waits {
    /// By pair of channels, or by pair and VL on the first of them: the VLs on the second.
    masks: Vec<AtomicU16>,
    /// VLs on the first channel that are told apart; `None` if packets never change their VL.
    across: Option<usize>,
}

impl Waits {
    pub(super) fn new(channels: &Channels, lanes: &Lanes) -> Self {
        let across = match lanes.sl2vl {
            Sl2Vl::Modulo => None,
            Sl2Vl::PerPorts(_) => Some(usize::from(lanes.vls.clamp(1, 15))),
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
