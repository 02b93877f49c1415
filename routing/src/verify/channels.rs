//! Numbers for channels and for the pairs of channels that packets can wait across. Built once per proof from the graph
//! alone; it knows no tables and no lanes.

use ferrosm_mad::ids::PortNum;

use crate::topology::{SwitchIdx, Topology};

/// Ports of all switches in one row; a channel is the number of the port that it leaves by.
///
/// A pair is a channel and one that leaves the switch where the first one ends. Only ports cabled to switches take part, so
/// that the pairs of a leaf full of hosts are few.
pub(super) struct Channels {
    /// Number of each switch's port 0, and the total.
    pub(super) base: Vec<usize>,
    /// By channel.
    pub(super) ends: Vec<End>,
    /// By channel: its place among the channels of its switch.
    pub(super) place: Vec<u8>,
    /// Channels by switch, then port.
    links: Vec<u32>,
    /// First of each switch's places in `links`, and the total.
    link_base: Vec<usize>,
    pairs: usize,
}

/// Where a channel leads.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The switch, [`Channels::NOWHERE`] if it leads to none.
    pub(super) switch: u32,
    /// Number of the pair of this channel and the first one of that switch.
    pub(super) pairs: u32,
    /// The port there.
    pub(super) port: u8,
}

impl Channels {
    pub(super) const NOWHERE: u32 = u32::MAX;

    pub(super) fn new(topo: &Topology) -> Self {
        let (mut base, mut ends, mut links, mut link_base) = (vec![], vec![], vec![], vec![]);
        let mut pairs = 0;
        for s in topo.switches() {
            base.push(ends.len());
            link_base.push(links.len());
            for p in 0..=topo.num_ports(s) {
                ends.push(match topo.neighbor(s, PortNum(p)) {
                    Some((peer, port)) => {
                        links.push(u32::try_from(ends.len()).unwrap_or(u32::MAX));
                        let first = u32::try_from(pairs).unwrap_or(u32::MAX);
                        pairs += topo.links(peer).len();
                        End {
                            switch: peer.0,
                            pairs: first,
                            port: port.raw(),
                        }
                    }
                    None => End {
                        switch: Self::NOWHERE,
                        pairs: 0,
                        port: 0,
                    },
                });
            }
        }
        base.push(ends.len());
        link_base.push(links.len());
        let mut place = vec![0; ends.len()];
        for s in link_base.windows(2) {
            for (i, &channel) in (0u8..).zip(&links[s[0]..s[1]]) {
                place[channel as usize] = i;
            }
        }
        Self {
            base,
            ends,
            place,
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
        self.ends[first].pairs as usize + usize::from(self.place[second])
    }

    /// The channel at this place among those that lead to a switch.
    pub(super) fn of_link(&self, link: usize) -> usize {
        self.links[link] as usize
    }

    /// The links that follow on a link, with the number of the first pair.
    pub(super) fn after(&self, link: usize) -> (std::ops::Range<usize>, usize) {
        let end = &self.ends[self.of_link(link)];
        let next = end.switch as usize;
        (
            self.link_base[next]..self.link_base[next + 1],
            end.pairs as usize,
        )
    }

    /// Switch and port of a channel.
    pub(super) fn locate(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let port = u8::try_from(channel - self.base[switch]).unwrap_or(u8::MAX);
        (SwitchIdx::at(switch), PortNum(port))
    }
}
