//! What subnet managers send each other, and what becomes of it when it is lost.

use ferrosm_mad::attr::{SmControl, SmState};

/// What an SMInfo says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Info {
    pub(crate) who: u8,
    pub(crate) priority: u8,
    pub(crate) state: SmState,
}

/// What an SM sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Get {
        to: u8,
    },
    Set {
        to: u8,
        control: SmControl,
        info: Info,
    },
}

/// A MAD under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mad {
    /// Set(SMInfo).
    Set {
        to: u8,
        from: Info,
        control: SmControl,
    },
    /// Its answer.
    Answer {
        to: u8,
        from: u8,
        control: SmControl,
        accepted: bool,
    },
    /// The answer to Get(SMInfo), which was asked in the same moment.
    Info { to: u8, from: Info },
    /// No MAD: the sender's timeout after a Get or Set.
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
            | Self::Answer { to, .. }
            | Self::Info { to, .. }
            | Self::Timeout { to, .. } => to,
        }
    }

    /// What its sender, or the sender of its request, notices when it is lost.
    pub(crate) fn timeout(&self) -> Option<Self> {
        match *self {
            Self::Set { to, from, control } => Some(Self::Timeout {
                to: from.who,
                from: to,
                control: Some(control),
            }),
            Self::Answer {
                to, from, control, ..
            } => Some(Self::Timeout {
                to,
                from,
                control: Some(control),
            }),
            Self::Info { to, from } => Some(Self::Timeout {
                to,
                from: from.who,
                control: None,
            }),
            Self::Timeout { .. } => None,
        }
    }
}
