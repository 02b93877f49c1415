//! Reasons why an engine cannot route a fabric. The texts are logged and printed for the operator.

use ferrosm_mad::ids::{Lid, PortNum};
use thiserror::Error;

use super::names::ENGINE_NAMES;
use crate::structure::grid::{Grid, GridMismatch};
use crate::structure::tree::TreeMismatch;

/// Why an engine cannot route a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Some switches cannot reach the others.
    #[error(
        "the fabric is partitioned: {components} groups of switches without a link between them"
    )]
    Disconnected {
        /// Number of connected components.
        components: usize,
    },
    /// A path would have more hops than a distance matrix can store.
    #[error("a path would have more than 32,000 hops")]
    PathTooLong,
    /// The fabric does not have the shape that the engine requires.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The routing hints contradict the fabric.
    #[error(transparent)]
    Hint(#[from] HintError),
    /// Deadlock freedom requires more VLs than are usable.
    #[error("at least {needed} data VLs required, {usable} usable")]
    TooFewVls {
        /// Lower bound of the required data VLs.
        needed: usize,
        /// Data VLs that may be used.
        usable: u8,
    },
    /// The engine exceeded its work budget or was cancelled.
    #[error("cancelled: work budget exceeded")]
    Budget,
    /// No engine has this name.
    #[error("unknown routing engine `{0}` (available: {names})", names = ENGINE_NAMES.join(", "))]
    UnknownEngine(String),
}

/// Why a fabric does not have the shape that an engine requires.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// The fabric is not a tree.
    #[error(transparent)]
    NotATree(#[from] TreeMismatch),
    /// The number of levels is out of range.
    #[error("{levels} levels of switches: a fat tree has {least} to {most}")]
    LevelCount {
        /// Levels of switches.
        levels: usize,
        /// Minimum number of levels of a fat tree.
        least: usize,
        /// Maximum number of levels of a fat tree.
        most: usize,
    },
    /// Links connect switches of the same level.
    #[error("not a pure fat tree: {0} links between switches of the same level")]
    LinksWithinLevel(usize),
    /// A link skips a level.
    #[error("not a pure fat tree: a link connects level {low} to level {high}")]
    LinkSkipsLevel {
        /// Level of its lower end.
        low: u32,
        /// Level of its upper end.
        high: u32,
    },
    /// Two switches have more parallel links than is usual between their levels.
    #[error(
        "not a pure fat tree: {links} parallel links between a switch of level {low} and one of level {high}, \
         expected at most {usual}"
    )]
    UnequalLinkGroups {
        /// The lower level.
        low: u32,
        /// The upper level.
        high: u32,
        /// Links between the two switches.
        links: usize,
        /// Usual number of links between two switches of these levels.
        usual: u32,
    },
    /// The fabric is not a grid.
    #[error("no dimensions found: {0}")]
    NotAGrid(#[source] GridMismatch),
    /// The fabric is not a torus.
    #[error("not a torus: {0}")]
    NotATorus(#[source] GridMismatch),
    /// The fabric has no switches.
    #[error("the fabric has no switches")]
    NoSwitches,
    /// The dimensions cannot be combined into the axes of a torus.
    #[error("no torus axes found")]
    NoAxes,
    /// A dimension is a full mesh.
    #[error("{0} switches of one dimension are fully meshed: not a torus")]
    FullMesh(usize),
    /// The grid has more dimensions than the engine supports.
    #[error("a torus has at most {most} dimensions, the fabric is a {grid}")]
    TooManyDimensions {
        /// Maximum number of dimensions.
        most: usize,
        /// The grid.
        grid: Box<Grid>,
    },
    /// Missing links or switches force too many pairs of switches onto detours.
    #[error("grid too incomplete: {0} pairs of switches would need detours")]
    TooManyDetours(usize),
    /// Missing links or switches split a ring.
    #[error(
        "a ring is split by missing links or switches: no path from the switch with LID {from} to the switch with LID {to}"
    )]
    PartitionedRing {
        /// LID of a switch.
        from: Lid,
        /// LID of a switch that it cannot reach.
        to: Lid,
    },
    /// Every detour around the missing links or switches closes a credit loop.
    #[error("no detour around the missing links or switches is free of credit loops")]
    CreditLoop,
}

/// Why a routing hint contradicts the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HintError {
    /// Engine `file` has no tables.
    #[error("no tables configured: engine `file` requires an lfts_file such as opensm-lfts.dump")]
    NoTables,
    /// The file has no table for a switch.
    #[error("the file has no table for {0}")]
    MissingTable(SwitchName),
    /// The tables forward no LID of a switch.
    #[error("the file has no route to LID {lid} of {switch}")]
    NoRoute {
        /// The switch.
        switch: SwitchName,
        /// The LID.
        lid: Lid,
    },
    /// A table entry names a port that the switch does not have.
    #[error("the file forwards LID {lid} to port {port} of {switch}, which has {ports} ports")]
    PortOutOfRange {
        /// The LID.
        lid: Lid,
        /// The port.
        port: PortNum,
        /// The switch.
        switch: SwitchName,
        /// Ports of the switch.
        ports: u8,
    },
    /// The torus in the file differs from the fabric.
    #[error("the file describes a torus of {x} x {y} x {z}, the fabric is a {grid}", x = radix[0], y = radix[1], z = radix[2])]
    TorusMismatch {
        /// Sizes of the torus in the file.
        radix: [u16; 3],
        /// The fabric.
        grid: Box<Grid>,
    },
    /// Two links of a seed lie along the same dimension.
    #[error("two links of the seed lie along the same dimension")]
    DuplicateDimension,
    /// A link of a seed connects switches that are not adjacent.
    #[error("the {0} link of the seed does not connect adjacent switches")]
    NotNeighbours(&'static str),
    /// The links of a seed start at different switches.
    #[error("the links of a seed start at different switches")]
    SeedOrigins,
    /// A switch has a larger port group than the file allows.
    #[error(
        "the switch with LID {lid} has a port group of {ports} ports, portgroup_max_ports is {most}"
    )]
    PortGroupTooLarge {
        /// LID of the switch.
        lid: Lid,
        /// Size of its largest port group.
        ports: usize,
        /// The limit.
        most: usize,
    },
}

/// A switch in an error text: by its LID if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchName {
    /// Its LID.
    pub lid: Lid,
    /// Its number in the graph, from 1.
    pub number: usize,
}

impl std::fmt::Display for SwitchName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lid {
            Lid::NONE => write!(f, "switch number {} of the fabric (no LID)", self.number),
            lid => write!(f, "the switch with LID {lid}"),
        }
    }
}
