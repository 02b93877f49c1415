//! MADs between SMs, and the consequences of their loss.

use ferrosm_mad::attr::{SmControl, SmState};

/// Contents of an SMInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Info {
    pub(crate) number: u8,
    pub(crate) priority: u8,
    pub(crate) state: SmState,
}

/// A request of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SmRequest {
    Get {
        to: u8,
    },
    Set {
        to: u8,
        control: SmControl,
        info: Info,
    },
}

/// A MAD in flight, or a pending timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mad {
    /// Set(SMInfo).
    Set {
        to: u8,
        from: Info,
        control: SmControl,
    },
    /// The SMInfo of the SM that sent Set(SMInfo) to `to`, which queried it before it processes the
    /// control.
    SenderInfo {
        to: u8,
        from: Info,
        control: SmControl,
        seen: Info,
    },
    /// The response to Set(SMInfo).
    Response {
        to: u8,
        from: u8,
        control: SmControl,
        accepted: bool,
    },
    /// The response to Get(SMInfo), with the state at the time of the request.
    Info { to: u8, from: Info },
    /// The sender's timeout of a Get or Set.
    Timeout {
        to: u8,
        from: u8,
        control: Option<SmControl>,
    },
}

impl Mad {
    pub(crate) fn to(&self) -> u8 {
        match *self {
            Self::Set { to, .. }
            | Self::SenderInfo { to, .. }
            | Self::Response { to, .. }
            | Self::Info { to, .. }
            | Self::Timeout { to, .. } => to,
        }
    }

    /// The timeout that follows the loss of this MAD, at the sender of the request.
    pub(crate) fn timeout(&self) -> Option<Self> {
        match *self {
            // A control that is not confirmed gets no response.
            Self::Set { to, from, control }
            | Self::SenderInfo {
                to, from, control, ..
            } => Some(Self::Timeout {
                to: from.number,
                from: to,
                control: Some(control),
            }),
            Self::Response {
                to, from, control, ..
            } => Some(Self::Timeout {
                to,
                from,
                control: Some(control),
            }),
            Self::Info { to, from } => Some(Self::Timeout {
                to,
                from: from.number,
                control: None,
            }),
            Self::Timeout { .. } => None,
        }
    }
}
