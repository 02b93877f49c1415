//! Ports that move MADs.
//!
//! A transport sends one MAD at a time and never waits for the answer; received MADs are handed over one by
//! one. It keeps no state of the subnet and does not retry: deadlines are the requester's.

pub mod gmp;
#[cfg(feature = "umad")]
pub mod umad;

use core::fmt;
use core::time::Duration;

use crate::mad::{MadIn, MadOut};

/// What came out of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "passed on at once; a box for every MAD would cost more"
)]
pub enum Received {
    /// A MAD from the fabric.
    Mad(MadIn),
    /// The transport knows that a request of ours will not be answered.
    SendFailed(crate::ids::Tid),
    /// Nothing in the given time.
    TimedOut,
}

/// The sending half of a port.
pub trait MadSender: Send {
    /// Sends one MAD.
    ///
    /// # Errors
    /// If the device refuses it or is gone.
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError>;
}

/// The receiving half of a port.
pub trait MadReceiver: Send {
    /// Waits at most `timeout` for one MAD.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError>;
}

/// A port that cannot send or receive.
#[derive(Debug)]
pub struct TransportError {
    /// What was tried.
    pub action: &'static str,
    /// What the system said.
    pub source: std::io::Error,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.action)
    }
}

impl core::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.source)
    }
}
