//! Reroute within the VL plan at any cost in load, for a fabric whose running traffic must not be
//! interrupted.
//!
//! An engine assigns SLs and VLs anew. If several VLs carry traffic, its routing can only be
//! installed after all packets have drained. This reroute keeps the SL of each path and the VL of
//! each SL. It also keeps all routes that still exist, with these steps for the others:
//!
//! 1. New routes that are free of credit loops together with all old entries, so that no packet is
//!    dropped for the update.
//! 2. The same without the entries whose routes are lost.
//! 3. LIDs that still have no such routes are routed from all switches again, without their old
//!    entries.
//! 4. Pairs of switches without a route on their SL get another one (`other_sls`). This is the only
//!    step that changes SLs.
//!
//! Links and switches may be lost and new. A new link carries routes only where others are lost; a
//! new switch is attached to a neighbour and uses its SLs.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use super::delta::Delta;
use super::guard::Guard;
use super::renumber::renumber;
use super::{Change, Failures, Job, Reroute, Solved, with_added_lids};
use crate::channels::{VlChannelNumbers, dependency_graph, spanning_tree_constraint};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::{Lft, Tables};
use crate::topology::SwitchIdx;
use crate::vl_plan::{PathSl, VlPlan};

/// Maximum number of attempts in which further LIDs are routed from all switches again.
const ATTEMPTS_MAX: usize = 16;

/// Reroutes the last routing ([`crate::PreviousRouting::last_run`] or
/// [`crate::PreviousRouting::earlier_run`]) within its VL plan. `None` without a last routing, or
/// if no routes are found.
pub(crate) fn reroute_within_vl_plan(request: &RoutingRequest<'_>) -> Option<Routing> {
    let renumbered = renumber(request)?;
    let last = &*renumbered.last;
    if last.routing.tables.len() != renumbered.topo.num_switches() {
        return None;
    }
    let delta = Delta::compare(&last.topo, &renumbered.topo)?;
    let vl_plan = with_added_lids(&renumbered.topo, &last.routing.vl_plan, &delta.added)?;
    let reroute = Reroute::new(last, &renumbered.topo, &vl_plan, &delta, None);
    let jobs = reroute.jobs_for_all_unrouted();
    // Another VL would change all SLtoVL tables.
    let usable_vls = if request.kept.has_sl_to_vl() {
        vl_plan.vls
    } else {
        request.usable_vls()
    };
    let (routing, _) = match reroute.solve_at_any_load(&jobs) {
        Some(solved) => reroute.to_routing(solved, jobs.len()),
        None => [true, false]
            .into_iter()
            .find_map(|old_sls_stay| reroute.on_other_sls(&jobs, usable_vls, old_sls_stay))?,
    };
    Some(renumbered.restore(routing))
}

impl Reroute<'_> {
    /// As [`Self::jobs`], and also for switches whose entry leads nowhere, because the LID was
    /// unreachable before.
    fn jobs_for_all_unrouted(&self) -> Vec<Job> {
        let mut jobs = self.jobs();
        if !self.delta.has_new_links {
            return jobs;
        }
        for d in self.topo.destinations() {
            let job = jobs.binary_search_by_key(&d.lid, |job| job.dest.lid);
            if job.is_ok_and(|i| jobs[i].is_complete) {
                continue;
            }
            let leads_nowhere = |v: &usize| {
                let port = self.tables[*v].get(d.lid);
                *v != d.switch.index()
                    && self
                        .topo
                        .neighbor(SwitchIdx::from_index(*v), port)
                        .is_none()
            };
            let tails: Vec<(usize, u8)> = (0..self.tables.len())
                .filter(leads_nowhere)
                .map(|v| (v, self.tables[v].get(d.lid).raw()))
                .collect();
            match job {
                _ if tails.is_empty() => {}
                Ok(i) => {
                    jobs[i].tails.extend(tails);
                    jobs[i].tails.sort_unstable();
                    jobs[i].tails.dedup();
                }
                Err(i) => {
                    let job = Job {
                        dest: *d,
                        tails,
                        is_complete: false,
                    };
                    jobs.insert(i, job);
                }
            }
        }
        jobs
    }

    /// New routes on the SLs of the VL plan.
    fn solve_at_any_load(&self, jobs: &[Job]) -> Option<Solved> {
        let routing = &self.last.routing;
        if let (TreeConstraint::Ordered(order), true) = (&routing.trees, self.vl_plan.is_single())
            && let Some(solved) = self.solve_up_down(jobs, order)
        {
            return Some(solved);
        }
        // LIDs whose lost entries are ignored, and LIDs to route from all switches, in the order in
        // which they are routed.
        let mut ignored: BTreeSet<Lid> = BTreeSet::new();
        let mut complete: Vec<Lid> = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            let jobs = self.with_complete_jobs(jobs, &complete);
            let replaced = jobs
                .iter()
                .filter(|job| ignored.contains(&job.dest.lid) || complete.contains(&job.dest.lid));
            let remaining_tables = self.tables_without(replaced);
            let mut failed = Failures::new();
            let solved = self.attach_in_graph(&jobs, &remaining_tables, None, &mut failed)?;
            if failed.is_empty() {
                return Some(solved);
            }
            let first = complete.first().copied();
            for lid in failed.into_keys() {
                if let Some(at) = complete.iter().position(|c| *c == lid) {
                    complete.remove(at);
                    complete.insert(0, lid);
                } else if !ignored.insert(lid) {
                    complete.push(lid);
                }
            }
            // The first of all LIDs has no routes: neither has it in another order.
            if first.is_some() && complete.first() == first.as_ref() && complete.len() == 1 {
                return None;
            }
        }
        None
    }

    /// The jobs, with those of `complete` LIDs first and for all switches.
    fn with_complete_jobs(&self, jobs: &[Job], complete: &[Lid]) -> Vec<Job> {
        let complete_job = |lid: &Lid| {
            let destinations = self.topo.destinations();
            let at = destinations.binary_search_by_key(lid, |d| d.lid).ok()?;
            Some(Job {
                dest: destinations[at],
                tails: Vec::new(),
                is_complete: true,
            })
        };
        let others = jobs
            .iter()
            .filter(|job| !complete.contains(&job.dest.lid))
            .map(|job| Job {
                dest: job.dest,
                tails: job.tails.clone(),
                is_complete: job.is_complete,
            });
        complete
            .iter()
            .filter_map(complete_job)
            .chain(others)
            .collect()
    }

    /// The old tables without the entries that jobs replace.
    pub(super) fn tables_without<'j>(&self, jobs: impl IntoIterator<Item = &'j Job>) -> Tables {
        let mut tables = self.last.routing.tables.clone();
        let mut seen = vec![Lid::NONE; tables.len()];
        for job in jobs {
            for v in self.orphans(job, &mut seen) {
                if tables[v].get(job.dest.lid) != PortNum::DROP {
                    Arc::make_mut(&mut tables[v]).set(job.dest.lid, PortNum::DROP);
                }
            }
        }
        tables
    }

    /// New entries for all jobs but those in `failed`, and the new tree constraint. `None` if the
    /// entries of `remaining_tables` alone can deadlock, for packets on the SLs of the VL plan and
    /// those of `before`.
    pub(super) fn attach_in_graph(
        &self,
        jobs: &[Job],
        remaining_tables: &Tables,
        before: Option<&PathSl>,
        failed: &mut Failures,
    ) -> Option<Solved> {
        let rows: &[&Lft] = &remaining_tables.iter().map(Arc::as_ref).collect::<Vec<_>>();
        let trees = &spanning_tree_constraint(&self.last.topo, &self.last.routing.trees);
        let plan_before = before.map(|path_sl| VlPlan {
            path_sl: path_sl.clone(),
            ..self.vl_plan.clone()
        });
        let before = plan_before
            .as_ref()
            .map(|plan| VlChannelNumbers::new(self.channels, plan));
        let channels = VlChannelNumbers::new(self.channels, self.vl_plan);
        let with_trees = dependency_graph(self.topo, channels, before, rows, trees);
        let (graph, trees) = match with_trees {
            Some(graph) => (graph, trees),
            // A new link may close a cycle with the spanning tree of multicast groups.
            None => {
                let trees = &TreeConstraint::Search;
                (
                    dependency_graph(self.topo, channels, before, rows, trees)?,
                    trees,
                )
            }
        };
        let guard = Guard::Graph {
            graph: Box::new(graph),
            topo: self.topo,
        };
        let (changes, guard): (Vec<Change>, _) = self.attach(jobs, guard, None, Some(failed))?;
        self.finish(changes, guard, trees)
    }
}
