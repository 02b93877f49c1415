//! Routes as one slot for each pair of switches, and their load on channels, for the engines
//! `dragonfly` and `diameter2`.

use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, index_to_u8};

/// Mark of a pair without a slot. A switch has at most 254 ports, hence at most 254 slots.
const NO_SLOT: u8 = u8::MAX;

/// The slot of each switch towards each other switch. One byte per pair.
#[derive(Debug)]
pub(crate) struct SlotRoutes {
    switches: usize,
    /// By destination, then source.
    slots: Vec<u8>,
}

impl SlotRoutes {
    pub(crate) fn new(switches: usize) -> Self {
        Self {
            switches,
            slots: vec![NO_SLOT; switches * switches],
        }
    }

    /// The routes whose slots towards each destination are `columns`, by source.
    pub(crate) fn from_columns(columns: &[Vec<u8>]) -> Self {
        Self {
            switches: columns.len(),
            slots: columns.concat(),
        }
    }

    /// A column of [`Self::from_columns`] without routes.
    pub(crate) fn empty_column(switches: usize) -> Vec<u8> {
        vec![NO_SLOT; switches]
    }

    pub(crate) fn get(&self, from: usize, to: usize) -> Option<usize> {
        let slot = self.slots[to * self.switches + from];
        (slot != NO_SLOT).then_some(usize::from(slot))
    }

    pub(crate) fn set(&mut self, from: usize, to: usize, slot: usize) {
        self.slots[to * self.switches + from] = index_to_u8(slot);
    }

    /// The first pair of different switches without a route.
    pub(crate) fn missing_pair(&self) -> Option<(SwitchIdx, SwitchIdx)> {
        let n = self.switches;
        let is_missing = |&i: &usize| self.slots[i] == NO_SLOT && i / n != i % n;
        let i = (0..self.slots.len()).find(is_missing)?;
        Some((SwitchIdx::from_index(i % n), SwitchIdx::from_index(i / n)))
    }
}

/// Routes between end ports over each channel.
#[derive(Debug)]
pub(crate) struct SlotLoads(Vec<ChannelLoad>);

#[derive(Debug)]
struct ChannelLoad {
    routes: u64,
    /// Number of parallel links.
    links: u64,
}

impl SlotLoads {
    pub(crate) fn new(graph: &Graph) -> Self {
        let loads = (0..graph.len())
            .flat_map(|v| graph.slots(v))
            .map(|&slot| ChannelLoad {
                routes: 0,
                links: graph.ports(slot).len().max(1) as u64,
            })
            .collect();
        Self(loads)
    }

    /// Adds routes to the channel, numbered as in [`Graph`].
    pub(crate) fn add(&mut self, channel: usize, routes: u64) {
        self.0[channel].routes += routes;
    }

    /// Removes routes that were added.
    pub(crate) fn remove(&mut self, channel: usize, routes: u64) {
        self.0[channel].routes -= routes;
    }

    /// Routes over each link of the channel.
    pub(crate) fn per_link(&self, channel: usize) -> u64 {
        let ChannelLoad { routes, links } = self.0[channel];
        // Most channels have one link, and a division takes long.
        if links == 1 { routes } else { routes / links }
    }
}
