//! Why a fabric is no grid.

use thiserror::Error;

/// Why a fabric is no grid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GridMismatch {
    /// Some switches have no path of links to the others.
    #[error("the switches do not hang together")]
    Disconnected,
    /// Most places would have no switch.
    #[error("most places of the grid would be without a switch: this is no grid")]
    Sparse,
    /// Two switches would have the same coordinates.
    #[error("two switches would have the same place: this is no grid")]
    SamePlace,
    /// Some switches get no coordinates.
    #[error("some switches fit nowhere in the grid")]
    NoPlace,
    /// A link joins switches that are no neighbours.
    #[error("a cable leads across the grid")]
    AcrossGrid,
    /// A link joins switches of a ring that are no neighbours.
    #[error("a cable leads across a ring")]
    AcrossRing,
    /// Too much is missing.
    #[error(
        "a grid of {places} places of which {lost_switches} are empty, and {lost_links} of {links} links between \
         neighbours missing, is too little of a grid"
    )]
    Incomplete {
        /// Places for switches.
        places: usize,
        /// Places without a switch.
        lost_switches: usize,
        /// Pairs of neighbouring switches.
        links: usize,
        /// Those without a link.
        lost_links: usize,
    },
    /// More dimensions than any grid that is built.
    #[error("{0} dimensions: more than any grid that is built")]
    Dimensions(usize),
    /// The links of some switches are in no square with those of others.
    #[error("the cables do not hang together as a grid does")]
    Apart,
    /// A dimension would be a ring of two switches.
    #[error("a ring of two switches: this is no grid")]
    ShortRing,
    /// Rings close at other coordinates than they began.
    #[error("rings of cables close askew: the fabric is twisted, or no grid")]
    Askew,
    /// A switch has links to switches that are no neighbours.
    #[error("a switch has cables to places that are not neighbours")]
    NoNeighbours,
    /// Squares of links give a link two directions.
    #[error("squares of cables contradict each other: the fabric is twisted, or no grid")]
    Contradiction,
    /// Squares of links have opposite links in one dimension.
    #[error("squares of cables cross themselves: this is no grid")]
    CrossedSquares,
    /// Two switches share three neighbours.
    #[error("two switches share three neighbours, as in trees: this is no grid")]
    SharedNeighbours,
}
