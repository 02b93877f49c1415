//! The MAD layer of the hosts of a simulated fabric, as the Linux kernel has it: what is behind
//! `/dev/infiniband/umadN` and `issmN`.
//!
//! [`UmadLayer`] owns all open files of all ports. It is a state machine without I/O: a program's calls
//! and the fabric's deliveries go in with the time, packets and readable files come out. It never
//! changes what a device answers; the agents of the devices get requests first (that is
//! [`crate::fabric`]'s) and this sees the rest.
//!
//! Where the kernel's releases differ it follows the present one (ABI 5, kernels since 2021), after
//! `drivers/infiniband/core/{user_mad,mad,mad_rmpp,agent,smi}.c`. Not here: Ethernet ports, OPA,
//! snooping, security labels.
//!
//! | module | what it holds |
//! |---|---|
//! | [`abi`] | bytes of headers and ioctls |
//! | [`sysfs`] | the files that tell a program which devices there are |
//! | `register` | who gets which unsolicited MAD |
//! | `send`, `receive` | writes, timeouts; deliveries, matching |
//! | `rmpp` | messages of many segments, both directions |
//! | `queue` | what waits to be read |

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
use register::{AgentIdx, Host};
use rmpp::receive::Recvs;
use send::Sends;
use store::Timers;

/// Agents of one file (`IB_UMAD_MAX_AGENTS`).
pub const MAX_AGENTS: usize = 32;
/// Open files of all programs together: a bound for this process, the kernel has the system's.
pub const MAX_FILES: usize = 1 << 20;

/// An open umad file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub usize);

/// An open issm file: its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssmId(pub PortAt);

#[derive(Debug)]
struct File {
    at: PortAt,
    layout: HeaderLayout,
    /// An agent was registered: the layout is settled.
    used: bool,
    agents: [Option<AgentIdx>; MAX_AGENTS],
    queue: Queue,
    /// It is in [`UmadLayer::poll_readable`]'s list.
    announced: bool,
    /// Sends that are not complete, and the bytes of their segments.
    sends: usize,
    send_bytes: usize,
    /// Bytes of messages that are not complete yet.
    recv_bytes: usize,
    /// Answers that came too late or to nothing.
    unmatched: u64,
}

#[derive(Debug)]
struct Agent {
    file: FileId,
    /// Number within the file.
    id: u32,
    at: PortAt,
    hi_tid: u32,
    request: AgentRegistration,
    /// Receptions of segmented messages, remembered ones included.
    recvs: usize,
}

impl Agent {
    /// The kernel does RMPP for it.
    const fn has_kernel_rmpp(&self) -> bool {
        self.request.rmpp_version != 0 && self.request.flags & FLAG_USER_RMPP == 0
    }
}

#[derive(Debug, Clone, Copy)]
enum Timer {
    /// No answer, or no acknowledgement, of a send.
    Send(usize),
    /// A reception takes too long.
    RecvTimeout(usize),
    /// A complete reception is forgotten.
    RecvCleanup(usize),
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "packets are common, and a box for each would be an allocation per MAD"
)]
enum Outgoing {
    Packet(Packet),
    /// The packet of a send that waits.
    Send {
        send: usize,
        serial: u64,
    },
    /// The segments of a send, one each time that it is its turn.
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
    hosts: BTreeMap<NodeIdx, Host>,
    sends: Sends,
    recvs: Recvs,
    timers: Timers<Timer>,
    outbox: VecDeque<Outgoing>,
    readable: VecDeque<FileId>,
    now: Instant,
}

impl UmadLayer {
    /// No files are open.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the umad device of an end port (of a switch: port 0).
    ///
    /// # Errors
    /// ENXIO if there is no such end port, ENOMEM with [`MAX_FILES`] open.
    pub fn open(&mut self, fabric: &mut Fabric, at: PortAt) -> Result<FileId, Errno> {
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
            layout: HeaderLayout::Old,
            used: false,
            agents: [None; MAX_AGENTS],
            queue: Queue::default(),
            announced: false,
            sends: 0,
            send_bytes: 0,
            recv_bytes: 0,
            unmatched: 0,
        })))
    }

    /// Closes a file: its agents go, what it sends and receives ends without a word to the peer.
    pub fn close(&mut self, fabric: &mut Fabric, file: FileId) {
        for id in 0..MAX_AGENTS {
            // Fails where the file has no such agent, which is most of them.
            let _ = self.unregister(file, id);
        }
        let Some(closed) = self.files.try_remove(file.0) else {
            return;
        };
        if closed.announced {
            self.readable.retain(|f| *f != file);
        }
        let port = self
            .hosts
            .get_mut(&closed.at.node)
            .and_then(|host| host.ports.get_mut(&closed.at.port));
        if let Some(port) = port {
            port.files -= 1;
            if port.files == 0 {
                // Cannot fail: the port was attached when its first file was opened.
                let _ = fabric.detach(closed.at);
            }
        }
    }

    /// An ioctl; `arg` is the structure that the program's pointer leads to, and is written back.
    ///
    /// # Errors
    /// As the kernel: EINVAL, ENOMEM, EFAULT (`arg` is too short), ENOTTY, EBADF.
    pub fn ioctl(&mut self, file: FileId, request: u32, arg: &mut [u8]) -> Result<(), Errno> {
        let len = abi::ioctl_arg_len(request).ok_or(Errno::ENOTTY)?;
        let arg = arg.get_mut(..len).ok_or(Errno::EFAULT)?;
        let open = self.files.get_mut(file.0).ok_or(Errno::EBADF)?;
        match request {
            abi::ENABLE_PKEY => {
                if open.used {
                    return Err(Errno::EINVAL);
                }
                open.layout = HeaderLayout::New;
                Ok(())
            }
            abi::UNREGISTER_AGENT => {
                let id = <[u8; 4]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let id = usize::try_from(u32::from_ne_bytes(id)).map_err(|_| Errno::EINVAL)?;
                self.unregister(file, id)
            }
            abi::REGISTER_AGENT => {
                let bytes = <&[u8; 28]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let id = self.register(file, AgentRegistration::decode(bytes), open_layout_kept)?;
                arg[..4].copy_from_slice(&id.to_ne_bytes());
                Ok(())
            }
            _ => {
                let bytes = <&[u8; 40]>::try_from(&*arg).map_err(|_| Errno::EFAULT)?;
                let wanted = AgentRegistration::decode2(bytes);
                if wanted.qpn <= 1 && wanted.flags & !FLAGS_SUPPORTED != 0 {
                    arg[12..16].copy_from_slice(&FLAGS_SUPPORTED.to_ne_bytes());
                    return Err(Errno::EINVAL);
                }
                let id = self.register(file, wanted, |_| HeaderLayout::New)?;
                arg[..4].copy_from_slice(&id.to_ne_bytes());
                Ok(())
            }
        }
    }

    /// Registers an agent; the first one of a file settles its layout.
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
        let host = self.hosts.get_mut(&open.at.node).ok_or(Errno::EBADF)?;
        let id = u32::try_from(index).map_err(|_| Errno::ENOMEM)?;
        let agent = self.agents.insert(Agent {
            file,
            id,
            at: open.at,
            hi_tid: 0,
            request,
            recvs: 0,
        });
        let taken = host.new_hi_tid(agent).and_then(|hi_tid| {
            let port = host.ports.get_mut(&open.at.port).ok_or(Errno::EBADF)?;
            port.register(&request, agent)
                .inspect_err(|_| host.free_hi_tid(hi_tid))?;
            Ok(hi_tid)
        });
        match taken {
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
        if !open.used {
            open.used = true;
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
        self.cancel_recvs(index);
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

    /// The next packet that a port sends.
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

    /// A file that got a first message since it was last named here.
    pub fn poll_readable(&mut self) -> Option<FileId> {
        let file = self.readable.pop_front()?;
        if let Some(open) = self.files.get_mut(file.0) {
            open.announced = false;
        }
        Some(file)
    }

    /// The oldest message of a file, as `read` gives it; `None` if nothing waits.
    #[must_use]
    pub fn front(&self, file: FileId) -> Option<UmadMessage<'_>> {
        let open = self.files.get(file.0)?;
        open.queue.front(open.layout)
    }

    /// The oldest message was read.
    pub fn pop(&mut self, file: FileId) {
        if let Some(open) = self.files.get_mut(file.0) {
            open.queue.pop();
        }
    }

    /// When [`UmadLayer::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Does what is due at `now`: requests are sent again or time out.
    pub fn handle_timeout(&mut self, fabric: &Fabric, now: Instant) {
        self.now = self.now.max(now);
        while let Some(timer) = self.timers.pop(now) {
            match timer {
                Timer::Send(send) => self.send_timed_out(fabric, send),
                Timer::RecvTimeout(recv) => self.recv_timed_out(fabric, recv),
                Timer::RecvCleanup(recv) => self.recv_is_old(recv),
            }
        }
    }

    /// Opens the issm device of a port: its IsSM capability is set until it is closed.
    ///
    /// # Errors
    /// EAGAIN while another program has it open (a blocking open waits for that to end), ENXIO if
    /// there is no such end port.
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

    /// Closes an issm device: the capability is cleared, and the next program can open it.
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
            // Cannot fail: the port was there when the device was opened.
            let _ = fabric.set_is_sm(at, false);
        }
    }

    /// The port of an open file.
    #[must_use]
    pub fn port(&self, file: FileId) -> Option<PortAt> {
        self.files.get(file.0).map(|f| f.at)
    }

    /// Which header a file uses; settled once it has an agent.
    #[must_use]
    pub fn layout(&self, file: FileId) -> Option<HeaderLayout> {
        self.files.get(file.0).map(|f| f.layout)
    }

    /// Messages that wait in a file.
    #[must_use]
    pub fn queued(&self, file: FileId) -> usize {
        self.files.get(file.0).map_or(0, |f| f.queue.len())
    }

    /// Messages that a file lost because its queue was full.
    #[must_use]
    pub fn dropped(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |f| f.queue.dropped)
    }

    /// Answers to a file's agents that no request waited for; they are dropped.
    #[must_use]
    pub fn unmatched(&self, file: FileId) -> u64 {
        self.files.get(file.0).map_or(0, |f| f.unmatched)
    }

    fn announce(&mut self, file: FileId, pushed: Pushed) {
        match pushed {
            Pushed::First => {
                if let Some(open) = self.files.get_mut(file.0)
                    && !open.announced
                {
                    open.announced = true;
                    self.readable.push_back(file);
                }
            }
            Pushed::Behind | Pushed::Dropped => {}
        }
    }

    /// A MAD that the fabric brought to a port and that no device agent took.
    pub fn deliver(&mut self, fabric: &Fabric, delivery: &Delivery, now: Instant) {
        self.now = self.now.max(now);
        self.receive(fabric, delivery);
    }
}

/// REGISTER_AGENT leaves the layout as it is.
const fn open_layout_kept(layout: HeaderLayout) -> HeaderLayout {
    layout
}
