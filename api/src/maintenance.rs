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
