//! Channels between neighbours: the parallel links between two switches are one channel.
//!
//! That is sound, because a cycle of links is a cycle of neighbours too, and smaller. Built once per engine run.

use super::graph::Graph;
use crate::channels::{ChannelIndex, narrow};

/// The channels of a graph, in the order of its slots, of switches in this order: the switches are numbered by their place
/// in it.
pub(crate) fn index_channels(graph: &Graph, order: &[usize]) -> ChannelIndex {
    let mut place = vec![0; order.len()];
    let mut first = vec![0];
    for (i, &v) in order.iter().enumerate() {
        place[v] = narrow(i);
        first.push(first[i] + narrow(graph.slots(v).len()));
    }
    let (mut head, mut tail, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for &v in order {
        for slot in graph.slots(v) {
            head.push(place[slot.peer]);
            tail.push(place[v]);
            let there = graph.slots(slot.peer).iter().position(|s| s.peer == v);
            back.push(first[place[slot.peer] as usize] + narrow(there.unwrap_or(0)));
        }
    }
    ChannelIndex {
        first,
        head,
        tail,
        back,
    }
}

/// The channels of a graph, each with the number of its slot, and the channels of ports.
#[derive(Debug)]
pub(crate) struct NeighborChannels {
    pub(crate) index: ChannelIndex,
    /// By switch and port: the channel, or [`Self::NONE`].
    of_port: Vec<u32>,
}

impl NeighborChannels {
    const NONE: u32 = u32::MAX;

    pub(crate) fn new(graph: &Graph) -> Self {
        let mut of_port = vec![Self::NONE; graph.len() * 256];
        for v in 0..graph.len() {
            for (k, slot) in graph.slots(v).iter().enumerate() {
                for &port in graph.ports(*slot) {
                    of_port[v * 256 + usize::from(port)] = narrow(graph.first_slot(v) + k);
                }
            }
        }
        let as_they_are: Vec<usize> = (0..graph.len()).collect();
        Self {
            index: index_channels(graph, &as_they_are),
            of_port,
        }
    }

    /// The channel behind a port.
    #[inline(always)]
    pub(crate) fn behind(&self, v: usize, port: u8) -> u32 {
        self.of_port[v * 256 + usize::from(port)]
    }

    /// The switch that a channel leads to.
    #[inline(always)]
    pub(crate) fn head(&self, channel: u32) -> usize {
        self.index.head[channel as usize] as usize
    }
}
