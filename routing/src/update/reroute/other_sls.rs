//! Other SLs for pairs of switches that no route on their SL connects after a loss.
//!
//! An SL that no path has used is preferred, on a VL that no path has used: only the routes of
//! these pairs can form credit loops there. Both directions of a pair change, so that replies stay
//! on the SL of their request.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Failures, Job, Reroute};
use crate::channels::RoutingChannelOrder;
use crate::routing::Routing;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, VlPlan};

/// Maximum number of attempts, in each of which further pairs get another SL.
const ATTEMPTS_MAX: usize = 24;

impl Reroute<'_> {
    /// The rerouted routing with another SL for some pairs of switches. `None` if there is no such
    /// routing, or if it does not assign SLs to pairs of switches. With `old_sls_stay`, packets on
    /// the old SLs cannot deadlock on the remaining routes either, so that these need not be
    /// drained.
    pub(super) fn on_other_sls(
        &self,
        jobs: &[Job],
        usable_vls: u8,
        old_sls_stay: bool,
    ) -> Option<(Routing, RoutingChannelOrder)> {
        let candidates = candidates(self.vl_plan, usable_vls);
        // The index of the candidate of each pair, by (lower, higher) switch.
        let mut assigned: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut last_assigned: Vec<(usize, usize)> = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            let vl_plan = with_sls(self.topo, self.vl_plan, &candidates, &assigned)?;
            let reroute = Reroute::new(self.last, self.topo, &vl_plan, self.delta, None);
            let remaining_tables = reroute.tables_without(jobs);
            let mut failed = Failures::new();
            let before = Some(&self.vl_plan.path_sl).filter(|_| old_sls_stay);
            let solved = reroute.attach_in_graph(jobs, &remaining_tables, before, &mut failed);
            if let Some(solved) = solved {
                if failed.is_empty() {
                    return Some(reroute.to_routing(solved, jobs.len()));
                }
                last_assigned.clear();
                for job in jobs {
                    let unrouted = failed.remove(&job.dest.lid).unwrap_or_default();
                    let to = job.dest.switch.index();
                    last_assigned.extend(unrouted.into_iter().map(|v| (v.min(to), v.max(to))));
                }
                last_assigned.sort_unstable();
                last_assigned.dedup();
            }
            // If the old routes of these pairs alone can deadlock on their new SL, they get another
            // one too.
            for pair in &last_assigned {
                let next = assigned.get(pair).map_or(0, |candidate| candidate + 1);
                if next >= candidates.len() {
                    return None;
                }
                assigned.insert(*pair, next);
            }
        }
        None
    }
}

/// An SL, and the number of VLs that the plan needs for it.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    sl: u8,
    vls: u8,
}

/// SLs that pairs can get: unused ones on unused VLs first, then those of the plan.
fn candidates(vl_plan: &VlPlan, usable_vls: u8) -> Vec<Candidate> {
    let used = vl_plan.path_sl.used_sls();
    let unused_vls = vl_plan.vls..usable_vls;
    let unused: Vec<Candidate> = match &vl_plan.sl_to_vl {
        SlToVl::Modulo => unused_vls
            .map(|vl| Candidate {
                sl: vl,
                vls: vl + 1,
            })
            .filter(|c| used >> c.sl & 1 == 0)
            .collect(),
        SlToVl::PerPorts(_) => (0u8..)
            .take(SLS)
            .filter(|sl| used >> sl & 1 == 0)
            .zip(unused_vls)
            .map(|(sl, vl)| Candidate { sl, vls: vl + 1 })
            .collect(),
    };
    let in_use = (0u8..)
        .take(SLS)
        .filter(|sl| used >> sl & 1 == 1)
        .map(|sl| Candidate {
            sl,
            vls: vl_plan.vls,
        });
    unused.into_iter().chain(in_use).collect()
}

/// The plan with other SLs for pairs of switches; `None` if it assigns SLs to LIDs.
fn with_sls(
    topo: &Topology,
    vl_plan: &VlPlan,
    candidates: &[Candidate],
    assigned: &BTreeMap<(usize, usize), usize>,
) -> Option<VlPlan> {
    let mut vl_plan = vl_plan.clone();
    let mut rows: Vec<Vec<u8>> = match &vl_plan.path_sl {
        PathSl::BySwitches(rows) | PathSl::BySwitchAndLid(rows) => {
            rows.iter().map(|row| row.to_vec()).collect()
        }
        PathSl::Uniform(sl) => vec![vec![*sl; topo.num_switches()]; topo.num_switches()],
        PathSl::ByLid(_) => return None,
    };
    let by_lid = matches!(vl_plan.path_sl, PathSl::BySwitchAndLid(_));
    for (&(a, b), candidate) in assigned {
        let Candidate { sl, vls } = *candidates.get(*candidate)?;
        if vls > vl_plan.vls
            && let SlToVl::PerPorts(maps) = &mut vl_plan.sl_to_vl
        {
            maps.iter_mut().for_each(|maps| maps.set_sl(sl, vls - 1));
        }
        vl_plan.vls = vl_plan.vls.max(vls);
        for (from, to) in [(a, b), (b, a)] {
            if by_lid {
                for d in topo.destinations_on(SwitchIdx::from_index(to)) {
                    *rows.get_mut(from)?.get_mut(usize::from(d.lid.raw()))? = sl;
                }
            } else {
                *rows.get_mut(from)?.get_mut(to)? = sl;
            }
        }
    }
    let rows: Vec<Arc<[u8]>> = rows.into_iter().map(Arc::from).collect();
    vl_plan.path_sl = if by_lid {
        PathSl::BySwitchAndLid(rows)
    } else {
        PathSl::BySwitches(rows)
    };
    Some(vl_plan)
}
