//! The cells of matrices of distances, of one or two bytes, and why an engine stops early.

use super::RouteError;
use crate::work::BudgetExceeded;

/// The number type of a cell.
pub(crate) trait HopCell: Copy + Ord + Send + Sync + 'static {
    /// Not reached.
    const FAR: Self;
    /// No hops: the destination itself.
    const HERE: Self;
    /// One hop more, still going down (or, without directions, anywhere).
    fn farther(self) -> Self;
    /// The cell of a switch that climbs to a neighbour with this cell.
    fn climb(self) -> Self;
    /// The cell without the permission to climb.
    fn down(self) -> Self;
    /// Hops.
    fn hops(self) -> usize;
}

macro_rules! cell {
    ($int:ty) => {
        impl HopCell for $int {
            const FAR: Self = <$int>::MAX >> 1;
            const HERE: Self = 0;
            #[inline(always)]
            fn farther(self) -> Self {
                self.min(Self::FAR - 1) + 1
            }
            #[inline(always)]
            fn climb(self) -> Self {
                ((self & Self::FAR).min(Self::FAR - 1) + 1) | !Self::FAR
            }
            #[inline(always)]
            fn down(self) -> Self {
                self & Self::FAR
            }
            #[inline(always)]
            fn hops(self) -> usize {
                usize::from(self & Self::FAR)
            }
        }
    };
}
cell!(u8);
cell!(u16);

/// Why an engine stops early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A distance does not fit the cell type: take a larger one.
    CellOverflow,
    /// The work budget is used up.
    Budget,
}

impl From<BudgetExceeded> for Stop {
    fn from(BudgetExceeded: BudgetExceeded) -> Self {
        Self::Budget
    }
}

impl From<Stop> for RouteError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::CellOverflow => Self::PathTooLong,
            Stop::Budget => Self::Budget,
        }
    }
}

/// Runs the same with cells of one byte and, if a distance does not fit, of two.
pub(crate) fn with_smallest_cells<T>(
    narrow: impl FnOnce() -> Result<T, Stop>,
    wide: impl FnOnce() -> Result<T, Stop>,
) -> Result<T, RouteError> {
    match narrow() {
        Err(Stop::CellOverflow) => Ok(wide()?),
        result => Ok(result?),
    }
}
