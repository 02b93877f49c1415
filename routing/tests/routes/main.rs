//! Routing engines, verification, incremental reroute and transition of tables, on small fabrics
//! and as property tests.

mod auto;
mod budget;
mod common;
mod engines;
mod grids;
mod incremental_reroute;
mod incremental_verification;
mod low_diameter;
mod multicast;
mod nue;
mod oracle;
mod properties;
mod quality;
mod stability;
mod transition;
mod transition_groups;
mod trees;
mod verification;
mod verification_trees;
mod verification_vls;
mod vl_engines;
mod within_vl_plan;
