//! What a fabric is built like, found from the graph alone.
//!
//! Nothing here knows engines, port numbers or names; engines and the automatic choice ask.

pub mod dragonfly;
pub mod grid;
pub(crate) mod plain;
pub mod tree;
