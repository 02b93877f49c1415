//! Queue pairs for datagrams, completion queues, and completion channels.
//!
//! A queue pair is a connection with two rings. Received messages wait in the ring until the
//! program polls its completion queue; then they are copied to a receive buffer, or dropped if
//! there is none. A send is complete when it is in the ring.
//!
//! A channel's descriptor is an epoll of the rings' descriptors, each of which reports once per
//! request for notification (`EPOLLONESHOT`), and of one counter per completion queue for sends.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_channel::frames::ServerReply;
use ferrosm_channel::verbs::{
    MAX_DATAGRAM, OutgoingDatagram, ReceivedDatagram, VerbsReply, VerbsRequest, WireQpParameters,
};
use ferrosm_channel::{ClientEnd, ClientFds, MessageAction, ReceiveOutcome};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use rustix::io::Errno;

use super::abi::{self, Wc, status};
use super::device::send_request;
use super::memory::SgList;
use crate::config::Config;
use crate::server::{Connection, ServerError, unexpected};

/// Space for the GRH before each message.
pub(crate) const GRH_BYTES: usize = 40;
/// Maximum length of a message from the server.
const MAX_FROM_SERVER: usize = 6 * 4 + GRH_BYTES + MAX_DATAGRAM;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// States of a queue pair (`enum ibv_qp_state`).
pub(crate) mod state {
    pub(crate) const RESET: u32 = 0;
    pub(crate) const INIT: u32 = 1;
    pub(crate) const RTR: u32 = 2;
    pub(crate) const RTS: u32 = 3;
    pub(crate) const ERR: u32 = 6;
}

/// A posted receive work request and its scatter list.
struct ReceiveRequest {
    wr_id: u64,
    sg_list: SgList,
}

/// Client end of a queue pair.
pub(crate) struct Endpoint {
    pub(crate) qpn: u32,
    end: ClientEnd,
    requests: Mutex<Connection>,
    receives: Mutex<VecDeque<ReceiveRequest>>,
    parameters: Mutex<WireQpParameters>,
    max_receives: usize,
}

impl Endpoint {
    pub(crate) fn create(config: &Config, device: u32, max_receives: usize) -> Result<Self, Errno> {
        let requests = Mutex::new(Connection::open(config).map_err(ServerError::errno)?);
        let (reply, fds) = send_request(&requests, VerbsRequest::CreateQueuePair { device })?;
        let ServerReply::Verbs(VerbsReply::QueuePair(qpn)) = reply else {
            return Err(unexpected(&reply).errno());
        };
        let fds = ClientFds::from_vec(fds).ok_or(Errno::NXIO)?;
        let (end, _fd) = ClientEnd::new(fds).map_err(|_| Errno::NOMEM)?;
        end.always_signal();
        Ok(Self {
            qpn,
            end,
            requests,
            receives: Mutex::default(),
            parameters: Mutex::default(),
            max_receives,
        })
    }

    pub(crate) fn parameters(&self) -> WireQpParameters {
        *lock(&self.parameters)
    }

    /// Modifies the state as allowed for datagrams by IBA 11.2.5.2.
    pub(crate) fn modify(&self, mut next: WireQpParameters) -> Result<(), Errno> {
        let mut current = lock(&self.parameters);
        let allowed = match (current.state, next.state) {
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
            next = WireQpParameters::default();
        }
        match send_request(&self.requests, VerbsRequest::ModifyQueuePair(next))? {
            (ServerReply::Done, _) => {}
            (other, _) => return Err(unexpected(&other).errno()),
        }
        if next.state == state::RESET {
            lock(&self.receives).clear();
        }
        *current = next;
        Ok(())
    }

    pub(crate) fn multicast(&self, attach: bool, mgid: [u8; 16], mlid: u16) -> Result<(), Errno> {
        match send_request(
            &self.requests,
            VerbsRequest::Multicast { attach, mgid, mlid },
        )? {
            (ServerReply::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other).errno()),
        }
    }

    pub(crate) fn post_receive(&self, wr_id: u64, sg_list: SgList) -> Result<(), Errno> {
        if self.parameters().state == state::RESET {
            return Err(Errno::INVAL);
        }
        let mut receives = lock(&self.receives);
        if receives.len() >= self.max_receives {
            return Err(Errno::NOMEM);
        }
        receives.push_back(ReceiveRequest { wr_id, sg_list });
        Ok(())
    }

    /// Sends a message; returns the status of its completion.
    pub(crate) fn send(&self, message: &OutgoingDatagram) -> u32 {
        if message.payload.len() > MAX_DATAGRAM {
            return status::LOC_LEN_ERR;
        }
        match self.end.send(&[&message.encode()]) {
            Ok(()) => status::SUCCESS,
            Err(_) => status::FATAL_ERR,
        }
    }

    /// Completes all buffers with the status for a flushed request.
    pub(crate) fn flush(&self) -> Vec<Wc> {
        let receives = std::mem::take(&mut *lock(&self.receives));
        let flushed = |request: ReceiveRequest| Wc {
            wr_id: request.wr_id,
            status: status::WR_FLUSH_ERR,
            opcode: abi::WC_RECV,
            qp_num: self.qpn,
            ..Wc::default()
        };
        receives.into_iter().map(flushed).collect()
    }

    /// Receives the next message for which there is a buffer.
    fn receive(&self) -> Option<Wc> {
        let mut bytes = [0; MAX_FROM_SERVER];
        loop {
            let len = match self.end.receive(&mut bytes, |_| MessageAction::Consume) {
                Ok(ReceiveOutcome::Message(_, len)) => len.min(MAX_FROM_SERVER),
                Ok(ReceiveOutcome::Empty) | Err(_) => return None,
            };
            let Ok(message) = ReceivedDatagram::decode(&bytes[..len]) else {
                continue;
            };
            // As in an adapter, a message without a buffer is dropped.
            if let Some(request) = lock(&self.receives).pop_front() {
                return Some(self.complete(&request, &message));
            }
        }
    }

    fn complete(&self, request: &ReceiveRequest, message: &ReceivedDatagram) -> Wc {
        let len = GRH_BYTES + message.payload.len();
        let fits = request.sg_list.byte_len() >= len;
        if fits {
            if let Some(grh) = &message.grh {
                request.sg_list.scatter(0, grh);
            }
            request.sg_list.scatter(GRH_BYTES, &message.payload);
        }
        let byte = |number: u32| u8::try_from(number).unwrap_or(0);
        Wc {
            wr_id: request.wr_id,
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

    /// The identifier of a ready descriptor, if any; does not wait.
    pub(crate) fn ready(&self) -> Option<*mut c_void> {
        let mut events = Vec::with_capacity(1);
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let buffer = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&self.epoll, buffer, Some(&zero)).ok()?;
        events.first().map(|event: &epoll::Event| event.data.ptr())
    }

    pub(crate) fn is_nonblocking(&self) -> bool {
        rustix::fs::fcntl_getfl(&self.epoll)
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
    }
}

/// Connection of a completion queue with its channel.
struct ChannelLink {
    channel: Arc<Channel>,
    /// Counts completions of sends.
    counter: OwnedFd,
    /// Identifier of the queue in the channel.
    queue_id: *mut c_void,
}

/// A completion queue.
#[derive(Default)]
pub(crate) struct Completions {
    completed: Mutex<VecDeque<Wc>>,
    receivers: Mutex<Vec<Arc<Endpoint>>>,
    /// Number of queue pairs whose sent messages complete here.
    senders: AtomicUsize,
    armed: AtomicBool,
    channel_link: Option<ChannelLink>,
}

impl Completions {
    /// Connects the queue with a channel, under the identifier `queue_id`.
    pub(crate) fn connect(
        &mut self,
        channel: Arc<Channel>,
        queue_id: *mut c_void,
    ) -> Result<(), Errno> {
        let counter = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = EventData::new_ptr(queue_id);
        epoll::add(&channel.epoll, &counter, data, EventFlags::IN)?;
        self.channel_link = Some(ChannelLink {
            channel,
            counter,
            queue_id,
        });
        Ok(())
    }

    /// Disconnects the queue from its channel.
    pub(crate) fn disconnect(&self) {
        if let Some(channel_link) = &self.channel_link {
            // Fails only if it is not registered.
            let _ = epoll::delete(&channel_link.channel.epoll, &channel_link.counter);
        }
    }

    /// Adds a queue pair whose received messages complete here.
    pub(crate) fn add(&self, endpoint: &Arc<Endpoint>) -> Result<(), Errno> {
        let mut receivers = lock(&self.receivers);
        if let Some(channel_link) = &self.channel_link {
            let data = EventData::new_ptr(channel_link.queue_id);
            let flags = EventFlags::ONESHOT;
            epoll::add(
                &channel_link.channel.epoll,
                endpoint.end.wake_fd(),
                data,
                flags,
            )?;
        }
        receivers.push(Arc::clone(endpoint));
        drop(receivers);
        if self.armed.load(Ordering::SeqCst) {
            self.arm();
        }
        Ok(())
    }

    /// Removes a queue pair with its completions.
    pub(crate) fn remove(&self, endpoint: &Arc<Endpoint>) {
        let mut receivers = lock(&self.receivers);
        receivers.retain(|other| !Arc::ptr_eq(other, endpoint));
        if let Some(channel_link) = &self.channel_link {
            // Fails only if it is not registered.
            let _ = epoll::delete(&channel_link.channel.epoll, endpoint.end.wake_fd());
        }
        lock(&self.completed).retain(|wc| wc.qp_num != endpoint.qpn);
    }

    /// Counts a queue pair whose sent messages complete here.
    pub(crate) fn add_sender(&self) {
        self.senders.fetch_add(1, Ordering::SeqCst);
    }

    /// A queue pair that [`Self::add_sender`] counted is destroyed.
    pub(crate) fn remove_sender(&self) {
        self.senders.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether queue pairs use it.
    pub(crate) fn is_in_use(&self) -> bool {
        self.senders.load(Ordering::SeqCst) > 0 || !lock(&self.receivers).is_empty()
    }

    /// Adds a completion.
    pub(crate) fn push(&self, wc: Wc) {
        lock(&self.completed).push_back(wc);
        if self.armed.load(Ordering::SeqCst)
            && let Some(channel_link) = &self.channel_link
        {
            // Fails only if the counter is full, which is readable as well.
            let _ = rustix::io::write(&channel_link.counter, &1u64.to_ne_bytes());
        }
    }

    /// The next completions, at most `max`.
    pub(crate) fn poll(&self, max: usize) -> Vec<Wc> {
        let receivers = lock(&self.receivers);
        let mut completions = Vec::new();
        {
            let mut completed = lock(&self.completed);
            let count = completed.len().min(max);
            completions.extend(completed.drain(..count));
        }
        for endpoint in receivers.iter() {
            while completions.len() < max {
                match endpoint.receive() {
                    Some(wc) => completions.push(wc),
                    None => break,
                }
            }
        }
        completions
    }

    /// Requests a notification of the next completion.
    pub(crate) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
        let Some(channel_link) = &self.channel_link else {
            return;
        };
        for endpoint in lock(&self.receivers).iter() {
            // A queue pair whose server is dead would always be ready.
            if !endpoint.end.is_closed() {
                let data = EventData::new_ptr(channel_link.queue_id);
                let flags = EventFlags::IN | EventFlags::ONESHOT;
                // Fails only if it is not registered.
                let _ = epoll::modify(
                    &channel_link.channel.epoll,
                    endpoint.end.wake_fd().as_fd(),
                    data,
                    flags,
                );
            }
        }
    }

    /// Handles a ready descriptor of the channel; returns whether to notify the program.
    pub(crate) fn take_notification(&self) -> bool {
        if let Some(channel_link) = &self.channel_link {
            // Fails with EAGAIN if a received message made the channel ready.
            let _ = rustix::io::read(&channel_link.counter, &mut [0; 8]);
        }
        for endpoint in lock(&self.receivers).iter() {
            endpoint.end.check_alive();
        }
        self.armed.swap(false, Ordering::SeqCst)
    }
}
