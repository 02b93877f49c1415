//! Tests of the simulator from the outside, as an SM sees it: MADs in, MADs out.
//!
//! Tests also read the devices' state by accessors, so that they do not rely on replies alone.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "all of it is tests, helpers included"
)]

mod attributes;
mod datagrams;
mod discovery;
mod io_unit;
mod lid_routing;
mod m_key;
mod models;
mod net;
mod oracle_cases;
mod oracle_kinds;
mod oracle_plan;
mod oracle_routes;
mod oracles_broken;
mod oracles_counters;
mod packets;
mod perf;
mod port_states;
mod rig;
mod routes;
mod scenario;
mod tables;
mod traps;
mod umad_abi;
mod umad_rig;
mod umad_rmpp;
mod umad_send;
mod umad_sysfs;
mod world;
