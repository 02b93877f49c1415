//! What should be, computed from what is: pure functions over the [`crate::Subnet`] and the configuration.
//!
//! Nothing here sends, waits or remembers.

pub mod adopt;
pub mod change;
pub mod failure;
pub mod graph;
pub mod installed_groups;
pub mod lids;
pub mod partitions;
pub mod port_settings;
pub mod routes;
pub mod routing_hints;
pub mod vls;
