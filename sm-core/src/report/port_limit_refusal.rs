//! Why the limits of a port cannot be set or ended, as reported.

use core::fmt;

/// Why the limits of a port cannot be set or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortLimitRefusal {
    /// The port supports no width within the limit.
    NoWidth,
    /// The port supports no speed within the limit.
    NoSpeed,
    /// The port has XDR enabled, which no Set disables.
    XdrStays,
    /// The port has no limits.
    NotLimited,
}

impl fmt::Display for PortLimitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoWidth => "the port supports no width within this limit",
            Self::NoSpeed => "the port supports no speed within this limit",
            Self::XdrStays => "the port has XDR enabled, which cannot be disabled",
            Self::NotLimited => "the port has no limits",
        })
    }
}
