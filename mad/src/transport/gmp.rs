//! Messages of the general services, reassembled on receive and segmented on send (RMPP).
//!
//! Such ports carry messages of any length; the kernel (or a simulated host's MAD layer) implements
//! RMPP.

use core::time::Duration;

use super::TransportError;
use crate::ids::{Gid, Lid, Qpn, Sl, Tid};

/// The remote address of a message, sufficient for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peer {
    /// Its LID.
    pub lid: Lid,
    /// Its queue pair.
    pub qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the local LID that was used.
    pub path_bits: u8,
    /// Index of the P_Key that was used.
    pub pkey_index: u16,
    /// The GRH, if any.
    pub grh: Option<Grh>,
}

/// Address fields of a GRH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grh {
    /// Remote GID.
    pub gid: Gid,
    /// Index of the local GID.
    pub gid_index: u8,
    /// HopLimit.
    pub hop_limit: u8,
    /// TClass.
    pub traffic_class: u8,
    /// FlowLabel.
    pub flow_label: u32,
}

/// Result of a receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GmpReceived {
    /// A message: header first, RMPP reassembled.
    Message {
        /// The sender.
        from: Peer,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A request was not answered; only the lower 32 bits of its TID are known.
    SendFailed(Tid),
    /// Nothing was received within the timeout.
    TimedOut,
}

/// The sending half, shared by threads.
pub trait GmpSender: Send + Sync {
    /// Sends a message. `response_timeout` is the time for which the transport awaits the response
    /// to a request; `None` for responses.
    ///
    /// # Errors
    /// If the device rejects the message or was removed.
    fn send(
        &self,
        to: &Peer,
        bytes: &[u8],
        response_timeout: Option<Duration>,
    ) -> Result<(), TransportError>;
}

/// The receiving half.
pub trait GmpReceiver: Send {
    /// Waits at most `timeout` for a message.
    ///
    /// # Errors
    /// If the device was removed.
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError>;
}
