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
//! | [`topology`] | the graph: switches, links, end ports and owners of LIDs; the numbers of its channels |
//! | [`hints`] | the operator's hints about the structure of the fabric |
//! | [`tables`], [`vl_plan`] | forwarding tables and their differing blocks; SLs of paths, VLs of SLs |
//! | [`routing`] | output of an engine |
//! | [`request`] | input of an engine; the previous run |
//! | [`kept`] | tables that switches keep because they reject writes |
//! | [`table_limits`] | switches whose LFT is too small for all LIDs |
//! | [`work`] | work budget and cancellation of engines |
//! | [`messages`] | decisions and errors of engines, for logs and reports |
//! | [`structure`] | detection of trees, grids and dragonflies from the graph |
//! | `channels` | channel dependency graphs, for engines, rerouting, transition and multicast |
//! | `paths` | what engines share: legal next hops, load balance, orders, grids, virtual layers |
//! | [`engines`] | the engines: one file or folder each |
//! | [`mod@verify`] | verification |
//! | [`connectivity`] | what losses cut off, and which end ports have redundancy |
//! | [`quality`] | quality of routes: load, bisections, permutations, shifts |
//! | [`select`] | which engines suit a fabric; the first or best whose tables pass verification |
//! | [`update`] | incremental reroute, adoption of installed tables, safe order of table updates |
//! | [`multicast`] | multicast trees that are deadlock-free together with the routes |
//! | `reroute_cache` | data of a run from which the next incremental reroute and its verification start |

#![forbid(unsafe_code)]

mod channels;
pub mod connectivity;
mod engine_names;
pub mod engines;
pub mod hints;
pub mod kept;
pub mod messages;
pub mod multicast;
mod paths;
pub mod quality;
pub mod request;
mod reroute_cache;
pub mod routing;
pub mod select;
pub mod structure;
pub mod table_limits;
pub mod tables;
pub mod topology;
pub mod update;
pub mod verify;
pub mod vl_plan;
pub mod work;

pub use engine_names::ENGINE_NAMES;
pub use engines::{Engine, engine_by_name};
pub use hints::Hints;
pub use kept::{KeptSwitch, KeptSwitchUse, KeptTables};
pub use messages::{
    DecidedBy, Describe, Diagnostic, HintError, RerouteSummary, RouteError, RoutingFigures,
    ShapeError, Structure, SwitchHintError, SwitchOrderStrategy, TreeFigures,
};
pub use request::{EarlierRun, PreviousRouting, RoutingRequest, VerifiedRun};
pub use reroute_cache::RerouteCache;
pub use routing::{Routing, TreeConstraint};
pub use select::{
    EngineRejection, Selection, SelectionStep, reroute_installed, route_with, route_with_engines,
    route_with_progress, route_within_vl_plan,
};
pub use tables::{Lft, Tables, changed_blocks};
pub use topology::{
    AddedEndPort, AddedSwitch, Additions, AttachedEndPort, DATA_VLS_MAX, DegradedLink, Destination,
    Loss, PortSet, RemainingTopology, SwitchIdx, SwitchLink, Topology, TopologyBuilder,
};
pub use verify::{Proof, VerifyError, verify};
pub use vl_plan::{PathSl, SlToVl, SlToVlMaps, VlPlan};
pub use work::{CancelToken, WorkBudget};
