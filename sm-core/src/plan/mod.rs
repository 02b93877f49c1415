//! What should be, computed from what is: pure functions over the [`crate::Subnet`] and the configuration.
//!
//! Nothing here sends, waits or remembers.

pub mod adopt;
pub mod change;
pub mod failure;
pub mod graph;
pub mod hints;
pub mod installed_groups;
pub mod lids;
pub mod partitions;
pub mod ports;
pub mod routes;
pub mod vls;
