//! Memory layout of an opened file, and the file descriptors of a client.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

use crate::memory::{CONTROL_BYTES, Mapping};
use crate::ring::{RING_BYTES, Ring};

/// Length of the memfd of one opened file.
pub(crate) const FILE_BYTES: usize = CONTROL_BYTES + 2 * RING_BYTES;

/// Length of the page of a [`ServerDoorbell`](crate::ServerDoorbell).
pub(crate) const DOORBELL_PAGE_BYTES: usize = CONTROL_BYTES;

/// Control words per cache line. Each word has its own line, because different sides write them.
const LINE: usize = 16;

/// `wake` of the ring to the client: the client polls the ring.
pub(crate) const QUIET: u32 = 0;
/// `wake`: the server must send a byte with the next message.
pub(crate) const ARMED: u32 = 1;
/// `wake`: a byte was sent or is about to be.
pub(crate) const SIGNALLED: u32 = 2;

/// One direction of an opened file.
pub(crate) struct ChannelDirection<'m> {
    pub(crate) ring: Ring<'m>,
    /// Whether the producer waits for room.
    pub(crate) room_wanted: &'m AtomicU32,
    /// Ring to the client only: QUIET, ARMED or SIGNALLED.
    pub(crate) wake: &'m AtomicU32,
    /// Ring to the client only: the client has set SIGNALLED and requests the byte.
    pub(crate) kick: &'m AtomicU32,
}

fn direction(mapping: &Mapping, first_line: usize, data: usize) -> ChannelDirection<'_> {
    let word = |line: usize| &mapping.control()[(first_line + line) * LINE];
    let cells = RING_BYTES / 8;
    ChannelDirection {
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

/// The ring written by the server.
pub(crate) fn to_client(mapping: &Mapping) -> ChannelDirection<'_> {
    direction(mapping, 0, 0)
}

/// The ring written by the client.
pub(crate) fn to_server(mapping: &Mapping) -> ChannelDirection<'_> {
    direction(mapping, 8, 1)
}

/// The word of the doorbell page that is non-zero while the server sleeps.
pub(crate) fn server_sleeping(doorbell_page: &Mapping) -> &AtomicU32 {
    &doorbell_page.control()[0]
}

/// Descriptors for a client that opened a umad file, in the order of the `SCM_RIGHTS` message.
#[derive(Debug)]
pub struct ClientFds {
    /// The rings.
    pub memory: OwnedFd,
    /// The program's descriptor: readable while a message waits, hung up when the server is dead.
    pub wake: OwnedFd,
    /// The page with `server_sleeping`.
    pub doorbell_page: OwnedFd,
    /// The eventfd of the doorbell.
    pub doorbell: OwnedFd,
}

impl ClientFds {
    /// The descriptors in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<OwnedFd> {
        vec![self.memory, self.wake, self.doorbell_page, self.doorbell]
    }

    /// From received descriptors; `None` if their number is wrong.
    #[must_use]
    pub fn from_vec(fds: Vec<OwnedFd>) -> Option<Self> {
        let [memory, wake, doorbell_page, doorbell] = <[OwnedFd; 4]>::try_from(fds).ok()?;
        Some(Self {
            memory,
            wake,
            doorbell_page,
            doorbell,
        })
    }
}
