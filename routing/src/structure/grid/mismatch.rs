//! Why a fabric is not a grid.

use thiserror::Error;

/// Why a fabric is not a grid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GridMismatch {
    /// The switches are not connected.
    #[error("the switches are not connected")]
    Disconnected,
    /// Most positions would have no switch.
    #[error("most grid positions would have no switch")]
    Sparse,
    /// Two switches would have the same coordinates.
    #[error("two switches would have the same coordinates")]
    DuplicatePosition,
    /// Some switches have no valid coordinates.
    #[error("some switches have no valid coordinates")]
    NoPosition,
    /// A link connects switches that are not neighbours.
    #[error("a link connects switches that are not neighbours in the grid")]
    LinkAcrossGrid,
    /// A link connects switches of a ring that are not neighbours.
    #[error("a link connects switches that are not neighbours in a ring")]
    LinkAcrossRing,
    /// Too many switches or links are missing.
    #[error(
        "too many switches or links are missing: {lost_switches} of {positions} switches, {lost_links} of {links} links between \
         neighbours"
    )]
    Incomplete {
        /// Positions of switches.
        positions: usize,
        /// Positions without a switch.
        lost_switches: usize,
        /// Pairs of neighbouring switches.
        links: usize,
        /// Those without a link.
        lost_links: usize,
    },
    /// More dimensions than supported.
    #[error("{0} dimensions are more than supported")]
    Dimensions(usize),
    /// Some links are in no cycle of four links.
    #[error("some links are in no cycle of four links, from which dimensions are derived")]
    NoSquares,
    /// A dimension would be a ring of two switches.
    #[error("a dimension would be a ring of two switches")]
    ShortRing,
    /// A ring closes at other coordinates than it started.
    #[error("rings are twisted")]
    TwistedRing,
    /// No free position is next to all neighbours of a switch.
    #[error("no free grid position is next to all neighbours of a switch")]
    NoFreePosition,
    /// Cycles of four links give a link two opposite directions.
    #[error("cycles of four links give a link two opposite directions")]
    Contradiction,
    /// Adjacent links of a cycle of four are in one dimension.
    #[error("adjacent links of a cycle of four are in one dimension")]
    CrossedSquares,
    /// Two switches share three neighbours.
    #[error("two switches share three neighbours, as in a tree")]
    SharedNeighbours,
}
