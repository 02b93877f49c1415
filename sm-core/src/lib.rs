//! The subnet manager as a state machine: discovery, LIDs, tables, links, traps. It performs no
//! I/O.
//!
//! [`SubnetManager`] handles [`Input`]s and returns [`Output`]s. It has no clock, threads or locks,
//! so that a run is reproducible from its inputs, and a simulator with virtual time can inject any
//! fault.
//!
//! ```text
//!  Discover -> SmScan -> ReadTables -> Route (job) -> WriteTables -> Arm -> Activate -> idle
//!      ^                                                                                  |
//!      +---- full: start, command, own port      local: trap, light sweep ----------------+
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | the desired state: pure functions |
//! | `smp` | the SMPs that the SM sends, and those outstanding |
//! | `mastership` | the election of the master; [`election`] is its step function |
//! | [`commands`] | the operator's commands and their replies |
//! | `manager` | the phases of a sweep, which configure the fabric |
//! | [`records`] | persisted state, as records |
//! | `link_rates` | degraded links |
//! | [`lid_map`] | shared values |
//! | [`io`], [`config`], [`event`], [`report`] | the interface |
//!
//! Subnet administration, and the QoS policy are in [`ferrosm_sa`]; the observed fabric is in
//! [`ferrosm_fabric`].

mod adoption;
mod alias_guids;
pub mod commands;
pub mod config;
mod ctx;
mod desired_lfts;
mod effect;
pub mod event;
mod event_table;
pub mod io;
mod keys;
pub mod lid_map;
mod lids;
mod link_rates;
mod link_stability;
mod manager;
mod mastership;
mod multicast;
mod outbox;
mod partitions;
pub mod plan;
pub mod records;
pub mod report;
mod routing_state;
mod sa_owner;
mod schedule;
mod smp;
mod survey;
mod sweep;
mod traps;
mod vls;

pub use commands::{Command, CommandFailure, CommandId, CommandOutcome, CommandReply};
pub use config::SmConfig;
pub use event::Event;
pub use io::{
    Input, LoadedReplica, LocalPortEvent, Output, PeerEvent, Persisted, ReplicaEvent,
    ReplicationRole, StepDownReason,
};
pub use lid_map::LidMap;
pub use manager::{Progress, SubnetManager};
pub use mastership::election;
pub use plan::routes::{RoutingJob, RoutingJobResult};
pub use records::RestoredState;
pub use report::{ActivityKind, Phase, Problem, ProblemKind, SweepReport};

// Shorter paths within this crate. Other crates use `ferrosm_sa` directly.
pub(crate) use ferrosm_sa as sa;
pub(crate) use ferrosm_sa::qos;
