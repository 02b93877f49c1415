//! Events to come, and the packets and actions that they are about.
//!
//! Keys are small and packets stay in place, so that the heap moves little. Events come out by
//! time, and at one time in the order in which they were put in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;

use crate::fabric::Packet;
use crate::faults::Action;

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
    Action(u32),
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

/// Things at places that do not move and are used again.
#[derive(Debug)]
struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    fn put(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = Some(thing);
            return index;
        }
        self.places.push(Some(thing));
        u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
    }

    fn take(&mut self, index: u32) -> Option<T> {
        let thing = self.places.get_mut(index as usize)?.take();
        if thing.is_some() {
            self.free.push(index);
        }
        thing
    }

    const fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<(Instant, u64, Key)>>,
    seq: u64,
    packets: Vec<Packet>,
    free: Vec<u32>,
    actions: Slab<Action>,
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

    pub(super) fn push_action(&mut self, at: Instant, action: Action) {
        let index = self.actions.put(action);
        self.push(at, Key::Action(index));
    }

    pub(super) fn take_action(&mut self, index: u32) -> Option<Action> {
        self.actions.take(index)
    }

    pub(super) const fn in_flight(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Actions and manager events to come.
    pub(super) const fn scheduled(&self) -> usize {
        self.actions.len() + self.notes
    }
}
