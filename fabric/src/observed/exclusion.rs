//! Why a device is excluded from the subnet.

use ferrosm_mad::ids::{NodeGuid, PortGuid};

/// Why a port or node is excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusionReason {
    /// Another node already has this node GUID.
    DuplicateNodeGuid(NodeGuid),
    /// Another port already has this port GUID.
    DuplicatePortGuid(PortGuid),
    /// Its response is invalid.
    Implausible(&'static str),
    /// It did not respond.
    NoResponse,
    /// The directed route would be longer than 63 hops.
    PathTooLong,
    /// More than this many ports of new switches are behind the port. The master counts them before
    /// it includes them.
    Uncounted(u32),
    /// More than this many ports of new switches are behind the port: `sweep.new-port-budget`.
    TooManySwitchPorts(u32),
    /// More than this many ports of new switches are behind the port, and no host.
    EndlessSwitches(u32),
    /// The subnet has as many nodes as there are LIDs.
    SubnetFull,
}
