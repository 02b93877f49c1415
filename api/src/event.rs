//! Events: what happened in the subnet, and what the SM did.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventSeverity {
    /// A detail.
    Debug,
    /// A normal change.
    Info,
    /// A deviation.
    Warning,
    /// The operator has to act.
    Error,
}

impl EventSeverity {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// An event, as in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventEntry {
    /// Its number; it rises, also across restarts of the service.
    pub number: u64,
    /// When it was logged, in UTC (RFC 3339).
    pub at: String,
    /// How serious it is.
    pub severity: EventSeverity,
    /// Which event it is: a name of docs/operations.md in lower case, with hyphens.
    pub event: String,
    /// Its fields, as docs/operations.md describes them.
    #[schema(value_type = Object)]
    pub fields: Map<String, Value>,
    /// The line of the log.
    pub text: String,
}

/// Events, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// Pass it as `since` to get the events that follow.
    pub last: u64,
    /// Whether events after `since` are missing, because the service remembers only the last 4096.
    pub has_gap: bool,
    /// The events.
    pub items: Vec<EventEntry>,
}

/// The query of events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only events after this number; all that the service remembers if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Only events of at least this severity; `info` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<EventSeverity>,
    /// Seconds to wait for an event, at most 60, if there is none; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(maximum = 60)]
    pub wait_s: Option<u64>,
}
