//! The kernel's user MAD interface, through libibumad.
//!
//! | module | contents |
//! |---|---|
//! | [`ports`] | local ports, and the choice of a port |
//! | [`GsiPort`] | QP1: messages of subnet administration |
//! | `in_flight` | limit on messages in flight in the simulator |
//! | `sys` | FFI |
//!
//! [`UmadPort::open`] returns a sending and a receiving half, for one thread each. They share a
//! file descriptor with one agent per management class, which is open while either half exists. The
//! kernel gets a timeout for each request that is longer than the requester's, and never retries.
//!
//! Transaction IDs: the kernel replaces the upper half of a request's TID, so only the lower 32
//! bits belong to the requester, and responses are delivered with those alone. Requests from other
//! nodes keep the whole TID, which the response must repeat.
//!
//! With Debian's `umad2sim`, the same calls reach `ibsim`; see [`UmadSender::window_limit`] for the
//! differences.

mod gsi;
mod in_flight;
pub mod ports;
mod sys;

use core::fmt;
use core::time::Duration;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;

pub use gsi::{GsiPort, GsiReceiver, GsiSender};
pub use ports::{
    LinkLayer, LocalPort, PortChoiceError, PortSelection, SkipReason, SkippedPort, candidates,
    choose_port, choose_port_for_discovery, enumerate_ports, gsi_port, skip_reason,
};

use self::in_flight::InFlightLimit;
use crate::transport::{MadReceiver, MadSender, Received, TransportError};
use ferrosm_mad::ids::{Lid, Qpn, Sl, Tid};
use ferrosm_mad::mad::{Address, MAD_LEN, Mad, MadIn, MadOut, Method, MgmtClass};

/// Error on opening a port.
#[derive(Debug)]
pub enum UmadError {
    /// libibumad is missing or too old.
    Library(libloading::Error),
    /// The devices cannot be listed.
    Enumerate {
        /// The system's error.
        source: io::Error,
    },
    /// The device cannot be opened: missing permission, or no such port.
    Open {
        /// The port.
        port: String,
        /// The system's error.
        source: io::Error,
    },
    /// A management class cannot be registered: another program has registered it, or the port has
    /// no QP0.
    Register {
        /// The port.
        port: String,
        /// The class.
        class: MgmtClass,
        /// The system's error.
        source: io::Error,
    },
    /// Another SM on this host has set the port's IsSM bit.
    AlreadySm {
        /// The port.
        port: String,
    },
    /// The IsSM bit cannot be set.
    IsSm {
        /// The port.
        port: String,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for UmadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(_) => f.write_str("cannot load libibumad.so.3"),
            Self::Enumerate { .. } => f.write_str("cannot list RDMA devices"),
            Self::Open { port, .. } => write!(f, "cannot open {port} for MADs"),
            Self::Register { port, class, .. } => {
                write!(
                    f,
                    "cannot receive MADs of management class {:#04x} on {port}",
                    class.0
                )
            }
            Self::AlreadySm { port } => write!(f, "another SM on this host uses {port}"),
            Self::IsSm { port, .. } => write!(f, "cannot set the IsSM bit of {port}"),
        }
    }
}

impl core::error::Error for UmadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Library(source) => Some(source),
            Self::Enumerate { source }
            | Self::Open { source, .. }
            | Self::Register { source, .. }
            | Self::IsSm { source, .. } => Some(source),
            Self::AlreadySm { .. } => None,
        }
    }
}

/// How a port is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Set the port's IsSM bit while it is open. If that fails, see
    /// [`UmadSender::take_is_sm_error`].
    pub as_sm: bool,
    /// The requester's timeout; the kernel's is slightly longer.
    pub response_timeout_ms: u32,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            as_sm: false,
            response_timeout_ms: 200,
        }
    }
}

/// Classes and versions to register on QP0.
const SMI_AGENTS: [(MgmtClass, u8); 2] = [(MgmtClass::SubnDirected, 1), (MgmtClass::SubnLid, 1)];
/// Methods of requests that an SM receives. A program that only sends requests registers none, and
/// can share the port with an SM.
const SM_METHODS: &[u8] = &[
    Method::Get.0,
    Method::Set.0,
    Method::Trap.0,
    Method::TrapRepress.0,
];

/// Further classes for `umad2sim`, which terminates the process on a MAD of an unregistered class.
const SIMULATOR_CLASSES: [u8; 13] = [
    0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x10, 0x11, 0x21, 0x32, 0x33,
];

/// Offsets in the message header (`struct ib_user_mad`).
mod header {
    pub(super) const STATUS: usize = 4;
    pub(super) const QPN: usize = 20;
    pub(super) const QKEY: usize = 24;
    pub(super) const LID: usize = 28;
    pub(super) const SL: usize = 30;
    pub(super) const PATH_BITS: usize = 31;
    pub(super) const GRH_PRESENT: usize = 32;
    pub(super) const GID_INDEX: usize = 33;
    pub(super) const HOP_LIMIT: usize = 34;
    pub(super) const TRAFFIC_CLASS: usize = 35;
    pub(super) const GID: usize = 36;
    pub(super) const FLOW_LABEL: usize = 52;
    /// Only in the longer header.
    pub(super) const PKEY_INDEX: usize = 56;
}

/// The Q_Key of every QP1.
const QP1_QKEY: u32 = 0x8001_0000;

/// An open port.
struct Shared {
    lib: sys::Lib,
    fd: c_int,
    issm: Option<c_int>,
    agents: Vec<(MgmtClass, c_int)>,
    header_len: usize,
    /// Present with the simulator only.
    in_flight: Option<InFlightLimit>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(fd) = self.issm {
            self.lib.close_device(fd);
        }
        // The receiving thread of `umad2sim` crashes if a late MAD arrives for a closed descriptor:
        // there the exit of the process closes it.
        if self.in_flight.is_none() {
            for (_, agent) in &self.agents {
                self.lib.unregister(self.fd, *agent);
            }
            self.lib.close_port(self.fd);
        }
    }
}

impl Shared {
    fn agent(&self, class: MgmtClass) -> Option<c_int> {
        self.agents
            .iter()
            .find(|(c, _)| *c == class)
            .map(|(_, agent)| *agent)
    }
}

/// Opens ports.
#[derive(Debug)]
pub struct UmadPort;

impl UmadPort {
    /// Opens a port for subnet management.
    ///
    /// # Errors
    /// If the library, the device or permissions are missing, or another program manages the port.
    /// Failure to open the issm device is not an error: see [`UmadSender::take_is_sm_error`].
    pub fn open(
        port: &LocalPort,
        options: &OpenOptions,
    ) -> Result<(UmadSender, UmadReceiver), UmadError> {
        let lib = sys::Lib::load().map_err(UmadError::Library)?;
        let name = port.to_string();
        let open_error = |source| UmadError::Open {
            port: name.clone(),
            source,
        };
        let ca = sys::c_string(&port.ca).map_err(open_error)?;
        let fd = lib.open_port(&ca, port.port_num.0).map_err(open_error)?;
        let in_flight = (!lib.is_kernel_fd(fd)).then(InFlightLimit::default);
        let header_len = lib.header_len();
        let mut shared = Shared {
            lib,
            fd,
            issm: None,
            agents: Vec::new(),
            header_len,
            in_flight,
        };
        let methods = if options.as_sm { SM_METHODS } else { &[] };
        for (class, version) in SMI_AGENTS {
            let agent = shared
                .lib
                .register(fd, class, version, false, methods)
                .map_err(|source| UmadError::Register {
                    port: name.clone(),
                    class,
                    source,
                })?;
            shared.agents.push((class, agent));
        }
        if shared.in_flight.is_some() {
            for class in SIMULATOR_CLASSES {
                // Best effort: `umad2sim` has room for 32 agents.
                let _ = shared.lib.register(fd, MgmtClass(class), 1, false, &[]);
            }
        }
        let mut is_sm_error = None;
        if options.as_sm {
            match set_is_sm(&shared.lib, &ca, port) {
                Ok(fd) => shared.issm = Some(fd),
                // Two SMs on one port would both answer SMInfo.
                Err(e @ UmadError::AlreadySm { .. }) => return Err(e),
                Err(e) => is_sm_error = Some(e),
            }
        }
        // Longer than the requester's timeout, so that the requester times out first.
        let timeout = options
            .response_timeout_ms
            .saturating_add(options.response_timeout_ms / 4 + 50);
        // saturates: the maximum is 24 days.
        let timeout_ms = c_int::try_from(timeout).unwrap_or(c_int::MAX);
        let shared = Arc::new(shared);
        Ok((
            UmadSender {
                shared: Arc::clone(&shared),
                timeout_ms,
                message: Box::new(new_message()),
                is_sm_error,
            },
            UmadReceiver {
                shared,
                message: Box::new(new_message()),
            },
        ))
    }
}

fn set_is_sm(lib: &sys::Lib, ca: &std::ffi::CStr, port: &LocalPort) -> Result<c_int, UmadError> {
    lib.issm_path(ca, port.port_num.0)
        .and_then(|path| lib.open_device(&path))
        .map_err(|source| {
            let port = port.to_string();
            if source.kind() == io::ErrorKind::WouldBlock {
                UmadError::AlreadySm { port }
            } else {
                UmadError::IsSm { port, source }
            }
        })
}

const fn new_message() -> sys::Buffer {
    sys::Buffer([0; sys::HEADER_MAX + MAD_LEN])
}

/// The sending half.
pub struct UmadSender {
    shared: Arc<Shared>,
    timeout_ms: c_int,
    message: Box<sys::Buffer>,
    /// Why the IsSM bit is not set despite [`OpenOptions::as_sm`].
    is_sm_error: Option<UmadError>,
}

impl UmadSender {
    /// Why the IsSM bit could not be set; returned once. The port works without it, but other SMs
    /// find an SM only by this bit.
    pub const fn take_is_sm_error(&mut self) -> Option<UmadError> {
        self.is_sm_error.take()
    }

    /// Whether `umad2sim` and `ibsim` are used instead of the kernel.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.shared.in_flight.is_some()
    }

    /// Maximum number of unanswered requests: a limit with `umad2sim`, `None` otherwise.
    ///
    /// Beyond it, sending blocks, because it and `ibsim` deadlock if their sockets are full.
    #[must_use]
    pub fn window_limit(&self) -> Option<usize> {
        self.shared.in_flight.as_ref().map(|_| in_flight::WINDOW)
    }
}

impl fmt::Debug for UmadSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UmadSender(fd {})", self.shared.fd)
    }
}

impl MadSender for UmadSender {
    fn send(&mut self, out: &MadOut) -> Result<(), TransportError> {
        let error = |source| TransportError {
            action: "cannot send MAD",
            source,
        };
        let class = out.mad.mgmt_class();
        let method = out.mad.method();
        let agent = self
            .shared
            .agent(class)
            .ok_or_else(|| error(io::Error::other(format!("class {class} is not registered"))))?;
        let m = &mut self.message.0;
        m[..sys::HEADER_MAX].fill(0);
        m[header::QPN..header::QPN + 4].copy_from_slice(&out.to.qpn.0.to_be_bytes());
        let qkey = if out.to.qpn.0 == 0 { 0 } else { QP1_QKEY };
        m[header::QKEY..header::QKEY + 4].copy_from_slice(&qkey.to_be_bytes());
        m[header::LID..header::LID + 2].copy_from_slice(&out.to.lid.0.to_be_bytes());
        m[header::SL] = out.to.sl.0;
        m[header::PATH_BITS] = out.to.path_bits;
        let at = self.shared.header_len;
        m[at..at + MAD_LEN].copy_from_slice(out.mad.as_bytes());
        let expects_response = !method.is_response() && method != Method::TrapRepress;
        let timeout_ms = if expects_response { self.timeout_ms } else { 0 };
        if let Some(in_flight) = &self.shared.in_flight {
            in_flight.enter();
        }
        self.shared
            .lib
            .send(self.shared.fd, agent, &mut self.message, timeout_ms)
            .map_err(error)
    }
}

/// The receiving half.
pub struct UmadReceiver {
    shared: Arc<Shared>,
    message: Box<sys::Buffer>,
}

impl fmt::Debug for UmadReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UmadReceiver(fd {})", self.shared.fd)
    }
}

impl UmadReceiver {
    /// Receives a MAD without waiting; `TimedOut` if there is none.
    ///
    /// # Errors
    /// If the device was removed.
    pub fn try_receive(&mut self) -> Result<Received, TransportError> {
        loop {
            let received_len = self
                .shared
                .lib
                .try_recv(self.shared.fd, &mut self.message)
                .map_err(failed)?;
            let Some(len) = received_len else {
                return Ok(Received::TimedOut);
            };
            if let Some(in_flight) = &self.shared.in_flight {
                in_flight.leave();
            }
            if let Some(received) = self.interpret(len) {
                return Ok(received);
            }
        }
    }

    /// Interprets a message of the kernel; `None` if it needs no action.
    fn interpret(&self, len: usize) -> Option<Received> {
        let m = &self.message.0;
        let word = |at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
        let at = self.shared.header_len;
        let bytes = &m[at..at + len.min(MAD_LEN)];
        // A failed send returns the first 24 bytes only.
        let (method, tid) = match bytes {
            [_, _, _, method, _, _, _, _, _, _, _, _, a, b, c, d, ..] => (
                Method(*method),
                Tid(u64::from(u32::from_be_bytes([*a, *b, *c, *d]))),
            ),
            _ => return None,
        };
        if u32::from_ne_bytes(word(header::STATUS)) != 0 {
            return (!method.is_response()).then_some(Received::SendFailed(tid));
        }
        let mut mad = Mad::parse(bytes).ok()?;
        self.shared.agent(mad.mgmt_class())?;
        if method.is_response() {
            mad.as_bytes_mut()[8..12].fill(0);
        }
        let from = Address {
            lid: Lid(u16::from_be_bytes([m[header::LID], m[header::LID + 1]])),
            qpn: Qpn(u32::from_be_bytes(word(header::QPN))),
            sl: Sl(m[header::SL]),
            path_bits: m[header::PATH_BITS],
        };
        Some(Received::Mad(MadIn { from, mad }))
    }
}

impl MadReceiver for UmadReceiver {
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError> {
        // If messages are queued, this saves the call of `poll`.
        let received = self.try_receive()?;
        if received != Received::TimedOut || timeout.is_zero() {
            return Ok(received);
        }
        let timeout_ms = c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX);
        self.shared
            .lib
            .poll(self.shared.fd, timeout_ms)
            .map_err(failed)?;
        self.try_receive()
    }
}

fn failed(source: io::Error) -> TransportError {
    TransportError {
        action: "cannot receive MAD",
        source,
    }
}
