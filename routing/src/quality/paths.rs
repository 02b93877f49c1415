//! Paths of a routing, as sequences of channels, read from the tables hop by hop.

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology};

const NOWHERE: u32 = u32::MAX;

/// An end port: location and base LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) switch: usize,
    pub(super) port: PortNum,
    pub(super) lid: Lid,
}

/// The paths of a routing. A channel is the flat number of its output port over all switches.
pub(super) struct RoutedPaths<'a> {
    /// Table entries by LID, of each switch.
    rows: Vec<&'a [u8]>,
    /// Flat number of port 0 of each switch, and the total.
    base: Vec<usize>,
    /// Next switch, by channel.
    peer: Vec<u32>,
    /// End ports with a LID, by switch and port.
    pub(super) hosts: Vec<Host>,
    /// First index of each switch in `hosts`, and the total.
    pub(super) host_base: Vec<usize>,
}

impl<'a> RoutedPaths<'a> {
    pub(super) fn new(topo: &Topology, tables: &'a Tables) -> Self {
        let mut base = vec![];
        let mut peer = vec![];
        let mut hosts = vec![];
        let mut host_base = vec![];
        for s in topo.switches() {
            base.push(peer.len());
            host_base.push(hosts.len());
            peer.extend((0..=topo.num_ports(s)).map(|p| {
                topo.neighbor(s, PortNum(p))
                    .map_or(NOWHERE, |(peer, _)| peer.0)
            }));
            // A LID with two owners belongs to the first.
            let owns = |port, lid| {
                topo.destinations_on(s)
                    .iter()
                    .clone()
                    .any(|d| (d.port, d.lid) == (port, lid))
            };
            hosts.extend(
                topo.end_ports(s)
                    .iter()
                    .filter(|e| owns(e.port, e.lid))
                    .map(|e| Host {
                        switch: s.index(),
                        port: e.port,
                        lid: e.lid,
                    }),
            );
        }
        base.push(peer.len());
        host_base.push(hosts.len());
        Self {
            rows: tables.iter().map(|t| t.entries()).collect(),
            base,
            peer,
            hosts,
            host_base,
        }
    }

    pub(super) fn num_switches(&self) -> usize {
        self.base.len() - 1
    }

    /// Number of channels, including unused numbers.
    pub(super) fn num_channels(&self) -> usize {
        self.peer.len()
    }

    /// Number of channels that lead to a switch.
    pub(super) fn num_links(&self) -> u64 {
        self.peer.iter().filter(|peer| **peer != NOWHERE).count() as u64
    }

    /// The channels that lead to a switch: switch, output port, and number of the channel.
    pub(super) fn channels(&self) -> impl Iterator<Item = (SwitchIdx, PortNum, usize)> {
        (0..self.num_switches()).flat_map(|s| {
            let ports = (0..=u8::MAX).zip(self.base[s]..self.base[s + 1]);
            let linked = ports.filter(|(_, channel)| self.peer[*channel] != NOWHERE);
            linked.map(move |(port, channel)| (SwitchIdx::from_index(s), PortNum(port), channel))
        })
    }

    /// Number of hosts of a switch.
    pub(super) fn hosts_on(&self, switch: usize) -> usize {
        self.host_base[switch + 1] - self.host_base[switch]
    }

    /// Output channel of a switch for a LID, and the next switch; `None` if the channel leads to no
    /// switch.
    #[inline(always)]
    pub(super) fn step(&self, switch: usize, lid: Lid) -> Option<(usize, usize)> {
        let port = *self.rows.get(switch)?.get(usize::from(lid.raw()))?;
        let channel = self.base[switch] + usize::from(port);
        let peer = *self.peer.get(channel)?;
        (channel < self.base[switch + 1] && peer != NOWHERE).then_some((channel, peer as usize))
    }

    /// Calls `f` with every channel from a switch to a host. Returns whether packets reach the
    /// host; if not, `f` was called with the channels up to the last switch that they reach.
    #[inline(always)]
    pub(super) fn follow(&self, from: usize, to: &Host, mut f: impl FnMut(usize)) -> bool {
        let mut at = from;
        for _ in 0..=self.num_switches() {
            if at == to.switch {
                return true;
            }
            let Some((channel, next)) = self.step(at, to.lid) else {
                return false;
            };
            f(channel);
            at = next;
        }
        false
    }

    /// Hosts (indices in [`Self::hosts`]) by LID.
    pub(super) fn by_lid(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_by_key(|&h| self.hosts[h].lid);
        order
    }

    /// Hosts by the first LID of their switch, then port.
    pub(super) fn by_leaf(&self) -> Vec<usize> {
        let first: Vec<Option<Lid>> = (0..self.num_switches())
            .map(|s| {
                let hosts = &self.hosts[self.host_base[s]..self.host_base[s + 1]];
                hosts.iter().map(|h| h.lid).min()
            })
            .collect();
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_by_key(|&h| (first[self.hosts[h].switch], self.hosts[h].port));
        order
    }

    /// Hosts in this order of LIDs.
    pub(super) fn in_order(&self, lids: &[Lid]) -> Vec<usize> {
        let by_lid = self.by_lid();
        let find = |lid: &Lid| by_lid.binary_search_by_key(lid, |&h| self.hosts[h].lid);
        lids.iter()
            .filter_map(|lid| find(lid).ok().map(|i| by_lid[i]))
            .collect()
    }

    /// The switch with this index.
    pub(super) fn switch(index: usize) -> SwitchIdx {
        SwitchIdx::from_index(index)
    }
}
