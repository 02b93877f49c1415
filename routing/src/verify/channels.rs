//! Numbers of channels and of pairs of consecutive channels. Built once per verification from the
//! topology.

use ferrosm_mad::ids::PortNum;

use crate::topology::{SwitchIdx, Topology, index_to_u8, index_to_u32};

/// Channels: a channel is the flat number of its output port over all switches.
///
/// A pair is a channel and another one that leaves the switch where the first one ends. Only ports
/// with links to switches have pairs, so a leaf full of hosts has few. Pairs with the same second
/// channel are adjacent, because packets for one LID enter a switch by many ports and leave it by
/// one.
pub(super) struct Channels {
    /// Flat number of port 0 of each switch, and the total.
    pub(super) base: Vec<usize>,
    pub(super) heads: Vec<ChannelEnd>,
    /// By channel: the first pair of which it is the second channel.
    rows: Vec<u32>,
    /// Channels that lead to switches, by switch, then port.
    links: Vec<LinkChannel>,
    /// First index of each switch in `links`, and the total.
    link_base: Vec<usize>,
    pairs: usize,
}

/// Where a channel leads.
#[derive(Clone, Copy)]
pub(super) struct ChannelEnd {
    /// The switch, [`Channels::NOWHERE`] if it leads to none.
    pub(super) switch: u32,
    /// The port there.
    pub(super) port: u8,
    /// Index of that port among the ports of the switch with links to switches.
    index: u8,
}

/// A channel that leads to a switch.
struct LinkChannel {
    channel: u32,
    /// Index in the list of links of the other direction of the link.
    reverse: u32,
    switch: u32,
}

impl Channels {
    pub(super) const NOWHERE: u32 = u32::MAX;

    pub(super) fn new(topo: &Topology) -> Self {
        let mut base = vec![0];
        let mut link_base = vec![0];
        for s in topo.switches() {
            base.push(base[s.index()] + usize::from(topo.num_ports(s)) + 1);
            link_base.push(link_base[s.index()] + topo.links(s).len());
        }
        let no_head = ChannelEnd {
            switch: Self::NOWHERE,
            port: 0,
            index: 0,
        };
        let channels = base.last().copied().unwrap_or(0);
        let mut heads = vec![no_head; channels];
        let mut rows = vec![0; channels];
        let mut links = Vec::with_capacity(topo.num_channels());
        let mut pairs = 0;
        for s in topo.switches() {
            for link in topo.links(s) {
                let channel = base[s.index()] + link.port.index();
                let peer_links = topo.links(link.peer);
                let index = peer_links.partition_point(|l| l.port < link.peer_port);
                heads[channel] = ChannelEnd {
                    switch: link.peer.0,
                    port: link.peer_port.raw(),
                    index: index_to_u8(index),
                };
                rows[channel] = index_to_u32(pairs);
                pairs += topo.links(s).len();
                links.push(LinkChannel {
                    channel: index_to_u32(channel),
                    reverse: index_to_u32(link_base[link.peer.index()] + index),
                    switch: s.0,
                });
            }
        }
        Self {
            base,
            heads,
            rows,
            links,
            link_base,
            pairs,
        }
    }

    /// One more than the highest channel.
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    /// Number of channels to switches.
    pub(super) fn num_links(&self) -> usize {
        self.links.len()
    }

    pub(super) fn num_pairs(&self) -> usize {
        self.pairs
    }

    /// The channel of a switch and port; `None` if it does not lead to a switch.
    #[inline(always)]
    pub(super) fn channel(&self, switch: usize, port: u8) -> Option<usize> {
        let channel = self.base[switch] + usize::from(port);
        (channel < self.base[switch + 1] && self.heads[channel].switch != Self::NOWHERE)
            .then_some(channel)
    }

    /// Number of a pair of channels, the second one leaving the switch where the first one ends.
    #[inline(always)]
    pub(super) fn pair(&self, first: usize, second: usize) -> usize {
        self.rows[second] as usize + usize::from(self.heads[first].index)
    }

    /// The channel with this index among those that lead to switches.
    pub(super) fn of_link(&self, link: usize) -> usize {
        self.links[link].channel as usize
    }

    /// The links that can precede a link, and the number of the first of their pairs.
    pub(super) fn before(&self, link: usize) -> (impl Iterator<Item = usize> + '_, usize) {
        let LinkChannel {
            channel, switch, ..
        } = self.links[link];
        let s = switch as usize;
        let links = &self.links[self.link_base[s]..self.link_base[s + 1]];
        (
            links.iter().map(|l| l.reverse as usize),
            self.rows[channel as usize] as usize,
        )
    }

    /// Channels that lead from a switch to others.
    pub(super) fn leaving(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.link_base[switch]..self.link_base[switch + 1];
        self.links[range].iter().map(|l| l.channel as usize)
    }

    /// The port by which a channel leaves its switch, and the channels that lead to that switch.
    pub(super) fn arriving_before(
        &self,
        channel: usize,
    ) -> (usize, impl Iterator<Item = usize> + '_) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let range = self.link_base[switch]..self.link_base[switch + 1];
        (
            channel - self.base[switch],
            self.links[range]
                .iter()
                .map(|l| self.links[l.reverse as usize].channel as usize),
        )
    }

    /// Switch and port of a channel.
    pub(super) fn locate(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let port = PortNum::from_index(channel - self.base[switch]);
        (SwitchIdx::from_index(switch), port)
    }
}
