//! Switches and links that are drained, and ports that are disabled.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Longest time of a maintenance, in seconds: a year.
pub const FOR_S_MAX: u64 = 31_536_000;

/// What to drain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// A switch by GUID, LID or name, or a link by one of its switch ports: `leaf-2-0/5`.
    pub target: String,
    /// Seconds until it is put back into service; without it an `undrain` does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_536_000)]
    pub for_s: Option<u64>,
}

/// A port to disable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortDisableRequest {
    /// A port of a switch: `leaf-2-0/5`. A host stands for the switch port that it is connected to.
    pub target: String,
    /// Seconds until it is enabled again; without it a `port enable` does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_536_000)]
    pub for_s: Option<u64>,
    /// Accept that the host behind the port is cut off.
    #[serde(default)]
    pub accept_cut_off: bool,
}

/// Limits of the link at a port. Earlier ones that are not named stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortLimitsRequest {
    /// A port of a switch: `leaf-2-0/5`. A host stands for the switch port that it is connected to.
    pub target: String,
    /// Largest MTU: 256, 512, 1024, 2048 or 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Highest rate in Gb/s: the fastest width and speed within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_gbps: Option<u32>,
    /// Most lanes: 1, 2, 4, 8 or 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u8>,
    /// Highest speed of a lane: `SDR`, `DDR`, `QDR`, `FDR`, `EDR`, `HDR`, `NDR` or `XDR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// Accept that the link of a host goes down for a moment.
    #[serde(default)]
    pub accept_cut_off: bool,
}

/// Limits of the link at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortLimitsItem {
    /// GUID of the switch.
    pub guid: String,
    /// Name of the port: `leaf-2-0/5`.
    pub name: String,
    /// Largest MTU in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Most lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u8>,
    /// Highest speed of a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// Why, as the operator said; may be empty.
    pub reason: String,
    /// Whether the port was read with these values.
    pub state: PortLimitsState,
    /// MTU and rate that the link has now; none if it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

/// Whether limits are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortLimitsState {
    /// The link was read with values within them.
    Applied,
    /// The link is up with other values.
    NotApplied,
    /// The link is down, or the switch is absent.
    LinkDown,
}

impl PortLimitsState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NotApplied => "not-applied",
            Self::LinkDown => "link-down",
        }
    }
}

/// Limits of ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortLimitsItems {
    /// By GUID and port number.
    pub items: Vec<PortLimitsItem>,
}

/// What to put back into service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceRequest {
    /// As the list of what is out of service names it.
    pub target: String,
}

/// What is done to something that is out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MaintenanceKind {
    /// No route passes through the switch.
    DrainedSwitch,
    /// No route uses the link.
    DrainedLink,
    /// The port is disabled.
    DisabledPort,
}

impl MaintenanceKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DrainedSwitch => "drained-switch",
            Self::DrainedLink => "drained-link",
            Self::DisabledPort => "disabled-port",
        }
    }
}

/// Something that is out of service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MaintenanceItem {
    /// What is done to it.
    pub kind: MaintenanceKind,
    /// GUID of the switch.
    pub guid: String,
    /// Its name, with the port for links and ports: `spine-0-1`, `leaf-2-0/5`.
    pub name: String,
    /// Why, as the operator said; may be empty.
    pub reason: String,
    /// When it is put back into service, in UTC (RFC 3339); none if a command does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// What is out of service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MaintenanceItems {
    /// By kind and GUID.
    pub items: Vec<MaintenanceItem>,
}
