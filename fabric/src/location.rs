//! Nodes, ports and other locations as data, for events and reports. `Display` formats them within
//! a line.

use core::fmt;

use ferrosm_mad::attr::NodeDescription;
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};

/// A node: `"description" (GUID)`, or only the GUID if its NodeDescription was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeName {
    pub description: NodeDescription,
    pub guid: NodeGuid,
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A node that is removed before its description is read has none.
        if self.description == NodeDescription::default() {
            return self.guid.fmt(f);
        }
        write!(f, "\"{}\" ({})", self.description, self.guid)
    }
}

/// A port: `"description" (GUID) port 3`; port 0 stands for the switch itself and is named like its
/// node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortName {
    /// Its node; `None` if the node was removed.
    pub node: Option<NodeName>,
    pub port: PortNum,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.node, self.port) {
            (Some(node), PortNum::ZERO) => node.fmt(f),
            (Some(node), port) => write!(f, "{node} port {port}"),
            (None, port) => write!(f, "removed node, port {port}"),
        }
    }
}

/// A location in the subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The node of the SM, before it is discovered.
    LocalNode,
    /// A LID that no port of the subnet has.
    Lid(Lid),
    /// The whole subnet.
    Subnet,
    Port(PortName),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalNode => f.write_str("local node"),
            Self::Lid(lid) => write!(f, "LID {lid}"),
            Self::Subnet => f.write_str("subnet"),
            Self::Port(port) => port.fmt(f),
        }
    }
}
