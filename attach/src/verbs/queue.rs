//! Queue pairs for datagrams, completion queues, and channels that tell of completions.
//!
//! A queue pair is a connection of its own with two rings. What arrived waits in the ring until the program polls: only then it
//! meets a receive buffer, or is dropped where none was posted. A send is complete when it is in the ring.
//!
//! A channel's descriptor is an epoll of the rings' descriptors, each once per request for notification (`EPOLLONESHOT`), and of one
//! counter per completion queue for sends.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_channel::frames::Reply;
use ferrosm_channel::verbs::{
    MAX_DATAGRAM, QpParameters, ReceivedMessage, SendMessage, VerbsReply, VerbsRequest,
};
use ferrosm_channel::{ClientEnd, ClientFds, MessageAction, ReceiveOutcome};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use rustix::io::Errno;

use super::abi::{self, Wc, status};
use super::device::ask;
use super::memory::Pieces;
use crate::config::Config;
use crate::server::{Connection, Failure, unexpected};

/// Room for a global route header before each message.
pub(crate) const GRH_BYTES: usize = 40;
/// Longest message from the server.
const LONGEST: usize = 6 * 4 + GRH_BYTES + MAX_DATAGRAM;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// States of a queue pair, as verbs number them.
pub(crate) mod state {
    pub(crate) const RESET: u32 = 0;
    pub(crate) const INIT: u32 = 1;
    pub(crate) const RTR: u32 = 2;
    pub(crate) const RTS: u32 = 3;
    pub(crate) const ERR: u32 = 6;
}

/// A buffer that waits for a message.
struct Buffer {
    wr_id: u64,
    pieces: Pieces,
}

/// A queue pair's end of its rings.
pub(crate) struct Endpoint {
    pub(crate) qpn: u32,
    end: ClientEnd,
    requests: Mutex<Connection>,
    buffers: Mutex<VecDeque<Buffer>>,
    set_up: Mutex<QpParameters>,
    most_buffers: usize,
}

impl Endpoint {
    pub(crate) fn create(config: &Config, device: u32, most_buffers: usize) -> Result<Self, Errno> {
        let requests = Mutex::new(Connection::open(config).map_err(Failure::errno)?);
        let (reply, fds) = ask(&requests, VerbsRequest::CreateQueuePair { device })?;
        let Reply::Verbs(VerbsReply::QueuePair(qpn)) = reply else {
            return Err(unexpected(&reply).errno());
        };
        let fds = ClientFds::from_vec(fds).ok_or(Errno::NXIO)?;
        let (end, _fd) = ClientEnd::new(fds).map_err(|_| Errno::NOMEM)?;
        end.disable_quiet();
        Ok(Self {
            qpn,
            end,
            requests,
            buffers: Mutex::default(),
            set_up: Mutex::default(),
            most_buffers,
        })
    }

    pub(crate) fn set_up(&self) -> QpParameters {
        *lock(&self.set_up)
    }

    /// Goes from one state to the next, as IBA 11.2.5.2 allows for datagrams.
    pub(crate) fn modify(&self, mut next: QpParameters) -> Result<(), Errno> {
        let mut now = lock(&self.set_up);
        let allowed = match (now.state, next.state) {
            (_, state::RESET | state::ERR) => true,
            (from, to) => {
                from == to && from != state::RESET && from != state::ERR
                    || (from, to) == (state::RESET, state::INIT)
                    || (from, to) == (state::INIT, state::RTR)
                    || (from, to) == (state::RTR, state::RTS)
            }
        };
        if !allowed {
            return Err(Errno::INVAL);
        }
        if next.state == state::RESET {
            next = QpParameters::default();
        }
        match ask(&self.requests, VerbsRequest::ModifyQueuePair(next))? {
            (Reply::Done, _) => {}
            (other, _) => return Err(unexpected(&other).errno()),
        }
        if next.state == state::RESET {
            lock(&self.buffers).clear();
        }
        *now = next;
        Ok(())
    }

    pub(crate) fn multicast(&self, attach: bool, mgid: [u8; 16], mlid: u16) -> Result<(), Errno> {
        match ask(
            &self.requests,
            VerbsRequest::Multicast { attach, mgid, mlid },
        )? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other).errno()),
        }
    }

    pub(crate) fn post_buffer(&self, wr_id: u64, pieces: Pieces) -> Result<(), Errno> {
        if self.set_up().state == state::RESET {
            return Err(Errno::INVAL);
        }
        let mut buffers = lock(&self.buffers);
        if buffers.len() >= self.most_buffers {
            return Err(Errno::NOMEM);
        }
        buffers.push_back(Buffer { wr_id, pieces });
        Ok(())
    }

    /// Sends; the status of the completion.
    pub(crate) fn send(&self, message: &SendMessage) -> u32 {
        if message.payload.len() > MAX_DATAGRAM {
            return status::LOC_LEN_ERR;
        }
        match self.end.send(&[&message.encode()]) {
            Ok(()) => status::SUCCESS,
            Err(_) => status::FATAL_ERR,
        }
    }

    /// All buffers, each as a completion that says that nothing came.
    pub(crate) fn flush(&self) -> Vec<Wc> {
        let buffers = std::mem::take(&mut *lock(&self.buffers));
        let flushed = |buffer: Buffer| Wc {
            wr_id: buffer.wr_id,
            status: status::WR_FLUSH_ERR,
            opcode: abi::WC_RECV,
            qp_num: self.qpn,
            ..Wc::default()
        };
        buffers.into_iter().map(flushed).collect()
    }

    /// The next message that finds a buffer.
    fn receive(&self) -> Option<Wc> {
        let mut bytes = [0; LONGEST];
        loop {
            let len = match self.end.receive(&mut bytes, |_| MessageAction::Consume) {
                Ok(ReceiveOutcome::Message(_, len)) => len.min(LONGEST),
                Ok(ReceiveOutcome::Empty) | Err(_) => return None,
            };
            let Ok(message) = ReceivedMessage::decode(&bytes[..len]) else {
                continue;
            };
            // As an adapter: what finds no buffer is lost.
            if let Some(buffer) = lock(&self.buffers).pop_front() {
                return Some(self.complete(&buffer, &message));
            }
        }
    }

    fn complete(&self, buffer: &Buffer, message: &ReceivedMessage) -> Wc {
        let len = GRH_BYTES + message.payload.len();
        let fits = buffer.pieces.room() >= len;
        if fits {
            if let Some(grh) = &message.grh {
                buffer.pieces.scatter(0, grh);
            }
            buffer.pieces.scatter(GRH_BYTES, &message.payload);
        }
        let byte = |number: u32| u8::try_from(number).unwrap_or(0);
        Wc {
            wr_id: buffer.wr_id,
            status: if fits {
                status::SUCCESS
            } else {
                status::LOC_LEN_ERR
            },
            opcode: abi::WC_RECV,
            byte_len: u32::try_from(len).unwrap_or(0),
            qp_num: self.qpn,
            src_qp: message.src_qpn,
            wc_flags: if message.grh.is_some() {
                abi::WC_GRH
            } else {
                0
            },
            pkey_index: u16::try_from(message.pkey_index).unwrap_or(0),
            slid: message.slid,
            sl: byte(message.sl),
            dlid_path_bits: byte(message.path_bits),
            ..Wc::default()
        }
    }
}

/// A completion channel.
pub(crate) struct Channel {
    pub(crate) epoll: OwnedFd,
}

impl Channel {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    /// Whose descriptor is ready, if one is; does not wait.
    pub(crate) fn ready(&self) -> Option<*mut c_void> {
        let mut events = Vec::with_capacity(1);
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let buffer = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&self.epoll, buffer, Some(&now)).ok()?;
        events.first().map(|event: &epoll::Event| event.data.ptr())
    }

    pub(crate) fn is_nonblocking(&self) -> bool {
        rustix::fs::fcntl_getfl(&self.epoll)
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
    }
}

/// How a completion queue tells its channel.
struct Bell {
    channel: Arc<Channel>,
    /// Counts completions that were not messages.
    counter: OwnedFd,
    /// What the channel knows the queue by.
    name: *mut c_void,
}

/// A completion queue.
#[derive(Default)]
pub(crate) struct Completions {
    done: Mutex<VecDeque<Wc>>,
    receivers: Mutex<Vec<Arc<Endpoint>>>,
    armed: AtomicBool,
    bell: Option<Bell>,
}

impl Completions {
    /// Connects it with a channel, which knows it as `name`.
    pub(crate) fn connect(
        &mut self,
        channel: Arc<Channel>,
        name: *mut c_void,
    ) -> Result<(), Errno> {
        let counter = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = EventData::new_ptr(name);
        epoll::add(&channel.epoll, &counter, data, EventFlags::IN)?;
        self.bell = Some(Bell {
            channel,
            counter,
            name,
        });
        Ok(())
    }

    /// Takes it off its channel.
    pub(crate) fn disconnect(&self) {
        if let Some(bell) = &self.bell {
            // Fails only if it is not there.
            let _ = epoll::delete(&bell.channel.epoll, &bell.counter);
        }
    }

    /// A queue pair's messages complete here from now on.
    pub(crate) fn add(&self, endpoint: &Arc<Endpoint>) -> Result<(), Errno> {
        let mut receivers = lock(&self.receivers);
        if let Some(bell) = &self.bell {
            let data = EventData::new_ptr(bell.name);
            let flags = EventFlags::ONESHOT;
            epoll::add(&bell.channel.epoll, endpoint.end.wake_fd(), data, flags)?;
        }
        receivers.push(Arc::clone(endpoint));
        drop(receivers);
        if self.armed.load(Ordering::SeqCst) {
            self.arm();
        }
        Ok(())
    }

    /// It goes; so do its completions.
    pub(crate) fn remove(&self, endpoint: &Arc<Endpoint>) {
        let mut receivers = lock(&self.receivers);
        receivers.retain(|other| !Arc::ptr_eq(other, endpoint));
        if let Some(bell) = &self.bell {
            // Fails only if it is not there.
            let _ = epoll::delete(&bell.channel.epoll, endpoint.end.wake_fd());
        }
        lock(&self.done).retain(|wc| wc.qp_num != endpoint.qpn);
    }

    pub(crate) fn has_receivers(&self) -> bool {
        !lock(&self.receivers).is_empty()
    }

    /// A completion.
    pub(crate) fn push(&self, wc: Wc) {
        lock(&self.done).push_back(wc);
        if self.armed.load(Ordering::SeqCst)
            && let Some(bell) = &self.bell
        {
            // Fails only if the counter is full, which is loud enough.
            let _ = rustix::io::write(&bell.counter, &1u64.to_ne_bytes());
        }
    }

    /// The next completions, at most `most`.
    pub(crate) fn poll(&self, most: usize) -> Vec<Wc> {
        let receivers = lock(&self.receivers);
        let mut found = Vec::new();
        {
            let mut done = lock(&self.done);
            let now = done.len().min(most);
            found.extend(done.drain(..now));
        }
        for endpoint in receivers.iter() {
            while found.len() < most {
                match endpoint.receive() {
                    Some(wc) => found.push(wc),
                    None => break,
                }
            }
        }
        found
    }

    /// The program wants to be told of the next completion.
    pub(crate) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
        let Some(bell) = &self.bell else { return };
        for endpoint in lock(&self.receivers).iter() {
            // One whose server is gone would be ready for ever.
            if !endpoint.end.is_closed() {
                let data = EventData::new_ptr(bell.name);
                let flags = EventFlags::IN | EventFlags::ONESHOT;
                // Fails only if it is not there.
                let _ = epoll::modify(
                    &bell.channel.epoll,
                    endpoint.end.wake_fd().as_fd(),
                    data,
                    flags,
                );
            }
        }
    }

    /// Its channel says that something is ready: whether the program is to be told.
    pub(crate) fn rings(&self) -> bool {
        if let Some(bell) = &self.bell {
            // Nothing to read: it was a message.
            let _ = rustix::io::read(&bell.counter, &mut [0; 8]);
        }
        for endpoint in lock(&self.receivers).iter() {
            endpoint.end.check_alive();
        }
        self.armed.swap(false, Ordering::SeqCst)
    }
}
