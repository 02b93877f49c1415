//! The Linux kernel's MAD layer of all simulated hosts: `/dev/infiniband/umadN` and `issmN`.
//!
//! [`UmadLayer`] owns all open files of all ports. It is a state machine without I/O: programs'
//! calls and the fabric's deliveries go in with the time, packets and readable files come out.
//! Device agents process requests first (in [`crate::fabric`]); this layer receives the other MADs.
//!
//! It implements the current kernel behaviour (ABI 5, kernels since 2021) of
//! `drivers/infiniband/core/{user_mad,mad,mad_rmpp,agent,smi}.c`, without Ethernet ports, OPA,
//! snooping and security labels.
//!
//! | module | contents |
//! |---|---|
//! | [`abi`] | headers and ioctls |
//! | [`sysfs`] | sysfs files |
//! | `register` | registration for unsolicited MADs |
//! | `send`, `receive` | writes and timeouts; deliveries and matching |
//! | `rmpp` | multi-segment messages |
//! | `queue` | received messages |

pub mod abi;
mod class;
mod queue;
mod receive;
mod register;
mod rmpp;
mod send;
mod store;
pub mod sysfs;
pub(crate) mod tables;

use std::collections::{BTreeMap, VecDeque};

use ferrosm_mad::time::Instant;
use slab::Slab;

use crate::fabric::{Delivery, Fabric, Packet};
use crate::spec::{NodeIdx, PortAt};

use abi::{AgentRegistration, FLAG_USER_RMPP, FLAGS_SUPPORTED};
pub use abi::{Errno, HeaderLayout, UserHeader};
use queue::{Pushed, Queue};
pub use queue::{QUEUE_LONG_BYTES, QUEUE_MESSAGES, ReadOutcome, UmadMessage};
use register::{AgentIdx, HostAgents};
use rmpp::receive::Receptions;
use send::Sends;
use store::Timers;
use sysfs::QueuePairs;

/// Maximum number of agents per file (`IB_UMAD_MAX_AGENTS`).
pub const MAX_AGENTS: usize = 32;
/// Maximum number of open files of all programs.
pub const MAX_FILES: usize = 1 << 20;

/// An open umad file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub usize);

/// An open issm file, identified by its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssmId(pub PortAt);

#[derive(Debug)]
struct File {
    at: PortAt,
    queue_pairs: QueuePairs,
    layout: HeaderLayout,
    /// Whether an agent was registered, which fixes the layout.
    has_registered: bool,
    agents: [Option<AgentIdx>; MAX_AGENTS],
    queue: Queue,
    /// Whether it is in the list of [`UmadLayer::poll_readable`].
    is_marked_readable: bool,
    /// Number of incomplete sends, and the length of their segments.
    sends: usize,
    send_bytes: usize,
    /// Length of incompletely received messages.
    recv_bytes: usize,
    /// Number of responses without a matching request.
    unmatched: u64,
}

#[derive(Debug)]
struct Agent {
    file: FileId,
    /// Agent ID within the file.
    id: u32,
    at: PortAt,
    hi_tid: u32,
    request: AgentRegistration,
    /// Number of receptions of segmented messages, including completed ones that are remembered.
    receptions: usize,
}

impl Agent {
    /// Whether the kernel implements RMPP for it.
    const fn has_kernel_rmpp(&self) -> bool {
        self.request.rmpp_version != 0 && self.request.flags & FLAG_USER_RMPP == 0
    }
}

#[derive(Debug, Clone, Copy)]
enum Timer {
    /// A send without response or acknowledgement.
    Send(usize),
    /// A reception that takes too long.
    RecvTimeout(usize),
    /// A completed reception that has been remembered long enough.
    RecvCleanup(usize),
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "packets are common, and a box for each would be an allocation per MAD"
)]
enum Outgoing {
    Packet(Packet),
    /// The packet of an incomplete send.
    Send {
        send: usize,
        serial: u64,
    },
    /// The segments of an RMPP send. One is sent each time the entry is taken from the queue, so
    /// that other sends are not delayed.
    Segments {
        send: usize,
        serial: u64,
    },
}

/// The MAD layers of all hosts of a fabric.
#[derive(Debug, Default)]
pub struct UmadLayer {
    files: Slab<File>,
    agents: Slab<Agent>,
    hosts: BTreeMap<NodeIdx, HostAgents>,
    sends: Sends,
    receptions: Receptions,
    timers: Timers<Timer>,
    outbox: VecDeque<Outgoing>,
    readable: VecDeque<FileId>,
    now: Instant,
}

impl UmadLayer {
    /// Creates the layer without open files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the umad device of an end port (port 0 for a switch) with both queue pairs.
    ///
    /// # Errors
    /// ENXIO if the end port does not exist, ENOMEM with [`MAX_FILES`] open.
    pub fn open(&mut self, fabric: &mut Fabric, at: PortAt) -> Result<FileId, Errno> {
        self.open_with(fabric, at, QueuePairs::Both)
    }

    /// As [`Self::open`], for a device with these queue pairs.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(
        &mut self,
        fabric: &mut Fabric,
        at: PortAt,
        queue_pairs: QueuePairs,
    ) -> Result<FileId, Errno> {
        if self.files.len() >= MAX_FILES {
            return Err(Errno::ENOMEM);
        }
        let host = self.hosts.entry(at.node).or_default();
        let port = host.ports.entry(at.port).or_default();
        if port.files == 0 {
            fabric.attach(at).map_err(|_| Errno::ENXIO)?;
        }
        port.files += 1;
        Ok(FileId(self.files.insert(File {
            at,
            queue_pairs,
            layout: HeaderLayout::Old,
            has_registered: false,
            agents: [None; MAX_AGENTS],
            queue: Queue::default(),
            is_marked_readable: false,
            sends: 0,
            send_bytes: 0,
            recv_bytes: 0,
            unmatched: 0,
        })))
    }

    /// Closes a file: removes its agents and cancels its sends and receptions without notice to the
    /// peers.
    pub fn close(&mut self, fabric: &mut Fabric, file: FileId) {
        for id in 0..MAX_AGENTS {
            // Fails for IDs without an agent, which is most of them.
            let _ = self.unregister(file, id);
        }
        let Some(closed) = self.files.try_remove(file.0) else {
            return;
        };
        if closed.is_marked_readable {
            self.readable.retain(|f| *f != file);
        }
        let port = self
            .hosts
            .get_mut(&closed.at.node)
            .and_then(|host| host.ports.get_mut(&closed.at.port));
        if let Some(port) = port {
            port.files -= 1;
            if port.files == 0 {
                // Cannot fail: opening the first file attached the port.
                let _ = fabric.detach(closed.at);
            }
        }
    }

    /// Executes an ioctl; `arg` is the argument structure, which is updated.
    ///
    /// # Errors
    /// As in the kernel: EINVAL, ENOMEM, EFAULT (`arg` too short), ENOTTY, EBADF.
    pub fn ioctl(&mut self, file: FileId, request: u32, arg: &mut [u8]) -> Result<(), Errno> {
        let len = abi::ioctl_arg_len(request).ok_or(Errno::ENOTTY)?;
        let arg = arg.get_mut(..len).ok_or(Errno::EFAULT)?;
        let open = self.files.get_mut(file.0).ok_or(Errno::EBADF)?;
        match request {
            abi::ENABLE_PKEY => {
                if open.has_registered {
                    return Err(Errno::EINVAL);
                }
                open.layout = HeaderLayout::New;
                Ok(())
            }
            abi::UNREGISTER_AGENT => {
                let bytes = <[u8; 4]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let id = usize::try_from(u32::from_ne_bytes(bytes)).map_err(|_| Errno::EINVAL)?;
                self.unregister(file, id)
            }
            abi::REGISTER_AGENT => {
                let bytes = <&[u8; 28]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let id = self.register(file, AgentRegistration::decode(bytes), unchanged_layout)?;
                arg[..4].copy_from_slice(&id.to_ne_bytes());
                Ok(())
            }
            _ => {
                let bytes = <&[u8; 40]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let request = AgentRegistration::decode2(bytes);
                if request.qpn <= 1 && request.flags & !FLAGS_SUPPORTED != 0 {
                    arg[12..16].copy_from_slice(&FLAGS_SUPPORTED.to_ne_bytes());
                    return Err(Errno::EINVAL);
                }
                let id = self.register(file, request, |_| HeaderLayout::New)?;
                arg[..4].copy_from_slice(&id.to_ne_bytes());
                Ok(())
            }
        }
    }

    /// Registers an agent; the first agent of a file fixes its layout.
    fn register(
        &mut self,
        file: FileId,
        request: AgentRegistration,
        layout: impl FnOnce(HeaderLayout) -> HeaderLayout,
    ) -> Result<u32, Errno> {
        if request.qpn > 1 {
            return Err(Errno::EINVAL);
        }
        let open = self.files.get_mut(file.0).ok_or(Errno::EBADF)?;
        let free = open.agents.iter().position(Option::is_none);
        let index = free.ok_or(Errno::ENOMEM)?;
        register::check(&request)?;
        let has_qp = match open.queue_pairs {
            QueuePairs::Both => true,
            QueuePairs::Smi => request.qpn == 0,
            QueuePairs::Gsi => request.qpn == 1,
        };
        if !has_qp {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let host = self.hosts.get_mut(&open.at.node).ok_or(Errno::EBADF)?;
        let id = u32::try_from(index).map_err(|_| Errno::ENOMEM)?;
        let agent = self.agents.insert(Agent {
            file,
            id,
            at: open.at,
            hi_tid: 0,
            request,
            receptions: 0,
        });
        let hi_tid = host.new_hi_tid(agent).and_then(|hi_tid| {
            let port = host.ports.get_mut(&open.at.port).ok_or(Errno::EBADF)?;
            port.register(&request, agent)
                .inspect_err(|_| host.free_hi_tid(hi_tid))?;
            Ok(hi_tid)
        });
        match hi_tid {
            Ok(hi_tid) => {
                if let Some(a) = self.agents.get_mut(agent) {
                    a.hi_tid = hi_tid;
                }
            }
            Err(errno) => {
                self.agents.try_remove(agent);
                return Err(errno);
            }
        }
        if !open.has_registered {
            open.has_registered = true;
            open.layout = layout(open.layout);
        }
        open.agents[index] = Some(agent);
        Ok(id)
    }

    fn unregister(&mut self, file: FileId, id: usize) -> Result<(), Errno> {
        let open = self.files.get_mut(file.0).ok_or(Errno::EBADF)?;
        let index = open
            .agents
            .get_mut(id)
            .and_then(Option::take)
            .ok_or(Errno::EINVAL)?;
        self.cancel_sends(index);
        self.cancel_receptions(index);
        if let Some(agent) = self.agents.try_remove(index)
            && let Some(host) = self.hosts.get_mut(&agent.at.node)
        {
            host.free_hi_tid(agent.hi_tid);
            if let Some(port) = host.ports.get_mut(&agent.at.port) {
                port.unregister(&agent.request, index);
            }
        }
        Ok(())
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        loop {
            match self.outbox.pop_front()? {
                Outgoing::Packet(packet) => return Some(packet),
                Outgoing::Send { send, serial } => {
                    if let Some(packet) = self.take_queued(send, serial) {
                        return Some(packet);
                    }
                }
                Outgoing::Segments { send, serial } => {
                    if let Some(packet) = self.next_segment(send, serial) {
                        return Some(packet);
                    }
                }
            }
        }
    }

    /// The next file that became readable.
    pub fn poll_readable(&mut self) -> Option<FileId> {
        let file = self.readable.pop_front()?;
        if let Some(open) = self.files.get_mut(file.0) {
            open.is_marked_readable = false;
        }
        Some(file)
    }

    /// The oldest message of a file, in `read`'s format; `None` if the queue is empty.
    #[must_use]
    pub fn front(&self, file: FileId) -> Option<UmadMessage<'_>> {
        let open = self.files.get(file.0)?;
        open.queue.front(open.layout)
    }

    /// Removes the oldest message of a file.
    pub fn pop(&mut self, file: FileId) {
        if let Some(open) = self.files.get_mut(file.0) {
            open.queue.pop();
        }
    }

    /// Time of the next [`UmadLayer::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Processes timers due at `now`: retransmissions and timeouts.
    pub fn handle_timeout(&mut self, fabric: &Fabric, now: Instant) {
        self.now = self.now.max(now);
        while let Some(timer) = self.timers.pop(now) {
            match timer {
                Timer::Send(send) => self.send_timed_out(fabric, send),
                Timer::RecvTimeout(recv) => self.reception_timed_out(fabric, recv),
                Timer::RecvCleanup(recv) => self.remove_old_reception(recv),
            }
        }
    }

    /// Opens the issm device of a port, which sets IsSM until it is closed.
    ///
    /// # Errors
    /// EAGAIN if another program has it open (a blocking open waits for its close), ENXIO if the
    /// end port does not exist.
    pub fn open_issm(&mut self, fabric: &mut Fabric, at: PortAt) -> Result<IssmId, Errno> {
        let host = self.hosts.entry(at.node).or_default();
        let port = host.ports.entry(at.port).or_default();
        if port.issm {
            return Err(Errno::EAGAIN);
        }
        fabric.set_is_sm(at, true).map_err(|_| Errno::ENXIO)?;
        port.issm = true;
        Ok(IssmId(at))
    }

    /// Closes an issm device, which clears IsSM; the next program can open it.
    pub fn close_issm(&mut self, fabric: &mut Fabric, issm: IssmId) {
        let IssmId(at) = issm;
        let port = self
            .hosts
            .get_mut(&at.node)
            .and_then(|host| host.ports.get_mut(&at.port));
        if let Some(port) = port
            && port.issm
        {
            port.issm = false;
            // Cannot fail: the port existed when the device was opened.
            let _ = fabric.set_is_sm(at, false);
        }
    }

    /// The port of an open file.
    #[must_use]
    pub fn port(&self, file: FileId) -> Option<PortAt> {
        self.files.get(file.0).map(|f| f.at)
    }

    /// The header layout of a file, which its first agent fixes.
    #[must_use]
    pub fn layout(&self, file: FileId) -> Option<HeaderLayout> {
        self.files.get(file.0).map(|f| f.layout)
    }

    /// Number of messages that wait in a file.
    #[must_use]
    pub fn queued(&self, file: FileId) -> usize {
        self.files.get(file.0).map_or(0, |f| f.queue.len())
    }

    /// Number of messages that a file lost because its queue was full.
    #[must_use]
    pub fn dropped(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |f| f.queue.dropped)
    }

    /// Number of dropped responses to a file's agents without a matching request.
    #[must_use]
    pub fn unmatched(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |f| f.unmatched)
    }

    fn mark_readable(&mut self, file: FileId, pushed: Pushed) {
        match pushed {
            Pushed::First => {
                if let Some(open) = self.files.get_mut(file.0)
                    && !open.is_marked_readable
                {
                    open.is_marked_readable = true;
                    self.readable.push_back(file);
                }
            }
            Pushed::Behind | Pushed::Dropped => {}
        }
    }

    /// Handles a MAD that reached a port and was not processed by a device agent.
    pub fn deliver(&mut self, fabric: &Fabric, delivery: &Delivery, now: Instant) {
        self.now = self.now.max(now);
        self.receive(fabric, delivery);
    }
}

/// REGISTER_AGENT does not change the layout.
const fn unchanged_layout(layout: HeaderLayout) -> HeaderLayout {
    layout
}
