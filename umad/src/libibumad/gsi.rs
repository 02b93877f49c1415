//! QP1 of a port for subnet administration, with the kernel's RMPP.
//!
//! It uses its own file descriptor, so that a storm of queries does not delay the responses that a
//! sweep awaits.

use core::fmt;
use core::time::Duration;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;

use super::ports::LocalPort;
use super::{QP1_QKEY, UmadError, header, sys};
use crate::gmp::{GmpReceived, GmpReceiver, GmpSender};
use crate::transport::TransportError;
use ferrosm_mad::gmp::{Grh, Peer};
use ferrosm_mad::ids::{Gid, Lid, Qpn, Sl, Tid};
use ferrosm_mad::mad::{MAD_LEN, Method, MgmtClass};
use ferrosm_mad::sa::CLASS_VERSION;

/// Methods of requests that the SA receives.
const SA_METHODS: &[u8] = &[
    Method::Get.0,
    Method::Set.0,
    Method::GetTable.0,
    Method::GetTraceTable.0,
    Method::GetMulti.0,
    Method::Delete.0,
];

/// Length of the longest request: a MultiPathRecord with 255 sources and 255 destinations.
const REQUEST_LEN_MAX: usize = 16 * 1024;

/// Retransmissions of an unacknowledged segment by the kernel.
const SEGMENT_RETRIES: c_int = 3;

/// An open descriptor.
struct Shared {
    lib: sys::Lib,
    fd: c_int,
    agent: c_int,
    header_len: usize,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.lib.unregister(self.fd, self.agent);
        self.lib.close_port(self.fd);
    }
}

/// Opens QP1 of ports.
#[derive(Debug)]
pub struct GsiPort;

impl GsiPort {
    /// Opens a port for subnet administration.
    ///
    /// # Errors
    /// If the library, the device or permissions are missing, or another program has registered the
    /// SA class.
    pub fn open(port: &LocalPort) -> Result<(GsiSender, GsiReceiver), UmadError> {
        let lib = sys::Lib::load().map_err(UmadError::Library)?;
        let name = port.to_string();
        let open_error = |source| UmadError::Open {
            port: name.clone(),
            source,
        };
        let ca = sys::c_string(&port.ca).map_err(open_error)?;
        let fd = lib
            .open_gsi_port(&ca, port.port_num.0)
            .map_err(open_error)?;
        let class = MgmtClass::SubnAdm;
        let agent = match lib.register(fd, class, CLASS_VERSION, true, SA_METHODS) {
            Ok(agent) => agent,
            Err(source) => {
                lib.close_port(fd);
                return Err(UmadError::Register {
                    port: name,
                    class,
                    source,
                });
            }
        };
        let header_len = lib.header_len();
        let shared = Arc::new(Shared {
            lib,
            fd,
            agent,
            header_len,
        });
        let receiver = GsiReceiver {
            message: vec![0; header_len + REQUEST_LEN_MAX],
            shared: Arc::clone(&shared),
        };
        Ok((GsiSender { shared }, receiver))
    }
}

/// The sending half, usable by any number of threads.
#[derive(Clone)]
pub struct GsiSender {
    shared: Arc<Shared>,
}

impl fmt::Debug for GsiSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GsiSender(fd {})", self.shared.fd)
    }
}

impl GmpSender for GsiSender {
    fn send(
        &self,
        to: &Peer,
        bytes: &[u8],
        response_timeout: Option<Duration>,
    ) -> Result<(), TransportError> {
        let mut message = Vec::with_capacity(self.shared.header_len + bytes.len());
        message.resize(self.shared.header_len, 0);
        put_peer(&mut message, to);
        message.extend_from_slice(bytes);
        let timeout_ms =
            response_timeout.map_or(0, |t| c_int::try_from(t.as_millis()).unwrap_or(c_int::MAX));
        let retries = if response_timeout.is_some() {
            0
        } else {
            SEGMENT_RETRIES
        };
        self.shared
            .lib
            .send_long(
                self.shared.fd,
                self.shared.agent,
                &mut message,
                timeout_ms,
                retries,
            )
            .map_err(|source| TransportError {
                action: "cannot send message",
                source,
            })
    }
}

fn put_peer(m: &mut [u8], to: &Peer) {
    m[header::QPN..header::QPN + 4].copy_from_slice(&to.qpn.0.to_be_bytes());
    m[header::QKEY..header::QKEY + 4].copy_from_slice(&QP1_QKEY.to_be_bytes());
    m[header::LID..header::LID + 2].copy_from_slice(&to.lid.0.to_be_bytes());
    m[header::SL] = to.sl.0;
    m[header::PATH_BITS] = to.path_bits;
    if let Some(grh) = to.grh {
        m[header::GRH_PRESENT] = 1;
        m[header::GID_INDEX] = grh.gid_index;
        m[header::HOP_LIMIT] = grh.hop_limit;
        m[header::TRAFFIC_CLASS] = grh.traffic_class;
        m[header::GID..header::GID + 16].copy_from_slice(&grh.gid.0);
        m[header::FLOW_LABEL..header::FLOW_LABEL + 4]
            .copy_from_slice(&grh.flow_label.to_be_bytes());
    }
    if let Some(field) = m.get_mut(header::PKEY_INDEX..header::PKEY_INDEX + 2) {
        field.copy_from_slice(&to.pkey_index.to_ne_bytes());
    }
}

/// `len` is the length of the header: the old header has no P_Key index.
fn peer(m: &[u8], len: usize) -> Peer {
    let word = |at: usize| [m[at], m[at + 1], m[at + 2], m[at + 3]];
    let grh = (m[header::GRH_PRESENT] != 0).then(|| {
        let mut gid = [0; 16];
        gid.copy_from_slice(&m[header::GID..header::GID + 16]);
        Grh {
            gid: Gid(gid),
            gid_index: m[header::GID_INDEX],
            hop_limit: m[header::HOP_LIMIT],
            traffic_class: m[header::TRAFFIC_CLASS],
            flow_label: u32::from_be_bytes(word(header::FLOW_LABEL)),
        }
    });
    Peer {
        lid: Lid(u16::from_be_bytes([m[header::LID], m[header::LID + 1]])),
        qpn: Qpn(u32::from_be_bytes(word(header::QPN))),
        sl: Sl(m[header::SL]),
        path_bits: m[header::PATH_BITS],
        pkey_index: if len > header::PKEY_INDEX + 1 {
            u16::from_ne_bytes([m[header::PKEY_INDEX], m[header::PKEY_INDEX + 1]])
        } else {
            0
        },
        grh,
    }
}

/// The receiving half.
pub struct GsiReceiver {
    shared: Arc<Shared>,
    message: Vec<u8>,
}

impl fmt::Debug for GsiReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GsiReceiver(fd {})", self.shared.fd)
    }
}

impl GsiReceiver {
    /// Receives one message without waiting. Skips responses that the kernel could not deliver.
    fn try_receive(&mut self) -> io::Result<GmpReceived> {
        let header_len = self.shared.header_len;
        loop {
            let received = match self
                .shared
                .lib
                .try_recv_long(self.shared.fd, &mut self.message)
            {
                Ok(received) => received,
                Err(e) if e.kind() == io::ErrorKind::StorageFull => {
                    // Longer than any request: an unexpected response. It is received into a larger
                    // buffer and dropped, because it would block all following messages.
                    let room = self.message.len() * 2;
                    self.message.resize(room, 0);
                    continue;
                }
                Err(e) => return Err(e),
            };
            let Some(len) = received else {
                return Ok(GmpReceived::TimedOut);
            };
            let bytes = &self.message[header_len..(header_len + len).min(self.message.len())];
            let status = &self.message[header::STATUS..header::STATUS + 4];
            if status != [0; 4] {
                // The kernel returns the first 24 bytes of a request that was not answered, and of
                // a response whose segments were not acknowledged. The latter needs no action.
                if let [_, _, _, method, ..] = bytes
                    && !Method(*method).is_response()
                    && let Some(tid) = bytes.get(12..16)
                {
                    let low = tid.iter().fold(0, |v, b| v << 8 | u64::from(*b));
                    return Ok(GmpReceived::SendFailed(Tid(low)));
                }
                continue;
            }
            let from = peer(&self.message, header_len);
            // Short reassembled messages are padded to the length of a MAD.
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().max(MAD_LEN), 0);
            if self.message.len() > header_len + REQUEST_LEN_MAX {
                self.message.truncate(header_len + REQUEST_LEN_MAX);
                self.message.shrink_to_fit();
            }
            return Ok(GmpReceived::Message { from, bytes });
        }
    }
}

impl GmpReceiver for GsiReceiver {
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
        let failed = |source| TransportError {
            action: "cannot receive message",
            source,
        };
        let received = self.try_receive().map_err(failed)?;
        if received != GmpReceived::TimedOut || timeout.is_zero() {
            return Ok(received);
        }
        let timeout_ms = c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX);
        self.shared
            .lib
            .poll(self.shared.fd, timeout_ms)
            .map_err(failed)?;
        self.try_receive().map_err(failed)
    }
}
