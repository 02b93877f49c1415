//! Whole messages of general services: what a class that uses RMPP sends and receives, already joined, still to be cut.
//!
//! Ports of this kind carry messages of any length; the kernel (or a simulated host's MAD layer) does RMPP.

use core::time::Duration;

use super::TransportError;
use crate::ids::{Gid, Lid, Qpn, Sl, Tid};

/// The other end of a message, as far as an answer needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peer {
    /// Its LID.
    pub lid: Lid,
    /// Its queue pair.
    pub qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the own LID that was used.
    pub path_bits: u8,
    /// Index of the P_Key that was used.
    pub pkey_index: u16,
    /// The global route header, where there is one.
    pub grh: Option<Grh>,
}

/// A global route header as the port tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grh {
    /// GID of the other end.
    pub gid: Gid,
    /// Index of the own GID.
    pub gid_index: u8,
    /// HopLimit.
    pub hop_limit: u8,
    /// TClass.
    pub traffic_class: u8,
    /// FlowLabel.
    pub flow_label: u32,
}

/// What came out of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GmpReceived {
    /// A message: header first, RMPP joined.
    Message {
        /// The sender.
        from: Peer,
        /// The whole.
        bytes: Vec<u8>,
    },
    /// The transport knows that a request of ours will not be answered; only the lower 32 bits of its TID are told.
    SendFailed(Tid),
    /// Nothing in the given time.
    TimedOut,
}

/// The sending half. Shared by threads.
pub trait GmpSender: Send + Sync {
    /// Sends a message. `answer_within` is how long the transport keeps a request of ours; none for answers.
    ///
    /// # Errors
    /// If the device refuses it or is gone.
    fn send(
        &self,
        to: &Peer,
        bytes: &[u8],
        answer_within: Option<Duration>,
    ) -> Result<(), TransportError>;
}

/// The receiving half.
pub trait GmpReceiver: Send {
    /// Waits at most `timeout` for one message.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError>;
}
