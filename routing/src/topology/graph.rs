//! The engines' view of a topology: neighbours instead of links.
//!
//! All parallel links to one neighbour form one *slot*. They are equivalent for every path, so
//! engines choose a slot first and a link last. Slots of a switch are in the order of their lowest
//! port. Built once, with the topology.

use std::borrow::Cow;

use super::channel_index::{ChannelIndex, ChannelNumbering, NONE, index_to_u32};
use super::{SwitchIdx, SwitchLink, Topology};

/// A neighbour of a switch and the ports that lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The neighbour.
    pub(crate) peer: usize,
    ports_from: usize,
    ports_to: usize,
}

/// The graph is not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotConnected {
    /// Number of its connected components.
    pub(crate) components: usize,
}

/// Neighbour lists in compressed sparse rows, with the channels between neighbours.
///
/// All parallel links between two switches form one channel in each direction. That is sufficient
/// for deadlock freedom: a credit loop of links is also a cycle of these channels. A slot and the
/// channel that leaves by it have the same number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) channels: ChannelIndex,
    slots: Vec<Slot>,
    ports: Vec<u8>,
    /// Channel by number of the port ([`super::port_channels::PortChannels`]), or [`NONE`].
    channel_of_port: Vec<u32>,
    /// Number of the first port of each switch.
    first_port: Vec<u32>,
    /// Number of end ports on each switch.
    pub(crate) hosts: Vec<u32>,
    /// Switches by LID: independent of the order of discovery.
    pub(crate) by_lid: Vec<usize>,
    /// Position of each switch in `by_lid`.
    pub(crate) lid_rank: Vec<usize>,
}

impl Graph {
    pub(super) fn new(topo: &Topology) -> Self {
        let numbers = topo.port_channels();
        let mut graph = Self {
            channels: ChannelIndex {
                first: vec![0],
                ..ChannelIndex::default()
            },
            channel_of_port: vec![NONE; numbers.len()],
            first_port: numbers.index.first.clone(),
            hosts: topo
                .switches()
                .map(|s| index_to_u32(topo.end_ports(s).len()))
                .collect(),
            by_lid: topo.by_lid().into_iter().map(SwitchIdx::index).collect(),
            ..Self::default()
        };
        for s in topo.switches() {
            let links = topo.links(s);
            for (i, link) in links.iter().enumerate() {
                if !links[..i].iter().any(|l| l.peer == link.peer) {
                    graph.add_slot(s, &links[i..]);
                }
            }
            graph.channels.first.push(index_to_u32(graph.slots.len()));
        }
        graph.channels.reverse = (0..graph.slots.len())
            .map(|channel| {
                let tail = graph.channels.tail[channel] as usize;
                let head = graph.channels.head[channel] as usize;
                let back = graph.slots(head).iter().position(|s| s.peer == tail);
                graph.channels.first[head] + index_to_u32(back.unwrap_or(0))
            })
            .collect();
        graph.rank();
        graph
    }

    /// Adds the slot of the first link, with the ports of all links to the same switch.
    fn add_slot(&mut self, s: SwitchIdx, links: &[SwitchLink]) {
        let peer = links[0].peer;
        let channel = index_to_u32(self.slots.len());
        let ports_from = self.ports.len();
        for link in links.iter().filter(|l| l.peer == peer) {
            self.ports.push(link.port.raw());
            self.channel_of_port[self.first_port[s.index()] as usize + link.port.index()] = channel;
        }
        self.slots.push(Slot {
            peer: peer.index(),
            ports_from,
            ports_to: self.ports.len(),
        });
        self.channels.head.push(peer.0);
        self.channels.tail.push(s.0);
    }

    fn rank(&mut self) {
        self.lid_rank = vec![0; self.by_lid.len()];
        for (rank, &s) in self.by_lid.iter().enumerate() {
            self.lid_rank[s] = rank;
        }
    }

    /// The graph in which ties are broken by the given IDs (`ids_guid_file`), then by LID; switches
    /// without an ID come last.
    pub(crate) fn ranked_by(&self, ids: &[(SwitchIdx, u64)]) -> Cow<'_, Self> {
        if ids.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut id = vec![None; self.len()];
        for &(s, number) in ids {
            if let Some(position) = id.get_mut(s.index()) {
                *position = Some(number);
            }
        }
        let mut graph = self.clone();
        graph.by_lid.sort_by_key(|&s| (id[s].is_none(), id[s]));
        graph.rank();
        Cow::Owned(graph)
    }

    /// Number of switches.
    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Slots of a switch.
    pub(crate) fn slots(&self, s: usize) -> &[Slot] {
        &self.slots[self.first_slot(s)..self.first_slot(s + 1)]
    }

    /// Index of a switch's first slot in arrays over all slots.
    pub(crate) fn first_slot(&self, s: usize) -> usize {
        self.channels.first[s] as usize
    }

    /// Number of slots of all switches.
    pub(crate) fn num_slots(&self) -> usize {
        self.slots.len()
    }

    /// The channel that leaves through a port, or [`NONE`].
    #[inline(always)]
    pub(crate) fn output_channel(&self, v: usize, port: u8) -> u32 {
        self.channel_of_port[self.first_port[v] as usize + usize::from(port)]
    }

    /// The switch that a channel leads to.
    #[inline(always)]
    pub(crate) fn head(&self, channel: u32) -> usize {
        self.channels.head[channel as usize] as usize
    }

    /// The channels of the graph, with the switches numbered by their position in an order of all
    /// switches.
    pub(crate) fn channels_in_order(&self, order: &[usize]) -> ChannelIndex {
        let mut position = vec![0; order.len()];
        let mut first = vec![0];
        for (i, &v) in order.iter().enumerate() {
            position[v] = index_to_u32(i);
            first.push(first[i] + index_to_u32(self.slots(v).len()));
        }
        let mut index = ChannelIndex {
            first,
            ..ChannelIndex::default()
        };
        for &v in order {
            for channel in self.channels.leaving(v) {
                let head = self.head(channel);
                let slot = self.channels.reverse[channel as usize] - self.channels.first[head];
                index.head.push(position[head]);
                index.tail.push(position[v]);
                index
                    .reverse
                    .push(index.first[position[head] as usize] + slot);
            }
        }
        index
    }

    /// Largest number of slots of a switch.
    pub(crate) fn most_slots(&self) -> usize {
        self.channels.max_degree()
    }

    /// Ports of a slot, ascending.
    pub(crate) fn ports(&self, slot: Slot) -> &[u8] {
        &self.ports[slot.ports_from..slot.ports_to]
    }

    /// Fails unless every switch can reach every other.
    pub(crate) fn check_connected(&self) -> Result<(), NotConnected> {
        let mut visited = fixedbitset::FixedBitSet::with_capacity(self.len());
        let mut components = 0;
        for start in 0..self.len() {
            if visited.put(start) {
                continue;
            }
            components += 1;
            let mut stack = vec![start];
            while let Some(s) = stack.pop() {
                stack.extend(
                    self.slots(s)
                        .iter()
                        .map(|l| l.peer)
                        .filter(|&p| !visited.put(p)),
                );
            }
        }
        if components > 1 {
            Err(NotConnected { components })
        } else {
            Ok(())
        }
    }
}
