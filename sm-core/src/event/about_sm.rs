//! What the election reports about another SM, with the location of that SM.

use core::fmt;

use ferrosm_fabric::location::PortName;

use crate::election::ElectionNotice;
use crate::event_table::{EventRow, Fields, display};

/// What the election reports, with the location of the SM that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutSm<T> {
    /// The report.
    pub what: T,
    /// The location of the SM; `None` if it is about no SM, or about one that is no longer in the
    /// subnet.
    pub location: Option<SmLocation>,
}

impl<T> AboutSm<T> {
    /// The port of the SM, if it is known.
    #[must_use]
    pub const fn port(&self) -> Option<PortName> {
        match self.location {
            Some(SmLocation::Port { port, .. }) => Some(port),
            Some(SmLocation::Unknown) | None => None,
        }
    }

    /// The port at the other end of its link, if it is known.
    #[must_use]
    pub const fn peer(&self) -> Option<PortName> {
        match self.location {
            Some(SmLocation::Port { peer, .. }) => peer,
            Some(SmLocation::Unknown) | None => None,
        }
    }
}

impl AboutSm<ElectionNotice> {
    pub(super) fn row(&self) -> &'static EventRow {
        self.what.row()
    }

    /// The fields of the notice, where the SM is, and a sentence if the operator has to know more.
    pub(super) fn fields(&self) -> Fields {
        let mut fields = self.what.fields();
        fields.add("port", self.port().map(display));
        fields.add("linked_to", self.peer().map(display));
        let has_reason = self.what.is_alarm() || self.what.keeps_mastership();
        fields.add("reason", has_reason.then(|| self.what.to_string()));
        fields
    }
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
