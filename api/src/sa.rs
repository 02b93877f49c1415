//! Clients of the SA.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::object::ObjectName;

/// `top` of a query that has none.
pub const TOP_DEFAULT: usize = 10;
/// Largest `top`.
pub const TOP_MAX: usize = 1000;
/// Largest limit of a client, in requests per second.
pub const LIMIT_PER_S_MAX: u32 = 10_000_000;
/// Longest time of a limit, in seconds: a year.
pub const LIMIT_FOR_S_MAX: u64 = 365 * 24 * 3600;

/// The query of clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SaClientsQuery {
    /// Number of clients, 1 to 1000; 10 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub top: Option<usize>,
}

/// The query that limits a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SaLimitQuery {
    /// GUID of a port or node, LID, name, or `name/port`.
    pub client: String,
    /// Requests per second, 1 to 10000000; if absent, the limit of the configuration holds again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000_000)]
    pub per_s: Option<u32>,
    /// Seconds until it ends, at most a year; if absent, it ends with the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 31_536_000)]
    pub for_s: Option<u64>,
    /// Why, for the audit log; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// The clients of the SA that send most requests now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SaClients {
    /// Clients since the start of the service that are counted one by one; at most 4096.
    pub total: usize,
    /// Requests of all others.
    pub other_requests: u64,
    /// Seconds that rates are of: 10 to 20.
    pub interval_s: f64,
    /// The clients, the one with the highest rate first.
    pub items: Vec<SaClient>,
}

/// A client of the SA. Numbers are since the start of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SaClient {
    /// Its LID.
    pub lid: u16,
    /// The port that has this LID, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<ObjectName>,
    /// Requests.
    pub requests: u64,
    /// Requests per second in the last seconds.
    pub rate_per_s: f64,
    /// Answered by the SA.
    pub answered: u64,
    /// Passed to the SM, which changes registrations and answers.
    pub forwarded: u64,
    /// Not answered: no master, no request, or a wrong SM_Key.
    pub dropped: u64,
    /// Refused: too much work for one request.
    pub too_large: u64,
    /// Dropped because of a limit.
    pub overload: u64,
    /// Requests that wait now.
    pub queued: usize,
    /// Share of the time of the SA's threads, in percent.
    pub time_percent: f64,
    /// Requests by method and attribute, the most frequent first.
    pub kinds: Vec<SaRequestCount>,
    /// Limit of this client in requests per second; the common one of the configuration, or its
    /// own. Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_per_s: Option<u32>,
    /// It has a limit of its own, until this time in UTC (RFC 3339), or the end of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_until: Option<String>,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SaRequestCount {
    /// Method and attribute, such as `Get(PathRecord)`; `other` for further kinds.
    pub kind: String,
    /// Their number.
    pub requests: u64,
}

/// The limit of a client has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SaLimit {
    /// The number of the command in the audit log.
    pub command: u64,
    /// The client.
    pub port: ObjectName,
    /// Requests per second; absent if it has no limit of its own any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_per_s: Option<u32>,
    /// When it ends, in UTC (RFC 3339); absent if it ends with the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}
