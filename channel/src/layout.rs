//! What lies where in the memory of one opened file, and which file descriptors a client gets.
//!
//! Pure numbers; `memory` maps, `ring` moves bytes.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

use crate::memory::{CONTROL_BYTES, Mapping};
use crate::ring::{RING_BYTES, Ring};

/// Bytes of the memfd of one opened file.
pub(crate) const FILE_BYTES: usize = CONTROL_BYTES + 2 * RING_BYTES;

/// Bytes of the hub's page.
pub(crate) const HUB_BYTES: usize = CONTROL_BYTES;

/// Control words of a direction. Each has a cache line of its own, because different sides write them.
const LINE: usize = 16;

/// `wake` of the ring to the client: the client is awake and will look by itself.
pub(crate) const QUIET: u32 = 0;
/// `wake`: whoever puts something into the ring must send a byte.
pub(crate) const ARMED: u32 = 1;
/// `wake`: a byte was sent, or is about to be.
pub(crate) const SIGNALLED: u32 = 2;

/// One direction of an opened file.
pub(crate) struct Direction<'m> {
    pub(crate) ring: Ring<'m>,
    /// The producer waits for room.
    pub(crate) room_wanted: &'m AtomicU32,
    /// Ring to the client only: QUIET, ARMED or SIGNALLED.
    pub(crate) wake: &'m AtomicU32,
    /// Ring to the client only: the client asks for a wakeup byte because it did not want one before.
    pub(crate) kick: &'m AtomicU32,
}

fn direction(mapping: &Mapping, first_line: usize, data: usize) -> Direction<'_> {
    let word = |line: usize| &mapping.control()[(first_line + line) * LINE];
    let cells = RING_BYTES / 8;
    Direction {
        ring: Ring {
            tail: word(0),
            head: word(1),
            cells: &mapping.data()[data * cells..(data + 1) * cells],
        },
        room_wanted: word(2),
        wake: word(3),
        kick: word(4),
    }
}

/// The ring that the server fills.
pub(crate) fn to_client(mapping: &Mapping) -> Direction<'_> {
    direction(mapping, 0, 0)
}

/// The ring that the client fills.
pub(crate) fn to_server(mapping: &Mapping) -> Direction<'_> {
    direction(mapping, 8, 1)
}

/// The word of the hub's page that says that the server sleeps.
pub(crate) fn server_sleeping(hub: &Mapping) -> &AtomicU32 {
    &hub.control()[0]
}

/// What the server passes to a client that opened a umad file, in this order in an `SCM_RIGHTS` message.
#[derive(Debug)]
pub struct ClientFds {
    /// The rings.
    pub memory: OwnedFd,
    /// The program's file descriptor: readable when a message waits, hung up when the server is gone.
    pub wake: OwnedFd,
    /// The hub's page.
    pub hub: OwnedFd,
    /// The hub's doorbell.
    pub doorbell: OwnedFd,
}

impl ClientFds {
    /// In the order in which they are passed.
    #[must_use]
    pub fn into_vec(self) -> Vec<OwnedFd> {
        vec![self.memory, self.wake, self.hub, self.doorbell]
    }

    /// From what was passed; `None` if the number is wrong.
    #[must_use]
    pub fn from_vec(fds: Vec<OwnedFd>) -> Option<Self> {
        let [memory, wake, hub, doorbell] = <[OwnedFd; 4]>::try_from(fds).ok()?;
        Some(Self {
            memory,
            wake,
            hub,
            doorbell,
        })
    }
}
