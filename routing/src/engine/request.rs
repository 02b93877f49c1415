//! What an engine is given: the graph, and the run before.

use std::sync::{Arc, LazyLock};

use super::routing::Routing;
use crate::hints::Hints;
use crate::kept::Kept;
use crate::tables::Lft;
use crate::topology::{DATA_VLS_MAX, Topology};
use crate::work::WorkBudget;

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
    /// [`Topology::common_vls`]; see [`Request::usable_vls`].
    pub vls: u8,
    /// The work that an engine may spend. It stops with [`RouteError::Budget`](crate::RouteError::Budget) soon after that.
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
    pub const fn with_previous(self, previous: &'a Previous) -> Self {
        Self { previous, ..self }
    }

    /// The same, with hints.
    #[must_use]
    pub const fn with_hints(self, hints: &'a Hints) -> Self {
        Self { hints, ..self }
    }

    /// The same, with at most so many data VLs.
    #[must_use]
    pub const fn with_vls(self, vls: u8) -> Self {
        Self { vls, ..self }
    }

    /// The same, within a work budget.
    #[must_use]
    pub const fn with_budget(self, budget: &'a WorkBudget) -> Self {
        Self { budget, ..self }
    }

    /// Data VLs that an engine may use: 1 to 15.
    #[must_use]
    pub fn usable_vls(&self) -> u8 {
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
    pub pinned_engine: Option<&'static str>,
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
    pub baseline_max_load: u64,
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
            pinned_engine: None,
        }
    }

    /// Everything of a run whose switches have the same indices.
    #[must_use]
    pub fn from_routing(topo: &Arc<Topology>, routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last: Some(Arc::new(LastRun {
                topo: Arc::clone(topo),
                routing: routing.clone(),
                baseline_max_load: 0,
                kept: Kept::new(),
            })),
            pinned_engine: None,
        }
    }

    /// Only tables and order, as after a restart: nothing is remembered of the run itself.
    #[must_use]
    pub fn from_tables_of(routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last: None,
            pinned_engine: None,
        }
    }

    /// The table of one switch.
    pub(crate) fn get(&self, switch: usize) -> Option<&Arc<Lft>> {
        self.lfts.get(switch).and_then(Option::as_ref)
    }
}

impl LastRun {
    /// Makes ready for the next loss. To be called when nobody waits: it takes as long as a proof. Without it the first
    /// repair takes that time.
    pub fn prepare(&self) {
        self.kept.fill(&self.topo, &self.routing);
    }
}
