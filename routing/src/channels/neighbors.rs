//! Channels between neighbours: all parallel links between two switches form one channel per
//! direction.
//!
//! Sufficient for deadlock freedom: a credit loop of links is also a cycle of these channels. Built
//! once per engine run.

use super::index::{ChannelIndex, to_u32};
use crate::topology::graph::Graph;

/// Numbers the channels of a graph. `order` has all switches; they are numbered by their position
/// in it, channels by switch and slot.
pub(crate) fn index_channels(graph: &Graph, order: &[usize]) -> ChannelIndex {
    let mut position = vec![0; order.len()];
    let mut first = vec![0];
    for (i, &v) in order.iter().enumerate() {
        position[v] = to_u32(i);
        first.push(first[i] + to_u32(graph.slots(v).len()));
    }
    let (mut head, mut tail, mut reverse) = (Vec::new(), Vec::new(), Vec::new());
    for &v in order {
        for slot in graph.slots(v) {
            head.push(position[slot.peer]);
            tail.push(position[v]);
            let reverse_slot = graph.slots(slot.peer).iter().position(|s| s.peer == v);
            reverse.push(first[position[slot.peer] as usize] + to_u32(reverse_slot.unwrap_or(0)));
        }
    }
    ChannelIndex {
        first,
        head,
        tail,
        reverse,
    }
}

/// The channels of a graph, numbered like its slots, and the channel of every port.
#[derive(Debug)]
pub(crate) struct NeighborChannels {
    pub(crate) index: ChannelIndex,
    /// Channel by switch and port, or [`Self::NONE`].
    of_port: Vec<u32>,
}

impl NeighborChannels {
    const NONE: u32 = u32::MAX;

    pub(crate) fn new(graph: &Graph) -> Self {
        let mut of_port = vec![Self::NONE; graph.len() * 256];
        for v in 0..graph.len() {
            for (k, slot) in graph.slots(v).iter().enumerate() {
                for &port in graph.ports(*slot) {
                    of_port[v * 256 + usize::from(port)] = to_u32(graph.first_slot(v) + k);
                }
            }
        }
        let natural_order: Vec<usize> = (0..graph.len()).collect();
        Self {
            index: index_channels(graph, &natural_order),
            of_port,
        }
    }

    /// The channel that leaves through a port.
    #[inline(always)]
    pub(crate) fn output_channel(&self, v: usize, port: u8) -> u32 {
        self.of_port[v * 256 + usize::from(port)]
    }

    /// The switch that a channel leads to.
    #[inline(always)]
    pub(crate) fn head(&self, channel: u32) -> usize {
        self.index.head[channel as usize] as usize
    }
}
