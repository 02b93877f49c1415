//! Alarms: what is wrong, from the time that it is noticed until it ends.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::event::EventSeverity;
use crate::object::ObjectName;

/// Longest `for_s` of an acknowledgement, in seconds: 90 days.
pub const ACKNOWLEDGED_S_MAX: u64 = 90 * 24 * 3600;

/// States of alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmState {
    /// It is not acknowledged.
    Active,
    /// An operator has acknowledged it.
    Acknowledged,
    /// What was wrong has ended.
    Cleared,
}

impl AlarmState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Acknowledged => "acknowledged",
            Self::Cleared => "cleared",
        }
    }
}

/// A change of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmChange {
    /// Something is wrong.
    Raised,
    /// It has another kind or severity.
    Changed,
    /// It has ended.
    Cleared,
    /// Its acknowledgement has ended.
    Unacknowledged,
    /// Nothing has changed: a notification of `ferrosm notify test`.
    Test,
}

impl AlarmChange {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Changed => "changed",
            Self::Cleared => "cleared",
            Self::Unacknowledged => "unacknowledged",
            Self::Test => "test",
        }
    }
}

/// An alarm. It has the same number from the time that it is raised until it is cleared, also
/// across restarts of the service, and again if the same is wrong within 10 minutes after that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alarm {
    /// Its number.
    pub id: u64,
    /// What is wrong, as a text that is the same on all SMs of the subnet.
    pub key: String,
    /// Its kind: `node-absent`, `link-down`, `link-flapping`, `link-degraded`, `routing-failed`,
    /// `consent-awaited`, `sm-with-other-config`, `local-port-unusable`, `records-not-replicated`,
    /// `standby-out-of-sync`, `invariant-violated`, `cabling`, or the name of a problem of a sweep.
    pub kind: String,
    /// `error` if a port is not up, addressed or routed because of it, otherwise `warning`.
    pub severity: EventSeverity,
    /// State.
    pub state: AlarmState,
    /// The node or port, or one end of the link.
    pub object: ObjectName,
    /// What is wrong, in words.
    pub text: String,
    /// When it was raised first, in UTC (RFC 3339).
    pub raised_at: String,
    /// Since when it is wrong, in UTC (RFC 3339), if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When it was cleared, in UTC (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared_at: Option<String>,
    /// How often it was raised, or its link went down.
    pub occurrences: u32,
    /// Who acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
    /// The number of the alarm that explains it, such as that of the switch of a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// What is down because of it and has no alarm of its own: the links of a node, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// How many there are.
    #[serde(default)]
    pub num_parts: usize,
}

/// That an operator knows of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acknowledgement {
    /// Who acknowledged it: a user with process ID.
    pub by: String,
    /// When, in UTC (RFC 3339).
    pub at: String,
    /// When it ends, in UTC (RFC 3339); none if it lasts until the alarm is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why, as the operator said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The query of an acknowledgement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AcknowledgeQuery {
    /// Seconds after which the acknowledgement ends, at most 90 days; with the alarm if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 7_776_000)]
    pub for_s: Option<u64>,
    /// Why, for the audit log; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// The query of what is no longer expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ForgetQuery {
    /// Name or GUID of an absent node, or an end of a link that is down, such as `leaf-0-0/5`, or
    /// both ends: `leaf-0-0/5 - spine-0-0/1`.
    pub name: String,
    /// Why, for the audit log; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// What is no longer expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// The number of the command, as in the audit log.
    pub command: u64,
    /// The nodes.
    pub nodes: Vec<String>,
    /// The links, with those of the nodes.
    pub links: Vec<String>,
}

/// A notification: what a webhook or a program gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// When it changed, in UTC (RFC 3339).
    pub at: String,
    /// Name of the host whose SM reports it.
    pub host: String,
    /// What changed.
    pub change: AlarmChange,
    /// The alarm, as it is now.
    pub alarm: Alarm,
}

/// The query of a test of notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotifyTestQuery {
    /// The target; all targets if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Results of a test of notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotifyTest {
    /// A result for each target.
    pub items: Vec<NotifyResult>,
}

/// Whether a target got a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotifyResult {
    /// The target.
    pub name: String,
    /// Why it did not get the notification; none if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
