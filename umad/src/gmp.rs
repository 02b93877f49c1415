//! Ports for messages of the general services.
//!
//! Messages have any length. The kernel, or a simulated host's MAD layer, segments them on send and
//! reassembles them on receive (RMPP).

use core::time::Duration;

use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::Tid;

use crate::transport::TransportError;

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
