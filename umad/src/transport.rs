//! Ports that send and receive MADs.
//!
//! Sending does not wait for the response; MADs are received one by one. Transports have no subnet
//! state and do not retry: the requester times out and retries.

use core::time::Duration;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadIn, MadOut};

/// Result of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "passed on at once; a box for every MAD would cost more"
)]
pub enum Received {
    /// A MAD from the fabric.
    Mad(MadIn),
    /// The transport reports that a sent request failed or timed out. Contains its TID; through
    /// libibumad, only the lower 32 bits.
    SendFailed(Tid),
    /// Nothing was received within the timeout.
    TimedOut,
}

/// The sending half of a port.
pub trait MadSender: Send {
    /// Sends a MAD.
    ///
    /// # Errors
    /// If the device rejects it or was removed.
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError>;
}

/// The receiving half of a port.
pub trait MadReceiver: Send {
    /// Waits at most `timeout` for a MAD.
    ///
    /// # Errors
    /// If the device was removed.
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError>;
}

/// A send or receive error.
#[derive(Debug, thiserror::Error)]
#[error("{action}")]
pub struct TransportError {
    /// The failed action, such as `cannot send`.
    pub action: &'static str,
    /// The operating system's error.
    pub source: std::io::Error,
}
