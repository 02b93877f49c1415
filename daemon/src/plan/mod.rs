//! The plan of a start: what the SM would write to the fabric as it is now.
//!
//! The subnet manager itself runs on a [`planned_port::PlannedPort`]: its reads go to the devices,
//! its writes do not, and are answered as the devices would. So the plan has every Set of the first
//! sweep, and nothing is written. [`summary`] counts what they change, `nodes` says what changes at
//! which node.

mod changes;
mod nodes;
pub mod planned_port;
pub mod summary;
