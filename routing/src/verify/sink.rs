//! What takes the dependencies that a walk finds.

use super::channels::Channels;
use super::waits::Waits;

/// Takes what packets wait for. Each worker has one of its own.
pub(super) trait Sink: Clone + Send + Sync {
    /// Whether the dependencies of LIDs of end ports whose packets are on one VL everywhere are entered by others, row by row. Such
    /// a walk is told of no other LIDs of end ports.
    const BY_ROWS: bool;

    /// Packets on these VLs of a channel wait for the same VLs of another one.
    fn keep(&mut self, channels: &Channels, first: usize, second: usize, vls: u16);

    /// Packets are on these VLs of a channel.
    fn on(&mut self, channel: usize, vls: u16);

    /// Where packets may change their VL: the graph that takes it. Other sinks are not for such lanes.
    fn across(&self) -> Option<&Waits>;
}

impl Sink for &Waits {
    const BY_ROWS: bool = false;

    #[inline(always)]
    fn keep(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        Waits::keep(self, channels.pair(first, second), vls);
    }

    #[inline(always)]
    fn on(&mut self, _: usize, _: u16) {}

    fn across(&self) -> Option<&Waits> {
        Some(self)
    }
}

/// The dependencies of LIDs of switches, where [`Waits::add_rows`] enters all others.
#[derive(Clone)]
pub(super) struct ToSwitches<'a>(pub(super) &'a Waits);

impl Sink for ToSwitches<'_> {
    const BY_ROWS: bool = true;

    #[inline(always)]
    fn keep(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        self.0.keep(channels.pair(first, second), vls);
    }

    #[inline(always)]
    fn on(&mut self, _: usize, _: u16) {}

    fn across(&self) -> Option<&Waits> {
        None
    }
}
