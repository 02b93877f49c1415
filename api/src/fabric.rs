//! Nodes, ports and links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::maintenance::MaintenanceKind;
use crate::object::ObjectName;

/// Kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Switch.
    Switch,
    /// Channel adapter.
    Ca,
    /// Router.
    Router,
}

impl NodeKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Ca => "ca",
            Self::Router => "router",
        }
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// Node GUID.
    pub guid: String,
    /// NodeDescription.
    pub name: String,
    /// Where it is: its name for a switch, otherwise the switch port of its first link.
    pub location: String,
    /// Kind of node.
    pub kind: NodeKind,
    /// Base LIDs of its ports.
    pub lids: Vec<u16>,
    /// Physical ports.
    pub ports: u8,
    /// Ports with a link.
    pub ports_linked: usize,
    /// `present`, or `absent` since a time.
    pub state: Presence,
    /// Since when it has this state, in UTC (RFC 3339); none if before this SM became master.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// Whether something that was seen is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is in the subnet.
    Present,
    /// It was in the subnet in the last days (`health.expect`), and is not now.
    Absent,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Port {
    /// Port GUID of an end port, otherwise the GUID of its switch.
    pub guid: String,
    /// NodeDescription of its node.
    pub name: String,
    /// Where it is: name and port of a switch; for a host, of the switch that it is connected to.
    pub location: String,
    /// Port number.
    pub port: u8,
    /// Base LID of an end port, otherwise 0.
    pub lid: u16,
    /// The port has 2^LMC LIDs.
    pub lmc: u8,
    /// PortState: `Down`, `Initialize`, `Armed`, `Active`.
    pub state: String,
    /// PortPhysicalState: `LinkUp`, `Polling`, `Disabled`, ...
    pub physical_state: String,
    /// Width and speed of the link, such as `4xHDR`; empty without a link.
    pub rate: String,
    /// NeighborMTU in bytes.
    pub mtu: u16,
    /// The port at the other end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<LinkEnd>,
}

/// An end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct LinkEnd {
    /// Node GUID.
    pub guid: String,
    /// NodeDescription.
    pub name: String,
    /// Port number.
    pub port: u8,
}

impl LinkEnd {
    /// `leaf-0-0/5`; the GUID if the name is unknown.
    #[must_use]
    pub fn location(&self) -> String {
        let name = if self.name.is_empty() {
            &self.guid
        } else {
            &self.name
        };
        format!("{name}/{}", self.port)
    }
}

/// States of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// It was there in the last days (`health.expect`), and is not now.
    Down,
    /// It is up, but not Active.
    NotActive,
    /// It is below the width or speed that both of its ports have enabled.
    Degraded,
    /// It is Active.
    Up,
}

impl LinkState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::NotActive => "not-active",
            Self::Degraded => "degraded",
            Self::Up => "up",
        }
    }
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// One end.
    pub a: LinkEnd,
    /// The other end.
    pub b: LinkEnd,
    /// State.
    pub state: LinkState,
    /// Active width and speed, such as `4xHDR`; empty if the link is down.
    pub rate: String,
    /// The width and speed that both ports have enabled, such as `4xHDR`; empty if unknown.
    pub possible_rate: String,
    /// Active rate in Mb/s; 0 if the link is down.
    pub mbps: u32,
    /// Since when it has this state, in UTC (RFC 3339); none if before this SM became master.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How often it went down since this SM became master.
    pub times_down: u32,
    /// It is drained, or a port of it is disabled, by command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceKind>,
    /// Why it is down or degraded, if known: `disabled` by an administrator, `polling` (no cable or
    /// no peer), ...
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub note: String,
}

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Where {
    /// The ports that match.
    pub items: Vec<Place>,
}

/// Where an end port is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Place {
    /// The end port.
    pub port: ObjectName,
    /// Kind of node.
    pub kind: NodeKind,
    /// Port number.
    pub number: u8,
    /// Base LID.
    pub lid: u16,
    /// The port has 2^LMC LIDs.
    pub lmc: u8,
    /// GID.
    pub gid: String,
    /// The switch port that it is connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<LinkEnd>,
    /// P_Keys, in hexadecimal; none if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_keys: Option<Vec<String>>,
}
