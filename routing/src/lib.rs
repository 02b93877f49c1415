//! Routing engines for InfiniBand subnets, and the proof of what they compute.
//!
//! A graph of switches goes in ([`Topology`]), linear forwarding tables come out ([`Tables`]), and
//! [`verify()`] decides whether they may be installed: every LID reached from everywhere, no loop,
//! no credit loop. The proof shares no code with the engines. Nothing here knows MADs, GUIDs, time
//! or I/O, and nothing depends on the number of threads.
//!
//! | module | what it holds |
//! |---|---|
//! | [`topology`] | the graph, built once per run |
//! | [`tables`] | forwarding tables and their differences |
//! | [`engine`] | the engines: one file each |
//! | [`mod@verify`] | the proof |
//! | [`select`] | first engine in the list whose tables pass the proof |

#![forbid(unsafe_code)]

pub mod engine;
pub mod select;
pub mod tables;
pub mod topology;
pub mod verify;

pub use engine::{ENGINE_NAMES, Engine, Previous, RouteError, Routing, engine_by_name};
pub use select::{Refused, Selection, route_with};
pub use tables::{Lft, Tables, changed_blocks};
pub use topology::{Destination, EndPort, Link, SwitchIdx, Topology, TopologyBuilder};
pub use verify::{Failure, Proof, verify};
