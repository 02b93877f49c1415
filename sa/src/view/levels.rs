//! Service levels of paths as answers need them: from the routing in force, or as they were kept over a restart.
//!
//! A routing holds its graph and all that its engine knew; of that, answers need the SL of each pair of switch and LID, and that
//! of groups. Only this is kept, row by row, so that it can be written and read without a routing.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, Sl};
use ferrosm_routing::engine::TreeConstraint;
use ferrosm_routing::lanes::PathSl;
use ferrosm_routing::{LastRun, SwitchIdx};

/// Where SLs come from.
#[derive(Debug, Clone, Default)]
pub(super) enum Levels {
    /// Nothing is routed: SL 0, and any other will do.
    #[default]
    Unrouted,
    /// From the routing in force.
    Routed {
        /// The routing.
        run: Arc<LastRun>,
        /// By place: index in it.
        routed: Arc<[Option<SwitchIdx>]>,
    },
    /// From a routing of the past.
    Kept(Arc<Kept>),
}

/// What is kept of a routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// Whatever belongs to no single switch.
    pub(super) common: Common,
    /// By place: switches that the routing had, with their row where rows differ.
    pub(super) rows: Vec<Option<Row>>,
}

/// What belongs to no single switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Common {
    /// All packets are on one lane.
    pub(super) single: bool,
    /// The SL that packets of groups must have, if any.
    pub(super) groups: Option<u8>,
    /// How SLs are looked up.
    pub(super) by: By,
    /// LIDs that packets can go to, ascending, and the index that their switch has in rows by switches.
    pub(super) destinations: Vec<(u16, u32)>,
}

/// How an SL is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
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
pub(super) type Row = Option<Arc<[u8]>>;

impl Levels {
    /// Of a routing and the place of each of its switches, for so many places.
    pub(super) fn of_run(run: Option<(Arc<LastRun>, Vec<usize>)>, places: usize) -> Self {
        let Some((run, switches)) = run else {
            return Self::Unrouted;
        };
        let mut routed = vec![None; places];
        for (place, switch) in switches.into_iter().zip(run.topo.switches()) {
            if let Some(at) = routed.get_mut(place) {
                *at = Some(switch);
            }
        }
        Self::Routed {
            run,
            routed: routed.into(),
        }
    }

    /// The SL of all packets, and whether another would do too; `None` where it depends on the path.
    pub(super) fn of_all(&self) -> Option<(Sl, bool)> {
        match self {
            Self::Unrouted => Some((Sl(0), true)),
            Self::Routed { run, .. } => {
                let lanes = &run.routing.vl_plan;
                Some((Sl(lanes.uniform_sl()?), lanes.is_single()))
            }
            Self::Kept(kept) => match kept.common.by {
                By::Uniform(sl) => Some((Sl(sl), kept.common.single)),
                By::Lid(_) | By::Switches | By::SwitchAndLid => None,
            },
        }
    }

    /// The SL of packets that enter at the switch at a place and go to a LID, and whether another would do too. 0 where nothing
    /// is known of either.
    pub(super) fn sl(&self, enters: Option<u32>, to: Lid) -> (Sl, bool) {
        let enters = enters.map(|place| place as usize);
        // Most routings have one SL for all: nothing is looked up then.
        if let Self::Routed { run, .. } = self
            && let Some(sl) = run.routing.vl_plan.uniform_sl()
        {
            return (Sl(sl), run.routing.vl_plan.is_single());
        }
        match self {
            Self::Unrouted => (Sl(0), true),
            Self::Routed { run, routed } => {
                let switch = enters.and_then(|place| *routed.get(place)?);
                let destinations = run.topo.destinations();
                let to = destinations.binary_search_by_key(&to, |d| d.lid).ok();
                let lanes = &run.routing.vl_plan;
                let sl = switch
                    .zip(to)
                    .map_or(0, |(s, d)| lanes.sl(s, &destinations[d]));
                (Sl(sl), lanes.is_single())
            }
            Self::Kept(kept) => {
                let sl = enters.and_then(|place| kept.sl(place, to)).unwrap_or(0);
                (Sl(sl), kept.common.single)
            }
        }
    }

    /// The SL that packets of groups must have; `None` where any will do.
    pub(super) fn of_groups(&self) -> Option<Sl> {
        match self {
            Self::Unrouted => None,
            Self::Routed { run, .. } if run.routing.vl_plan.is_single() => None,
            Self::Routed { run, .. } => Some(match &run.routing.trees {
                TreeConstraint::Within { sl, .. } => Sl(*sl),
                TreeConstraint::Search | TreeConstraint::Ordered(_) => Sl(0),
            }),
            Self::Kept(kept) => kept.common.groups.map(Sl),
        }
    }

    /// What is to be kept beside rows; `None` where nothing is routed.
    pub(super) fn common(&self) -> Option<Common> {
        match self {
            Self::Unrouted => None,
            Self::Kept(kept) => Some(kept.common.clone()),
            Self::Routed { run, .. } => {
                let destinations = run.topo.destinations().iter();
                let index = |switch: SwitchIdx| u32::try_from(switch.index()).unwrap_or(u32::MAX);
                Some(Common {
                    single: run.routing.vl_plan.is_single(),
                    groups: self.of_groups().map(|sl| sl.0),
                    by: match &run.routing.vl_plan.path_sl {
                        PathSl::Uniform(sl) => By::Uniform(*sl),
                        PathSl::ByLid(row) => By::Lid(Arc::clone(row)),
                        PathSl::BySwitches(_) => By::Switches,
                        PathSl::BySwitchAndLid(_) => By::SwitchAndLid,
                    },
                    destinations: destinations.map(|d| (d.lid.0, index(d.switch))).collect(),
                })
            }
        }
    }

    /// The row of the switch at a place; `None` where the routing has no switch.
    pub(super) fn row(&self, place: u32) -> Option<Row> {
        match self {
            Self::Unrouted => None,
            Self::Kept(kept) => kept.rows.get(place as usize)?.clone(),
            Self::Routed { run, routed } => {
                let switch = (*routed.get(place as usize)?)?;
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

impl Kept {
    fn sl(&self, enters: usize, to: Lid) -> Option<u8> {
        let row = self.rows.get(enters)?.as_ref()?;
        let destinations = &self.common.destinations;
        let to = destinations.binary_search_by_key(&to.0, |d| d.0).ok()?;
        let (lid, switch) = destinations[to];
        let in_row = |row: &[u8], i: usize| row.get(i).copied();
        match &self.common.by {
            By::Uniform(sl) => Some(*sl),
            By::Lid(sls) => in_row(sls, usize::from(lid)),
            By::Switches => in_row(row.as_ref()?, switch as usize),
            By::SwitchAndLid => in_row(row.as_ref()?, usize::from(lid)),
        }
    }
}
