//! Follows every LID from every switch, and records arrivals, losses, loops, loads and channel
//! dependencies.
//!
//! Per LID the tables are a function from switch to next switch. Each switch is settled once, after
//! its next switch, so a LID costs one visit per switch. 64 LIDs (one cache line of every table)
//! are taken at a time. Blocks are walked in parallel into private records, which are added up:
//! nothing depends on who walked what.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use super::{Channels, EXAMPLES_MAX, Lost, LostPairs};
use crate::tables::{BLOCK_LIDS, Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};

/// What the walk found.
pub(super) struct Walked {
    pub(super) pairs: u64,
    pub(super) idle_unreachable: u64,
    pub(super) unreachable: LostPairs,
    pub(super) loops: LostPairs,
    pub(super) hop_histogram: Vec<u64>,
    /// Routes between end ports, by channel.
    pub(super) load: Vec<u64>,
    /// By channel, `words` words: the ports by which packets that came over it leave the next
    /// switch.
    pub(super) dependencies: Vec<u64>,
}

impl Walked {
    fn new(channels: &Channels) -> Self {
        Self {
            pairs: 0,
            idle_unreachable: 0,
            unreachable: LostPairs::default(),
            loops: LostPairs::default(),
            hop_histogram: Vec::new(),
            load: vec![0; channels.len()],
            dependencies: vec![0; channels.len() * channels.words],
        }
    }

    fn add(mut self, other: &Self) -> Self {
        self.pairs += other.pairs;
        self.idle_unreachable += other.idle_unreachable;
        self.unreachable.add(&other.unreachable);
        self.loops.add(&other.loops);
        if self.hop_histogram.len() < other.hop_histogram.len() {
            self.hop_histogram.resize(other.hop_histogram.len(), 0);
        }
        self.hop_histogram
            .iter_mut()
            .zip(&other.hop_histogram)
            .for_each(|(a, b)| *a += b);
        self.load
            .iter_mut()
            .zip(&other.load)
            .for_each(|(a, b)| *a += b);
        self.dependencies
            .iter_mut()
            .zip(&other.dependencies)
            .for_each(|(a, b)| *a |= b);
        self
    }
}

impl LostPairs {
    fn push(&mut self, lost: Lost) {
        self.count += 1;
        if self.first.len() < EXAMPLES_MAX {
            self.first.push(lost);
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first.extend(&other.first);
        self.first.sort_unstable();
        self.first.truncate(EXAMPLES_MAX);
    }
}

/// Walks all LIDs.
pub(super) fn walk(topo: &Topology, tables: &Tables, channels: &Channels) -> Walked {
    let blocks: Vec<&[Destination]> = topo
        .destinations()
        .chunk_by(|a, b| block_of(a.lid) == block_of(b.lid))
        .collect();
    // One record per worker, not per block: records are large.
    let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
    blocks
        .par_chunks(share)
        .map(|blocks| {
            let mut walker = Walker::new(topo, tables, channels);
            blocks.iter().for_each(|block| walker.block(block));
            walker.found
        })
        .reduce_with(|a, b| a.add(&b))
        .unwrap_or_else(|| Walked::new(channels))
}

fn block_of(lid: Lid) -> usize {
    usize::from(lid.raw()) / BLOCK_LIDS
}

/// Hops of a switch that has not been visited for this LID.
const UNSEEN: u32 = u32::MAX;
/// Hops of a switch on the path that is being followed.
const ON_PATH: u32 = u32::MAX - 1;
/// Hops of a switch whose path ends wrongly.
const LOST: u32 = u32::MAX - 2;
/// Hops of a switch whose path never ends.
const LOOPS: u32 = u32::MAX - 3;

struct Walker<'a> {
    topo: &'a Topology,
    tables: &'a [Arc<Lft>],
    channels: &'a Channels,
    hosts: Vec<u64>,
    /// Entries of one block, by LID in the block, then switch.
    columns: Vec<u8>,
    hops: Vec<u32>,
    /// Switches, each after its next one.
    settled: Vec<usize>,
    path: Vec<usize>,
    /// End ports whose packets pass a switch.
    flow: Vec<u64>,
    found: Walked,
}

impl<'a> Walker<'a> {
    fn new(topo: &'a Topology, tables: &'a [Arc<Lft>], channels: &'a Channels) -> Self {
        let n = topo.num_switches();
        Self {
            topo,
            tables,
            channels,
            hosts: topo
                .switches()
                .map(|s| topo.end_ports(s).len() as u64)
                .collect(),
            columns: vec![PortNum::DROP.raw(); BLOCK_LIDS * n],
            hops: vec![UNSEEN; n],
            settled: Vec::with_capacity(n),
            path: Vec::new(),
            flow: vec![0; n],
            found: Walked::new(channels),
        }
    }

    fn block(&mut self, lids: &[Destination]) {
        let n = self.hops.len();
        let Some(block) = lids.first().map(|d| block_of(d.lid)) else {
            return;
        };
        for v in 0..n {
            let from = block * BLOCK_LIDS;
            let row = self
                .tables
                .get(v)
                .and_then(|t| t.entries().get(from..))
                .unwrap_or(&[]);
            for i in 0..BLOCK_LIDS {
                self.columns[i * n + v] = row.get(i).copied().unwrap_or(PortNum::DROP.raw());
            }
        }
        for dest in lids {
            let i = usize::from(dest.lid.raw()) % BLOCK_LIDS;
            let columns = std::mem::take(&mut self.columns);
            let column = &columns[i * n..][..n];
            self.arrivals(dest, column);
            if dest.port == PortNum::ZERO {
                self.traffic::<true>(dest, column);
            } else {
                self.traffic::<false>(dest, column);
            }
            self.columns = columns;
        }
    }

    /// The channel by which a switch forwards; `None` if its entry does not lead to a switch.
    #[inline(always)]
    fn channel(&self, v: usize, port: u8) -> Option<usize> {
        let channel = self.channels.base[v] + usize::from(port);
        (channel < self.channels.base[v + 1] && self.channels.peer[channel] != Channels::NOWHERE)
            .then_some(channel)
    }

    /// Settles every switch for one LID, and notes who is lost.
    fn arrivals(&mut self, dest: &Destination, column: &[u8]) {
        self.hops.fill(UNSEEN);
        self.settled.clear();
        let owner = dest.switch.index();
        let mut all_arrive = true;
        for start in 0..column.len() {
            let mut v = start;
            // Follow until something known.
            let mut end = loop {
                match self.hops[v] {
                    UNSEEN => {}
                    ON_PATH => break LOOPS,
                    known => break known,
                }
                self.hops[v] = ON_PATH;
                self.path.push(v);
                if v == owner {
                    // Counted up from here: the owner itself gets 0.
                    break if column[v] == dest.port.raw() {
                        u32::MAX
                    } else {
                        LOST
                    };
                }
                match self.channel(v, column[v]) {
                    Some(channel) => v = self.channels.peer[channel] as usize,
                    None => break LOST,
                }
            };
            while let Some(v) = self.path.pop() {
                let lost = end == LOST || end == LOOPS;
                end = if lost { end } else { end.wrapping_add(1) };
                all_arrive &= !lost;
                self.hops[v] = end;
                self.settled.push(v);
            }
        }
        if all_arrive {
            self.found.pairs += column.len() as u64;
        } else {
            self.losses(dest, column);
        }
    }

    fn losses(&mut self, dest: &Destination, column: &[u8]) {
        for from in 0..column.len() {
            let hops = self.hops[from];
            if hops != LOST && hops != LOOPS {
                self.found.pairs += 1;
                continue;
            }
            if hops == LOST && dest.port == PortNum::ZERO && self.hosts[from] == 0 {
                self.found.idle_unreachable += 1;
                continue;
            }
            // As many steps as there are switches end at the end of a path, or inside a loop.
            let mut at = from;
            for _ in 0..column.len() {
                let arrived = at == dest.switch.index();
                match self.channel(at, column[at]).filter(|_| !arrived) {
                    Some(channel) => at = self.channels.peer[channel] as usize,
                    None => break,
                }
            }
            let lost = Lost {
                lid: dest.lid,
                from: SwitchIdx::at(from),
                at: SwitchIdx::at(at),
                port: PortNum(column[at]),
            };
            if hops == LOST {
                self.found.unreachable.push(lost);
            } else {
                self.found.loops.push(lost);
            }
        }
    }

    /// Loads and dependencies of one LID, from the farthest switches inwards. `TO_SWITCH`: the LID
    /// is a switch's own.
    fn traffic<const TO_SWITCH: bool>(&mut self, dest: &Destination, column: &[u8]) {
        let owner = dest.switch.index();
        self.flow.copy_from_slice(&self.hosts);
        if !TO_SWITCH {
            self.count_hops(owner);
        }
        let (base, peer) = (&self.channels.base, &self.channels.peer);
        let words = self.channels.words;
        for &v in self.settled.iter().rev() {
            let flow = self.flow[v];
            if v == owner || self.hops[v] >= LOOPS || (TO_SWITCH && flow == 0) {
                continue;
            }
            let channel = base[v] + usize::from(column[v]);
            let next = peer[channel] as usize;
            self.flow[next] += flow;
            if !TO_SWITCH {
                self.found.load[channel] += flow;
            }
            if next != owner {
                let out = usize::from(column[next]);
                self.found.dependencies[channel * words + out / 64] |= 1 << (out % 64);
            }
        }
    }

    fn count_hops(&mut self, owner: usize) {
        for (v, (&hops, &hosts)) in self.hops.iter().zip(&self.hosts).enumerate() {
            if hosts == 0 || hops >= LOOPS {
                continue;
            }
            let hops = hops as usize;
            if self.found.hop_histogram.len() <= hops {
                self.found.hop_histogram.resize(hops + 1, 0);
            }
            // An end port does not count as its own partner.
            self.found.hop_histogram[hops] += hosts - u64::from(v == owner);
        }
        debug_assert_eq!(self.topo.num_switches(), self.hops.len());
    }
}
