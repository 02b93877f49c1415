//! Between a simulated fabric's server and the programs attached to it: a socket for requests, shared
//! memory for MADs.
//!
//! Used by the daemon (`ferrosm sim`) on one side and the preloaded library (`attach`) on the other.
//! It knows what a message is, and never what is in it, but for [`verbs`], where no kernel's format exists that could be passed on.
//!
//! # Shape
//!
//! * One Unix stream socket per opened device file carries [`frames`]: greet, list and read sysfs files, open, ioctl.
//!   When it ends, the file is closed.
//! * A message of a umad file goes through one of two byte rings in a sealed memfd ([`ServerEnd`], [`ClientEnd`]), without
//!   a system call as long as both sides are awake.
//! * The client is woken by a byte on a socket pair. Its end of the pair *is* the file descriptor that the
//!   program gets, so `poll`, `select`, `epoll`, `dup` and `fork` work on it, and it hangs up when the server dies.
//! * The server is woken by one doorbell for all clients ([`Hub`]).
//!
//! # Trust
//!
//! Everything in shared memory may be changed by the peer at any moment. It is read through atomics, copied before
//! it is judged, and checked at every use; what does not fit is [`CorruptMemory`], which ends that one client.
//!
//! # Why no wakeup is lost
//!
//! Every wakeup is a pair of the same form. One side writes *data*, then reads *flag*; the other writes *flag*, then
//! reads *data*; a sequentially consistent fence stands between the two steps on both sides. So at least one of them
//! sees the other's write: either the writer of data sees the flag and wakes, or the sleeper sees the data and does not sleep.
//!
//! | data | flag | who sleeps |
//! |---|---|---|
//! | tail of the ring to the server | `server_sleeping` of the hub's page | the server, in [`Hub::sleep`] |
//! | tail of the ring to the client | `wake` = ARMED | the client's thread, in `poll` |
//! | head of the ring to the server | `room_wanted` there | a client that writes into a full ring (futex) |
//! | head of the ring to the client | `room_wanted` there | nobody: the server looks again when the doorbell rings |
//!
//! The states of `wake` are explained in [`ClientEnd`].
//!
//! System calls are made by rustix without libc, because the preloaded library replaces libc's symbols.

mod client;
mod codec;
pub mod frames;
mod hub;
mod layout;
mod memory;
mod ring;
mod server;
mod spin;
pub mod verbs;

pub use client::{ClientEnd, MessageAction, ReceiveOutcome};
pub use codec::Malformed;
pub use hub::Hub;
pub use layout::ClientFds;
pub use ring::{MAX_MESSAGE, RING_BYTES};
pub use server::ServerEnd;
pub use spin::SpinWait;

/// The peer wrote something into the shared memory that cannot be: the connection must be given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the shared memory of an attached program is corrupt: {0}")]
pub struct CorruptMemory(pub &'static str);

/// Why a message could not be sent or received by the client.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The shared memory cannot be believed any more.
    #[error(transparent)]
    CorruptMemory(#[from] CorruptMemory),
    /// The server is gone.
    #[error("the server of the simulated fabric is gone")]
    Closed,
    /// The message is longer than [`MAX_MESSAGE`].
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    /// The kernel refused.
    #[error("a system call failed")]
    System(#[from] rustix::io::Errno),
    /// What came with the answer to an open is not what was agreed.
    #[error("the server passed something else than was agreed: {0}")]
    Agreement(&'static str),
}
