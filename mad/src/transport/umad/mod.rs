//! The kernel's user MAD interface, by way of libibumad.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ports`] | the local ports, and which of them to use |
//! | [`GsiPort`] | QP1: whole messages of subnet administration |
//! | `gate` | the bound on what is under way in the simulator |
//! | `sys` | the C boundary |
//!
//! [`UmadPort::open`] yields a sending and a receiving half, each for a thread of its own. One descriptor with
//! one agent per management class is behind them and stays open while one half lives. The kernel gets a
//! deadline for every request, longer than the requester's own, and never retries.
//!
//! Transaction identifiers: the kernel replaces the upper half of a request's, so only the lower 32 bits are
//! the requester's, and answers are given back with those alone. A request of somebody else keeps its whole
//! TID, because the answer must repeat it.
//!
//! Under Debian's `umad2sim` the same calls reach `ibsim`; see [`UmadSender::window_limit`] for what differs.

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
    LinkLayer, LocalPort, PortChoiceError, PortSelection, SkipReason, SkippedPort, choose_port,
    choose_read_only_port, enumerate_ports, skip_reason,
};

use self::in_flight::InFlightLimit;
use super::{MadReceiver, MadSender, Received, TransportError};
use crate::ids::{Lid, Qpn, Sl, Tid};
use crate::mad::{Address, MAD_LEN, Mad, MadIn, MadOut, Method, MgmtClass};

/// Why a port cannot be used.
#[derive(Debug)]
pub enum UmadError {
    /// libibumad is not there or too old.
    Library(libloading::Error),
    /// The devices cannot be listed.
    Enumerate {
        /// What the system said.
        source: io::Error,
    },
    /// The device cannot be opened: no rights, or no such port.
    Open {
        /// The port.
        port: String,
        /// What the system said.
        source: io::Error,
    },
    /// A management class cannot be registered: another program has it, or the port has no QP0.
    Register {
        /// The port.
        port: String,
        /// The class.
        class: MgmtClass,
        /// What the system said.
        source: io::Error,
    },
    /// Another subnet manager on this host has set the port's IsSM bit.
    AlreadySm {
        /// The port.
        port: String,
    },
    /// The IsSM bit cannot be set.
    IsSm {
        /// The port.
        port: String,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for UmadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(_) => f.write_str("libibumad.so.3 cannot be loaded"),
            Self::Enumerate { .. } => f.write_str("the RDMA devices cannot be listed"),
            Self::Open { port, .. } => write!(f, "{port} cannot be opened for MADs"),
            Self::Register { port, class, .. } => {
                write!(
                    f,
                    "{port} refuses the management class {class}: is another SM using it?"
                )
            }
            Self::AlreadySm { port } => write!(f, "another SM of this host runs on {port}"),
            Self::IsSm { port, .. } => write!(f, "the IsSM bit of {port} cannot be set"),
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
    /// Sets the port's IsSM bit while it is open. If that fails, see [`UmadSender::take_is_sm_error`].
    pub as_sm: bool,
    /// How long the requester can use an answer; the kernel keeps the request a little longer.
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

/// What is registered on QP0: class and version.
const SMI_AGENTS: [(MgmtClass, u8); 2] = [(MgmtClass::SubnDirected, 1), (MgmtClass::SubnLid, 1)];
/// Requests of others that a subnet manager takes. Whoever only asks takes none, and so can share the port with one.
const SM_METHODS: &[u8] = &[
    Method::Get.0,
    Method::Set.0,
    Method::Trap.0,
    Method::TrapRepress.0,
];

/// Classes that the shim must know besides: a MAD of a class without agent ends the process there.
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
    /// Only where the header has room for it.
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
    /// Where the simulator is behind the port.
    in_flight: Option<InFlightLimit>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(fd) = self.issm {
            self.lib.close_device(fd);
        }
        // The shim's receiving thread touches the closed descriptor's queue when a late MAD comes, and dies:
        // there the process's end is what closes.
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
    /// If the library or the device is missing, rights are, or another program manages the port. An issm device that cannot be
    /// opened is no error: see [`UmadSender::take_is_sm_error`].
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
                .register(fd, (class.0, version), false, methods)
                .map_err(|source| UmadError::Register {
                    port: name.clone(),
                    class,
                    source,
                })?;
            shared.agents.push((class, agent));
        }
        if shared.in_flight.is_some() {
            for class in SIMULATOR_CLASSES {
                // Best effort: the shim has room for 32 agents.
                let _ = shared.lib.register(fd, (class, 1), false, &[]);
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
        // Later than the requester's own deadline, so that the kernel never gives up first.
        let timeout = options
            .response_timeout_ms
            .saturating_add(options.response_timeout_ms / 4 + 50);
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
    /// Why the IsSM bit is not set although [`OpenOptions::as_sm`] asked for it.
    is_sm_error: Option<UmadError>,
}

impl UmadSender {
    /// Why the port's IsSM bit could not be set, if it was to be; `None` at the second call. The port works without it, but other
    /// SMs find an SM only by this bit.
    pub const fn take_is_sm_error(&mut self) -> Option<UmadError> {
        self.is_sm_error.take()
    }

    /// Whether `umad2sim` and `ibsim` are behind the port instead of the kernel.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.shared.in_flight.is_some()
    }

    /// How many unanswered requests the port can bear: a bound under `umad2sim`, none of ours otherwise.
    ///
    /// A sender that exceeds it is slowed down, because the shim and `ibsim` wait for each other for ever when
    /// their sockets are full.
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
            action: "sending a MAD",
            source,
        };
        let (class, method) = (out.mad.mgmt_class(), out.mad.method());
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
        let answered = !method.is_response() && method != Method::TrapRepress;
        let timeout_ms = if answered { self.timeout_ms } else { 0 };
        if let Some(gate) = &self.shared.in_flight {
            gate.enter();
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
    /// Takes what has arrived without waiting; `Nothing` if nothing has.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn try_receive(&mut self) -> Result<Received, TransportError> {
        loop {
            let got = self
                .shared
                .lib
                .try_recv(self.shared.fd, &mut self.message)
                .map_err(failed)?;
            let Some(len) = got else {
                return Ok(Received::TimedOut);
            };
            if let Some(gate) = &self.shared.in_flight {
                gate.leave();
            }
            if let Some(received) = self.interpret(len) {
                return Ok(received);
            }
        }
    }

    /// What a message of the kernel means; `None` if nothing that anybody waits for.
    fn interpret(&self, len: usize) -> Option<Received> {
        let m = &self.message.0;
        let word = |at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
        let at = self.shared.header_len;
        let bytes = &m[at..at + len.min(MAD_LEN)];
        // A failed send comes back with its first 24 bytes only.
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
        // A queue that is not empty costs one call instead of two.
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
        action: "receiving a MAD",
        source,
    }
}
