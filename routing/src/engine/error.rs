//! Why an engine cannot route a graph.

use ferrosm_mad::ids::{Lid, PortNum};
use thiserror::Error;

use super::names::ENGINE_NAMES;
use crate::structure::grid::{Grid, GridMismatch};
use crate::structure::tree::TreeMismatch;

/// Why an engine cannot route a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Some switches have no path of cables to the others.
    #[error("the switches form {islands} islands without a cable between them")]
    Disconnected {
        /// Connected components.
        islands: usize,
    },
    /// A path would be longer than any packet may travel.
    #[error("paths of more than 32,000 hops: this is no fabric")]
    TooDeep,
    /// The graph is not of the shape that the engine is made for.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// What the operator said of the structure contradicts the fabric.
    #[error(transparent)]
    Hint(#[from] HintError),
    /// The engine needs more lanes than there are.
    #[error("{needed} data VLs are needed, {have} can be used")]
    Lanes {
        /// At least so many.
        needed: usize,
        /// So many may be used.
        have: u8,
    },
    /// The engine has used up its work budget, or was cancelled.
    #[error("cancelled: its work exceeds the budget")]
    Budget,
    /// Nobody has written an engine of this name.
    #[error("there is no routing engine named `{0}` (there are: {names})", names = ENGINE_NAMES.join(", "))]
    UnknownEngine(String),
}

/// Why a graph is not of the shape that an engine is made for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// The graph is no tree.
    #[error(transparent)]
    NoTree(#[from] TreeMismatch),
    /// The tree has too few or too many levels.
    #[error("{levels} levels of switches: a fat tree has {least} to {most}")]
    Levels {
        /// Levels of switches.
        levels: usize,
        /// Fewest levels of a fat tree.
        least: usize,
        /// Most levels of a fat tree.
        most: usize,
    },
    /// Links join switches of one level.
    #[error("no pure fat tree: {0} cables join switches of one level")]
    LevelLinks(usize),
    /// A link skips levels.
    #[error("no pure fat tree: a cable leads from level {low} to level {high}")]
    SkippedLevel {
        /// Level of its lower end.
        low: u32,
        /// Level of its upper end.
        high: u32,
    },
    /// Two switches have more links than others of their levels.
    #[error(
        "no pure fat tree: between levels {low} and {high} there are {links} cables where others have {usual}"
    )]
    MoreLinks {
        /// The lower level.
        low: u32,
        /// The upper level.
        high: u32,
        /// Links between the two switches.
        links: usize,
        /// Links between others of these levels.
        usual: u32,
    },
    /// The graph has no dimensions.
    #[error("no dimensions are found: {0}")]
    NoGrid(#[source] GridMismatch),
    /// The graph is no torus.
    #[error("no torus is found: {0}")]
    NoTorus(#[source] GridMismatch),
    /// There is nothing to route.
    #[error("there are no switches")]
    NoSwitches,
    /// The dimensions make no axes of a torus.
    #[error("no axes are found")]
    NoAxes,
    /// A dimension is a full mesh.
    #[error("{0} switches are cabled each to each: this is no torus")]
    FullMesh(usize),
    /// The grid has more dimensions than the engine routes.
    #[error("a torus has at most {most} dimensions, this is a {grid}")]
    Dimensions {
        /// Most dimensions of a torus.
        most: usize,
        /// The grid.
        grid: Box<Grid>,
    },
    /// Too many pairs of switches would take detours around what is missing.
    #[error("so much of the grid is missing that {0} pairs of switches would take detours")]
    Detours(usize),
    /// A ring is cut into parts.
    #[error(
        "so much is lost that rings fall into parts: no way from the switch with LID {from} to the one with LID {to}"
    )]
    CutRing {
        /// LID of a switch.
        from: Lid,
        /// LID of a switch that it has no path to.
        to: Lid,
    },
    /// Every detour around what is missing closes a credit loop.
    #[error("what is lost cannot be gone around without a credit loop")]
    CreditLoop,
}

/// What the operator said that contradicts the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HintError {
    /// The engine `file` has no tables.
    #[error("no tables are given: an lfts_file such as opensm-lfts.dump is needed")]
    NoTables,
    /// A switch has no table.
    #[error("the file has no table for {0}")]
    NoTable(SwitchName),
    /// No LID of a switch is in the tables.
    #[error("the file knows no way to {switch}, where LID {lid} hangs")]
    NoRoute {
        /// The switch.
        switch: SwitchName,
        /// The LID.
        lid: Lid,
    },
    /// A table has a port that the switch does not have.
    #[error("the file sends LID {lid} out of port {port} of {switch}, which has {ports} ports")]
    NoPort {
        /// The LID.
        lid: Lid,
        /// The port.
        port: PortNum,
        /// The switch.
        switch: SwitchName,
        /// Ports of the switch.
        ports: u8,
    },
    /// The torus in the file is not that of the fabric.
    #[error("the file describes a torus of {x} x {y} x {z}, the fabric is a {grid}", x = radix[0], y = radix[1], z = radix[2])]
    OtherTorus {
        /// Sizes of the torus in the file.
        radix: [u16; 3],
        /// The fabric.
        grid: Box<Grid>,
    },
    /// Two links of a seed lead along one dimension.
    #[error("links of the seed name one dimension twice")]
    SameDimension,
    /// A link of a seed joins switches that are no neighbours.
    #[error("the {0} link of the seed does not join neighbours")]
    NoNeighbours(&'static str),
    /// Links of a seed begin at different switches.
    #[error("links of one seed begin at different switches")]
    SeedSwitches,
    /// A switch has more equal ports than the file allows.
    #[error("the switch with LID {lid} has groups of {ports} ports, portgroup_max_ports is {most}")]
    PortGroup {
        /// LID of the switch.
        lid: Lid,
        /// Ports of its largest group.
        ports: usize,
        /// The limit.
        most: usize,
    },
}

/// A switch, named by its LID if it has one.
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
            Lid::NONE => write!(
                f,
                "switch number {} of the fabric, which has no LID",
                self.number
            ),
            lid => write!(f, "the switch with LID {lid}"),
        }
    }
}
