//! Numbers the ports of all switches in one row, for what walks tables: `repair`, `transition`, `multicast`.
//!
//! A channel is one direction of a cable between switches; its number is that of the port that it leaves by. Owned by one
//! computation. The proof has numbers of its own, and shares nothing with these.

use ferrosm_mad::ids::PortNum;

use crate::topology::{SwitchIdx, Topology};

const NOWHERE: u32 = u32::MAX;

/// Where each port of each switch leads.
#[derive(Debug)]
pub(crate) struct Channels {
    /// Number of each switch's port 0, and the total.
    base: Vec<usize>,
    peer: Vec<u32>,
    peer_port: Vec<u8>,
}

impl Channels {
    pub(crate) fn new(topo: &Topology) -> Self {
        let (mut base, mut peer, mut peer_port) = (Vec::new(), Vec::new(), Vec::new());
        for s in topo.switches() {
            let first = peer.len();
            base.push(first);
            peer.resize(first + usize::from(topo.num_ports(s)) + 1, NOWHERE);
            peer_port.resize(peer.len(), 0);
            for link in topo.links(s) {
                peer[first + link.port.index()] = link.peer.0;
                peer_port[first + link.port.index()] = link.peer_port.raw();
            }
        }
        base.push(peer.len());
        Self {
            base,
            peer,
            peer_port,
        }
    }

    /// Ports of all switches, port 0 included.
    pub(crate) fn len(&self) -> usize {
        self.peer.len()
    }

    /// How many switches there are.
    pub(crate) fn switches(&self) -> usize {
        self.base.len() - 1
    }

    /// Ports of one switch, port 0 included.
    pub(crate) fn ports(&self, v: usize) -> usize {
        self.base[v + 1] - self.base[v]
    }

    /// The channel that leaves a switch by a port that it has.
    pub(crate) fn at(&self, v: usize, port: u8) -> usize {
        self.base[v] + usize::from(port)
    }

    /// The switch at the other end of a port, and the port there; `None` for port 0, end ports, empty ports and ports
    /// that there are not.
    #[inline]
    pub(crate) fn peer(&self, v: usize, port: u8) -> Option<(usize, u8)> {
        let c = self.base[v] + usize::from(port);
        (c < self.base[v + 1] && self.peer[c] != NOWHERE)
            .then(|| (self.peer[c] as usize, self.peer_port[c]))
    }

    /// Where a channel leads.
    pub(crate) fn far(&self, channel: usize) -> Option<(usize, u8)> {
        (self.peer[channel] != NOWHERE)
            .then(|| (self.peer[channel] as usize, self.peer_port[channel]))
    }

    /// The channel by which packets come in by this port, if switches are at both ends.
    pub(crate) fn into(&self, v: usize, port: u8) -> Option<usize> {
        self.peer(v, port).map(|(u, p)| self.at(u, p))
    }

    /// Switch and port of a channel.
    pub(crate) fn locate(&self, channel: usize) -> (usize, u8) {
        let v = self.base.partition_point(|&b| b <= channel) - 1;
        (v, u8::try_from(channel - self.base[v]).unwrap_or(u8::MAX))
    }

    /// The same, in words of the interface.
    pub(crate) fn name(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let (v, port) = self.locate(channel);
        (SwitchIdx::at(v), PortNum(port))
    }
}
