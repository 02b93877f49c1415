//! Cables that are not as planned.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The cables of a fabric, compared with a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CablingReport {
    /// Cables in the plan.
    pub planned: usize,
    /// Planned cables that are there.
    pub correct: usize,
    /// Whether cables between switches are compared: the plan has some.
    pub compares_switches: bool,
    /// Whether cables to hosts are compared: the plan has some.
    pub compares_hosts: bool,
    /// What is not as planned.
    pub findings: Vec<CablingFinding>,
}

/// A cable, or several, that are not as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CablingFinding {
    /// What is wrong.
    pub kind: CablingFindingKind,
    /// Where, such as `leaf-0-0/5`; the name of an absent node.
    pub location: String,
    /// The planned cables, such as `leaf-0-0/5 - spine-0-0/1`.
    pub planned: Vec<String>,
    /// The cables that are there.
    pub found: Vec<String>,
    /// The finding in words.
    pub text: String,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CablingFindingKind {
    /// No node of the fabric has the planned name or GUID.
    AbsentNode,
    /// Two cables are exchanged.
    SwappedPair,
    /// The cable leads to another port of the planned node.
    WrongPort,
    /// The cable leads to another node.
    WrongNode,
    /// Neither end has a cable.
    MissingCable,
    /// The cable is not planned.
    UnexpectedCable,
}

impl CablingFindingKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AbsentNode => "absent-node",
            Self::SwappedPair => "swapped-pair",
            Self::WrongPort => "wrong-port",
            Self::WrongNode => "wrong-node",
            Self::MissingCable => "missing-cable",
            Self::UnexpectedCable => "unexpected-cable",
        }
    }
}
