//! The subnet manager as a plain value: discovery, LIDs, tables, links, traps. No I/O.
//!
//! [`SubnetManager`] takes [`Input`]s and gives [`Output`]s; it reads no clock, spawns nothing, locks nothing. A run is
//! therefore reproducible from its inputs, and a simulator with virtual time can inject any fault.
//!
//! ```text
//!  Discover -> OtherSms -> ReadTables -> Route (job) -> WriteTables -> Arm -> Activate -> idle
//!      ^                                                                                  |
//!      +---- full: start, command, own port      local: trap, light sweep ----------------+
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`subnet`] | what is: nodes, ports, links as devices told them |
//! | [`plan`] | what should be: pure functions |
//! | [`qos`] | which service level and limits a path gets |
//! | `smp` | the SMPs that the SM sends, and those outstanding |
//! | [`election`] | which of several subnet managers is in charge |
//! | `manager` | the phases that turn what is into what should be |
//! | [`sa`] | what hosts ask, and what they are told |
//! | [`kept`] | what outlives this value, as records |
//! | [`lid_map`], [`routing_origin`] | values that several of these share |
//! | [`tables`] | contents of device tables |
//! | [`io`], [`config`], [`report`] | the surface |

pub mod config;
mod ctx;
pub mod election;
pub mod io;
pub mod kept;
mod keys;
pub mod lid_map;
mod lids;
mod manager;
mod outbox;
mod partitions;
pub mod plan;
pub mod qos;
pub mod report;
pub mod routing_origin;
mod routing_state;
pub mod sa;
mod schedule;
mod smp;
pub mod subnet;
pub mod tables;
mod traps;

pub use config::SmConfig;
pub use io::{Event, Input, LocalPortEvent, Output};
pub use kept::Restored;
pub use lid_map::LidMap;
pub use manager::{Progress, SubnetManager};
pub use plan::routes::{Computed, Job};
pub use report::{Phase, Problem, ProblemKind, SweepReport};
pub use smp::queue::without_attempt;
pub use subnet::{Node, NodeIdx, Port, PortRef, Subnet};
