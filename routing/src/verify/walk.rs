//! Walks the tables for every LID from every switch, and records reachability, loops, loads and
//! channel dependencies.
//!
//! For a LID, the tables are a function from switch to next switch. Each switch is visited once,
//! after its next switch. Workers walk batches of up to 64 LIDs (`batches`) into private results,
//! which are added up, and into one set of dependencies. The result does not depend on the
//! distribution of batches.
//!
//! LIDs of one switch usually have equal distances. The walk therefore first tries the distances of
//! the previous LID: if every next switch is one hop nearer to the same owner, all switches reach
//! the LID.
//!
//! If packets never change their VL, a mask of VLs represents the packets that cross a switch or
//! channel. Otherwise `per_ports` follows them.

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use super::batches::batches;
use super::channels::Channels;
use super::context::WalkContext;
use super::error::{EXAMPLES_MAX, LostPacket, LostPairs};
use super::inject::SourceSls;
use super::per_ports::{DestinationTree, LidPacketVls};
use super::route_changes::RouteDeltas;
use super::sink::Sink;
use crate::tables::{BLOCK_LIDS, Tables};
use crate::topology::{Destination, SwitchIdx};

/// Result of a walk.
#[derive(Debug, Clone)]
pub(super) struct WalkResult {
    pub(super) pairs: u64,
    pub(super) idle_unreachable: u64,
    pub(super) kept_unreachable: u64,
    pub(super) unreachable: LostPairs,
    pub(super) loops: LostPairs,
    pub(super) hop_histogram: Vec<u64>,
    /// Routes between end ports, by channel.
    pub(super) load: Vec<u64>,
    /// Mask of VLs with traffic, by channel.
    pub(super) used: Vec<u16>,
    /// Number of LIDs for which packets are dropped because of their VL, and the first of these
    /// LIDs.
    pub(super) dropped: u64,
    pub(super) dropped_first: Vec<Lid>,
}

impl WalkResult {
    fn new(channels: &Channels) -> Self {
        Self {
            pairs: 0,
            idle_unreachable: 0,
            kept_unreachable: 0,
            unreachable: LostPairs::default(),
            loops: LostPairs::default(),
            hop_histogram: Vec::new(),
            load: vec![0; channels.len()],
            used: vec![0; channels.len()],
            dropped: 0,
            dropped_first: Vec::new(),
        }
    }

    /// Subtracts the old results of some LIDs and adds their new ones. `used` is invalid
    /// afterwards.
    pub(super) fn replace(&mut self, removed: &Self, added: &Self) {
        self.pairs = self.pairs - removed.pairs + added.pairs;
        self.idle_unreachable =
            self.idle_unreachable - removed.idle_unreachable + added.idle_unreachable;
        let hops = self.hop_histogram.len().max(added.hop_histogram.len());
        self.hop_histogram.resize(hops, 0);
        let update_all = |a: &mut [u64], removed: &[u64], added: &[u64]| {
            a.iter_mut().zip(added).for_each(|(a, b)| *a += b);
            a.iter_mut().zip(removed).for_each(|(a, b)| *a -= b);
        };
        update_all(
            &mut self.hop_histogram,
            &removed.hop_histogram,
            &added.hop_histogram,
        );
        update_all(&mut self.load, &removed.load, &added.load);
    }

    /// `growth` more end ports of a switch send over its route to a LID, which exists.
    pub(super) fn resize_route(
        &mut self,
        tables: &Tables,
        channels: &Channels,
        dest: &Destination,
        from: usize,
        growth: i64,
    ) {
        if dest.port == PortNum::ZERO {
            return;
        }
        let mut at = from;
        let mut hops = 0;
        while at != dest.switch.index() {
            let port = tables[at].get(dest.lid).raw();
            let Some(channel) = channels.channel(at, port) else {
                return;
            };
            let load = &mut self.load[channel];
            *load = load.wrapping_add_signed(growth);
            at = channels.heads[channel].switch as usize;
            hops += 1;
        }
        let count = &mut self.hop_histogram[hops];
        *count = count.wrapping_add_signed(growth);
    }

    /// Moves routes from old to new paths.
    pub(super) fn move_routes(&mut self, deltas: &RouteDeltas) {
        let hops = deltas.hops_removed.len().max(deltas.hops_added.len());
        self.hop_histogram
            .resize(hops.max(self.hop_histogram.len()), 0);
        let histogram = &mut self.hop_histogram;
        let pairs = histogram.iter_mut().zip(&deltas.hops_added);
        pairs.for_each(|(a, b)| *a += b);
        let pairs = histogram.iter_mut().zip(&deltas.hops_removed);
        pairs.for_each(|(a, b)| *a -= b);
        deltas
            .load_added
            .iter()
            .for_each(|&(c, n)| self.load[c] += n);
        deltas
            .load_removed
            .iter()
            .for_each(|&(c, n)| self.load[c] -= n);
    }

    pub(super) fn add(mut self, other: &Self) -> Self {
        self.pairs += other.pairs;
        self.idle_unreachable += other.idle_unreachable;
        self.kept_unreachable += other.kept_unreachable;
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
    fn push(&mut self, packet: LostPacket) {
        self.count += 1;
        insert_example(&mut self.first, packet);
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first.extend(other.first.iter().cloned());
        self.first.sort_unstable();
        self.first.truncate(EXAMPLES_MAX);
    }
}

/// Inserts an example into the sorted list of the smallest ones.
fn insert_example<T: Ord>(first: &mut Vec<T>, example: T) {
    let at = first.partition_point(|other| *other < example);
    if at < EXAMPLES_MAX {
        first.insert(at, example);
        first.truncate(EXAMPLES_MAX);
    }
}

/// Walks these LIDs (ascending) and adds the dependencies of packets with these SLs to clones of
/// `sink`, which are returned in any order.
pub(super) fn walk<S: Sink>(
    context: &WalkContext<'_>,
    source_sls: &SourceSls<'_>,
    destinations: &[Destination],
    sink: &S,
) -> (WalkResult, Vec<S>) {
    // If packets can change their VL, following all LIDs of a switch in sequence is faster.
    let all_batches = batches(destinations, context.entries.is_some());
    // A few results per worker, because results are large.
    let chunk_size = all_batches
        .len()
        .div_ceil(CHUNKS_PER_WORKER * rayon::current_num_threads())
        .max(1);
    all_batches
        .par_chunks(chunk_size)
        .map(|batches| {
            let mut walker = Walker::new(context, source_sls, sink.clone());
            batches.iter().for_each(|lids| walker.walk_batch(lids));
            (walker.result, vec![walker.sink])
        })
        .reduce_with(|(a, mut sinks), (b, more)| {
            sinks.extend(more);
            (a.add(&b), sinks)
        })
        .unwrap_or_else(|| (WalkResult::new(context.channels), Vec::new()))
}

/// Chunks of batches per worker, for load balance.
const CHUNKS_PER_WORKER: usize = 3;

/// Number of switches whose entries are read together.
const ROWS: usize = 16;

/// Value of `hops`: not visited for this LID.
const UNSEEN: u32 = u32::MAX;
/// Value of `hops`: on the path that is being followed.
const ON_PATH: u32 = u32::MAX - 1;
/// Value of `hops`: the path ends elsewhere.
const LOST: u32 = u32::MAX - 2;
/// Value of `hops`: the path ends in a loop.
const LOOPS: u32 = u32::MAX - 3;

struct Walker<'a, S> {
    context: &'a WalkContext<'a>,
    channels: &'a Channels,
    source_sls: &'a SourceSls<'a>,
    sink: S,
    hosts: Vec<u64>,
    /// Entries of one batch, by LID in the batch, then switch.
    columns: Vec<u8>,
    /// SLs of one batch in the same order, if they depend on the switch.
    sls: Vec<u8>,
    hops: Vec<u32>,
    /// By switch that reaches the LID: the next switch.
    next: Vec<u32>,
    /// Switches, each after its next switch.
    visited: Vec<usize>,
    /// Owner of the LID of `hops`, if all switches reach it.
    reached_owner: Option<usize>,
    /// Whether `visited` is sorted by hops.
    is_by_hops: bool,
    /// End ports that send to the LID, by number of hops; empty if not counted yet.
    by_hops: Vec<u64>,
    path: Vec<usize>,
    /// End ports whose packets cross a switch.
    flow: Vec<u64>,
    /// By switch: mask of VLs of crossing packets, if packets never change their VL; else mask of
    /// SLs of entering packets.
    passing: Vec<u16>,
    packet_vls: LidPacketVls,
    result: WalkResult,
}

impl<'a, S: Sink> Walker<'a, S> {
    fn new(context: &'a WalkContext<'a>, source_sls: &'a SourceSls<'a>, sink: S) -> Self {
        let n = context.topo.num_switches();
        let hosts = |s| context.topo.end_ports(s).len() as u64;
        Self {
            context,
            channels: context.channels,
            source_sls,
            sink,
            hosts: context.topo.switches().map(hosts).collect(),
            columns: vec![PortNum::DROP.raw(); BLOCK_LIDS * n],
            sls: Vec::new(),
            hops: vec![UNSEEN; n],
            next: vec![0; n],
            visited: Vec::with_capacity(n),
            reached_owner: None,
            is_by_hops: false,
            by_hops: Vec::new(),
            path: Vec::new(),
            flow: vec![0; n],
            passing: vec![0; n],
            packet_vls: LidPacketVls::new(if context.entries.is_some() { n } else { 0 }),
            result: WalkResult::new(context.channels),
        }
    }

    /// Walks a batch of LIDs.
    fn walk_batch(&mut self, lids: &[Destination]) {
        let n = self.hops.len();
        self.read(lids);
        self.source_sls.fill_sls(lids, &mut self.sls);
        for (i, dest) in lids.iter().enumerate() {
            let columns = std::mem::take(&mut self.columns);
            let column = &columns[i * n..][..n];
            if self.has_same_hops(dest, column) {
                self.result.pairs += n as u64;
            } else {
                self.compute_hops(dest, column);
            }
            let before = i
                .checked_sub(1)
                .map(|last| (&lids[last], &columns[last * n..][..n]));
            let dropped = if dest.port == PortNum::ZERO {
                self.follow_packets::<true>(i, dest, column, before)
            } else {
                self.follow_packets::<false>(i, dest, column, before)
            };
            if dropped {
                self.result.dropped += 1;
                insert_example(&mut self.result.dropped_first, dest.lid);
            }
            self.columns = columns;
        }
    }

    /// Reads the entries of a batch for a few switches at a time, whose cache lines are fetched in
    /// parallel.
    fn read(&mut self, lids: &[Destination]) {
        let n = self.hops.len();
        let mut rows: [&[u8]; ROWS] = [&[]; ROWS];
        for first in (0..n).step_by(ROWS) {
            let num_rows = ROWS.min(n - first);
            for (row, v) in rows.iter_mut().zip(first..first + num_rows) {
                *row = self.context.tables.get(v).map_or(&[], |t| t.entries());
            }
            for (i, d) in lids.iter().enumerate() {
                let lid = usize::from(d.lid.raw());
                let out = &mut self.columns[i * n + first..][..num_rows];
                for (entry, row) in out.iter_mut().zip(&rows) {
                    *entry = row.get(lid).copied().unwrap_or(PortNum::DROP.raw());
                }
            }
        }
    }

    /// Whether every switch reaches the LID with the same number of hops as the previous LID of the
    /// same owner.
    fn has_same_hops(&mut self, dest: &Destination, column: &[u8]) -> bool {
        let owner = dest.switch.index();
        if self.reached_owner != Some(owner) || column[owner] != dest.port.raw() {
            return false;
        }
        for (v, &port) in column.iter().enumerate() {
            if v == owner {
                continue;
            }
            let Some(channel) = self.channels.channel(v, port) else {
                return false;
            };
            let next = self.channels.heads[channel].switch;
            if self.hops[next as usize] + 1 != self.hops[v] {
                return false;
            }
            self.next[v] = next;
        }
        if !self.is_by_hops {
            let hops = &self.hops;
            self.visited.sort_by_key(|&v| hops[v]);
            self.is_by_hops = true;
        }
        true
    }

    /// Computes the hops of every switch to one LID, and records switches that do not reach it.
    fn compute_hops(&mut self, dest: &Destination, column: &[u8]) {
        self.hops.fill(UNSEEN);
        self.visited.clear();
        self.by_hops.clear();
        let owner = dest.switch.index();
        let mut all_reach = true;
        for start in 0..column.len() {
            let mut v = start;
            // Follow the route to a switch that was visited.
            let mut outcome = loop {
                match self.hops[v] {
                    UNSEEN => {}
                    ON_PATH => break LOOPS,
                    hops => break hops,
                }
                self.hops[v] = ON_PATH;
                self.path.push(v);
                if v == owner {
                    // Incremented below: the owner has 0 hops.
                    break if column[v] == dest.port.raw() {
                        u32::MAX
                    } else {
                        LOST
                    };
                }
                match self.channels.channel(v, column[v]) {
                    Some(channel) => {
                        let next = self.channels.heads[channel].switch;
                        self.next[v] = next;
                        v = next as usize;
                    }
                    None => break LOST,
                }
            };
            while let Some(v) = self.path.pop() {
                let is_lost = outcome == LOST || outcome == LOOPS;
                outcome = if is_lost {
                    outcome
                } else {
                    outcome.wrapping_add(1)
                };
                all_reach &= !is_lost;
                self.hops[v] = outcome;
                self.visited.push(v);
            }
        }
        self.reached_owner = all_reach.then_some(owner);
        self.is_by_hops = false;
        if all_reach {
            self.result.pairs += column.len() as u64;
        } else {
            self.record_losses(dest, column);
        }
    }

    fn record_losses(&mut self, dest: &Destination, column: &[u8]) {
        for from in 0..column.len() {
            let hops = self.hops[from];
            if hops != LOST && hops != LOOPS {
                self.result.pairs += 1;
                continue;
            }
            if hops == LOST && dest.port == PortNum::ZERO && self.hosts[from] == 0 {
                self.result.idle_unreachable += 1;
                continue;
            }
            // After as many steps as there are switches, the packet is at the end of its path or in
            // a loop.
            let mut at = from;
            for _ in 0..column.len() {
                let is_owner = at == dest.switch.index();
                match self.channels.channel(at, column[at]).filter(|_| !is_owner) {
                    Some(channel) => at = self.channels.heads[channel].switch as usize,
                    None => break,
                }
            }
            let end = SwitchIdx::from_index(at);
            let kept = self.context.kept.filter(|_| hops == LOST);
            let from = SwitchIdx::from_index(from);
            let entry = PortNum(column[at]);
            if kept.is_some_and(|kept| kept.excuses(from, dest, end, entry)) {
                self.result.kept_unreachable += 1;
                continue;
            }
            let packet = LostPacket {
                lid: dest.lid,
                from,
                at: end,
                port: entry,
                path: Vec::new(),
            };
            if hops == LOST {
                self.result.unreachable.push(packet);
            } else {
                self.result.loops.push(packet);
            }
        }
    }

    /// Adds loads and dependencies of one LID, the `i`th of its batch. `TO_SWITCH`: the LID of a
    /// switch. `before` is the previous LID with its entries. Returns whether packets are dropped.
    fn follow_packets<const TO_SWITCH: bool>(
        &mut self,
        i: usize,
        dest: &Destination,
        column: &[u8],
        before: Option<(&Destination, &[u8])>,
    ) -> bool {
        self.flow.copy_from_slice(&self.hosts);
        self.source_sls
            .fill_masks(i, dest, &self.sls, &mut self.passing);
        // An invalid SL has no bit.
        let mut dropped = false;
        for (bits, &hosts) in self.passing.iter_mut().zip(&self.hosts) {
            let sends = !TO_SWITCH || hosts > 0;
            dropped |= sends && *bits == 0;
            *bits = if sends { *bits } else { 0 };
        }
        if !TO_SWITCH {
            self.count_hops(dest.switch.index());
        }
        if self.context.entries.is_some() {
            dropped | self.follow_changing_vls::<TO_SWITCH>(dest, column, before)
        } else if S::BY_ROWS && !TO_SWITCH && self.context.narrow_masks.is_none() {
            self.add_loads(dest.switch.index(), column);
            dropped
        } else if self.context.narrow_masks.is_some() {
            dropped | self.follow_constant_vls::<TO_SWITCH, true>(dest, column)
        } else {
            dropped | self.follow_constant_vls::<TO_SWITCH, false>(dest, column)
        }
    }

    /// Adds the routes over each channel, from the farthest switches inwards.
    fn add_loads(&mut self, owner: usize, column: &[u8]) {
        for &v in self.visited.iter().rev() {
            let flow = self.flow[v];
            if v != owner && flow != 0 && self.hops[v] < LOOPS {
                let channel = self.channels.base[v] + usize::from(column[v]);
                self.flow[self.next[v] as usize] += flow;
                self.result.load[channel] += flow;
            }
        }
    }

    /// Follows packets that never change their VL, from the farthest switches inwards. `NARROW`:
    /// some channels do not operate all VLs of the plan.
    fn follow_constant_vls<const TO_SWITCH: bool, const NARROW: bool>(
        &mut self,
        dest: &Destination,
        column: &[u8],
    ) -> bool {
        let owner = dest.switch.index();
        let channels = self.channels;
        let allowed: &[u16] = self.context.narrow_masks.as_deref().unwrap_or(&[]);
        let mut dropped = false;
        for &v in self.visited.iter().rev() {
            let flow = self.flow[v];
            let mut vls = self.passing[v];
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
            self.result.used[channel] |= vls;
            self.sink.add_use(channel, vls);
            if !TO_SWITCH {
                self.result.load[channel] += flow;
            }
            if next != owner {
                let out = channels.base[next] + usize::from(column[next]);
                self.sink.add_dependency(channels, channel, out, vls);
            }
        }
        dropped
    }

    /// Follows packets that can change their VL, from the farthest switches inwards.
    fn follow_changing_vls<const TO_SWITCH: bool>(
        &mut self,
        dest: &Destination,
        column: &[u8],
        before: Option<(&Destination, &[u8])>,
    ) -> bool {
        if !TO_SWITCH {
            self.add_loads(dest.switch.index(), column);
        }
        let (Some(entries), Some(graph)) = (&self.context.entries, self.sink.vl_change_graph())
        else {
            return false;
        };
        let hops = &self.hops;
        let inwards = self.visited.iter().rev().copied();
        let tree = DestinationTree {
            dest,
            column,
            sls: &self.passing,
        };
        if let Some((last, last_column)) = before
            && self.reached_owner.is_some()
            && self.packet_vls.covers(&tree, last, last_column)
        {
            return !TO_SWITCH && self.packet_vls.owner_drops(self.context, entries, &tree);
        }
        self.packet_vls.follow(
            self.context,
            entries,
            &tree,
            inwards.filter(|&v| hops[v] < LOOPS),
            graph,
            &mut self.result.used,
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
                // An end port does not send to itself.
                self.by_hops[hops] += hosts - u64::from(v == owner);
            }
        }
        let histogram = &mut self.result.hop_histogram;
        if histogram.len() < self.by_hops.len() {
            histogram.resize(self.by_hops.len(), 0);
        }
        let pairs = histogram.iter_mut().zip(&self.by_hops);
        pairs.for_each(|(total, count)| *total += count);
    }
}
