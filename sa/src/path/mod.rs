//! Paths between end ports (IBA 15.2.5.16; docs/sm-behaviour.md 11.1 to 11.16).
//!
//! | module | contents |
//! |---|---|
//! | [`route`] | follows LFTs from a port to a LID |
//! | [`limits`] | selectors for MTU, rate and PacketLifeTime |
//! | `qos_level` | QoS policy: level of a path and its limits |
//! | [`pair`] | all paths between two end ports that satisfy a query |
//! | [`record`] | PathRecord queries |
//! | [`multi`] | MultiPathRecord queries: several independent paths |
//! | [`scan`] | queries over many pairs, in slices |
//! | [`trace`] | TraceRecord: the nodes of a path |

pub mod limits;
pub mod multi;
pub mod pair;
mod progress;
mod qos_level;
pub mod record;
pub mod route;
pub mod scan;
pub mod trace;
