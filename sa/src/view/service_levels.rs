//! Service levels of paths as answers need them: from the routing in force, or as they were kept over a restart.
//!
//! A routing holds its graph and all that its engine knew; of that, answers need the SL of each pair of switch and LID, and that
//! of groups. Only this is kept, row by row, so that it can be written and read without a routing.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, Sl};
use ferrosm_routing::engine::TreeConstraint;
use ferrosm_routing::vl_plan::PathSl;
use ferrosm_routing::{LastRun, SwitchIdx};

/// Where SLs come from.
#[derive(Debug, Clone, Default)]
pub(super) enum ServiceLevels {
    /// Nothing is switches: SL 0, and any other will do.
    #[default]
    Unrouted,
    /// From the routing in force.
    Routed {
        /// The routing.
        run: Arc<LastRun>,
        /// SlIndexing slot: index in it.
        switches: Arc<[Option<SwitchIdx>]>,
    },
    /// From a routing of the past.
    Restored(Arc<RestoredSls>),
}

/// What is kept of a routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestoredSls {
    /// Whatever belongs to no single switch.
    pub(super) lookup: SlLookup,
    /// SlIndexing slot: switches that the routing had, with their row where rows differ.
    pub(super) rows: Vec<Option<SlRow>>,
}

/// What belongs to no single switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlLookup {
    /// All packets are on one lane.
    pub(super) single_vl: bool,
    /// The SL that packets of groups must have, if any.
    pub(super) multicast_sl: Option<u8>,
    /// How SLs are looked up.
    pub(super) indexing: SlIndexing,
    /// LIDs that packets can go to, ascending, and the index that their switch has in rows by switches.
    pub(super) destinations: Vec<(u16, u32)>,
}

/// How an SL is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlIndexing {
    /// The same for all.
    Uniform(u8),
    /// In one row, by LID.
    Lid(Arc<[u8]>),
    /// In the row of the switch where packets enter, by the switch of the destination.
    Switches,
    /// In the row of the switch where packets enter, by LID.
    SwitchAndLid,
}

/// SLs of packets that enter at one switch; `None` where it has no row of its own.
pub(super) type SlRow = Option<Arc<[u8]>>;

impl ServiceLevels {
    /// Of a routing and the slot of each of its switches, for so many slots.
    pub(super) fn from_run(run: Option<(Arc<LastRun>, Vec<usize>)>, slots: usize) -> Self {
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

    /// The SL of all packets, and whether another would do too; `None` where it depends on the path.
    pub(super) fn uniform(&self) -> Option<(Sl, bool)> {
        match self {
            Self::Unrouted => Some((Sl(0), true)),
            Self::Routed { run, .. } => {
                let lanes = &run.routing.vl_plan;
                Some((Sl(lanes.uniform_sl()?), lanes.is_single()))
            }
            Self::Restored(kept) => match kept.lookup.indexing {
                SlIndexing::Uniform(sl) => Some((Sl(sl), kept.lookup.single_vl)),
                SlIndexing::Lid(_) | SlIndexing::Switches | SlIndexing::SwitchAndLid => None,
            },
        }
    }

    /// The SL of packets that enter at the switch at a slot and go to a LID, and whether another would do too. 0 where nothing
    /// is known of either.
    pub(super) fn sl(&self, enters: Option<u32>, to: Lid) -> (Sl, bool) {
        let enters = enters.map(|slot| slot as usize);
        // Most routings have one SL for all: nothing is looked up then.
        if let Self::Routed { run, .. } = self
            && let Some(sl) = run.routing.vl_plan.uniform_sl()
        {
            return (Sl(sl), run.routing.vl_plan.is_single());
        }
        match self {
            Self::Unrouted => (Sl(0), true),
            Self::Routed { run, switches } => {
                let switch = enters.and_then(|slot| *switches.get(slot)?);
                let destinations = run.topo.destinations();
                let to = destinations.binary_search_by_key(&to, |d| d.lid).ok();
                let lanes = &run.routing.vl_plan;
                let sl = switch
                    .zip(to)
                    .map_or(0, |(s, d)| lanes.sl(s, &destinations[d]));
                (Sl(sl), lanes.is_single())
            }
            Self::Restored(kept) => {
                let sl = enters.and_then(|slot| kept.sl(slot, to)).unwrap_or(0);
                (Sl(sl), kept.lookup.single_vl)
            }
        }
    }

    /// The SL that packets of groups must have; `None` where any will do.
    pub(super) fn multicast_sl(&self) -> Option<Sl> {
        match self {
            Self::Unrouted => None,
            Self::Routed { run, .. } if run.routing.vl_plan.is_single() => None,
            Self::Routed { run, .. } => Some(match &run.routing.trees {
                TreeConstraint::Within { sl, .. } => Sl(*sl),
                TreeConstraint::Search | TreeConstraint::Ordered(_) => Sl(0),
            }),
            Self::Restored(kept) => kept.lookup.multicast_sl.map(Sl),
        }
    }

    /// What is to be kept beside rows; `None` where nothing is switches.
    pub(super) fn lookup(&self) -> Option<SlLookup> {
        match self {
            Self::Unrouted => None,
            Self::Restored(kept) => Some(kept.lookup.clone()),
            Self::Routed { run, .. } => {
                let destinations = run.topo.destinations().iter();
                let index = |switch: SwitchIdx| u32::try_from(switch.index()).unwrap_or(u32::MAX);
                Some(SlLookup {
                    single_vl: run.routing.vl_plan.is_single(),
                    multicast_sl: self.multicast_sl().map(|sl| sl.0),
                    indexing: match &run.routing.vl_plan.path_sl {
                        PathSl::Uniform(sl) => SlIndexing::Uniform(*sl),
                        PathSl::ByLid(row) => SlIndexing::Lid(Arc::clone(row)),
                        PathSl::BySwitches(_) => SlIndexing::Switches,
                        PathSl::BySwitchAndLid(_) => SlIndexing::SwitchAndLid,
                    },
                    destinations: destinations.map(|d| (d.lid.0, index(d.switch))).collect(),
                })
            }
        }
    }

    /// The row of the switch at a slot; `None` where the routing has no switch.
    pub(super) fn row(&self, slot: u32) -> Option<SlRow> {
        match self {
            Self::Unrouted => None,
            Self::Restored(kept) => kept.rows.get(slot as usize)?.clone(),
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

impl RestoredSls {
    fn sl(&self, enters: usize, to: Lid) -> Option<u8> {
        let row = self.rows.get(enters)?.as_ref()?;
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
