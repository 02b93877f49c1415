//! Channel between the server of a simulated fabric and attached programs: a socket for requests,
//! shared memory for MADs.
//!
//! Used by the daemon (`ferrosm sim`) on one side and the preloaded library (`attach`) on the
//! other. The channel does not interpret messages, except in [`verbs`], where there is no kernel
//! format to pass on.
//!
//! # Structure
//!
//! * One Unix stream socket per opened device file carries [`frames`]: hello, list and read sysfs
//!   files, open, ioctl. The file is closed when the connection ends.
//! * Messages of a umad file pass through two byte rings in a sealed memfd ([`ServerEnd`],
//!   [`ClientEnd`]), without a system call while both sides are awake.
//! * The server wakes the client by a byte on a socket pair. The client's end of the pair is the
//!   program's file descriptor, so `poll`, `select`, `epoll`, `dup` and `fork` work on it, and it
//!   hangs up when the server dies.
//! * All clients wake the server by one doorbell ([`ServerDoorbell`]).
//!
//! # Trust
//!
//! The peer may change shared memory at any time. It is read through atomics, copied before it is
//! checked, and checked at every use; an invalid value is [`CorruptMemory`], which ends the
//! connection of that client only.
//!
//! # Wakeups
//!
//! All wakeups use the same protocol. One side writes *data*, then reads *flag*; the other writes
//! *flag*, then reads *data*; both have a sequentially consistent fence between the two steps. So
//! at least one side sees the other's write: either the writer of data sees the flag and wakes the
//! sleeper, or the sleeper sees the data and does not sleep.
//!
//! | data | flag | sleeper |
//! |---|---|---|
//! | tail of the ring to the server | `server_sleeping` of the doorbell page | the server, in [`ServerDoorbell::sleep`] |
//! | tail of the ring to the client | `wake` = ARMED | the client's thread, in `poll` |
//! | head of the ring to the server | `room_wanted` of that ring | a client that writes into a full ring (futex) |
//! | head of the ring to the client | `room_wanted` of that ring | none: the server retries after the doorbell rings |
//!
//! The states of `wake` are described in [`ClientEnd`].
//!
//! System calls use rustix without libc, because the preloaded library replaces libc's symbols.

mod client;
mod codec;
pub mod frames;
mod layout;
mod memory;
mod ring;
mod server;
mod server_doorbell;
mod spin;
pub mod verbs;

pub use client::{ClientEnd, MessageAction, ReceiveOutcome};
pub use codec::Malformed;
pub use layout::ClientFds;
pub use ring::{MAX_MESSAGE, RING_BYTES};
pub use server::ServerEnd;
pub use server_doorbell::ServerDoorbell;
pub use spin::SpinWait;

/// The peer wrote an invalid value into shared memory; the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("corrupt shared memory of an attached program: {0}")]
pub struct CorruptMemory(pub &'static str);

/// Why the client could not send or receive a message.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The shared memory is corrupt.
    #[error(transparent)]
    CorruptMemory(#[from] CorruptMemory),
    /// The server is dead.
    #[error("the server of the simulated fabric has closed the connection")]
    Closed,
    /// The message is longer than [`MAX_MESSAGE`].
    #[error("message of {0} bytes is too long")]
    TooLong(usize),
    /// A system call failed.
    #[error("system call failed: {0}")]
    System(#[from] rustix::io::Errno),
    /// The descriptors in the reply to an open are invalid.
    #[error("unexpected file descriptors from the server: {0}")]
    UnexpectedDescriptors(&'static str),
}
