//! Cells of the hop matrices, one or two bytes wide, and the reasons why an engine stops early.

use crate::messages::RouteError;
use crate::work::BudgetExceeded;

/// Integer type of a cell: a hop count and a flag for paths that start with a climb.
pub(crate) trait HopCell: Copy + Ord + Send + Sync + 'static {
    /// Unreachable, or not computed yet.
    const UNREACHED: Self;
    /// Zero hops: the destination itself.
    const HERE: Self;
    /// One hop more, downwards; `UNREACHED` if the path starts with a climb, because a climb after
    /// a descent is illegal. In a matrix without up and down: one hop more.
    fn farther(self) -> Self;
    /// The cell of a switch whose next hop is up, to a neighbour with this cell.
    fn climb(self) -> Self;
    /// The cell without the climb flag.
    fn without_flag(self) -> Self;
    /// Number of hops.
    fn hops(self) -> usize;
}

macro_rules! cell {
    ($int:ty) => {
        impl HopCell for $int {
            const UNREACHED: Self = <$int>::MAX >> 1;
            const HERE: Self = 0;
            #[inline(always)]
            fn farther(self) -> Self {
                self.min(Self::UNREACHED - 1) + 1
            }
            #[inline(always)]
            fn climb(self) -> Self {
                ((self & Self::UNREACHED).min(Self::UNREACHED - 1) + 1) | !Self::UNREACHED
            }
            #[inline(always)]
            fn without_flag(self) -> Self {
                self & Self::UNREACHED
            }
            #[inline(always)]
            fn hops(self) -> usize {
                usize::from(self & Self::UNREACHED)
            }
        }
    };
}
cell!(u8);
cell!(u16);

/// Why an engine stops early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineStop {
    /// A distance does not fit in the cell type; retry with a wider one.
    CellOverflow,
    /// The work budget is exceeded.
    Budget,
}

impl From<BudgetExceeded> for EngineStop {
    fn from(BudgetExceeded: BudgetExceeded) -> Self {
        Self::Budget
    }
}

impl From<EngineStop> for RouteError {
    fn from(stop: EngineStop) -> Self {
        match stop {
            EngineStop::CellOverflow => Self::PathTooLong,
            EngineStop::Budget => Self::Budget,
        }
    }
}

/// Computes a result with one-byte cells and, if a distance does not fit, again with two-byte
/// cells.
pub(crate) fn with_smallest_cells<T>(
    with_narrow_cells: impl FnOnce() -> Result<T, EngineStop>,
    with_wide_cells: impl FnOnce() -> Result<T, EngineStop>,
) -> Result<T, RouteError> {
    match with_narrow_cells() {
        Err(EngineStop::CellOverflow) => Ok(with_wide_cells()?),
        result => Ok(result?),
    }
}
