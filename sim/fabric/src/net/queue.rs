//! Queue of future events with their packets and actions.
//!
//! Heap entries are small; packets and actions stay in slabs. Events are ordered by time, then by
//! insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;
use slab::Slab;

use crate::fabric::Packet;
use crate::faults::FabricAction;
use crate::index::index_to_u32;

/// A future event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QueuedEvent {
    /// A packet arrives at its destination node.
    Arrive(u32),
    /// The agent's processing time of a packet is over.
    Serve(u32),
    /// A delayed reply is sent.
    Depart(u32),
    /// A scheduled action.
    Action(u32),
    /// A notice for the owner of the net.
    Notice(OwnerNotice),
}

/// A notice for the owner of a net, ordered with all other events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnerNotice {
    /// A request of an SM was not answered in time.
    RequestLost(usize, Tid),
    /// A change of an SM's process.
    SmProcess(usize, SmProcessChange),
}

/// A change of an SM's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SmProcessChange {
    Kill,
    Pause,
    Resume,
}

#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, QueuedEvent)>>,
    seq: u64,
    packets: Slab<Packet>,
    actions: Slab<FabricAction>,
    sm_changes: usize,
}

impl EventQueue {
    pub(super) fn push(&mut self, at: Instant, event: QueuedEvent) {
        self.seq += 1;
        self.sm_changes += usize::from(matches!(
            event,
            QueuedEvent::Notice(OwnerNotice::SmProcess(..))
        ));
        self.heap.push(Reverse((at, self.seq, event)));
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<QueuedEvent> {
        let Reverse((_, _, event)) = self.heap.pop()?;
        self.sm_changes -= usize::from(matches!(
            event,
            QueuedEvent::Notice(OwnerNotice::SmProcess(..))
        ));
        Some(event)
    }

    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        index_to_u32(self.packets.insert(packet))
    }

    pub(super) fn peek(&self, index: u32) -> &Packet {
        &self.packets[index as usize]
    }

    /// Removes a packet.
    pub(super) fn take(&mut self, index: u32) -> Packet {
        self.packets.remove(index as usize)
    }

    pub(super) fn push_action(&mut self, at: Instant, action: FabricAction) {
        let index = index_to_u32(self.actions.insert(action));
        self.push(at, QueuedEvent::Action(index));
    }

    pub(super) fn take_action(&mut self, index: u32) -> Option<FabricAction> {
        self.actions.try_remove(index as usize)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Number of scheduled actions and SM changes.
    pub(super) fn scheduled(&self) -> usize {
        self.actions.len() + self.sm_changes
    }
}
