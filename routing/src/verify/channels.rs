//! Numbers for channels and for the pairs of channels that packets can wait across. Built once per proof from the graph
//! alone; it knows no tables and no lanes.

use ferrosm_mad::ids::PortNum;

use crate::topology::{SwitchIdx, Topology};

/// Ports of all switches in one row; a channel is the number of the port that it leaves by.
///
/// A pair is a channel and one that leaves the switch where the first one ends. Only ports cabled to switches take part, so
/// that the pairs of a leaf full of hosts are few. Pairs with the same second channel are neighbours: packets for one LID
/// come to a switch by many ports and leave it by one.
pub(super) struct Channels {
    /// Number of each switch's port 0, and the total.
    pub(super) base: Vec<usize>,
    /// By channel.
    pub(super) ends: Vec<End>,
    /// By channel: the first pair in which it is the second one.
    rows: Vec<u32>,
    /// Channels that lead to switches, by switch, then port.
    links: Vec<Link>,
    /// First of each switch's places in `links`, and the total.
    link_base: Vec<usize>,
    pairs: usize,
}

/// Where a channel leads.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The switch, [`Channels::NOWHERE`] if it leads to none.
    pub(super) switch: u32,
    /// The port there.
    pub(super) port: u8,
    /// That port's place among the switch's ports that are cabled to switches.
    place: u8,
}

/// A channel that leads to a switch.
struct Link {
    channel: u32,
    /// Place in the list of links of the same cable's other direction.
    back: u32,
    switch: u32,
}

impl Channels {
    pub(super) const NOWHERE: u32 = u32::MAX;

    pub(super) fn new(topo: &Topology) -> Self {
        let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        let (mut base, mut link_base) = (vec![0], vec![0]);
        for s in topo.switches() {
            base.push(base[s.index()] + usize::from(topo.num_ports(s)) + 1);
            link_base.push(link_base[s.index()] + topo.links(s).len());
        }
        let nowhere = End {
            switch: Self::NOWHERE,
            port: 0,
            place: 0,
        };
        let channels = base.last().copied().unwrap_or(0);
        let (mut ends, mut rows) = (vec![nowhere; channels], vec![0; channels]);
        let mut links = Vec::with_capacity(topo.num_channels());
        let mut pairs = 0;
        for s in topo.switches() {
            for link in topo.links(s) {
                let channel = base[s.index()] + link.port.index();
                let there = topo.links(link.peer);
                let place = there.partition_point(|l| l.port < link.peer_port);
                ends[channel] = End {
                    switch: link.peer.0,
                    port: link.peer_port.raw(),
                    place: u8::try_from(place).unwrap_or(u8::MAX),
                };
                rows[channel] = number(pairs);
                pairs += topo.links(s).len();
                links.push(Link {
                    channel: number(channel),
                    back: number(link_base[link.peer.index()] + place),
                    switch: s.0,
                });
            }
        }
        Self {
            base,
            ends,
            rows,
            links,
            link_base,
            pairs,
        }
    }

    /// One more than the highest channel.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many channels lead to a switch.
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
        (channel < self.base[switch + 1] && self.ends[channel].switch != Self::NOWHERE)
            .then_some(channel)
    }

    /// Number of a pair of channels, the second one leaving the switch where the first one ends.
    #[inline(always)]
    pub(super) fn pair(&self, first: usize, second: usize) -> usize {
        self.rows[second] as usize + usize::from(self.ends[first].place)
    }

    /// The channel at this place among those that lead to a switch.
    pub(super) fn of_link(&self, link: usize) -> usize {
        self.links[link].channel as usize
    }

    /// The links that a link may follow on, with the number of the first of their pairs.
    pub(super) fn before(&self, link: usize) -> (impl Iterator<Item = usize> + '_, usize) {
        let Link {
            channel, switch, ..
        } = self.links[link];
        let s = switch as usize;
        let here = &self.links[self.link_base[s]..self.link_base[s + 1]];
        (
            here.iter().map(|l| l.back as usize),
            self.rows[channel as usize] as usize,
        )
    }

    /// Channels that lead from a switch to others.
    pub(super) fn out_of(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        let here = self.link_base[switch]..self.link_base[switch + 1];
        self.links[here].iter().map(|l| l.channel as usize)
    }

    /// The port by which a channel leaves its switch, and the channels that lead to that switch.
    pub(super) fn arriving_before(
        &self,
        channel: usize,
    ) -> (usize, impl Iterator<Item = usize> + '_) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let here = self.link_base[switch]..self.link_base[switch + 1];
        let before = self.links[here].iter();
        (
            channel - self.base[switch],
            before.map(|l| self.links[l.back as usize].channel as usize),
        )
    }

    /// Switch and port of a channel.
    pub(super) fn locate(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let port = u8::try_from(channel - self.base[switch]).unwrap_or(u8::MAX);
        (SwitchIdx::at(switch), PortNum(port))
    }
}
