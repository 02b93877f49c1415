//! Channels numbered by port, for code that reads forwarding tables: incremental reroute,
//! transition and multicast.
//!
//! Every port of a switch has a number, including port 0 and ports to end ports. A channel has the
//! number of its output port.

use ferrosm_mad::ids::PortNum;

use super::SwitchIdx;
use super::channel_index::{ChannelIndex, NONE, index_to_u32};

/// A port of a switch.
pub(crate) type SwitchPort = (SwitchIdx, PortNum);

/// The peer of each port of each switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortChannels {
    pub(crate) index: ChannelIndex,
    peer_port: Vec<u8>,
}

impl PortChannels {
    /// Numbers the ports of all switches and joins them by links. A link to a nonexistent or
    /// connected port, or to its own switch, is ignored.
    pub(super) fn new(
        num_ports: impl Iterator<Item = u8>,
        links: &[(SwitchPort, SwitchPort)],
    ) -> Self {
        let mut first = vec![0];
        let mut tail = Vec::new();
        for (s, num_ports) in (0u32..).zip(num_ports) {
            tail.resize(tail.len() + usize::from(num_ports) + 1, s);
            first.push(index_to_u32(tail.len()));
        }
        let mut channels = Self {
            peer_port: vec![0; tail.len()],
            index: ChannelIndex {
                first,
                head: vec![NONE; tail.len()],
                reverse: vec![NONE; tail.len()],
                tail,
            },
        };
        for &(a, b) in links {
            if let Some(from_a) = channels.free_port(a)
                && let Some(from_b) = channels.free_port(b)
                && a.0 != b.0
            {
                channels.connect(from_a, from_b, b);
                channels.connect(from_b, from_a, a);
            }
        }
        channels
    }

    /// The channel of an external port that has no link yet.
    fn free_port(&self, (s, port): SwitchPort) -> Option<usize> {
        let channel = self.port(s, port).filter(|_| port != PortNum::ZERO)?;
        self.head(channel).is_none().then_some(channel)
    }

    fn connect(&mut self, channel: usize, reverse: usize, (peer, peer_port): SwitchPort) {
        self.index.head[channel] = peer.0;
        self.index.reverse[channel] = index_to_u32(reverse);
        self.peer_port[channel] = peer_port.raw();
    }

    /// The channel of a port; `None` if the switch does not have it.
    pub(crate) fn port(&self, s: SwitchIdx, port: PortNum) -> Option<usize> {
        let end = *self.index.first.get(s.index() + 1)?;
        let channel = self.output_channel(s.index(), port.raw());
        (channel < end as usize).then_some(channel)
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
        (v, u8::try_from(port).unwrap_or(PortNum::DROP.raw()))
    }

    /// Switch and port of a channel, in public types.
    pub(crate) fn switch_and_port(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let (v, port) = self.locate(channel);
        (SwitchIdx::from_index(v), PortNum(port))
    }
}
