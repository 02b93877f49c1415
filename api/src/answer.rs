//! What all answers and errors have in common, and queries of lists.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::object::ObjectName;

/// State of the SM (IBA vol. 1, 14.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It does not take part in the election.
    NotActive,
    /// It discovers the fabric, or waits for a local port.
    Discovering,
    /// Another SM is master.
    Standby,
    /// It configures the subnet.
    Master,
}

impl Role {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotActive => "not-active",
            Self::Discovering => "discovering",
            Self::Standby => "standby",
            Self::Master => "master",
        }
    }
}

/// An answer, with the state that it is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Answer<T> {
    /// Number of the state; it rises with each change, also across restarts of the service.
    pub revision: u64,
    /// When the state was observed, in UTC (RFC 3339).
    pub at: String,
    /// Its age in milliseconds.
    pub age_ms: u64,
    /// State of the SM that answers.
    pub role: Role,
    /// The SM that is master, if it is another one and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<ObjectName>,
    /// The answer itself.
    #[serde(flatten)]
    pub body: T,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// Number of objects that match, on all pages.
    pub total: usize,
    /// Pass it as `cursor` to get the next page; none on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The objects.
    pub items: Vec<T>,
}

/// Most objects on a page of a list.
pub const PAGE_LIMIT_MAX: usize = 10_000;

/// The query of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Most objects on a page, 1 to 10000; 1000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(pattern = "^[0-9]{1,9}$")]
    pub cursor: Option<String>,
    /// Conditions that all hold, separated by commas: `state=down,name=leaf-*`. `*` stands for any
    /// text; `!=` negates. Fields of inner objects are named like `a.name`.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub conditions: Option<String>,
    /// Fields of each object, separated by commas; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
    /// The list at this time, in UTC (RFC 3339); now if absent. Only nodes, ports, links and
    /// members of partitions have lists of earlier times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The SM first reads again what it knows (a light sweep, and the sweep of what it finds).
    /// Needs the role `operate`; not with `at`, and only for lists that have earlier times.
    #[serde(default)]
    #[param(required = false)]
    pub fresh: bool,
}

/// The query of an answer that may be of an earlier time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimeQuery {
    /// The answer at this time, in UTC (RFC 3339); now if absent. `revision` and `at` of the answer
    /// are those of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The SM first reads again what it knows (a light sweep, and the sweep of what it finds).
    /// Needs the role `operate`; not with `at`.
    #[serde(default)]
    #[param(required = false)]
    pub fresh: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorAnswer {
    /// The error.
    pub error: ApiError,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiError {
    /// Its kind, for programs.
    pub kind: ErrorKind,
    /// What went wrong.
    pub message: String,
    /// What to do; empty if nothing helps.
    pub remedy: String,
    /// The number of the command that failed, for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
}

impl ApiError {
    /// An error that no command caused.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            remedy: remedy.into(),
            command: None,
        }
    }
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The request is not valid.
    InvalidRequest,
    /// No object has this name, GUID or LID; no resource has this path.
    NotFound,
    /// Several objects have this name.
    Ambiguous,
    /// The resource does not have this method.
    MethodNotAllowed,
    /// The client's role does not allow it.
    Forbidden,
    /// The page has no session, or it has ended.
    NotLoggedIn,
    /// The state has another revision than the client expects.
    Changed,
    /// The configuration has errors.
    InvalidConfiguration,
    /// The configuration cannot be changed in this way now.
    NotApplicable,
    /// Only a master can do this.
    NotMaster,
    /// This SM was master, and is no longer.
    MastershipLost,
    /// This SM is master already.
    AlreadyMaster,
    /// The SM's own port has no link.
    NoLink,
    /// No engine found a routing that passes verification.
    RoutingFailed,
    /// No SM took over.
    NotHandedOver,
    /// What the request defines contradicts something else, or has no room.
    Conflict,
    /// It would cut off hosts.
    CutsOff,
    /// Another change of mastership came first.
    Superseded,
    /// The service is stopping.
    Stopping,
    /// The fabric is not discovered yet.
    NotReady,
    /// Too many clients or commands.
    Busy,
    /// A defect of the service.
    Internal,
}
