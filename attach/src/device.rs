//! An opened umad file: what `read`, `write`, `ioctl` and `close` mean for it.
//!
//! Owns the rings and the request connection. Judges of a message only what `read` and `write` of the kernel judge before
//! they return (`drivers/infiniband/core/user_mad.c`); all else is the server's.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ferrosm_channel::frames::{Reply, Request};
use ferrosm_channel::{ChannelError, ClientEnd, ClientFds, MessageAction, ReceiveOutcome};
use rustix::io::Errno;
use rustix::net::Shutdown;

use crate::config::Config;
use crate::server::{Connection, Failure, unexpected};

/// Header of a message without P_Key index.
const OLD_HEADER: usize = 56;
/// Header of a message with P_Key index.
const NEW_HEADER: usize = 64;
/// A write has at least the MAD header and the RMPP header.
const LEAST_MAD: usize = 36;
/// The kernel copies this much of a longer message before it refuses with `ENOSPC`.
const FIRST_SEGMENT: usize = 256;

/// `_IOC` type of the umad ioctls.
const MAGIC: u32 = 0x1b;
const REGISTER_AGENT: u32 = 0xC01C_1B01;
const UNREGISTER_AGENT: u32 = 0x4004_1B02;
const ENABLE_PKEY: u32 = 0x0000_1B03;
const REGISTER_AGENT2: u32 = 0xC028_1B04;

/// Most agents of a file.
const AGENTS: u32 = 32;

/// Bytes that an ioctl's argument points at, if the ioctl is one for umad.
pub(crate) fn argument_len(request: u32) -> Option<usize> {
    let ours = (request >> 8) & 0xff == MAGIC;
    ours.then_some(((request >> 16) & 0x3fff) as usize)
}

/// An opened umad file.
#[derive(Debug)]
pub(crate) struct Umad {
    pub(crate) end: ClientEnd,
    requests: Mutex<Connection>,
    /// Bit i: agent i is registered.
    agents: AtomicU32,
    /// An agent was registered: the layout is fixed.
    used: AtomicBool,
    new_layout: AtomicBool,
    /// How many descriptors of the program refer to it.
    pub(crate) descriptors: AtomicUsize,
    /// How often the program was told that the server is gone.
    pub(crate) farewells: AtomicU32,
    owner: i32,
}

impl Umad {
    /// Opens `umadN`; also gives the program's descriptor.
    pub(crate) fn open(config: &Config, index: u32) -> Result<(Self, OwnedFd), Errno> {
        let connection = Connection::open(config).map_err(Failure::errno)?;
        let asked = connection.ask(&Request::OpenUmad { index });
        let (reply, fds) = asked.map_err(Failure::errno)?;
        if reply != Reply::Opened {
            return Err(unexpected(&reply).errno());
        }
        let fds = ClientFds::from_vec(fds).ok_or(Errno::NXIO)?;
        let (end, fd) = ClientEnd::new(fds).map_err(errno_of)?;
        // Now that the others are out of the way: the lowest number, as open gives.
        let fd = rustix::io::fcntl_dupfd_cloexec(&fd, 0)?;
        let umad = Self {
            end,
            requests: Mutex::new(connection),
            agents: AtomicU32::new(0),
            used: AtomicBool::new(false),
            new_layout: AtomicBool::new(false),
            descriptors: AtomicUsize::new(0),
            farewells: AtomicU32::new(0),
            owner: process(),
        };
        Ok((umad, fd))
    }

    fn header_len(&self) -> usize {
        if self.new_layout.load(Ordering::Acquire) {
            NEW_HEADER
        } else {
            OLD_HEADER
        }
    }

    /// A `read` that does not wait: `Ok(None)` if nothing is there.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        let (header, size) = (self.header_len(), buffer.len());
        if size < header {
            return Err(Errno::INVAL);
        }
        let judge = |len| how_much(header, size, len);
        match self.end.receive(buffer, judge).map_err(errno_of)? {
            ReceiveOutcome::Message(MessageAction::Consume, len) => Ok(Some(len)),
            ReceiveOutcome::Message(MessageAction::Peek(_), _) => Err(Errno::NOSPC),
            ReceiveOutcome::Message(MessageAction::Keep, _) => Err(Errno::INVAL),
            ReceiveOutcome::Empty if self.end.is_closed() => Err(Errno::IO),
            ReceiveOutcome::Empty => Ok(None),
        }
    }

    /// Whether a `read` must not wait, now that nothing was there.
    pub(crate) fn is_nonblocking(&self) -> bool {
        // The program's descriptor and ours are copies, so flags are common.
        rustix::fs::fcntl_getfl(self.end.wake_fd())
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
    }

    pub(crate) fn write(&self, message: &[u8]) -> Result<usize, Errno> {
        if message.len() < self.header_len() + LEAST_MAD {
            return Err(Errno::INVAL);
        }
        let agent = message
            .first_chunk()
            .map_or(u32::MAX, |id| u32::from_ne_bytes(*id));
        if agent >= AGENTS {
            return Err(Errno::INVAL);
        }
        if self.agents.load(Ordering::Acquire) & (1 << agent) == 0 {
            return Err(Errno::IO);
        }
        self.end.send(&[message]).map_err(errno_of)?;
        Ok(message.len())
    }

    /// A umad ioctl; `arg` is what the argument points at.
    pub(crate) fn ioctl(&self, request: u32, arg: &mut [u8]) -> Result<(), Errno> {
        let connection = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = Request::Ioctl {
            request,
            arg: arg.to_vec(),
        };
        // As after the removal of a device.
        let (reply, _) = connection.ask(&asked).map_err(|_| Errno::PIPE)?;
        let Reply::Ioctl { errno, arg: after } = reply else {
            return Err(Errno::PIPE);
        };
        if after.len() == arg.len() {
            arg.copy_from_slice(&after);
        }
        if errno != 0 {
            return Err(Errno::from_raw_os_error(errno));
        }
        self.note(request, arg);
        Ok(())
    }

    /// Remembers what later reads and writes depend on.
    fn note(&self, request: u32, arg: &[u8]) {
        let id = arg
            .first_chunk()
            .map_or(u32::MAX, |id| u32::from_ne_bytes(*id));
        let bit = 1u32.checked_shl(id).unwrap_or(0);
        match request {
            ENABLE_PKEY => self.new_layout.store(true, Ordering::Release),
            REGISTER_AGENT | REGISTER_AGENT2 => {
                let first = !self.used.swap(true, Ordering::AcqRel);
                if first && request == REGISTER_AGENT2 {
                    self.new_layout.store(true, Ordering::Release);
                }
                self.agents.fetch_or(bit, Ordering::AcqRel);
            }
            UNREGISTER_AGENT => {
                self.agents.fetch_and(!bit, Ordering::AcqRel);
            }
            _ => {}
        }
    }

    /// The program's last descriptor is closed. The server is told at once, even if a thread is still in a call.
    pub(crate) fn closed(&self) {
        // A forked child that closes its copies must not close its parent's.
        if self.owner == process() {
            // Fails only if the server is gone already.
            let connection = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = rustix::net::shutdown(&connection.socket, Shutdown::Both);
        }
    }
}

/// Opens `issmN`. The descriptor is the connection itself: the capability is held until its last copy is closed.
pub(crate) fn open_issm(config: &Config, index: u32, nonblock: bool) -> Result<OwnedFd, Errno> {
    let connection = Connection::open(config).map_err(Failure::errno)?;
    let asked = connection.ask(&Request::OpenIssm { index, nonblock });
    let (reply, _) = asked.map_err(Failure::errno)?;
    if reply != Reply::Opened {
        return Err(unexpected(&reply).errno());
    }
    let Connection { socket } = connection;
    rustix::io::fcntl_dupfd_cloexec(&socket, 0)
}

/// What `read` with a buffer of `size` bytes does with a message of `len` bytes, both with the header.
fn how_much(header: usize, size: usize, len: usize) -> MessageAction {
    let first = header + FIRST_SEGMENT;
    if size >= len {
        MessageAction::Consume
    } else if len > first && size >= first {
        MessageAction::Peek(first)
    } else {
        MessageAction::Keep
    }
}

fn errno_of(error: ChannelError) -> Errno {
    match error {
        ChannelError::CorruptMemory(_) | ChannelError::Closed => Errno::IO,
        ChannelError::TooLong(_) => Errno::INVAL,
        ChannelError::System(errno) => errno,
        ChannelError::UnexpectedDescriptors(_) => Errno::NXIO,
    }
}

fn process() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of `read`: too small for a MAD, too small for a table, just right.
    #[test]
    fn reads_are_judged_as_the_kernel_does() {
        for header in [OLD_HEADER, NEW_HEADER] {
            let plain = header + 256;
            assert_eq!(how_much(header, plain, plain), MessageAction::Consume);
            assert_eq!(how_much(header, plain - 1, plain), MessageAction::Keep);
            assert_eq!(
                how_much(header, plain - 1, header + 24),
                MessageAction::Consume
            );
            assert_eq!(
                how_much(header, header + 23, header + 24),
                MessageAction::Keep
            );
            let table = header + 5000;
            assert_eq!(how_much(header, plain - 1, table), MessageAction::Keep);
            assert_eq!(how_much(header, plain, table), MessageAction::Peek(plain));
            assert_eq!(
                how_much(header, table - 1, table),
                MessageAction::Peek(plain)
            );
            assert_eq!(how_much(header, table, table), MessageAction::Consume);
        }
    }

    /// Lengths as the kernel's headers encode them; others' ioctls are not touched.
    #[test]
    fn ioctl_numbers_tell_their_arguments() {
        assert_eq!(argument_len(REGISTER_AGENT), Some(28));
        assert_eq!(argument_len(UNREGISTER_AGENT), Some(4));
        assert_eq!(argument_len(ENABLE_PKEY), Some(0));
        assert_eq!(argument_len(REGISTER_AGENT2), Some(40));
        assert_eq!(argument_len(0x5401), None, "TCGETS");
    }
}
