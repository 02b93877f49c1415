//! Routing engines for InfiniBand subnets, and verification of the forwarding tables that they
//! compute.
//!
//! An engine computes linear forwarding tables ([`Tables`]) from a graph of switches
//! ([`Topology`]). [`verify()`] decides whether the tables may be installed: every LID is reachable
//! from every switch, without loops and without credit loops. Verification shares no code with the
//! engines. This crate has no MADs, no GUIDs, no clock and no I/O; results do not depend on the
//! number of threads.
//!
//! | module | contents |
//! |---|---|
//! | [`topology`] | the graph, built once per run |
//! | [`tables`] | forwarding tables and their differing blocks |
//! | [`table_limits`] | switches whose LFT is too small for all LIDs |
//! | [`vl_plan`] | SLs of paths, VLs of SLs |
//! | [`hints`] | the operator's hints about the structure of the fabric |
//! | [`kept`] | tables that switches keep because they reject writes |
//! | `channels` | channel numbers and channel dependency graphs, for engines, rerouting, transition and multicast |
//! | [`engine`] | the engines: one file each |
//! | [`mod@verify`] | verification |
//! | [`quality`] | quality of routes: load, bisections, permutations, shifts |
//! | [`structure`] | detection of trees, grids and dragonflies from the graph |
//! | `reroute_cache` | data of a run from which the next incremental reroute and its verification start |
//! | [`mod@reroute`] | incremental reroute after lost links or LIDs |
//! | [`transition`] | safe order of table updates under traffic |
//! | [`multicast`] | multicast trees that are deadlock-free together with the routes |
//! | [`adopt`] | adoption of installed tables after verification |
//! | `diagnostics`, `describe` | decisions of engines, for logs and reports; messages that name switches |
//! | [`auto`] | which engines suit a fabric |
//! | [`select`] | the first engine in the list whose tables pass verification |
//! | `best` | the best of several verified routings |
//! | [`work`] | work budget and cancellation of engines |

#![forbid(unsafe_code)]

pub mod adopt;
pub mod auto;
mod best;
mod channels;
mod describe;
mod diagnostics;
pub mod engine;
pub mod hints;
pub mod kept;
pub mod multicast;
pub mod quality;
pub mod reroute;
mod reroute_cache;
pub mod select;
pub mod structure;
pub mod table_limits;
pub mod tables;
pub mod topology;
pub mod transition;
pub mod verify;
pub mod vl_plan;
pub mod work;

pub use describe::Describe;
pub use diagnostics::{
    DecidedBy, Diagnostic, RerouteSummary, RoutingFigures, Structure, TreeFigures,
};
pub use engine::{
    ENGINE_NAMES, EarlierRun, Engine, HintError, PreviousRouting, RouteError, Routing,
    RoutingRequest, ShapeError, SwitchHintError, SwitchOrderStrategy, TreeConstraint, VerifiedRun,
    engine_by_name,
};
pub use hints::Hints;
pub use kept::{KeptSwitch, KeptSwitchUse, KeptTables};
pub use reroute_cache::RerouteCache;
pub use select::{
    EngineRejection, Selection, SelectionStep, reroute_installed, route_with, route_with_engines,
    route_with_progress, route_within_vl_plan,
};
pub use tables::{Lft, Tables, changed_blocks};
pub use topology::{
    AttachedEndPort, DATA_VLS_MAX, DegradedLink, Destination, SwitchIdx, SwitchLink, Topology,
    TopologyBuilder,
};
pub use verify::{Proof, VerifyError, verify};
pub use vl_plan::{PathSl, SlToVl, SlToVlMaps, VlPlan};
pub use work::{CancelToken, WorkBudget};
