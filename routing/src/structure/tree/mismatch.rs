//! Why a fabric is not a tree.

use thiserror::Error;

/// Why a fabric is not a tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TreeMismatch {
    /// No switch has end ports.
    #[error("no end ports: cannot determine the leaves")]
    NoEndPorts,
    /// The switches are not connected.
    #[error("the switches are not connected")]
    Disconnected,
    /// Too few pairs of end ports have an up/down path.
    #[error(
        "{:.0} % of the pairs of hosts have a path that goes up, then down ({levels} {} of switches; {level_links} of {links} links connect \
         switches of one level)",
        *.connected as f64 * 100.0 / *.pairs as f64,
        if *.levels == 1 { "level" } else { "levels" }
    )]
    Pairs {
        /// Pairs of end ports.
        pairs: u64,
        /// Pairs with an up/down path.
        connected: u64,
        /// Levels of switches.
        levels: u32,
        /// Links between switches of one level.
        level_links: usize,
        /// Links between switches.
        links: usize,
    },
}
