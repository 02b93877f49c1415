//! How many LIDs make each dependency between lanes of channels, so that it can be taken back when the last of them goes
//! another way; and the dependency graph that these counts are. Nothing here judges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use rayon::prelude::*;

use super::channels::Channels;
use super::inject::SingleVlLid;
use super::sink::Sink;
use super::waits::{Waits, ones};
use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::VlPlan;

/// How many LIDs make each dependency, and how many use each lane of each channel. There are fewer LIDs than 2^16.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    pub(super) lanes: usize,
    /// By channel: its first place in `waits`, and the total. A channel has a place for each port of the switch that it
    /// leads to, and for each lane.
    rows: Arc<[u32]>,
    waits: Vec<u16>,
    /// By channel and lane.
    on: Vec<u16>,
}

/// A dependency: its place among the counts, and the two nodes. A node is a channel and a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    place: u32,
    pub(super) first: u32,
    pub(super) second: u32,
}

fn number(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// So many counts are kept at most, of two bytes each: lanes on a fabric of ten thousand end ports need half of it.
const COUNTS_MAX: usize = 50_000_000;

impl Counts {
    /// All zero; `None` if there would be too many.
    pub(super) fn new(topo: &Topology, channels: &Channels, lanes: &VlPlan) -> Option<Self> {
        let lanes = usize::from(lanes.vls.clamp(1, 15));
        let mut rows = Vec::with_capacity(channels.len() + 1);
        let mut next = 0;
        for end in &channels.ends {
            rows.push(number(next));
            if end.switch != Channels::NOWHERE {
                let ports = usize::from(topo.num_ports(SwitchIdx(end.switch))) + 1;
                next += ports * lanes;
            }
        }
        rows.push(number(next));
        (next <= COUNTS_MAX).then(|| Self {
            lanes,
            waits: vec![0; next],
            on: vec![0; channels.len() * lanes],
            rows: rows.into(),
        })
    }

    /// Whether there are places for all dependencies of another graph.
    pub(super) fn has_room(&self, topo: &Topology, channels: &Channels) -> bool {
        let room = |channel: usize| (self.rows[channel + 1] - self.rows[channel]) as usize;
        channels.len() + 1 == self.rows.len()
            && channels.ends.iter().enumerate().all(|(channel, end)| {
                end.switch == Channels::NOWHERE
                    || (usize::from(topo.num_ports(SwitchIdx(end.switch))) + 1) * self.lanes
                        <= room(channel)
            })
    }

    /// Counts the channel dependencies that the forwarding tables give these LIDs. Every switch must reach every LID.
    pub(super) fn add_rows(&mut self, tables: &Tables, channels: &Channels, plain: &[SingleVlLid]) {
        let lanes = self.lanes;
        let rows = &self.rows;
        let mut parts: Vec<(usize, &mut [u16], &mut [u16])> = Vec::new();
        let (mut waits, mut on) = (self.waits.as_mut_slice(), self.on.as_mut_slice());
        for v in 0..channels.base.len() - 1 {
            let (from, to) = (channels.base[v], channels.base[v + 1]);
            let (own, rest) = waits.split_at_mut((rows[to] - rows[from]) as usize);
            let (used, left) = on.split_at_mut((to - from) * lanes);
            parts.push((v, own, used));
            (waits, on) = (rest, left);
        }
        let row = |v: usize| tables.get(v).map_or(&[][..], |t| t.entries());
        parts.into_par_iter().for_each(|(v, waits, on)| {
            let base = channels.base[v];
            let mut ways: [(usize, usize, &[u8]); 256] = [(0, usize::MAX, &[]); 256];
            for channel in channels.out_of(v) {
                let next = channels.ends[channel].switch as usize;
                let at = (rows[channel] - rows[base]) as usize;
                ways[channel - base] = (at, next, row(next));
            }
            let own = row(v);
            for (lid, vl, owner) in plain.iter().map(|p| p.indices()) {
                let Some(&port) = own.get(lid).filter(|_| v != owner) else {
                    continue;
                };
                let (at, next, then) = ways[usize::from(port)];
                if next == usize::MAX {
                    continue;
                }
                on[usize::from(port) * lanes + vl] += 1;
                if next != owner
                    && let Some(&out) = then.get(lid)
                {
                    waits[at + usize::from(out) * lanes + vl] += 1;
                }
            }
        });
    }

    /// The counts, to be changed by many at once.
    pub(super) fn open(self) -> Open {
        let open = |counts: Vec<u16>| counts.into_iter().map(AtomicU16::new).collect();
        Open {
            lanes: self.lanes,
            waits: open(self.waits),
            on: open(self.on),
            rows: self.rows,
        }
    }

    /// The dependency of packets on a lane of one channel on the same lane of the next one, which leaves by `port`.
    #[inline(always)]
    pub(super) fn dependency(
        &self,
        first: usize,
        (second, port): (usize, u8),
        vl: usize,
    ) -> Dependency {
        dependency(&self.rows, self.lanes, first, (second, port), vl)
    }

    /// Changes counts: dependencies that go, then those that come; and lanes of channels (nodes) likewise. Gives the
    /// dependencies that came up from nothing.
    pub(super) fn change(&mut self, gone: &Changes, come: &Changes) -> Vec<(u32, u32)> {
        let mut fresh = Vec::new();
        for d in &gone.waits {
            self.waits[d.place as usize] -= 1;
        }
        for d in &come.waits {
            let count = &mut self.waits[d.place as usize];
            if *count == 0 {
                fresh.push((d.first, d.second));
            }
            *count += 1;
        }
        gone.on.iter().for_each(|&n| self.on[n as usize] -= 1);
        come.on.iter().for_each(|&n| self.on[n as usize] += 1);
        fresh
    }

    pub(super) fn graph<'a>(&'a self, channels: &'a Channels) -> Graph<'a> {
        Graph {
            counts: self,
            channels,
        }
    }

    /// Channels that carry anything on a VL.
    pub(super) fn channels_with(&self, vl: usize) -> usize {
        if vl >= self.lanes {
            return 0;
        }
        let of = self.on.iter().skip(vl).step_by(self.lanes);
        of.filter(|&&n| n > 0).count()
    }

    /// Bytes that they take.
    pub(super) fn memory(&self) -> usize {
        size_of_val(self.waits.as_slice())
            + size_of_val(self.on.as_slice())
            + size_of_val(&*self.rows)
    }

    pub(super) fn dependencies(&self) -> u64 {
        self.waits.iter().filter(|&&n| n > 0).count() as u64
    }
}

#[inline(always)]
fn dependency(
    rows: &[u32],
    lanes: usize,
    first: usize,
    (second, port): (usize, u8),
    vl: usize,
) -> Dependency {
    Dependency {
        place: rows[first] + number(usize::from(port) * lanes + vl),
        first: number(first * lanes + vl),
        second: number(second * lanes + vl),
    }
}

/// What few LIDs change: each once for each time that it goes, or comes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) waits: Vec<Dependency>,
    /// Nodes that a LID uses.
    pub(super) on: Vec<u32>,
}

/// [`Counts`] while walkers change them.
pub(super) struct Open {
    lanes: usize,
    rows: Arc<[u32]>,
    waits: Vec<AtomicU16>,
    on: Vec<AtomicU16>,
}

impl Open {
    pub(super) fn close(self) -> Counts {
        let close =
            |counts: Vec<AtomicU16>| counts.into_iter().map(AtomicU16::into_inner).collect();
        Counts {
            lanes: self.lanes,
            waits: close(self.waits),
            on: close(self.on),
            rows: self.rows,
        }
    }
}

/// A walker's way to the counts.
#[derive(Clone)]
pub(super) struct Count<'a> {
    pub(super) counts: &'a Open,
    pub(super) up: bool,
    /// Nodes, the first of which did not wait for the second before.
    pub(super) fresh: Vec<(u32, u32)>,
}

impl Sink for Count<'_> {
    const BY_ROWS: bool = false;

    #[inline(always)]
    fn keep(&mut self, channels: &Channels, first: usize, second: usize, vls: u16) {
        let Open {
            lanes, rows, waits, ..
        } = self.counts;
        let next = channels.ends[first].switch as usize;
        let port = u8::try_from(second - channels.base[next]).unwrap_or(u8::MAX);
        for vl in ones(vls) {
            let d = dependency(rows, *lanes, first, (second, port), vl);
            let count = &waits[d.place as usize];
            if !self.up {
                count.fetch_sub(1, Ordering::Relaxed);
            } else if count.fetch_add(1, Ordering::Relaxed) == 0 {
                self.fresh.push((d.first, d.second));
            }
        }
    }

    #[inline(always)]
    fn on(&mut self, channel: usize, vls: u16) {
        for vl in ones(vls) {
            let count = &self.counts.on[channel * self.counts.lanes + vl];
            if self.up {
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn across(&self) -> Option<&Waits> {
        None
    }
}

/// Takes nothing: for LIDs whose dependencies are counted otherwise.
#[derive(Clone)]
pub(super) struct Nothing;

impl Sink for Nothing {
    const BY_ROWS: bool = true;

    #[inline(always)]
    fn keep(&mut self, _: &Channels, _: usize, _: usize, _: u16) {}

    #[inline(always)]
    fn on(&mut self, _: usize, _: u16) {}

    fn across(&self) -> Option<&Waits> {
        None
    }
}

/// The dependency graph that the counts are.
pub(super) struct Graph<'a> {
    counts: &'a Counts,
    channels: &'a Channels,
}

impl Graph<'_> {
    pub(super) fn nodes(&self) -> usize {
        self.counts.on.len()
    }

    /// Calls `f` with each node that waits for this one.
    #[inline(always)]
    pub(super) fn before(&self, node: usize, mut f: impl FnMut(usize)) {
        let lanes = self.counts.lanes;
        let (channel, vl) = (node / lanes, node % lanes);
        let (port, arriving) = self.channels.arriving_before(channel);
        for first in arriving {
            if self.waits(first, port, vl) {
                f(first * lanes + vl);
            }
        }
    }

    /// Calls `f` with each node that this one waits for.
    #[inline(always)]
    pub(super) fn after(&self, node: usize, mut f: impl FnMut(usize)) {
        let lanes = self.counts.lanes;
        let (channel, vl) = (node / lanes, node % lanes);
        let end = self.channels.ends[channel];
        if end.switch == Channels::NOWHERE {
            return;
        }
        let base = self.channels.base[end.switch as usize];
        for second in self.channels.out_of(end.switch as usize) {
            if self.waits(channel, second - base, vl) {
                f(second * lanes + vl);
            }
        }
    }

    /// Whether packets on a lane of this channel may wait for the same lane of the one that leaves the next switch by this
    /// port.
    #[inline(always)]
    fn waits(&self, first: usize, port: usize, vl: usize) -> bool {
        let at = self.counts.rows[first] as usize + port * self.counts.lanes + vl;
        self.counts.waits[at] > 0
    }
}
