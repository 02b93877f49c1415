//! The graph as this engine uses it: switches numbered by LID, channels in rows.
//!
//! A *channel* is one direction of all parallel links between two switches: a cycle of channels
//! corresponds to a cycle of links. Numbers are independent of the order of discovery. Built once
//! per run, then immutable.

use ferrosm_mad::ids::{Lid, PortNum};

use crate::topology::graph::Graph;
use crate::topology::{ChannelIndex, index_to_u32};
use crate::topology::{SwitchIdx, Topology};

/// No slot: the destination itself, or not routed.
pub(super) const NO_SLOT: u8 = u8::MAX;

/// Switches, channels and destinations.
#[derive(Debug)]
pub(super) struct Network {
    /// Number of switches.
    pub(super) n: usize,
    pub(super) channels: ChannelIndex,
    /// Ports of each channel, ascending.
    ports: Vec<u8>,
    port_base: Vec<u32>,
    of_port: Vec<u32>,
    /// End ports on each switch.
    pub(super) hosts: Vec<u32>,
    /// Index of each switch in the topology.
    pub(super) switch: Vec<SwitchIdx>,
    /// LIDs by switch, with their ports (0 for the switch itself).
    pub(super) lids: Vec<(Lid, PortNum)>,
    /// Index of each switch's first LID, and the total.
    pub(super) lid_base: Vec<usize>,
}

impl Network {
    pub(super) fn new(topo: &Topology, graph: &Graph) -> Self {
        let n = graph.len();
        let mut net = Self {
            n,
            channels: graph.channels_in_order(&graph.by_lid),
            ports: Vec::new(),
            port_base: vec![0],
            of_port: Vec::new(),
            hosts: Vec::with_capacity(n),
            switch: Vec::with_capacity(n),
            lids: Vec::new(),
            lid_base: vec![0],
        };
        for &s in &graph.by_lid {
            for &slot in graph.slots(s) {
                let channel = index_to_u32(net.port_base.len() - 1);
                net.ports.extend_from_slice(graph.ports(slot));
                net.of_port.resize(net.ports.len(), channel);
                net.port_base.push(index_to_u32(net.ports.len()));
            }
            net.hosts.push(graph.hosts[s]);
            let at = SwitchIdx::from_index(s);
            net.switch.push(at);
            net.lids
                .extend(topo.destinations_on(at).iter().map(|d| (d.lid, d.port)));
            net.lid_base.push(net.lids.len());
        }
        net
    }

    /// The channel of a slot.
    #[inline(always)]
    pub(super) fn channel(&self, v: usize, slot: u8) -> usize {
        self.channels.first[v] as usize + usize::from(slot)
    }

    /// Slot of a channel: its index among those of its switch. A switch has at most 254 ports.
    #[inline(always)]
    pub(super) fn slot(&self, channel: usize) -> u8 {
        u8::try_from(channel - self.channels.first[self.channels.tail[channel] as usize] as usize)
            .unwrap_or(NO_SLOT)
    }

    /// Ports of a channel.
    pub(super) fn ports(&self, channel: usize) -> &[u8] {
        &self.ports[self.port_range(channel)]
    }

    /// Indices of a channel's ports in the list of all ports.
    pub(super) fn port_range(&self, channel: usize) -> std::ops::Range<usize> {
        self.port_base[channel] as usize..self.port_base[channel + 1] as usize
    }

    /// Number of ports of all channels.
    pub(super) fn num_ports(&self) -> usize {
        self.ports.len()
    }

    /// Channel by index in the list of all ports.
    #[inline(always)]
    pub(super) fn channel_of(&self, position: usize) -> usize {
        self.of_port[position] as usize
    }

    /// Index of a switch's first port in the list of all ports.
    #[inline(always)]
    pub(super) fn first_port(&self, v: usize) -> usize {
        self.port_base[self.channels.first[v] as usize] as usize
    }

    /// Port by index in the list of all ports.
    pub(super) fn port(&self, position: usize) -> PortNum {
        PortNum(self.ports[position])
    }

    /// Number of LIDs of end ports on a switch.
    pub(super) fn host_lids(&self, v: usize) -> usize {
        let own_lids = &self.lids[self.lid_base[v]..self.lid_base[v + 1]];
        own_lids.iter().filter(|(_, p)| *p != PortNum::ZERO).count()
    }
}
