//! Routing engines, the proof of their tables, repairs and transitions, on small fabrics and by properties.

mod auto;
mod budget;
mod common;
mod engines;
mod grids;
mod groups;
mod lanes_engines;
mod multicast;
mod nue;
mod oracle;
mod proof;
mod proof_lanes;
mod proof_ledger;
mod proof_trees;
mod properties;
mod quality;
mod repair;
mod stability;
mod transition;
mod trees;
