//! Follows every LID from every switch, and records arrivals, losses, loops, loads and channel
//! dependencies.
//!
//! Per LID the tables are a function from switch to next switch. Each switch is settled once, after
//! its next switch, so a LID costs one visit per switch. 64 LIDs are taken at a time (`batches`).
//! Batches are walked in parallel into private records, which are added up, and
//! into one set of dependencies: nothing depends on who walked what.
//!
//! LIDs of one switch mostly have equal distances. So those of the LID before are tried first: if every next switch is one hop
//! nearer to the same owner, all switches arrive, and no search is needed.
//!
//! Where packets keep their VL, the packets that pass a switch are one mask of VLs, and the VLs of
//! a channel one mask too. Where they may change it, `per_ports` follows them.

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use super::batches::batches;
use super::channels::Channels;
use super::detour::Found;
use super::failure::{EXAMPLES_MAX, LostPacket, LostPairs};
use super::ground::Ground;
use super::inject::Injection;
use super::per_ports::{Carried, Tree};
use super::sink::Sink;
use crate::tables::BLOCK_LIDS;
use crate::topology::{Destination, SwitchIdx};

/// What the walk found.
#[derive(Debug, Clone)]
pub(super) struct Walked {
    pub(super) pairs: u64,
    pub(super) idle_unreachable: u64,
    pub(super) unreachable: LostPairs,
    pub(super) loops: LostPairs,
    pub(super) hop_histogram: Vec<u64>,
    /// Routes between end ports, by channel.
    pub(super) load: Vec<u64>,
    /// VLs that carry anything, by channel.
    pub(super) used: Vec<u16>,
    /// LIDs that some packets do not reach because of their lane, and the first of them.
    pub(super) dropped: u64,
    pub(super) dropped_first: Vec<Lid>,
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
            used: vec![0; channels.len()],
            dropped: 0,
            dropped_first: Vec::new(),
        }
    }

    /// Takes away what some LIDs did, and adds what they do. `used` says nothing then.
    pub(super) fn replace(&mut self, gone: &Self, come: &Self) {
        self.pairs = self.pairs - gone.pairs + come.pairs;
        self.idle_unreachable =
            self.idle_unreachable - gone.idle_unreachable + come.idle_unreachable;
        let hops = self.hop_histogram.len().max(come.hop_histogram.len());
        self.hop_histogram.resize(hops, 0);
        let all = |a: &mut [u64], gone: &[u64], come: &[u64]| {
            a.iter_mut().zip(come).for_each(|(a, b)| *a += b);
            a.iter_mut().zip(gone).for_each(|(a, b)| *a -= b);
        };
        all(
            &mut self.hop_histogram,
            &gone.hop_histogram,
            &come.hop_histogram,
        );
        all(&mut self.load, &gone.load, &come.load);
    }

    /// Moves routes from old ways to new ones.
    pub(super) fn move_routes(&mut self, found: &Found) {
        let hops = found.hops_gone.len().max(found.hops_come.len());
        self.hop_histogram
            .resize(hops.max(self.hop_histogram.len()), 0);
        let histogram = &mut self.hop_histogram;
        let pairs = histogram.iter_mut().zip(&found.hops_come);
        pairs.for_each(|(a, b)| *a += b);
        let pairs = histogram.iter_mut().zip(&found.hops_gone);
        pairs.for_each(|(a, b)| *a -= b);
        found.load_come.iter().for_each(|&(c, n)| self.load[c] += n);
        found.load_gone.iter().for_each(|&(c, n)| self.load[c] -= n);
    }

    pub(super) fn add(mut self, other: &Self) -> Self {
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
        self.used
            .iter_mut()
            .zip(&other.used)
            .for_each(|(a, b)| *a |= b);
        self.dropped += other.dropped;
        self.dropped_first.extend(&other.dropped_first);
        self.dropped_first.sort_unstable();
        self.dropped_first.truncate(EXAMPLES_MAX);
        self
    }
}

impl LostPairs {
    fn push(&mut self, lost: LostPacket) {
        self.count += 1;
        keep_least(&mut self.first, lost);
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first.extend(other.first.iter().cloned());
        self.first.sort_unstable();
        self.first.truncate(EXAMPLES_MAX);
    }
}

/// Adds an example to the least ones, in ascending order.
fn keep_least<T: Ord>(first: &mut Vec<T>, example: T) {
    let at = first.partition_point(|kept| *kept < example);
    if at < EXAMPLES_MAX {
        first.insert(at, example);
        first.truncate(EXAMPLES_MAX);
    }
}

/// Walks these LIDs (ascending), and enters into the sinks what packets with these SLs wait for. Gives the sinks back, in no
/// order.
pub(super) fn walk<S: Sink>(
    ground: &Ground<'_>,
    injection: &Injection<'_>,
    destinations: &[Destination],
    sink: &S,
) -> (Walked, Vec<S>) {
    // Where packets may change their VL, it pays to follow those to all LIDs of a switch one after the other.
    let all = batches(destinations, ground.entries.is_some());
    // A few records per worker, not one per batch: records are large.
    let share = all
        .len()
        .div_ceil(SHARES * rayon::current_num_threads())
        .max(1);
    all.par_chunks(share)
        .map(|batches| {
            let mut walker = Walker::new(ground, injection, sink.clone());
            batches.iter().for_each(|lids| walker.batch(lids));
            (walker.found, vec![walker.sink])
        })
        .reduce_with(|(a, mut sinks), (b, more)| {
            sinks.extend(more);
            (a.add(&b), sinks)
        })
        .unwrap_or_else(|| (Walked::new(ground.channels), Vec::new()))
}

/// Parts of the work per worker: a few, so that one who is slow does not hold up the others.
const SHARES: usize = 3;

/// Switches whose entries are read together.
const ROWS: usize = 16;

/// Hops of a switch that has not been visited for this LID.
const UNSEEN: u32 = u32::MAX;
/// Hops of a switch on the path that is being followed.
const ON_PATH: u32 = u32::MAX - 1;
/// Hops of a switch whose path ends wrongly.
const LOST: u32 = u32::MAX - 2;
/// Hops of a switch whose path never ends.
const LOOPS: u32 = u32::MAX - 3;

struct Walker<'a, S> {
    ground: &'a Ground<'a>,
    channels: &'a Channels,
    injection: &'a Injection<'a>,
    sink: S,
    hosts: Vec<u64>,
    /// Entries of one batch, by LID in the batch, then switch.
    columns: Vec<u8>,
    /// SLs of one batch in the same order, where they depend on the switch.
    sls: Vec<u8>,
    hops: Vec<u32>,
    /// By switch that arrives: the next one.
    next: Vec<u32>,
    /// Switches, each after its next one.
    settled: Vec<usize>,
    /// The owner of the LID that `hops` are of, if all switches arrive, and whether `settled` is by hops.
    arrived: Option<usize>,
    is_by_hops: bool,
    /// By number of hops: end ports that send to a LID with these `hops`; empty where nobody has counted.
    by_hops: Vec<u64>,
    path: Vec<usize>,
    /// End ports whose packets pass a switch.
    flow: Vec<u64>,
    /// VLs of packets that pass a switch, where packets keep their VL; else SLs of packets that enter there.
    passing: Vec<u16>,
    carried: Carried,
    found: Walked,
}

impl<'a, S: Sink> Walker<'a, S> {
    fn new(ground: &'a Ground<'a>, injection: &'a Injection<'a>, sink: S) -> Self {
        let n = ground.topo.num_switches();
        let hosts = |s| ground.topo.end_ports(s).len() as u64;
        Self {
            ground,
            channels: ground.channels,
            injection,
            sink,
            hosts: ground.topo.switches().map(hosts).collect(),
            columns: vec![PortNum::DROP.raw(); BLOCK_LIDS * n],
            sls: Vec::new(),
            hops: vec![UNSEEN; n],
            next: vec![0; n],
            settled: Vec::with_capacity(n),
            arrived: None,
            is_by_hops: false,
            by_hops: Vec::new(),
            path: Vec::new(),
            flow: vec![0; n],
            passing: vec![0; n],
            carried: Carried::new(if ground.entries.is_some() { n } else { 0 }),
            found: Walked::new(ground.channels),
        }
    }

    /// Walks a batch of LIDs.
    fn batch(&mut self, lids: &[Destination]) {
        let n = self.hops.len();
        self.read(lids);
        self.injection.columns(lids, &mut self.sls);
        for (i, dest) in lids.iter().enumerate() {
            let columns = std::mem::take(&mut self.columns);
            let column = &columns[i * n..][..n];
            if self.has_same_hops(dest, column) {
                self.found.pairs += n as u64;
            } else {
                self.arrivals(dest, column);
            }
            let before = i
                .checked_sub(1)
                .map(|last| (&lids[last], &columns[last * n..][..n]));
            let dropped = if dest.port == PortNum::ZERO {
                self.packets::<true>((i, dest), column, before)
            } else {
                self.packets::<false>((i, dest), column, before)
            };
            if dropped {
                self.found.dropped += 1;
                keep_least(&mut self.found.dropped_first, dest.lid);
            }
            self.columns = columns;
        }
    }

    /// Reads the entries of a batch, of a few switches at a time: their cache lines are fetched side by side.
    fn read(&mut self, lids: &[Destination]) {
        let n = self.hops.len();
        let mut rows: [&[u8]; ROWS] = [&[]; ROWS];
        for first in (0..n).step_by(ROWS) {
            let some = ROWS.min(n - first);
            for (row, v) in rows.iter_mut().zip(first..first + some) {
                *row = self.ground.tables.get(v).map_or(&[], |t| t.entries());
            }
            for (i, d) in lids.iter().enumerate() {
                let lid = usize::from(d.lid.raw());
                let out = &mut self.columns[i * n + first..][..some];
                for (entry, row) in out.iter_mut().zip(&rows) {
                    *entry = row.get(lid).copied().unwrap_or(PortNum::DROP.raw());
                }
            }
        }
    }

    /// Whether every switch arrives over as many hops as for the LID before, which is of the same switch.
    fn has_same_hops(&mut self, dest: &Destination, column: &[u8]) -> bool {
        let owner = dest.switch.index();
        if self.arrived != Some(owner) || column[owner] != dest.port.raw() {
            return false;
        }
        for (v, &port) in column.iter().enumerate() {
            if v == owner {
                continue;
            }
            let Some(channel) = self.channels.channel(v, port) else {
                return false;
            };
            let next = self.channels.ends[channel].switch;
            if self.hops[next as usize] + 1 != self.hops[v] {
                return false;
            }
            self.next[v] = next;
        }
        if !self.is_by_hops {
            let hops = &self.hops;
            self.settled.sort_by_key(|&v| hops[v]);
            self.is_by_hops = true;
        }
        true
    }

    /// Settles every switch for one LID, and notes who is lost.
    fn arrivals(&mut self, dest: &Destination, column: &[u8]) {
        self.hops.fill(UNSEEN);
        self.settled.clear();
        self.by_hops.clear();
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
                match self.channels.channel(v, column[v]) {
                    Some(channel) => {
                        let next = self.channels.ends[channel].switch;
                        self.next[v] = next;
                        v = next as usize;
                    }
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
        self.arrived = all_arrive.then_some(owner);
        self.is_by_hops = false;
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
                match self.channels.channel(at, column[at]).filter(|_| !arrived) {
                    Some(channel) => at = self.channels.ends[channel].switch as usize,
                    None => break,
                }
            }
            let lost = LostPacket {
                lid: dest.lid,
                from: SwitchIdx::at(from),
                at: SwitchIdx::at(at),
                port: PortNum(column[at]),
                path: Vec::new(),
            };
            if hops == LOST {
                self.found.unreachable.push(lost);
            } else {
                self.found.loops.push(lost);
            }
        }
    }

    /// Loads and dependencies of one LID, the `i`th of its batch. `TO_SWITCH`: the LID is a switch's own. `before` is the LID before,
    /// with its entries. Says whether packets are dropped.
    fn packets<const TO_SWITCH: bool>(
        &mut self,
        (i, dest): (usize, &Destination),
        column: &[u8],
        before: Option<(&Destination, &[u8])>,
    ) -> bool {
        self.flow.copy_from_slice(&self.hosts);
        self.injection.fill(i, dest, &self.sls, &mut self.passing);
        // An SL that does not exist has no bit.
        let mut dropped = false;
        for (bits, &hosts) in self.passing.iter_mut().zip(&self.hosts) {
            let real = !TO_SWITCH || hosts > 0;
            dropped |= real && *bits == 0;
            *bits = if real { *bits } else { 0 };
        }
        if !TO_SWITCH {
            self.count_hops(dest.switch.index());
        }
        if self.ground.entries.is_some() {
            dropped | self.follow::<TO_SWITCH>(dest, column, before)
        } else if S::BY_ROWS && !TO_SWITCH && self.ground.narrow.is_none() {
            self.loads(dest.switch.index(), column);
            dropped
        } else if self.ground.narrow.is_some() {
            dropped | self.traffic::<TO_SWITCH, true>(dest, column)
        } else {
            dropped | self.traffic::<TO_SWITCH, false>(dest, column)
        }
    }

    /// Routes over each channel, from the farthest switches inwards.
    fn loads(&mut self, owner: usize, column: &[u8]) {
        for &v in self.settled.iter().rev() {
            let flow = self.flow[v];
            if v != owner && flow != 0 && self.hops[v] < LOOPS {
                let channel = self.channels.base[v] + usize::from(column[v]);
                self.flow[self.next[v] as usize] += flow;
                self.found.load[channel] += flow;
            }
        }
    }

    /// From the farthest switches inwards, where packets keep their VL. `NARROW`: not every channel has all VLs.
    fn traffic<const TO_SWITCH: bool, const NARROW: bool>(
        &mut self,
        dest: &Destination,
        column: &[u8],
    ) -> bool {
        let owner = dest.switch.index();
        let channels = self.channels;
        let allowed: &[u16] = self.ground.narrow.as_deref().unwrap_or(&[]);
        let mut dropped = false;
        for &v in self.settled.iter().rev() {
            let (flow, mut vls) = (self.flow[v], self.passing[v]);
            if v == owner || self.hops[v] >= LOOPS || vls == 0 {
                continue;
            }
            let channel = channels.base[v] + usize::from(column[v]);
            if NARROW {
                dropped |= vls & !allowed[channel] != 0;
                vls &= allowed[channel];
            }
            let next = self.next[v] as usize;
            self.flow[next] += flow;
            self.passing[next] |= vls;
            self.found.used[channel] |= vls;
            self.sink.on(channel, vls);
            if !TO_SWITCH {
                self.found.load[channel] += flow;
            }
            if next != owner {
                let out = channels.base[next] + usize::from(column[next]);
                self.sink.keep(channels, channel, out, vls);
            }
        }
        dropped
    }

    /// From the farthest switches inwards, where packets may change their VL.
    fn follow<const TO_SWITCH: bool>(
        &mut self,
        dest: &Destination,
        column: &[u8],
        before: Option<(&Destination, &[u8])>,
    ) -> bool {
        if !TO_SWITCH {
            self.loads(dest.switch.index(), column);
        }
        let (Some(entries), Some(waits)) = (&self.ground.entries, self.sink.across()) else {
            return false;
        };
        let hops = &self.hops;
        let inwards = self.settled.iter().rev().copied();
        let tree = Tree {
            dest,
            column,
            sls: &self.passing,
        };
        if let Some((last, entered)) = before
            && self.arrived.is_some()
            && self.carried.covers(&tree, last, entered)
        {
            return !TO_SWITCH && self.carried.hand_out(self.ground, entries, &tree);
        }
        self.carried.follow(
            self.ground,
            entries,
            &tree,
            inwards.filter(|&v| hops[v] < LOOPS),
            waits,
            &mut self.found.used,
        )
    }

    fn count_hops(&mut self, owner: usize) {
        if self.by_hops.is_empty() {
            for (v, (&hops, &hosts)) in self.hops.iter().zip(&self.hosts).enumerate() {
                if hosts == 0 || hops >= LOOPS {
                    continue;
                }
                let hops = hops as usize;
                if self.by_hops.len() <= hops {
                    self.by_hops.resize(hops + 1, 0);
                }
                // An end port does not count as its own partner.
                self.by_hops[hops] += hosts - u64::from(v == owner);
            }
        }
        let histogram = &mut self.found.hop_histogram;
        if histogram.len() < self.by_hops.len() {
            histogram.resize(self.by_hops.len(), 0);
        }
        let both = histogram.iter_mut().zip(&self.by_hops);
        both.for_each(|(all, some)| *all += some);
    }
}
