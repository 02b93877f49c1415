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
//! | [`lanes`] | SLs of paths, VLs of SLs |
//! | [`hints`] | what the operator says of the structure |
//! | `channels` | channel numbers and channel dependency graphs, for engines, repair, transition and multicast |
//! | [`engine`] | the engines: one file each |
//! | [`mod@verify`] | the proof |
//! | [`quality`] | figures of how good routes are |
//! | [`structure`] | trees, grids, dragonflies, found from the graph |
//! | `kept` | what is kept with a run, so that a repair and its proof cost as much as changed |
//! | [`mod@repair`] | another way for those who lost theirs, all others stay |
//! | [`transition`] | whether tables can be replaced while packets are on their way |
//! | [`multicast`] | trees for groups that go together with the routes |
//! | [`adopt`] | whether tables that are there may stay |
//! | `notes` | decisions of engines, for logs |
//! | [`auto`] | which engines suit a fabric |
//! | [`select`] | first engine in the list whose tables pass the proof |
//! | `best` | which of several, where engines are compared |
//! | [`work`] | the work budget of engines, and how they are cancelled |

#![forbid(unsafe_code)]

pub mod adopt;
pub mod auto;
mod best;
mod channels;
mod diagnostics;
pub mod engine;
pub mod hints;
pub mod multicast;
pub mod quality;
pub mod reroute;
mod reroute_cache;
pub mod select;
pub mod structure;
pub mod tables;
pub mod topology;
pub mod transition;
pub mod verify;
pub mod vl_plan;
pub mod work;

pub use diagnostics::{Diagnostic, RerouteSummary, RoutingFigures, Structure, TreeFigures};
pub use engine::{
    ENGINE_NAMES, Engine, HintError, LastRun, Previous, Request, RouteError, Routing, ShapeError,
    SwitchName, TreeConstraint, engine_by_name,
};
pub use hints::Hints;
pub use reroute_cache::RerouteCache;
pub use select::{EngineRejection, Selection, Step, route_watched, route_with};
pub use tables::{Lft, Tables, changed_blocks};
pub use topology::{
    DATA_VLS_MAX, DegradedLink, Destination, EndPort, Link, SwitchIdx, Topology, TopologyBuilder,
};
pub use verify::{Proof, VerifyError, verify};
pub use vl_plan::{PathSl, SlToVl, SlToVlMaps, VlPlan};
pub use work::{CancelToken, WorkBudget};
