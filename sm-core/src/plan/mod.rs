//! Desired state: pure functions of the observed fabric ([`ferrosm_fabric`]) and the configuration.
//!
//! This module sends nothing and has no state.

pub mod adopt;
pub mod change;
pub mod drain;
pub mod failure;
pub mod graph;
pub mod installed_groups;
pub(crate) mod kept;
pub mod lft_writes;
pub mod lids;
pub mod messages;
pub mod partitions;
pub mod port_settings;
pub mod routes;
pub mod routing_hints;
pub mod switch_names;
pub mod vls;
