//! How the up/down order of the switches is chosen.

use std::fmt;

/// Strategy for ordering the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchOrderStrategy {
    /// Next is the neighbour of a placed switch that is closest to the end ports.
    CentreFirst,
    /// As `CentreFirst`, with the exact mean distance.
    CentreFirstExact,
    /// Breadth first from the switch closest to the end ports.
    BreadthFirst,
    /// By the levels of a tree.
    Levels,
    /// By distance from the configured roots.
    Roots,
    /// As in the previous run, as far as its switches still exist and are connected; new switches
    /// come last.
    Previous,
}

impl SwitchOrderStrategy {
    /// Strategies that do not depend on the previous run, by preference.
    pub(crate) const FRESH: [Self; 3] = [
        Self::CentreFirst,
        Self::CentreFirstExact,
        Self::BreadthFirst,
    ];
}

impl fmt::Display for SwitchOrderStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CentreFirst => "centre first",
            Self::CentreFirstExact => "centre first, exact",
            Self::BreadthFirst => "breadth first",
            Self::Levels => "by levels",
            Self::Roots => "from the configured roots",
            Self::Previous => "as in the previous run",
        })
    }
}
