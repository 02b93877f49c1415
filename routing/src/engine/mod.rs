//! What a routing engine is, and which there are.
//!
//! An engine is a pure function from a graph (and the tables of the run before) to tables. It never
//! decides whether its tables are good enough to install: [`crate::verify()`] does. One file per
//! engine; what engines share is in `legs` (who may be the next hop), `order` (which end of a link
//! is up) and `fill` (which next hop is taken).

mod deal;
mod dfsssp;
mod dmodc;
mod dnup;
mod dor;
mod file;
mod fill;
mod ftree;
pub(crate) mod graph;
mod grids;
mod lash;
mod layers;
mod legs;
mod minhop;
mod neighbors;
mod nue;
mod order;
mod ordered;
mod spread;
mod sssp;
mod torus_2qos;
mod updn;
mod valleys;

use std::fmt;
use std::sync::{Arc, LazyLock};

use ferrosm_mad::ids::PortNum;

pub use dfsssp::DfSssp;
pub use dmodc::Dmodc;
pub use dnup::DownUp;
pub use dor::Dor;
pub use file::File;
pub use ftree::FatTree;
pub use lash::Lash;
pub use minhop::MinHop;
pub use nue::Nue;
pub use sssp::Sssp;
pub use torus_2qos::Torus2Qos;
pub use updn::UpDown;

use crate::hints::Hints;
use crate::kept::Kept;
use crate::lanes::{DATA_VLS_MAX, Lanes};
use crate::tables::{Lft, Tables};
use crate::topology::Topology;
use crate::work::WorkBudget;

/// Computes forwarding tables for a graph.
pub trait Engine: Send + Sync {
    /// The name by which operators ask for it.
    fn name(&self) -> &'static str;

    /// Tables for every switch. Entries of [`Request::previous`] that this engine could still have chosen are
    /// kept unless a link was gained, so that a lost link moves only the routes that need to move.
    ///
    /// # Errors
    /// The graph is not one that this engine can route: the reason is for the operator.
    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError>;
}

/// What an engine is given.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The graph.
    pub topo: &'a Topology,
    /// What is installed now.
    pub previous: &'a Previous,
    /// What the operator says of the structure.
    pub hints: &'a Hints,
    /// Data VLs that may be used, 1 to 15. An engine uses no more than these, and no more than
    /// [`Topology::common_vls`]; see [`Request::lanes`].
    pub vls: u8,
    /// The work that an engine may spend. It stops with [`RouteError::Budget`] soon after that.
    pub budget: &'a WorkBudget,
}

static UNLIMITED: WorkBudget = WorkBudget::unlimited();
static NOTHING_INSTALLED: Previous = Previous::none();
static NO_HINTS: LazyLock<Hints> = LazyLock::new(Hints::default);

impl<'a> Request<'a> {
    /// A graph about which nothing else is known, with all the lanes that its cables have.
    #[must_use]
    pub fn new(topo: &'a Topology) -> Self {
        Self {
            topo,
            previous: &NOTHING_INSTALLED,
            hints: &NO_HINTS,
            vls: DATA_VLS_MAX,
            budget: &UNLIMITED,
        }
    }

    /// The same, with what is installed.
    #[must_use]
    pub const fn after(self, previous: &'a Previous) -> Self {
        Self { previous, ..self }
    }

    /// The same, with hints.
    #[must_use]
    pub const fn hinted(self, hints: &'a Hints) -> Self {
        Self { hints, ..self }
    }

    /// The same, with at most so many data VLs.
    #[must_use]
    pub const fn with_vls(self, vls: u8) -> Self {
        Self { vls, ..self }
    }

    /// The same, within a work budget.
    #[must_use]
    pub const fn within(self, budget: &'a WorkBudget) -> Self {
        Self { budget, ..self }
    }

    /// Data VLs that an engine may use: 1 to 15.
    #[must_use]
    pub fn lanes(&self) -> u8 {
        self.vls.min(self.topo.common_vls()).clamp(1, DATA_VLS_MAX)
    }
}

/// The tables that are installed now.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// By the *new* run's [`crate::SwitchIdx`]; `None`, or nothing at all, where the content is
    /// unknown.
    pub lfts: Vec<Option<Arc<Lft>>>,
    /// Each switch's place in the order that the tables were made with ([`Routing::order`]); `None`, or nothing at
    /// all, where it had none.
    pub order: Vec<Option<u32>>,
    /// The run before, if its result is what should be installed now and the same switches had the same indices.
    pub last: Option<Arc<LastRun>>,
    /// The engine of the tables, if the graph has only lost switches or cables since, and routes for what is left must not wait for
    /// a comparison of engines.
    pub engine_in_force: Option<&'static str>,
}

/// A graph and what was computed, proven and installed for it.
#[derive(Debug, Clone)]
pub struct LastRun {
    /// The graph.
    pub topo: Arc<Topology>,
    /// What was computed.
    pub routing: Routing,
    /// Routes over the busiest channel ([`crate::Proof::max_load`]) when an engine made the routing, before any repair;
    /// 0 where that is not known. Repairs may not go far beyond.
    pub busiest: u64,
    /// What makes the next repair quick.
    pub kept: Kept,
}

impl Previous {
    /// Nothing is installed, or nothing is known of it.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            lfts: Vec::new(),
            order: Vec::new(),
            last: None,
            engine_in_force: None,
        }
    }

    /// Everything of a run whose switches have the same indices.
    #[must_use]
    pub fn of(topo: &Arc<Topology>, routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last: Some(Arc::new(LastRun {
                topo: Arc::clone(topo),
                routing: routing.clone(),
                busiest: 0,
                kept: Kept::new(),
            })),
            engine_in_force: None,
        }
    }

    /// Only tables and order, as after a restart: nothing is remembered of the run itself.
    #[must_use]
    pub fn tables_of(routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last: None,
            engine_in_force: None,
        }
    }

    /// The table of one switch.
    pub(crate) fn get(&self, switch: usize) -> Option<&Arc<Lft>> {
        self.lfts.get(switch).and_then(Option::as_ref)
    }
}

/// What an engine computed.
#[derive(Debug, Clone)]
pub struct Routing {
    /// Name of the engine.
    pub engine: &'static str,
    /// One table per switch.
    pub tables: Tables,
    /// The SL of each path and the VL of each SL.
    pub lanes: Lanes,
    /// Each switch's place in the engine's order of switches, if it has one: to be given back as
    /// [`Previous::order`], so that a lost cable does not turn the order, and with it every route, upside down.
    pub order: Option<Vec<u32>>,
    /// Which multicast trees go together with these tables.
    pub trees: Trees,
    /// What the engine decided on the way, one sentence each, for logs. Switches are named by their
    /// LIDs.
    pub notes: Vec<String>,
    /// How much of it the last repair changed; `None` if it was computed as a whole.
    pub repair: Option<Repair>,
}

/// What a repair of a routing changed. `Display` is one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// Cables that were lost.
    pub lost_cables: usize,
    /// LIDs that are gone.
    pub gone_lids: usize,
    /// LIDs that are new.
    pub new_lids: usize,
    /// Entries of forwarding tables that were changed.
    pub changed_entries: usize,
    /// LIDs of those entries.
    pub changed_lids: usize,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lost_cables,
            gone_lids,
            new_lids,
            changed_entries,
            changed_lids,
        } = self;
        write!(
            f,
            "repaired: {lost_cables} cables lost, {gone_lids} LIDs gone, {new_lids} new; {changed_entries} entries for \
             {changed_lids} LIDs moved, all others stay as they are"
        )
    }
}

impl Routing {
    /// [`Self::notes`] and the repair, one sentence each.
    pub fn all_notes(&self) -> impl Iterator<Item = String> {
        let repair = self.repair.map(|repair| repair.to_string());
        self.notes.iter().cloned().chain(repair)
    }
}

/// Which multicast trees cannot deadlock together with the unicast routes of a routing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trees {
    /// The engine promises nothing: trees are searched that pass the proof together with the routes.
    #[default]
    Search,
    /// Trees in which every switch but the root hangs on one that comes before it in this order (each switch's place,
    /// as [`Routing::order`]), on SL 0.
    Ordered(Vec<u32>),
    /// Parts of this one spanning tree, on this SL: for each switch the port that leads towards the root, `None` for
    /// the root.
    Within {
        /// Ports towards the root.
        up: Vec<Option<PortNum>>,
        /// The SL that groups get.
        sl: u8,
    },
}

impl Trees {
    /// The SL of groups, where it is promised.
    #[must_use]
    pub const fn sl(&self) -> Option<u8> {
        match self {
            Self::Search => None,
            Self::Ordered(_) => Some(0),
            Self::Within { sl, .. } => Some(*sl),
        }
    }
}

/// Why an engine cannot route a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Some switches have no path of cables to the others.
    #[error("the switches form {islands} islands without a cable between them")]
    Disconnected {
        /// Connected components.
        islands: usize,
    },
    /// A path would be longer than any packet may travel.
    #[error("paths of more than 32,000 hops: this is no fabric")]
    TooDeep,
    /// The graph is not of the shape that the engine is made for.
    #[error("{0}")]
    Shape(String),
    /// What the operator said of the structure contradicts the fabric.
    #[error("{0}")]
    Hint(String),
    /// The engine needs more lanes than there are.
    #[error("{needed} data VLs are needed, {have} can be used")]
    Lanes {
        /// At least so many.
        needed: usize,
        /// So many may be used.
        have: u8,
    },
    /// The engine has used up its work budget, or was cancelled.
    #[error("cancelled: its work exceeds the budget")]
    Budget,
    /// Nobody has written an engine of this name.
    #[error("there is no routing engine named `{0}` (there are: {names})", names = ENGINE_NAMES.join(", "))]
    UnknownEngine(String),
}

/// All engines, by name.
pub const ENGINE_NAMES: &[&str] = &[
    "dmodc",
    "dnup",
    "ftree",
    "updn",
    "minhop",
    "sssp",
    "dfsssp",
    "lash",
    "dor",
    "torus-2QoS",
    "nue",
    "file",
];

/// The engine of this name.
#[must_use]
pub fn engine_by_name(name: &str) -> Option<Box<dyn Engine>> {
    match name {
        "dmodc" => Some(Box::new(Dmodc)),
        "dnup" => Some(Box::new(DownUp)),
        "ftree" => Some(Box::new(FatTree)),
        "updn" => Some(Box::new(UpDown)),
        "minhop" => Some(Box::new(MinHop)),
        "sssp" => Some(Box::new(Sssp)),
        "dfsssp" => Some(Box::new(DfSssp)),
        "lash" => Some(Box::new(Lash)),
        "dor" => Some(Box::new(Dor)),
        "torus-2QoS" => Some(Box::new(Torus2Qos)),
        "nue" => Some(Box::new(Nue)),
        "file" => Some(Box::new(File)),
        _ => None,
    }
}
