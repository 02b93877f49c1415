//! SLs of paths: from the installed routing, or restored from persisted records.
//!
//! Replies need only the SL of each pair of switch and LID, and that of multicast groups. Only
//! these are persisted, a row for each switch, so that they can be encoded and decoded without the
//! routing.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, Sl};
use ferrosm_routing::TreeConstraint;
use ferrosm_routing::vl_plan::PathSl;
use ferrosm_routing::{SwitchIdx, VerifiedRun};
use serde::{Deserialize, Serialize};

/// Source of SLs.
#[derive(Debug, Clone, Default)]
pub(super) enum ServiceLevels {
    /// No routing: SL 0, and any other SL is allowed.
    #[default]
    Unrouted,
    /// From the installed routing.
    Routed {
        /// The routing.
        run: Arc<VerifiedRun>,
        /// By slot: index of the switch in the routing.
        switches: Arc<[Option<SwitchIdx>]>,
    },
    /// From persisted records.
    Restored(Arc<RestoredSls>),
}

/// The installed routing and its switches.
#[derive(Debug, Clone, Copy)]
pub struct InstalledRouting<'a> {
    /// The graph and the routing.
    pub run: &'a Arc<VerifiedRun>,
    /// By slot.
    switches: &'a [Option<SwitchIdx>],
}

impl InstalledRouting<'_> {
    /// The switch of the routing in a slot.
    #[must_use]
    pub fn switch(&self, slot: u32) -> Option<SwitchIdx> {
        *self.switches.get(slot as usize)?
    }
}

/// The persisted part of a routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestoredSls {
    /// Data that does not belong to one switch.
    pub(super) lookup: SlLookup,
    /// By slot: a row for each switch of the routing; `Some(None)` if the indexing needs no rows.
    pub(super) rows: Vec<Option<SlRow>>,
}

/// Data that does not belong to one switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlLookup {
    /// All packets use one VL.
    pub(super) single_vl: bool,
    /// The SL that multicast packets must have, if any.
    pub(super) multicast_sl: Option<u8>,
    /// Lookup of SLs.
    pub(super) indexing: SlIndexing,
    /// Destination LIDs in ascending order, with the index of their switch in rows of
    /// [`SlIndexing::Switches`].
    pub(super) destinations: Vec<(u16, u32)>,
}

/// Lookup of an SL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SlIndexing {
    /// One SL for all paths.
    Uniform(u8),
    /// One row, indexed by LID.
    Lid(Arc<[u8]>),
    /// The row of the source's switch, indexed by the destination's switch.
    Switches,
    /// The row of the source's switch, indexed by LID.
    SwitchAndLid,
}

/// SLs of the paths from the end ports attached to one switch; `None` if the indexing needs no
/// rows.
pub(super) type SlRow = Option<Arc<[u8]>>;

impl ServiceLevels {
    /// From a routing and the slot of each of its switches, for `slots` slots.
    pub(super) fn from_run(run: Option<(Arc<VerifiedRun>, Vec<usize>)>, slots: usize) -> Self {
        let Some((run, switch_slots)) = run else {
            return Self::Unrouted;
        };
        let mut switches = vec![None; slots];
        for (slot, switch) in switch_slots.into_iter().zip(run.topo.switches()) {
            if let Some(at) = switches.get_mut(slot) {
                *at = Some(switch);
            }
        }
        Self::Routed {
            run,
            switches: switches.into(),
        }
    }

    /// The routing, unless it was restored.
    pub(super) fn installed(&self) -> Option<InstalledRouting<'_>> {
        match self {
            Self::Unrouted | Self::Restored(_) => None,
            Self::Routed { run, switches } => Some(InstalledRouting { run, switches }),
        }
    }

    /// Whether both have the same routing and switches.
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unrouted, Self::Unrouted) => true,
            (
                Self::Routed { run, switches },
                Self::Routed {
                    run: other_run,
                    switches: other_switches,
                },
            ) => Arc::ptr_eq(run, other_run) && switches == other_switches,
            (Self::Restored(a), Self::Restored(b)) => Arc::ptr_eq(a, b),
            (Self::Unrouted | Self::Routed { .. } | Self::Restored(_), _) => false,
        }
    }

    /// The same SLs without the routing; `None` if they depend on the path.
    pub(super) fn uniform_only(&self) -> Option<Self> {
        if matches!(self, Self::Unrouted) {
            return Some(Self::Unrouted);
        }
        let (sl, single_vl) = self.uniform()?;
        let lookup = SlLookup {
            single_vl,
            multicast_sl: self.multicast_sl().map(|sl| sl.0),
            indexing: SlIndexing::Uniform(sl.0),
            destinations: Vec::new(),
        };
        Some(Self::Restored(Arc::new(RestoredSls {
            lookup,
            rows: Vec::new(),
        })))
    }

    /// The SL of all packets, and whether any other SL is allowed; `None` if it depends on the
    /// path.
    pub(super) fn uniform(&self) -> Option<(Sl, bool)> {
        match self {
            Self::Unrouted => Some((Sl(0), true)),
            Self::Routed { run, .. } => {
                let vl_plan = &run.routing.vl_plan;
                Some((Sl(vl_plan.uniform_sl()?), vl_plan.is_single()))
            }
            Self::Restored(restored) => match restored.lookup.indexing {
                SlIndexing::Uniform(sl) => Some((Sl(sl), restored.lookup.single_vl)),
                SlIndexing::Lid(_) | SlIndexing::Switches | SlIndexing::SwitchAndLid => None,
            },
        }
    }

    /// The SL of packets to a LID that enter at the switch in slot `entry`, and whether any other
    /// SL is allowed. SL 0 if the switch or the LID is unknown.
    pub(super) fn sl(&self, entry: Option<u32>, to: Lid) -> (Sl, bool) {
        let entry = entry.map(|slot| slot as usize);
        // Most routings use one SL: no lookup then.
        if let Self::Routed { run, .. } = self
            && let Some(sl) = run.routing.vl_plan.uniform_sl()
        {
            return (Sl(sl), run.routing.vl_plan.is_single());
        }
        match self {
            Self::Unrouted => (Sl(0), true),
            Self::Routed { run, switches } => {
                let switch = entry.and_then(|slot| *switches.get(slot)?);
                let destinations = run.topo.destinations();
                let to = destinations.binary_search_by_key(&to, |d| d.lid).ok();
                let vl_plan = &run.routing.vl_plan;
                let sl = switch
                    .zip(to)
                    .map_or(0, |(s, d)| vl_plan.sl(s, &destinations[d]));
                (Sl(sl), vl_plan.is_single())
            }
            Self::Restored(restored) => {
                let sl = entry.and_then(|slot| restored.sl(slot, to)).unwrap_or(0);
                (Sl(sl), restored.lookup.single_vl)
            }
        }
    }

    /// The SL that multicast packets must have; `None` if any is allowed.
    pub(super) fn multicast_sl(&self) -> Option<Sl> {
        match self {
            Self::Unrouted => None,
            Self::Routed { run, .. } if run.routing.vl_plan.is_single() => None,
            Self::Routed { run, .. } => Some(match &run.routing.trees {
                TreeConstraint::Within { sl, .. } => Sl(*sl),
                TreeConstraint::Search | TreeConstraint::Ordered(_) => Sl(0),
            }),
            Self::Restored(restored) => restored.lookup.multicast_sl.map(Sl),
        }
    }

    /// The persisted data that does not belong to one switch; `None` without a routing.
    pub(super) fn lookup(&self) -> Option<SlLookup> {
        match self {
            Self::Unrouted => None,
            Self::Restored(restored) => Some(restored.lookup.clone()),
            Self::Routed { run, .. } => {
                let destinations = run.topo.destinations().iter();
                Some(SlLookup {
                    single_vl: run.routing.vl_plan.is_single(),
                    multicast_sl: self.multicast_sl().map(|sl| sl.0),
                    indexing: match &run.routing.vl_plan.path_sl {
                        PathSl::Uniform(sl) => SlIndexing::Uniform(*sl),
                        PathSl::ByLid(row) => SlIndexing::Lid(Arc::clone(row)),
                        PathSl::BySwitches(_) => SlIndexing::Switches,
                        PathSl::BySwitchAndLid(_) => SlIndexing::SwitchAndLid,
                    },
                    destinations: destinations.map(|d| (d.lid.0, d.switch.0)).collect(),
                })
            }
        }
    }

    /// The row of the switch in a slot; `None` if the routing has no switch there.
    pub(super) fn row(&self, slot: u32) -> Option<SlRow> {
        match self {
            Self::Unrouted => None,
            Self::Restored(restored) => restored.rows.get(slot as usize)?.clone(),
            Self::Routed { run, switches } => {
                let switch = (*switches.get(slot as usize)?)?;
                Some(match &run.routing.vl_plan.path_sl {
                    PathSl::Uniform(_) | PathSl::ByLid(_) => None,
                    PathSl::BySwitches(rows) | PathSl::BySwitchAndLid(rows) => {
                        rows.get(switch.index()).cloned()
                    }
                })
            }
        }
    }
}

impl SlLookup {
    /// Whether destinations can be searched for.
    pub(super) fn is_sorted(&self) -> bool {
        self.destinations.is_sorted_by(|a, b| a.0 < b.0)
    }
}

impl RestoredSls {
    fn sl(&self, entry: usize, to: Lid) -> Option<u8> {
        let row = self.rows.get(entry)?.as_ref()?;
        let destinations = &self.lookup.destinations;
        let to = destinations.binary_search_by_key(&to.0, |d| d.0).ok()?;
        let (lid, switch) = destinations[to];
        let in_row = |row: &[u8], i: usize| row.get(i).copied();
        match &self.lookup.indexing {
            SlIndexing::Uniform(sl) => Some(*sl),
            SlIndexing::Lid(sls) => in_row(sls, usize::from(lid)),
            SlIndexing::Switches => in_row(row.as_ref()?, switch as usize),
            SlIndexing::SwitchAndLid => in_row(row.as_ref()?, usize::from(lid)),
        }
    }
}
