//! Declared invariants of the fabric (`[[invariant]]`), and whether they hold.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All declared invariants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invariants {
    /// In the order of the configuration.
    pub items: Vec<InvariantStatus>,
}

/// An invariant, and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvariantStatus {
    /// Its name in the configuration.
    pub name: String,
    /// What it demands.
    pub kind: InvariantKind,
    /// The same in words, with its groups of ports and its limit.
    pub rule: String,
    /// Whether it holds.
    pub state: InvariantState,
    /// If it is violated: an example. If that is not known: why not. Otherwise empty, or the
    /// measured value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What an invariant demands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvariantKind {
    /// No port of one group can exchange packets with a port of the other, by their P_Keys.
    #[default]
    Isolated,
    /// Routes between two groups pass at most a number of links between switches.
    MaxHops,
    /// No single other switch, and no single link between switches, separates the switches of two
    /// groups.
    Redundant,
    /// Routes over the busiest link.
    MaxLoad,
}

impl InvariantKind {
    /// Its name, as in JSON and in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::MaxHops => "max-hops",
            Self::Redundant => "redundant",
            Self::MaxLoad => "max-load",
        }
    }
}

/// Whether an invariant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvariantState {
    /// It holds.
    Ok,
    /// It is violated.
    Violated,
    /// Not known: it was not checked yet, or a group has no port in the subnet.
    Unknown,
}

impl InvariantState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
        }
    }
}
