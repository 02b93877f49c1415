//! Why a fabric is no tree.

use thiserror::Error;

/// Why a fabric is no tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TreeMismatch {
    /// No switch has end ports.
    #[error("no end ports: nothing tells leaves from roots")]
    NoEndPorts,
    /// Some switches have no path of links to the others.
    #[error("the switches are not all connected")]
    Disconnected,
    /// Too few pairs of end ports have a path up and down the levels.
    #[error(
        "no tree: {:.0} % of the pairs of end ports are connected by climbing {levels} levels of switches and descending, \
         {level_links} of {links} cables join switches of one level",
        *.connected as f64 * 100.0 / *.pairs as f64
    )]
    Pairs {
        /// Pairs of end ports.
        pairs: u64,
        /// Those with a path.
        connected: u64,
        /// Levels of switches.
        levels: u32,
        /// Links between switches of one level.
        level_links: usize,
        /// Links between switches.
        links: usize,
    },
}
