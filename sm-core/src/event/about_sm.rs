//! What the election reports about another SM, with the location of that SM.

use core::fmt;

use ferrosm_fabric::location::PortName;

/// What the election reports, with the location of the SM that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutSm<T> {
    /// The report.
    pub what: T,
    /// The location of the SM; `None` if it is about no SM, or about one that is no longer in the
    /// subnet.
    pub location: Option<SmLocation>,
}

impl<T: fmt::Display> fmt::Display for AboutSm<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{} ({location})", self.what),
            None => self.what.fmt(f),
        }
    }
}

/// The port at which an SM runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmLocation {
    /// Its port is not known.
    Unknown,
    /// Its port is known.
    Port {
        /// The port.
        port: PortName,
        /// The port at the other end of its link.
        peer: Option<PortName>,
    },
}

impl fmt::Display for SmLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("at an unknown port"),
            Self::Port { port, peer: None } => write!(f, "at {port}"),
            Self::Port {
                port,
                peer: Some(peer),
            } => write!(f, "at {port}, linked to {peer}"),
        }
    }
}
