//! The service, its health, the SMs of the subnet, and limits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::alarm::Alarm;
use crate::answer::Role;
use crate::maintenance::MaintenanceItem;
use crate::object::ObjectName;

/// The service and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// Version of ferrosm.
    pub version: String,
    /// Process ID.
    pub pid: u32,
    /// When the process started, in UTC (RFC 3339).
    pub started_at: String,
    /// The earliest time of which the fabric is known (`at`), in UTC (RFC 3339); none before it was
    /// discovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_since: Option<String>,
    /// The local port; none while the service waits for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<ObjectName>,
    /// SM priority.
    pub priority: u8,
    /// Since when the SM has its role, in UTC (RFC 3339).
    pub role_since: String,
    /// Why it has this role.
    pub role_reason: String,
    /// What another SM configured, and this one removes only with consent; none if nothing waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits_consent: Option<String>,
    /// What the SM is doing: `idle`, a kind of sweep with its phase, ...
    pub activity: String,
    /// Sizes of the fabric; none before it was discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricSize>,
    /// The last complete sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sweep: Option<SweepSummary>,
    /// The open alarms; absent at an earlier time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarms: Option<OpenAlarms>,
}

/// How many alarms are open, and the worst one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenAlarms {
    /// Alarms that are not acknowledged.
    pub active: usize,
    /// Alarms that an operator has acknowledged.
    pub acknowledged: usize,
    /// The worst: one that is not acknowledged, if there is any; then an error; then the oldest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Alarm>,
}

/// Sizes of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FabricSize {
    /// Switches.
    pub switches: usize,
    /// Channel adapters.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Links.
    pub links: usize,
}

/// A sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepSummary {
    /// Its number since the start of the service.
    pub number: u32,
    /// `full` or `local`.
    pub kind: String,
    /// When it was complete, in UTC (RFC 3339).
    pub at: String,
    /// Duration in microseconds.
    pub took_us: u64,
    /// Ports that are not up, addressed or routed.
    pub problems: usize,
    /// Other problems.
    pub minor_problems: usize,
    /// Routing engine; empty before routes were computed.
    pub engine: String,
    /// SMPs sent.
    pub smps: u64,
}

/// The state of the subnet in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HealthState {
    /// Everything seen is up, addressed and routed.
    Ok,
    /// It is not known yet.
    Unknown,
    /// Something is missing or degraded.
    Degraded,
    /// The SM serves no subnet.
    Down,
}

/// The health of the subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// The state.
    pub state: HealthState,
    /// The state in a sentence.
    pub summary: String,
    /// What is wrong, the most severe first.
    pub findings: Vec<Finding>,
    /// What is out of service by command; it is no finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maintenance: Vec<MaintenanceItem>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Whether a port is not up, addressed or routed because of it.
    pub severe: bool,
    /// Its kind, for programs: `link-down`, `node-absent`, `link-degraded`, or the name of a
    /// problem of a sweep.
    pub kind: String,
    /// Where.
    pub location: String,
    /// What.
    pub text: String,
    /// Since when, in UTC (RFC 3339), if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The number of its alarm; none if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<u64>,
}

/// The SMs of the subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sms {
    /// The SMs, this one first.
    pub items: Vec<Sm>,
}

/// An SM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sm {
    /// Its port.
    pub port: ObjectName,
    /// Whether it is the SM that answers.
    pub is_self: bool,
    /// SM priority.
    pub priority: u8,
    /// Its state, as it reported last.
    pub state: Role,
    /// Sections of its configuration that differ from those of the SM that answers; absent if it
    /// has not compared them, as SMs other than ferrosm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differing_config: Option<Vec<String>>,
    /// What it has of the records of the SM that answers; absent if that SM is not master, or does
    /// not replicate to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<ReplicaState>,
    /// Why this SM ignores it: it takes no part in the election; none if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
}

/// What a standby has of the records of its master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaState {
    /// All of them: it takes over without losing a registration.
    InSync,
    /// Records are missing.
    Incomplete,
}

impl ReplicaState {
    /// The name, as in JSON, with spaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InSync => "in sync",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Limits, and how near they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// The limits.
    pub items: Vec<Limit>,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limit {
    /// What is limited: `lids`, `mlids`, `p-keys`, ...
    pub resource: String,
    /// How much is used.
    pub used: u64,
    /// The limit.
    pub limit: u64,
    /// The device or setting that sets the limit; empty if none does.
    pub limited_by: String,
}
