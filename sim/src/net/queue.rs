//! Events to come, and the packets and actions that they are about.
//!
//! Keys are small and packets stay in place, so that the heap moves little. Events come out by
//! time, and at one time in the order in which they were put in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;
use slab::Slab;

use crate::fabric::Packet;
use crate::faults::FabricAction;

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
    FabricAction(u32),
    /// Something that the owner of the net wants to be told of.
    Note(Note),
}

/// What the owner of a net wants to be told of, in the order of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Note {
    /// A manager is told that a request got no answer.
    Lost(usize, Tid),
    /// Something happens to a manager.
    Manager(usize, ManagerNote),
}

/// What can happen to a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ManagerNote {
    Kill,
    Pause,
    Resume,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<(Instant, u64, Key)>>,
    seq: u64,
    packets: Slab<Packet>,
    actions: Slab<FabricAction>,
    notes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, at: Instant, key: Key) {
        self.seq += 1;
        self.notes += usize::from(matches!(key, Key::Note(Note::Manager(..))));
        self.heap.push(Reverse((at, self.seq, key)));
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        let Reverse((_, _, key)) = self.heap.pop()?;
        self.notes -= usize::from(matches!(key, Key::Note(Note::Manager(..))));
        Some(key)
    }

    pub(super) fn put(&mut self, packet: Packet) -> u32 {
        narrow(self.packets.insert(packet))
    }

    pub(super) fn peek(&self, index: u32) -> &Packet {
        &self.packets[index as usize]
    }

    /// Its place is free afterwards.
    pub(super) fn take(&mut self, index: u32) -> Packet {
        self.packets.remove(index as usize)
    }

    pub(super) fn push_action(&mut self, at: Instant, action: FabricAction) {
        let index = narrow(self.actions.insert(action));
        self.push(at, Key::FabricAction(index));
    }

    pub(super) fn take_action(&mut self, index: u32) -> Option<FabricAction> {
        self.actions.try_remove(index as usize)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Actions and manager events to come.
    pub(super) fn scheduled(&self) -> usize {
        self.actions.len() + self.notes
    }
}

/// Places are far fewer than 2^32, and half as wide in the heap.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
