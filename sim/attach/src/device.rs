//! An opened umad file: `read`, `write`, `ioctl` and `close`.
//!
//! Owns the rings and the request connection. Of the checks of a message, it makes only those that
//! the kernel's `read` and `write` make before they return (Linux
//! `drivers/infiniband/core/user_mad.c`); the server makes the others.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ferrosm_channel::frames::{ClientRequest, ServerReply};
use ferrosm_channel::{ChannelError, ClientEnd, ClientFds, MessageAction, ReceiveOutcome};
use rustix::io::Errno;
use rustix::net::Shutdown;

use crate::config::Config;
use crate::server::{Connection, ServerError, unexpected};

/// Header of a message without P_Key index.
const OLD_HEADER: usize = 56;
/// Header of a message with P_Key index.
const NEW_HEADER: usize = 64;
/// Minimum length of a write: the MAD header and the RMPP header.
const MIN_WRITE: usize = 36;
/// The kernel copies this much of a longer message before it fails with `ENOSPC`.
const FIRST_SEGMENT: usize = 256;

/// `_IOC` type of the umad ioctls.
const MAGIC: u32 = 0x1b;
const REGISTER_AGENT: u32 = 0xC01C_1B01;
const UNREGISTER_AGENT: u32 = 0x4004_1B02;
const ENABLE_PKEY: u32 = 0x0000_1B03;
const REGISTER_AGENT2: u32 = 0xC028_1B04;

/// Maximum number of agents per file.
const MAX_AGENTS: u32 = 32;

/// Length of the argument of an ioctl, if it is a umad ioctl.
pub(crate) fn argument_len(request: u32) -> Option<usize> {
    let is_umad_ioctl = (request >> 8) & 0xff == MAGIC;
    is_umad_ioctl.then_some(((request >> 16) & 0x3fff) as usize)
}

/// An opened umad file.
#[derive(Debug)]
pub(crate) struct Umad {
    pub(crate) end: ClientEnd,
    requests: Mutex<Connection>,
    /// Bit i: agent i is registered.
    agents: AtomicU32,
    /// Whether an agent was registered, which fixes the layout.
    used: AtomicBool,
    new_layout: AtomicBool,
    /// Number of descriptors of the program that refer to the file.
    pub(crate) descriptors: AtomicUsize,
    /// Number of times that the program was notified of the server's death.
    pub(crate) death_notices: AtomicU32,
    /// Process that opened the file.
    owner: i32,
}

impl Umad {
    /// Opens `umadN`. Also returns the program's descriptor.
    pub(crate) fn open(config: &Config, index: u32) -> Result<(Self, OwnedFd), Errno> {
        let connection = Connection::open(config).map_err(ServerError::errno)?;
        let result = connection.send_request(&ClientRequest::OpenUmad { index });
        let (reply, fds) = result.map_err(ServerError::errno)?;
        if reply != ServerReply::Opened {
            return Err(unexpected(&reply).errno());
        }
        let fds = ClientFds::from_vec(fds).ok_or(Errno::NXIO)?;
        let (end, fd) = ClientEnd::new(fds).map_err(errno_of)?;
        // The library's descriptors have high numbers, so this gets the lowest free number, as with
        // `open`.
        let fd = rustix::io::fcntl_dupfd_cloexec(&fd, 0)?;
        let umad = Self {
            end,
            requests: Mutex::new(connection),
            agents: AtomicU32::new(0),
            used: AtomicBool::new(false),
            new_layout: AtomicBool::new(false),
            descriptors: AtomicUsize::new(0),
            death_notices: AtomicU32::new(0),
            owner: process_id(),
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

    /// A `read` that does not wait: `Ok(None)` without a message.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        let header = self.header_len();
        let size = buffer.len();
        if size < header {
            return Err(Errno::INVAL);
        }
        let choose = |len| read_action(header, size, len);
        match self.end.receive(buffer, choose).map_err(errno_of)? {
            ReceiveOutcome::Message(MessageAction::Consume, len) => Ok(Some(len)),
            ReceiveOutcome::Message(MessageAction::Peek(_), _) => Err(Errno::NOSPC),
            ReceiveOutcome::Message(MessageAction::Keep, _) => Err(Errno::INVAL),
            ReceiveOutcome::Empty if self.end.is_closed() => Err(Errno::IO),
            ReceiveOutcome::Empty => Ok(None),
        }
    }

    /// Whether a `read` without a message must not wait.
    pub(crate) fn is_nonblocking(&self) -> bool {
        // The program's descriptor and the library's are copies, so they share flags.
        rustix::fs::fcntl_getfl(self.end.wake_fd())
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
    }

    pub(crate) fn write(&self, message: &[u8]) -> Result<usize, Errno> {
        if message.len() < self.header_len() + MIN_WRITE {
            return Err(Errno::INVAL);
        }
        let agent = message
            .first_chunk()
            .map_or(u32::MAX, |id| u32::from_ne_bytes(*id));
        if agent >= MAX_AGENTS {
            return Err(Errno::INVAL);
        }
        if self.agents.load(Ordering::Acquire) & (1 << agent) == 0 {
            return Err(Errno::IO);
        }
        self.end.send(&[message]).map_err(errno_of)?;
        Ok(message.len())
    }

    /// A umad ioctl; `arg` is the argument structure.
    pub(crate) fn ioctl(&self, request: u32, arg: &mut [u8]) -> Result<(), Errno> {
        let connection = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let ioctl = ClientRequest::Ioctl {
            request,
            arg: arg.to_vec(),
        };
        // The kernel returns EPIPE after the removal of a device.
        let (reply, _) = connection.send_request(&ioctl).map_err(|_| Errno::PIPE)?;
        let ServerReply::Ioctl { errno, arg: after } = reply else {
            return Err(Errno::PIPE);
        };
        if after.len() == arg.len() {
            arg.copy_from_slice(&after);
        }
        if errno != 0 {
            return Err(Errno::from_raw_os_error(errno));
        }
        self.record_registration(request, arg);
        Ok(())
    }

    /// Records the registrations on which later reads and writes depend.
    fn record_registration(&self, request: u32, arg: &[u8]) {
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

    /// Closes the connection after the program's last descriptor was closed, even if a thread is
    /// still in a call.
    pub(crate) fn close_connection(&self) {
        // A forked child that closes its copies must not close the parent's file.
        if self.owner == process_id() {
            // Fails only if the server is dead.
            let connection = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = rustix::net::shutdown(&connection.socket, Shutdown::Both);
        }
    }
}

/// Opens `issmN`. The descriptor is the connection itself: IsSM is set until its last copy is
/// closed.
pub(crate) fn open_issm(config: &Config, index: u32, nonblock: bool) -> Result<OwnedFd, Errno> {
    let connection = Connection::open(config).map_err(ServerError::errno)?;
    let result = connection.send_request(&ClientRequest::OpenIssm { index, nonblock });
    let (reply, _) = result.map_err(ServerError::errno)?;
    if reply != ServerReply::Opened {
        return Err(unexpected(&reply).errno());
    }
    let Connection { socket } = connection;
    rustix::io::fcntl_dupfd_cloexec(&socket, 0)
}

/// What `read` with a buffer of `size` bytes does with a message of `len` bytes, including headers.
fn read_action(header: usize, size: usize, len: usize) -> MessageAction {
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

fn process_id() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers too small for a MAD, too small for a table, and large enough.
    #[test]
    fn reads_behave_as_in_the_kernel() {
        for header in [OLD_HEADER, NEW_HEADER] {
            let one_mad = header + 256;
            assert_eq!(
                read_action(header, one_mad, one_mad),
                MessageAction::Consume
            );
            assert_eq!(
                read_action(header, one_mad - 1, one_mad),
                MessageAction::Keep
            );
            assert_eq!(
                read_action(header, one_mad - 1, header + 24),
                MessageAction::Consume
            );
            assert_eq!(
                read_action(header, header + 23, header + 24),
                MessageAction::Keep
            );
            let table = header + 5000;
            assert_eq!(read_action(header, one_mad - 1, table), MessageAction::Keep);
            assert_eq!(
                read_action(header, one_mad, table),
                MessageAction::Peek(one_mad)
            );
            assert_eq!(
                read_action(header, table - 1, table),
                MessageAction::Peek(one_mad)
            );
            assert_eq!(read_action(header, table, table), MessageAction::Consume);
        }
    }

    /// Lengths as encoded in the kernel's headers; other ioctls are passed on.
    #[test]
    fn argument_lengths_follow_from_ioctl_numbers() {
        assert_eq!(argument_len(REGISTER_AGENT), Some(28));
        assert_eq!(argument_len(UNREGISTER_AGENT), Some(4));
        assert_eq!(argument_len(ENABLE_PKEY), Some(0));
        assert_eq!(argument_len(REGISTER_AGENT2), Some(40));
        assert_eq!(argument_len(0x5401), None, "TCGETS");
    }
}
