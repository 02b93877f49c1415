//! Numbers of channels: the channels that leave one switch have consecutive numbers.

use std::ops::Range;

/// No channel, or no switch.
pub(crate) const NONE: u32 = u32::MAX;

/// Channels by number, built once and then immutable.
#[derive(Debug)]
pub(crate) struct ChannelIndex {
    /// First channel that leaves each switch, and the total.
    pub(crate) first: Vec<u32>,
    /// The switch that a channel leads to.
    pub(crate) head: Vec<u32>,
    /// The switch that it leaves.
    pub(crate) tail: Vec<u32>,
    /// The opposite direction of the link.
    pub(crate) back: Vec<u32>,
}

/// What a set of dependencies needs of a numbering.
pub(crate) trait ChannelNumbering {
    /// Number of channels.
    fn len(&self) -> usize;
    /// Most channels that leave one switch.
    fn max_degree(&self) -> usize;
    /// First of the channels that leave the switch that a channel leads to.
    fn first_after(&self, channel: u32) -> u32;
    /// The opposite direction of a channel.
    fn back(&self, channel: u32) -> u32;
}

impl ChannelIndex {
    /// Number of channels.
    pub(crate) fn len(&self) -> usize {
        self.head.len()
    }

    /// Number of switches.
    pub(crate) fn switches(&self) -> usize {
        self.first.len() - 1
    }

    /// Channels that leave a switch.
    #[inline(always)]
    pub(crate) fn leaving(&self, v: usize) -> Range<u32> {
        self.first[v]..self.first[v + 1]
    }
}

impl ChannelNumbering for ChannelIndex {
    fn len(&self) -> usize {
        self.len()
    }

    fn max_degree(&self) -> usize {
        let degree = |v: usize| self.leaving(v).len();
        (0..self.switches()).map(degree).max().unwrap_or(0)
    }

    #[inline(always)]
    fn first_after(&self, channel: u32) -> u32 {
        self.first[self.head[channel as usize] as usize]
    }

    #[inline(always)]
    fn back(&self, channel: u32) -> u32 {
        self.back[channel as usize]
    }
}

/// Narrows a count: LIDs have 16 bits, so switches, channels and hops fit 32 bits.
pub(crate) fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
