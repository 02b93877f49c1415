//! Reasons why an engine cannot route a fabric.

use ferrosm_mad::ids::{Lid, PortNum};
use thiserror::Error;

use super::describe::{Describe, index_label};
use crate::engine_names::ENGINE_NAMES;
use crate::structure::dragonfly::DragonflyMismatch;
use crate::structure::grid::{Grid, GridMismatch};
use crate::structure::tree::TreeMismatch;
use crate::topology::SwitchIdx;
use crate::topology::graph::NotConnected;

/// Why an engine cannot route a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Some switches cannot reach the others.
    #[error(
        "the fabric is disconnected: {components} groups of switches without a link between them"
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
    #[error("not a tree: {0}")]
    NotATree(#[from] TreeMismatch),
    /// The number of levels is out of range.
    #[error("{levels} levels of switches: a fat tree has {min} to {max}")]
    LevelCount {
        /// Levels of switches.
        levels: usize,
        /// Minimum number of levels of a fat tree.
        min: usize,
        /// Maximum number of levels of a fat tree.
        max: usize,
    },
    /// Links connect switches of the same level.
    #[error("not a pure fat tree: {0} links between switches of the same level")]
    LinksWithinLevel(usize),
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
    #[error("a torus has at most {max} dimensions, the fabric is a {grid}")]
    TooManyDimensions {
        /// Maximum number of dimensions.
        max: usize,
        grid: Box<Grid>,
    },
    /// Missing links or switches force too many pairs of switches onto detours.
    #[error("grid too incomplete: {0} pairs of switches would need detours")]
    TooManyDetours(usize),
    /// Missing links or switches split a ring.
    #[error("{}", partitioned_ring(&index_label, *from, *to))]
    PartitionedRing {
        from: SwitchIdx,
        /// A switch that it cannot reach.
        to: SwitchIdx,
    },
    /// The fabric is not a dragonfly.
    #[error("not a dragonfly: {0}")]
    NotADragonfly(#[from] DragonflyMismatch),
    /// Too many pairs of switches are more than two hops apart.
    #[error(
        "not of diameter 2: {distant} of {pairs} pairs of switches with end ports are more than two hops apart"
    )]
    DistantSwitches {
        /// Pairs that are more than two hops apart.
        distant: usize,
        /// All pairs.
        pairs: usize,
    },
    /// Missing links or switches leave a pair of switches without a path of the engine.
    #[error("{}", no_detour(&index_label, *from, *to))]
    NoDetour {
        from: SwitchIdx,
        /// A switch to which the engine finds no path.
        to: SwitchIdx,
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
    /// A hint contradicts a switch.
    #[error("{}: {fault}", index_label(*switch))]
    Switch {
        switch: SwitchIdx,
        /// How.
        fault: SwitchHintError,
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
}

/// How a routing hint contradicts a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SwitchHintError {
    /// The file has no table for it.
    #[error("the file has no table for this switch")]
    MissingTable,
    /// The tables forward no LID of it.
    #[error("the file has no route to LID {0} of this switch")]
    NoRoute(Lid),
    /// A table entry names a port that it does not have.
    #[error("the file forwards LID {lid} to port {port}, the switch has {ports} ports")]
    PortOutOfRange {
        lid: Lid,
        port: PortNum,
        /// Ports of the switch.
        ports: u8,
    },
    /// It has a larger port group than the file allows.
    #[error("port group of {ports} ports, portgroup_max_ports is {max}")]
    PortGroupTooLarge {
        /// Size of its largest port group.
        ports: usize,
        /// The limit.
        max: usize,
    },
}

impl SwitchHintError {
    /// The error for a switch.
    pub(crate) const fn at(self, switch: SwitchIdx) -> RouteError {
        let fault = self;
        RouteError::Hint(HintError::Switch { switch, fault })
    }
}

impl RouteError {
    /// A stable name of the error, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Disconnected { .. } => "disconnected",
            Self::PathTooLong => "path-too-long",
            Self::Shape(_) => "shape",
            Self::Hint(_) => "hint",
            Self::TooFewVls { .. } => "too-few-vls",
            Self::Budget => "budget",
            Self::UnknownEngine(_) => "unknown-engine",
        }
    }
}

impl From<NotConnected> for RouteError {
    fn from(NotConnected { components }: NotConnected) -> Self {
        Self::Disconnected { components }
    }
}

impl Describe for RouteError {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Shape(ShapeError::PartitionedRing { from, to }) => {
                partitioned_ring(label, *from, *to)
            }
            Self::Shape(ShapeError::NoDetour { from, to }) => no_detour(label, *from, *to),
            Self::Hint(HintError::Switch { switch, fault }) => {
                format!("{}: {fault}", label(*switch))
            }
            Self::Disconnected { .. }
            | Self::PathTooLong
            | Self::Shape(_)
            | Self::Hint(_)
            | Self::TooFewVls { .. }
            | Self::Budget
            | Self::UnknownEngine(_) => self.to_string(),
        }
    }
}

fn partitioned_ring(label: &dyn Fn(SwitchIdx) -> String, from: SwitchIdx, to: SwitchIdx) -> String {
    format!(
        "a ring is split by missing links or switches: no path from {} to {}",
        label(from),
        label(to)
    )
}

fn no_detour(label: &dyn Fn(SwitchIdx) -> String, from: SwitchIdx, to: SwitchIdx) -> String {
    format!(
        "too many missing links or switches: no detour from {} to {}",
        label(from),
        label(to)
    )
}
