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
//! Each folder is a noun: it owns its state, plans without side effects, and makes requests and
//! handles responses. Only `manager` names two of them.
//!
//! | module | contents |
//! |---|---|
//! | `manager` | composes the others: inputs, the order of the phases, dispatch of responses |
//! | `discovery` | finds nodes and links; what is excluded, and surveys of that |
//! | [`lids`] | which port has which LIDs |
//! | [`routing`] | the routing in force, the job that computes the next one |
//! | `lfts`, `mfts` | unicast and multicast forwarding tables: reads and writes |
//! | `vls`, [`pkeys`] | VL tables, P_Key tables |
//! | `kept_tables` | tables that devices keep because they reject writes |
//! | [`ports`] | PortInfo, links: parameters, states, rates, stability |
//! | `keys`, `traps`, `schedule` | M_Keys; traps and what they cause; which sweep comes next |
//! | `maintenance` | switches, links and ports that the operator took out of service |
//! | `mastership` | which SM is master; [`election`] is its step function |
//! | `sa` | registrations, and the view that [`ferrosm_sa`] replies from |
//! | `adoption` | what an earlier run or another SM left in the fabric |
//! | [`records`] | persisted state, as records |
//! | `smp`, `outbox` | the SMPs that the SM sends; its outputs in order, until durable |
//! | `effect`, `ctx` | consequences for other components; what a component accesses |
//! | [`io`], [`config`], [`event`], [`report`] | the interface; `commands` replies to commands |
//!
//! The observed fabric is in [`ferrosm_fabric`].

mod adoption;
mod commands;
pub mod config;
mod consent;
mod ctx;
mod discovery;
mod effect;
pub mod election;
pub mod event;
mod event_table;
pub mod io;
mod kept_tables;
mod keys;
mod lfts;
pub mod lids;
mod maintenance;
mod manager;
mod mastership;
mod mfts;
mod outbox;
pub mod pkeys;
pub mod ports;
pub mod records;
pub mod report;
pub mod routing;
mod sa;
mod schedule;
mod smp;
mod sweep;
mod traps;
mod vls;

pub use config::SmConfig;
pub use event::Event;
pub use io::commands::{
    Command, CommandFailure, CommandId, CommandOutcome, CommandReply, OperatorChange, PlannedChange,
};
pub use io::{
    Input, LoadedReplica, LocalPortEvent, Output, PeerEvent, Persisted, ReplicaEvent,
    ReplicationRole, StepDownReason,
};
pub use manager::{Progress, SubnetManager};
pub use records::RestoredState;
pub use records::lid_map::LidMap;
pub use report::{ActivityKind, Phase, Problem, ProblemKind, SweepReport};
pub use routing::routes::{RoutingJob, RoutingJobResult};
