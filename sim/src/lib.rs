//! A simulated InfiniBand fabric: nodes, links, faults, generators, and oracles that judge a subnet manager.
//!
//! It depends on `ferrosm-mad` only: what judges the subnet manager shares no code with it.

pub mod generate;
pub mod ibnet;
pub mod spec;
