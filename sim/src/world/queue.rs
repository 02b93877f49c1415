//! Events to come, and the packets that they are about.
//!
//! Keys are small and packets stay in place, so that the heap moves little.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;

use crate::fabric::Packet;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A packet reaches its node.
    Arrive(u32),
    /// The agent has time for it.
    Serve(u32),
    /// A late answer leaves.
    Depart(u32),
    /// A scheduled action.
    Action(usize),
    /// A manager is told that a request got no answer.
    Lost(usize, Tid),
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<(Instant, u64, Key)>>,
    seq: u64,
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Queue {
    pub(super) fn push(&mut self, at: Instant, key: Key) {
        self.seq += 1;
        self.heap.push(Reverse((at, self.seq, key)));
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        self.heap.pop().map(|Reverse((_, _, key))| key)
    }

    pub(super) fn put(&mut self, packet: Packet) -> u32 {
        if let Some(index) = self.free.pop() {
            self.packets[index as usize] = packet;
            return index;
        }
        self.packets.push(packet);
        u32::try_from(self.packets.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn peek(&self, index: u32) -> &Packet {
        &self.packets[index as usize]
    }

    /// Its place is free afterwards.
    pub(super) fn take(&mut self, index: u32) -> Packet {
        self.free.push(index);
        self.packets[index as usize]
    }

    pub(super) const fn in_flight(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
