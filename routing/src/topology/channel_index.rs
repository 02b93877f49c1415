//! Channel numbers: the channels that leave one switch have consecutive numbers.

use std::ops::Range;

/// No channel, or no switch.
pub(crate) const NONE: u32 = u32::MAX;

/// Channels by number. Immutable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChannelIndex {
    /// First channel that leaves each switch, and the total.
    pub(crate) first: Vec<u32>,
    /// The switch that a channel leads to; [`NONE`] for a port without a link to a switch, if
    /// channels are numbered by port.
    pub(crate) head: Vec<u32>,
    /// The switch that a channel leaves.
    pub(crate) tail: Vec<u32>,
    /// The channel in the opposite direction of the link; [`NONE`] as in `head`.
    pub(crate) reverse: Vec<u32>,
}

/// A channel numbering, as required by sets of dependencies.
pub(crate) trait ChannelNumbering {
    /// Number of channels.
    fn len(&self) -> usize;
    /// Largest number of channels that leave one switch.
    fn max_degree(&self) -> usize;
    /// First channel that leaves the switch at the head of `channel`.
    fn first_after(&self, channel: u32) -> u32;
    /// The channel in the opposite direction.
    fn reverse(&self, channel: u32) -> u32;
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

    /// The channels that lead up, those of the lowest switches first, then those that lead down,
    /// those of the highest switches first: the dependencies of all paths that climb, then descend,
    /// agree with this order. `position` of each switch is counted from the root down.
    pub(crate) fn up_then_down(&self, position: &[u32]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..index_to_u32(self.len())).collect();
        order.sort_by_key(|&c| {
            let tail = position[self.tail[c as usize] as usize];
            let climbs = position[self.head[c as usize] as usize] < tail;
            if climbs {
                (0, u32::MAX - tail, c)
            } else {
                (1, tail, c)
            }
        });
        order
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
    fn reverse(&self, channel: u32) -> u32 {
        self.reverse[channel as usize]
    }
}

/// Converts an index or a count to 32 bits. LIDs have 16 bits and ports 8, so that switches,
/// channels and hops always fit.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a truncated index would name another channel"
)]
pub(crate) fn index_to_u32(index: usize) -> u32 {
    u32::try_from(index).expect("an index of at most 32 bits")
}

/// Converts the index of an LFT block to 16 bits.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a truncated index would name another block"
)]
pub(crate) fn index_to_u16(index: usize) -> u16 {
    u16::try_from(index).expect("an index of at most 16 bits")
}

/// Converts the index of an SL, VL or port, or their number, to 8 bits.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a truncated index would name another SL, VL or port"
)]
pub(crate) fn index_to_u8(index: usize) -> u8 {
    u8::try_from(index).expect("an index of at most 8 bits")
}
