//! The structure of the fabric, for drawings, and the load of its links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StructureKind {
    /// Switches in levels.
    Tree,
    /// Switches along dimensions: torus, mesh, hypercube, HyperX.
    Grid,
    /// Groups of densely connected switches, with global links between groups.
    Dragonfly,
    /// None of these.
    Unknown,
}

/// How the switches along a dimension of a grid are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DimensionKind {
    /// Each to the next.
    Path,
    /// Each to the next, and the last to the first.
    Ring,
    /// Each to all others.
    Full,
}

/// A dimension of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Dimension {
    /// How its switches are connected.
    pub kind: DimensionKind,
    /// Number of switches along it.
    pub size: usize,
}

/// The structure that the SM detects from the links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FabricStructure {
    /// The structure.
    pub kind: StructureKind,
    /// In words: `tree: 3 levels, 16 roots, 32 leaves`.
    pub summary: String,
    /// Levels of a tree, or 2 in groups of leaves and spines; otherwise 0.
    pub levels: usize,
    /// Groups of a dragonfly, or subtrees below the highest level of a tree; 0 without groups.
    pub groups: usize,
    /// Dimensions of a grid; otherwise empty.
    pub dimensions: Vec<Dimension>,
    /// The switches, so that those that belong together are adjacent.
    pub switches: Vec<SwitchPlace>,
}

/// Where a switch is in the structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SwitchPlace {
    /// Node GUID.
    pub guid: String,
    /// Level; 0 for leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// Its position along each dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<usize>,
}

/// Routes over the links between switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkLoad {
    /// Routes over the busiest link in one direction.
    pub busiest: u64,
    /// Routes over all links and directions, added up. A route is a pair of end ports.
    pub total: u64,
    /// Each link and direction, by its sending port.
    pub items: Vec<PortLoad>,
}

/// Routes that a switch port sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortLoad {
    /// GUID of the switch.
    pub guid: String,
    /// The sending port.
    pub port: u8,
    /// Number of routes.
    pub routes: u64,
}
