//! Dependencies of forwarding tables: of one set of tables, or of two sets in use at the same time.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::dependencies::{DependencySet, set_bits};
use super::vls::{PlannedVls, VlChannelNumbers};
use crate::tables::{BLOCK_LIDS, Lft};
use crate::topology::PortChannels;
use crate::topology::{Destination, Topology, index_to_u8};
use crate::vl_plan::SLS;

/// Dependencies of all packets to these LIDs, with one table per switch.
pub(crate) fn dependencies_of_tables(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    tables: &[&Lft],
    lids: &[Destination],
) -> DependencySet {
    let rows: Vec<&[u8]> = tables.iter().map(|t| t.entries()).collect();
    let mut lids_of_one_vl: Vec<(usize, u8)> = Vec::new();
    let mut other_lids: Vec<Destination> = Vec::new();
    for d in lids {
        match channels.packets.vl_of_lid(d) {
            // Every switch may send to an end port, so every entry is used by some packet.
            Some(vl) if d.port != PortNum::ZERO => {
                lids_of_one_vl.push((usize::from(d.lid.raw()), vl))
            }
            Some(_) | None => other_lids.push(*d),
        }
    }
    let mut dependencies = DependencySet::empty(&channels);
    if !lids_of_one_vl.is_empty() {
        let masks_by_switch: Vec<Vec<u64>> = (0..channels.ports.switches())
            .into_par_iter()
            .map(|u| {
                dependencies_from_switch(
                    channels,
                    &rows,
                    &lids_of_one_vl,
                    u,
                    dependencies.words_per_row,
                )
            })
            .collect();
        let mut at = 0;
        for masks in masks_by_switch {
            dependencies.rows[at..at + masks.len()].copy_from_slice(&masks);
            at += masks.len();
        }
    }
    if !other_lids.is_empty() {
        let walked = dependencies_of_lids(topo, channels, &other_lids, |v, lid| {
            let port = rows[v].get(lid).copied().unwrap_or(NONE);
            [port, port]
        });
        dependencies.union_with(&walked.0);
    }
    dependencies
}

/// No port.
const NONE: u8 = PortNum::DROP.raw();

/// Dependencies from the channels that leave switch `u`, for LIDs with a single VL each: the rows
/// of these channels.
fn dependencies_from_switch(
    channels: VlChannelNumbers<'_>,
    rows: &[&[u8]],
    lids: &[(usize, u8)],
    u: usize,
    words_per_row: usize,
) -> Vec<u64> {
    let ports = channels.ports;
    let vls = channels.packets.num_vls();
    let mut masks = vec![0u64; ports.ports(u) * vls * words_per_row];
    let mut next: [&[u8]; 256] = [&[]; 256];
    for (port, row) in (0..=u8::MAX).zip(&mut next) {
        if let Some((v, _)) = ports.peer(u, port) {
            *row = rows[v];
        }
    }
    for &(lid, vl) in lids {
        let port = usize::from(rows[u].get(lid).copied().unwrap_or(NONE));
        if let Some(&out) = next[port].get(lid) {
            let bit = usize::from(out) * vls + usize::from(vl);
            if let Some(word) =
                masks.get_mut((port * vls + usize::from(vl)) * words_per_row + bit / 64)
            {
                // Bits of output ports without a link to a switch are cleared below.
                if bit / 64 < words_per_row {
                    *word |= 1 << (bit % 64);
                }
            }
        }
    }
    for port in 1..ports.ports(u) {
        let Some((v, _)) = u8::try_from(port).ok().and_then(|p| ports.peer(u, p)) else {
            continue;
        };
        let mut link_bits = vec![0u64; words_per_row];
        for bit in 0..ports.ports(v) * vls {
            let out = u8::try_from(bit / vls).unwrap_or(NONE);
            link_bits[bit / 64] |= u64::from(ports.peer(v, out).is_some()) << (bit % 64);
        }
        for vl in 0..vls {
            let node = &mut masks[(port * vls + vl) * words_per_row..][..words_per_row];
            node.iter_mut().zip(&link_bits).for_each(|(w, r)| *w &= r);
        }
    }
    masks
}

/// Dependencies of packets to these LIDs with up to two next hops per switch (the same port twice
/// counts as one), and the LIDs with a possible forwarding loop.
pub(crate) fn dependencies_of_lids(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    lids: &[Destination],
    next: impl Fn(usize, usize) -> [u8; 2] + Sync,
) -> (DependencySet, Vec<Destination>) {
    let blocks: Vec<&[Destination]> = lids.chunk_by(|a, b| block_of(a) == block_of(b)).collect();
    // One set per worker instead of one per block, because sets are large.
    let chunk_size = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
    let end_ports: Vec<Vec<u8>> = topo
        .switches()
        .map(|s| topo.end_ports(s).iter().map(|e| e.port.raw()).collect())
        .collect();
    let none = || (DependencySet::empty(&channels), Vec::new());
    blocks
        .par_chunks(chunk_size)
        .map(|blocks| {
            let mut walk = PacketWalk::new(channels, &end_ports);
            let (mut dependencies, mut looping) = none();
            for d in blocks.iter().copied().flatten() {
                if !walk.add_lid(d, &next, &mut dependencies) {
                    looping.push(*d);
                }
            }
            (dependencies, looping)
        })
        .reduce_with(|mut a, b| {
            a.0.union_with(&b.0);
            a.1.extend(b.1);
            a.1.sort_unstable_by_key(|d| d.lid);
            a
        })
        .unwrap_or_else(none)
}

fn block_of(d: &Destination) -> usize {
    usize::from(d.lid.raw()) / BLOCK_LIDS
}

/// Set of (SL, VL) pairs of the packets on a channel, one bit each.
type SlVlSet = [u64; SLS * 16 / 64];

/// Follows the packets to one LID at a time: each switch after all switches that forward to it.
struct PacketWalk<'a> {
    channels: VlChannelNumbers<'a>,
    links: &'a PortChannels,
    packets: PlannedVls<'a>,
    end_ports: &'a [Vec<u8>],
    ports: Vec<[u8; 2]>,
    /// Packets that leave each switch through each of its two ports.
    leaving: Vec<[SlVlSet; 2]>,
    /// Number of unprocessed next hops that lead to each switch.
    waiting: Vec<u32>,
    ready: Vec<usize>,
}

impl<'a> PacketWalk<'a> {
    fn new(channels: VlChannelNumbers<'a>, end_ports: &'a [Vec<u8>]) -> Self {
        let n = channels.ports.switches();
        Self {
            channels,
            links: channels.ports,
            packets: channels.packets,
            end_ports,
            ports: vec![[NONE; 2]; n],
            leaving: vec![[[0; 4]; 2]; n],
            waiting: vec![0; n],
            ready: Vec::new(),
        }
    }

    /// Next ports of a switch towards other switches: none, one or two.
    fn next_ports(&self, v: usize) -> impl Iterator<Item = (usize, u8)> + use<> {
        let [a, b] = self.ports[v];
        [(0, a), (1, if a == b { NONE } else { b })]
            .into_iter()
            .filter(|&(_, p)| p != NONE)
    }

    /// Adds the dependencies of packets to one LID; returns whether none can loop.
    fn add_lid(
        &mut self,
        d: &Destination,
        next: &impl Fn(usize, usize) -> [u8; 2],
        dependencies: &mut DependencySet,
    ) -> bool {
        let n = self.links.switches();
        let lid = usize::from(d.lid.raw());
        let vl_varies = self.packets.vl_of_lid(d).is_none();
        self.waiting.fill(0);
        for v in 0..n {
            let mut ports = next(v, lid);
            if v == d.switch.index() {
                ports = [NONE; 2];
            }
            // Ignore ports that do not lead to a switch.
            self.ports[v] = ports.map(|p| self.links.peer(v, p).map_or(NONE, |_| p));
            if self.ports[v][0] == NONE {
                self.ports[v].swap(0, 1);
            }
            self.leaving[v] = [[0; 4]; 2];
        }
        for v in 0..n {
            let is_sender = d.port != PortNum::ZERO || !self.end_ports[v].is_empty();
            let sl = if is_sender && vl_varies {
                self.packets.sl(v, d)
            } else {
                0
            };
            for (index, port) in self.next_ports(v) {
                if let Some((peer, _)) = self.links.peer(v, port) {
                    self.waiting[peer] += 1;
                }
                if is_sender {
                    self.inject(v, index, port, sl, d);
                }
            }
        }
        self.ready.clear();
        self.ready.extend((0..n).filter(|&v| self.waiting[v] == 0));
        let mut position = 0;
        while let Some(u) = self.ready.pop() {
            position += 1;
            for (index, port) in self.next_ports(u) {
                let Some((v, input)) = self.links.peer(u, port) else {
                    continue;
                };
                self.forward(u, index, port, v, input, dependencies);
                self.waiting[v] -= 1;
                if self.waiting[v] == 0 {
                    self.ready.push(v);
                }
            }
        }
        position == n
    }

    /// Adds the packets of the switch itself and of its end ports.
    fn inject(&mut self, v: usize, index: usize, port: u8, sl: u8, d: &Destination) {
        if let Some(vl) = self.packets.vl_of_lid(d) {
            // Any SL stands for all, because the VL does not change.
            insert_sl_vl(&mut self.leaving[v][index], vl, vl);
            return;
        }
        for &input in std::iter::once(&0).chain(&self.end_ports[v]) {
            if let Some(vl) = self.packets.vl(v, input, port, sl) {
                insert_sl_vl(&mut self.leaving[v][index], sl, vl);
            }
        }
    }

    /// Forwards the packets of a channel through the switch at its end.
    fn forward(
        &mut self,
        u: usize,
        index: usize,
        port: u8,
        v: usize,
        input: u8,
        dependencies: &mut DependencySet,
    ) {
        let packets = self.leaving[u][index];
        let channel = self.links.output_channel(u, port);
        for (index, out) in self.next_ports(v) {
            for (word, &bits) in packets.iter().enumerate() {
                for bit in set_bits(&[bits]) {
                    let sl_vl = index_to_u8(word * 64 + bit as usize);
                    let sl = sl_vl / 16;
                    let vl = sl_vl % 16;
                    if let Some(next_vl) = self.packets.vl(v, input, out, sl) {
                        let next = self
                            .channels
                            .on_vl(self.links.output_channel(v, out), next_vl);
                        dependencies
                            .insert(&self.channels, (self.channels.on_vl(channel, vl), next));
                        insert_sl_vl(&mut self.leaving[v][index], sl, next_vl);
                    }
                }
            }
        }
    }
}

fn insert_sl_vl(packets: &mut SlVlSet, sl: u8, vl: u8) {
    let bit = usize::from(sl % 16) * 16 + usize::from(vl % 16);
    packets[bit / 64] |= 1 << (bit % 64);
}
