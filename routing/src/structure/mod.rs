//! Detection of the structure of a fabric from its graph, for engines and engine selection.

pub mod diameter;
pub mod dragonfly;
pub mod grid;
pub mod placement;
pub(crate) mod simple_graph;
pub mod tree;
