//! Channels numbered by port, for code that reads forwarding tables: incremental reroute,
//! transition and multicast.
//!
//! Every port of a switch has a number, including port 0 and ports to end ports. A channel has the
//! number of its output port.

use ferrosm_mad::ids::PortNum;

use super::index::{ChannelIndex, NONE, to_u32};
use crate::topology::{SwitchIdx, Topology};

/// The peer of each port of each switch.
#[derive(Debug)]
pub(crate) struct PortChannels {
    pub(super) index: ChannelIndex,
    peer_port: Vec<u8>,
}

impl PortChannels {
    pub(crate) fn new(topo: &Topology) -> Self {
        let mut first = vec![0];
        let mut tail = Vec::new();
        for s in topo.switches() {
            tail.resize(tail.len() + usize::from(topo.num_ports(s)) + 1, s.0);
            first.push(to_u32(tail.len()));
        }
        let (mut head, mut reverse) = (vec![NONE; tail.len()], vec![NONE; tail.len()]);
        let mut peer_port = vec![0; tail.len()];
        for s in topo.switches() {
            for link in topo.links(s) {
                let c = first[s.index()] as usize + link.port.index();
                head[c] = link.peer.0;
                reverse[c] = first[link.peer.index()] + u32::from(link.peer_port.raw());
                peer_port[c] = link.peer_port.raw();
            }
        }
        let index = ChannelIndex {
            first,
            head,
            tail,
            reverse,
        };
        Self { index, peer_port }
    }

    /// Number of ports of all switches, port 0 included.
    pub(crate) fn len(&self) -> usize {
        self.peer_port.len()
    }

    /// Number of switches.
    pub(crate) fn switches(&self) -> usize {
        self.index.switches()
    }

    /// Number of ports of one switch, port 0 included.
    pub(crate) fn ports(&self, v: usize) -> usize {
        self.index.leaving(v).len()
    }

    /// The channel that leaves a switch through a port.
    pub(crate) fn output_channel(&self, v: usize, port: u8) -> usize {
        self.index.first[v] as usize + usize::from(port)
    }

    /// The switch at the other end of a port, and the port there; `None` for port 0, end ports,
    /// unconnected ports and port numbers that the switch does not have.
    #[inline]
    pub(crate) fn peer(&self, v: usize, port: u8) -> Option<(usize, u8)> {
        let c = self.output_channel(v, port);
        if c < self.index.first[v + 1] as usize {
            self.head(c)
        } else {
            None
        }
    }

    /// The switch that a channel leads to, and its input port.
    #[inline]
    pub(crate) fn head(&self, channel: usize) -> Option<(usize, u8)> {
        let head = self.index.head[channel];
        (head != NONE).then(|| (head as usize, self.peer_port[channel]))
    }

    /// Switch and port of a channel.
    pub(crate) fn locate(&self, channel: usize) -> (usize, u8) {
        let v = self.index.tail[channel] as usize;
        let port = channel - self.index.first[v] as usize;
        (v, u8::try_from(port).unwrap_or(u8::MAX))
    }

    /// Switch and port of a channel, in public types.
    pub(crate) fn switch_and_port(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let (v, port) = self.locate(channel);
        (SwitchIdx::from_index(v), PortNum(port))
    }
}
