//! What changed in the subnet and at the SM, with cause and effect.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A link went down, came up, flaps, or has another rate.
    Link,
    /// A node came or left.
    Node,
    /// Members of partitions and groups.
    Partition,
    /// The routes.
    Routing,
    /// The role of the SM.
    Mastership,
    /// The configuration.
    Config,
    /// A command of an operator.
    Command,
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Link,
        Self::Node,
        Self::Partition,
        Self::Routing,
        Self::Mastership,
        Self::Config,
        Self::Command,
    ];

    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Node => "node",
            Self::Partition => "partition",
            Self::Routing => "routing",
            Self::Mastership => "mastership",
            Self::Config => "config",
            Self::Command => "command",
        }
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// The number of its event, or of the change before it if it is no event. Numbers rise, also
    /// across restarts.
    pub number: u64,
    /// When, in UTC (RFC 3339).
    pub at: String,
    /// Kind.
    pub kind: ChangeKind,
    /// What changed.
    pub what: String,
    /// The link or node whose state changed, as `what` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Its new state: `up`, `down`, `degraded`; of a node `present`, `absent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Names and GUIDs of the nodes concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// How the SM noticed it, or who caused it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What the SM did because of it, together with the other changes before the same sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// Changes, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    /// The number of changes that match.
    pub total: usize,
    /// Since when changes are known, in UTC (RFC 3339); none if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_since: Option<String>,
    /// The last of them.
    pub items: Vec<Change>,
}

/// The query of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Only changes of the last seconds; all that are known if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_s: Option<u64>,
    /// Only changes of this node: name or GUID; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Only changes of these kinds, separated by commas: `link,partition,config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Most changes, 1 to 10000; 1000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
}

/// The query of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The first time, in UTC (RFC 3339).
    pub from: String,
    /// The second time, in UTC (RFC 3339); now if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The difference between two times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Diff {
    /// The first time, in UTC (RFC 3339).
    pub from: String,
    /// The second time, in UTC (RFC 3339).
    pub to: String,
    /// Since when changes are known, if that is after the first time: earlier ones are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_since: Option<String>,
    /// Nodes and links that had another state.
    pub items: Vec<Difference>,
    /// The changes between the times that are no states: configuration, commands, mastership,
    /// partitions, routes.
    pub other: Vec<Change>,
}

/// A node or link with another state at the second time than at the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// `link` or `node`.
    pub kind: ChangeKind,
    /// Its name.
    pub object: String,
    /// Its state at the first time.
    pub before: String,
    /// Its state at the second time.
    pub after: String,
    /// How often it changed between them.
    pub changes: usize,
    /// The links that are up in place of it, if a cable was moved (`after` is `moved`), or two were
    /// swapped (`swapped`; `object` then names both).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_by: Vec<String>,
}
