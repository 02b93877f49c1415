//! Input of an engine: the graph, the previous run and the limits.

use std::sync::{Arc, LazyLock};

use crate::hints::Hints;
use crate::kept::KeptTables;
use crate::reroute_cache::RerouteCache;
use crate::routing::Routing;
use crate::tables::Lft;
use crate::topology::{DATA_VLS_MAX, SwitchIdx, Topology};
use crate::work::WorkBudget;

/// Input of an engine.
#[derive(Debug, Clone, Copy)]
pub struct RoutingRequest<'a> {
    /// The graph.
    pub topo: &'a Topology,
    /// The installed tables.
    pub previous: &'a PreviousRouting,
    /// Routing hints of the operator.
    pub hints: &'a Hints,
    /// Tables that switches keep.
    pub kept: &'a KeptTables,
    /// Data VLs that routing may use, 1 to 15. The number that engines use is
    /// [`RoutingRequest::usable_vls`], which is also limited by [`Topology::common_vls`].
    pub vls: u8,
    /// Work budget. When it is exceeded, the engine returns
    /// [`RouteError::Budget`](crate::RouteError::Budget).
    pub budget: &'a WorkBudget,
}

static UNLIMITED: WorkBudget = WorkBudget::unlimited();
static NOTHING_INSTALLED: PreviousRouting = PreviousRouting::none();
static NOTHING_KEPT: LazyLock<KeptTables> = LazyLock::new(KeptTables::default);
static NO_HINTS: LazyLock<Hints> = LazyLock::new(Hints::default);

impl<'a> RoutingRequest<'a> {
    /// Request for a graph without installed tables, hints or budget, with all data VLs of its
    /// links.
    #[must_use]
    pub fn new(topo: &'a Topology) -> Self {
        Self {
            topo,
            previous: &NOTHING_INSTALLED,
            hints: &NO_HINTS,
            kept: &NOTHING_KEPT,
            vls: DATA_VLS_MAX,
            budget: &UNLIMITED,
        }
    }

    /// Sets the installed tables.
    #[must_use]
    pub const fn with_previous(self, previous: &'a PreviousRouting) -> Self {
        Self { previous, ..self }
    }

    /// Sets the routing hints.
    #[must_use]
    pub const fn with_hints(self, hints: &'a Hints) -> Self {
        Self { hints, ..self }
    }

    /// Sets the tables that switches keep.
    #[must_use]
    pub const fn with_kept(self, kept: &'a KeptTables) -> Self {
        Self { kept, ..self }
    }

    /// Sets the graph.
    #[must_use]
    pub const fn with_topology(self, topo: &'a Topology) -> Self {
        Self { topo, ..self }
    }

    /// Limits the data VLs.
    #[must_use]
    pub const fn with_vls(self, vls: u8) -> Self {
        Self { vls, ..self }
    }

    /// Sets the work budget.
    #[must_use]
    pub const fn with_budget(self, budget: &'a WorkBudget) -> Self {
        Self { budget, ..self }
    }

    /// Data VLs that an engine may use, 1 to 15: the configured limit, reduced to what every link
    /// supports.
    #[must_use]
    pub fn usable_vls(&self) -> u8 {
        self.vls.min(self.topo.common_vls()).clamp(1, DATA_VLS_MAX)
    }
}

/// The installed tables and the routing run that computed them.
#[derive(Debug, Clone, Default)]
pub struct PreviousRouting {
    /// Installed table by [`crate::SwitchIdx`] of the *new* run; `None`, or an empty list, if the
    /// content is unknown.
    pub lfts: Vec<Option<Arc<Lft>>>,
    /// Position of each switch in the up/down order of the installed tables ([`Routing::order`]);
    /// `None`, or an empty list, if unknown.
    pub order: Vec<Option<u32>>,
    /// The previous run, if its tables are the installed ones and the switches have the same
    /// indices.
    pub last_run: Option<Arc<VerifiedRun>>,
    /// The previous run, if its switches have other indices.
    pub earlier_run: Option<EarlierRun>,
    /// Engine of the installed tables. Set if the graph has only lost switches or links since then:
    /// engines are not compared again, because new routes are urgent.
    pub pinned_engine: Option<&'static str>,
}

/// A previous run of other switches.
#[derive(Debug, Clone)]
pub struct EarlierRun {
    pub run: Arc<VerifiedRun>,
    /// By [`crate::SwitchIdx`] of the new run: the index of the switch in the previous run; `None`
    /// for a new switch.
    pub switches: Vec<Option<SwitchIdx>>,
}

/// A graph with the routing that was computed, verified and installed for it.
#[derive(Debug, Clone)]
pub struct VerifiedRun {
    /// The graph.
    pub topo: Arc<Topology>,
    pub routing: Routing,
    /// Routes over the busiest channel ([`crate::Proof::max_load`]) of the engine's routing, before
    /// any incremental reroute; 0 if unknown. Limits how much load incremental reroutes may add.
    pub baseline_max_load: u64,
    /// Cached state that makes the next incremental reroute fast.
    pub cache: RerouteCache,
}

impl PreviousRouting {
    /// No installed tables, or unknown ones.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            lfts: Vec::new(),
            order: Vec::new(),
            last_run: None,
            earlier_run: None,
            pinned_engine: None,
        }
    }

    /// The tables, switch order and cached state of `routing`, which was computed for the same
    /// switch indices.
    #[must_use]
    pub fn from_routing(topo: &Arc<Topology>, routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last_run: Some(Arc::new(VerifiedRun {
                topo: Arc::clone(topo),
                routing: routing.clone(),
                baseline_max_load: 0,
                cache: RerouteCache::new(),
            })),
            earlier_run: None,
            pinned_engine: None,
        }
    }

    /// The tables and switch order of `routing` without its cached state, as after a restart.
    #[must_use]
    pub fn from_tables_of(routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
            last_run: None,
            earlier_run: None,
            pinned_engine: None,
        }
    }

    /// Whether there are installed routes, all on one VL as far as known.
    pub(crate) fn is_on_one_vl(&self) -> bool {
        self.run().map_or_else(
            || self.lfts.iter().flatten().any(|lft| lft.has_routes()),
            |run| run.routing.vl_plan.is_single(),
        )
    }

    /// The previous run, whatever its switch indices are.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<VerifiedRun>> {
        let earlier = || self.earlier_run.as_ref().map(|earlier| &earlier.run);
        self.last_run.as_ref().or_else(earlier)
    }

    /// The installed table of a switch.
    pub(crate) fn table_of(&self, switch: usize) -> Option<&Arc<Lft>> {
        self.lfts.get(switch).and_then(Option::as_ref)
    }
}

impl VerifiedRun {
    /// Computes the cached state for the next incremental reroute. This takes about as long as a
    /// full verification, so call it when idle. Otherwise the first incremental reroute computes
    /// the state.
    pub fn prepare(&self) {
        self.cache.fill(&self.topo, &self.routing);
    }
}
