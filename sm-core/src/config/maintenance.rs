//! What the operator takes out of service: plain data, which the component of the same name carries
//! out.

use core::fmt;

use ferrosm_mad::ids::{NodeGuid, PortNum};
use serde::{Deserialize, Serialize};

/// Longest [`Maintenance::name`] and [`Maintenance::reason`], in bytes.
pub const TEXT_LEN_MAX: usize = 2048;

/// What is out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MaintenanceTarget {
    /// A drained switch: no route passes through it.
    Switch(NodeGuid),
    /// The drained link at this port of a switch: no route uses it.
    Link(NodeGuid, PortNum),
    /// A disabled port of a switch.
    Port(NodeGuid, PortNum),
}

impl MaintenanceTarget {
    /// The node.
    #[must_use]
    pub const fn node(self) -> NodeGuid {
        match self {
            Self::Switch(guid) | Self::Link(guid, _) | Self::Port(guid, _) => guid,
        }
    }

    /// The port, if it is one or the end of a link.
    #[must_use]
    pub const fn port(self) -> Option<PortNum> {
        match self {
            Self::Switch(_) => None,
            Self::Link(_, port) | Self::Port(_, port) => Some(port),
        }
    }

    /// What is done to it.
    #[must_use]
    pub const fn action(self) -> &'static str {
        match self {
            Self::Switch(_) | Self::Link(..) => "drain",
            Self::Port(..) => "port disable",
        }
    }
}

/// `drain of 0x0002c90300a1b2c3/5`.
impl fmt::Display for MaintenanceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.action(), self.node())?;
        self.port().map_or(Ok(()), |port| write!(f, "/{port}"))
    }
}

/// Something that the operator took out of service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maintenance {
    pub target: MaintenanceTarget,
    /// Its name when it was taken out, for messages: `spine-0-1` or `leaf-0-0/6`.
    pub name: String,
    /// Why, as the operator said.
    pub reason: String,
    /// When it ends, in Unix time; `None` if the operator ends it.
    pub until_unix_s: Option<u64>,
    /// The operator accepts that the host behind a disabled port is cut off.
    pub may_cut_off_host: bool,
}
