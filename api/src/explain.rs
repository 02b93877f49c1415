//! Why something in the subnet is as it is.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::alarm::Alarm;
use crate::change::Change;
use crate::object::ObjectName;
use crate::path::Path;

/// The query of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RouteQuery {
    /// The port that sends: GUID, LID, name, or `name/port`.
    pub from: String,
    /// The port that receives.
    pub to: String,
    /// Also computes the routes anew, which may take seconds in a large fabric.
    #[serde(default)]
    pub reroute: bool,
}

/// Why packets between two ports take their path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RouteExplanation {
    /// The path, from the tables that the switches have.
    pub path: Path,
    /// Why each switch of the path forwards as it does, in their order.
    pub entries: Vec<EntryReason>,
    /// Since when changes of entries are known, in UTC (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_since: Option<String>,
    /// What computing the routes anew would change, if wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute: Option<Reroute>,
}

/// Why a switch forwards a LID as it does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryReason {
    /// When the entry changed last, in UTC (RFC 3339); none if it has not changed since it is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The sweep that changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<u32>,
    /// What the sweep was for, if it is remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The port before, if known; 255 if packets were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u8>,
    /// Other ports that begin a shortest path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_shortest_ports: Vec<u8>,
    /// The port is not on a shortest path.
    #[serde(default)]
    pub detour: bool,
    /// The port after computing the routes anew, if wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_reroute: Option<u8>,
}

/// What computing the routes anew would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reroute {
    /// The engine that would be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// LFT entries that would change.
    pub entries_moved: u64,
    /// Routes over the busiest channel then.
    pub busiest_routes: u64,
    /// Why it would not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The query of the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EngineQuery {
    /// Also computes the routes anew, which may take seconds in a large fabric.
    #[serde(default)]
    pub reroute: bool,
}

/// Why a routing engine is in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngineExplanation {
    /// The engine that computed the routes.
    pub engine: String,
    /// The configured engines, in the order in which they are tried.
    pub configured: Vec<String>,
    /// Since when the routes of this engine run are in use, in UTC (RFC 3339).
    pub since: String,
    /// The routes are older than that: they were in use when this SM became master.
    pub is_older: bool,
    /// Sweeps since then that changed entries.
    pub updates: u32,
    /// Entries that they changed.
    pub entries_updated: u64,
    /// All entries of the tables.
    pub entries: u64,
    /// Routes over the busiest channel.
    pub busiest_routes: u64,
    /// VLs in use.
    pub vls: u8,
    /// The engines that were compared.
    pub candidates: Vec<EngineCandidate>,
    /// What the engine and its choice reported.
    pub messages: Vec<String>,
    /// What computing the routes anew would change, if wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute: Option<Reroute>,
}

/// An engine that was compared with others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngineCandidate {
    /// The engine.
    pub engine: String,
    /// Routes over the busiest channel.
    pub busiest_routes: u64,
    /// Flows over the busiest channel in a shift permutation, mean over all shifts.
    pub shift: f64,
    /// VLs in use.
    pub vls: u8,
    /// LFT entries that differed from the installed ones.
    pub changes: u64,
    /// Whether it was chosen, and what decided.
    pub verdict: String,
}

/// The query of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SweepQuery {
    /// Its number; the last one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

/// Why a sweep ran, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepExplanation {
    /// Its number since the start of the service.
    pub number: u32,
    /// `local` or `full`.
    pub kind: String,
    /// When it was complete, in UTC (RFC 3339).
    pub ended_at: String,
    /// Its duration, in microseconds.
    pub took_us: u64,
    /// Why it ran; empty if not known.
    pub causes: Vec<String>,
    /// What it found.
    pub found: Vec<String>,
    /// What it wrote.
    pub wrote: String,
    /// SMPs sent.
    pub smps: u64,
    /// Requests that timed out.
    pub timeouts: u64,
    /// SMPs by attribute, the most first.
    pub attributes: Vec<SmpsOfAttribute>,
    /// Time in each phase, in their order.
    pub phases: Vec<PhaseTime>,
    /// Problems that it found, at most 100.
    pub problems: Vec<String>,
    /// All problems that it found.
    pub num_problems: usize,
    /// What the routing reported.
    pub messages: Vec<String>,
}

/// SMPs of one attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SmpsOfAttribute {
    /// The attribute.
    pub attribute: String,
    /// Gets sent.
    pub gets: u64,
    /// Sets sent.
    pub sets: u64,
    /// Requests that timed out.
    pub timeouts: u64,
}

/// Time of a phase of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PhaseTime {
    /// The phase.
    pub phase: String,
    /// Microseconds.
    pub took_us: u64,
}

/// The query of a node or port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ObjectQuery {
    /// GUID, LID, name, or for a port `name/port`.
    pub name: String,
}

/// Why a node or port is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectExplanation {
    /// The node or port.
    pub object: ObjectName,
    /// What is known about it.
    pub facts: Vec<Fact>,
    /// Problems of sweeps at this place.
    pub problems: Vec<String>,
    /// Alarms about it that are open.
    pub alarms: Vec<Alarm>,
    /// The last changes that concern it, at most 20.
    pub changes: Vec<Change>,
}

/// Something that is known about a node or port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fact {
    /// What it is about.
    pub topic: String,
    /// What is known.
    pub text: String,
}

/// The query of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlarmQuery {
    /// Its number.
    pub id: u64,
}

/// Why an alarm was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlarmExplanation {
    /// The alarm.
    pub alarm: Alarm,
    /// The alarm that explains it, the one that explains that one, and so on.
    pub causes: Vec<Alarm>,
    /// Alarms that it explains.
    pub consequences: Vec<Alarm>,
    /// The last changes that concern its object, at most 20.
    pub changes: Vec<Change>,
    /// What the operator can do.
    pub action: String,
}
