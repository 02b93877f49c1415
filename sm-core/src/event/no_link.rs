//! Why the SM cannot use its own port.

use core::fmt;

use ferrosm_fabric::location::PortName;

/// Why the SM cannot use its own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLinkReason {
    PortDown(PortName),
    /// The port does not respond.
    PortSilent(PortName),
    /// The port has a link, and the node at its other end does not respond.
    NeighbourSilent(PortName),
    /// The local node does not respond.
    LocalNodeSilent,
    /// The response of the local node is not plausible.
    LocalNodeImplausible(&'static str),
    /// The local node was not found.
    LocalNodeUnknown,
}

impl fmt::Display for NoLinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortDown(port) => write!(f, "{port} is down"),
            Self::PortSilent(port) => write!(
                f,
                "{port} does not respond; if it has another M_Key, set subnet.m-key to it"
            ),
            Self::NeighbourSilent(port) => write!(
                f,
                "the node behind {port} does not respond; if it has another M_Key, set subnet.m-key to it"
            ),
            Self::LocalNodeSilent => {
                f.write_str("the local port does not respond to SMPs (M_Key of another SM?)")
            }
            Self::LocalNodeImplausible(why) => {
                write!(f, "invalid response of the local node: {why}")
            }
            Self::LocalNodeUnknown => f.write_str("local node not found"),
        }
    }
}
