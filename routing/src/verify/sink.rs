//! Receivers of the dependencies that a walk finds.

use super::channels::Channels;
use super::dependency_graph::ChannelDependencyGraph;

/// Receives dependencies. Each worker has its own.
pub(super) trait Sink: Clone + Send + Sync {
    /// Whether the dependencies of single-VL LIDs of end ports are added row by row elsewhere. Such
    /// a walk has no other LIDs of end ports.
    const BY_ROWS: bool;

    /// Packets on these VLs of a channel depend on the same VLs of the next channel.
    fn add_dependency(&mut self, channels: &Channels, first: usize, second: usize, vls: u16);

    /// Packets use these VLs of a channel.
    fn add_use(&mut self, channel: usize, vls: u16);

    /// The graph for dependencies of packets that change their VL; `None` if the sink does not
    /// support them.
    fn vl_change_graph(&self) -> Option<&ChannelDependencyGraph>;
}

impl Sink for &ChannelDependencyGraph {
    const BY_ROWS: bool = false;

    #[inline(always)]
    fn add_dependency(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        ChannelDependencyGraph::add_same_vl(self, channels.pair(first, second), vls);
    }

    #[inline(always)]
    fn add_use(&mut self, _: usize, _: u16) {}

    fn vl_change_graph(&self) -> Option<&ChannelDependencyGraph> {
        Some(self)
    }
}

/// Receives the dependencies of LIDs of switches; [`ChannelDependencyGraph::add_rows`] adds all
/// others.
#[derive(Clone)]
pub(super) struct SwitchLidSink<'a>(pub(super) &'a ChannelDependencyGraph);

impl Sink for SwitchLidSink<'_> {
    const BY_ROWS: bool = true;

    #[inline(always)]
    fn add_dependency(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        self.0.add_same_vl(channels.pair(first, second), vls);
    }

    #[inline(always)]
    fn add_use(&mut self, _: usize, _: u16) {}

    fn vl_change_graph(&self) -> Option<&ChannelDependencyGraph> {
        None
    }
}
