//! Why something cannot be taken out of service, as reported.

use core::fmt;

/// Most nodes that a message names.
const NAMED_MAX: usize = 8;

/// Why something cannot be taken out of service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MaintenanceRefusal {
    /// It is not a switch, or a port of a switch, in the subnet.
    NotASwitch,
    /// The port has no link to drain.
    NoLink,
    /// It leads to the port of this SM.
    OwnPort,
    /// These hosts are connected to it, and to no other switch.
    HostsConnected(Vec<String>),
    /// Nothing else leads to these nodes.
    CutsOff(Vec<String>),
    /// It is not out of service.
    InService,
}

impl fmt::Display for MaintenanceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, text: &str, names: &[String]| {
            let shown = &names[..names.len().min(NAMED_MAX)];
            write!(f, "{text} {}", shown.join(", "))?;
            match names.len() - shown.len() {
                0 => Ok(()),
                more => write!(f, " and {more} more"),
            }
        };
        match self {
            Self::NotASwitch => {
                f.write_str("it is not a switch in the subnet, or one of its ports")
            }
            Self::NoLink => f.write_str("the port has no link"),
            Self::OwnPort => f.write_str("it connects this SM with the fabric"),
            Self::HostsConnected(names) => list(f, "it would cut off", names),
            Self::CutsOff(names) => list(f, "nothing else leads to", names),
            Self::InService => f.write_str("it is not out of service"),
        }
    }
}
