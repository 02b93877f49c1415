//! Incremental reroute after a loss: only entries that used a lost link change (as in SlimUpdate,
//! Zahid and others, HiPINEB 2015).
//!
//! Works on the tables of any engine; its input is the previous run ([`crate::VerifiedRun`]). For
//! each LID with an entry over a lost channel, the switches whose route used the channel
//! (*orphans*) are attached to switches that still have a route. All other entries are unchanged.
//! For a new LID on a known switch, all other switches are orphans. Entries of removed LIDs become
//! DROP.
//!
//! New routes are free of credit loops on the existing VLs. If the tree constraint is
//! [`TreeConstraint::Ordered`] on one VL, all routes are up/down in that order, and new routes must
//! be too. Otherwise every new route is checked against the channel dependency graph of the tables
//! (`channels`). SLs of paths do not change.
//!
//! The caller verifies the result with [`crate::verify()`]. If no such routes exist, or if the load
//! would exceed [`RerouteLimits`], the reroute fails and the engine computes all routes.

mod delta;
mod guard;
mod lid_routes;
mod loads;
mod orphan_routing;
mod other_sls;
mod renumber;
mod trees;
mod within_vl_plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use crate::channels::{
    Lookup, RoutedDependencies, RoutingChannelOrder, VlChannelNumbers, dependency_graph,
    spanning_tree_constraint, with_spanning_tree,
};
use crate::messages::{Diagnostic, RerouteSummary};
use crate::request::{RoutingRequest, VerifiedRun};
use crate::routing::{Routing, TreeConstraint};
use crate::tables::{Lft, Tables};
use crate::topology::PortChannels;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::{PathSl, VlPlan};
use delta::Delta;
use guard::{Guard, Stage};
use lid_routes::{LidRoutes, RouteState};
use loads::ChannelLoads;
use orphan_routing::{OrphanRouting, Tail};

pub(crate) use within_vl_plan::reroute_within_vl_plan;

/// Limits beyond which an incremental reroute fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerouteLimits {
    /// Maximum load of a channel that gains routes, as a multiple of the greater of the previous
    /// maximum load and twice the current mean load. With 2, a downlink that carried the routes to
    /// one LID may carry those to two, which is unavoidable after a leaf lost an uplink.
    pub max_load_growth: f64,
    /// Maximum share of all (switch, LID) entries that may change.
    pub max_changed_share: f64,
    /// Number of entries that may change in any case.
    pub always_allowed_entries: usize,
}

impl Default for RerouteLimits {
    fn default() -> Self {
        Self {
            max_load_growth: 2.0,
            max_changed_share: 1.0 / 64.0,
            always_allowed_entries: 10_000,
        }
    }
}

/// Maximum load after any number of incremental reroutes, as a multiple of the load when the engine
/// computed the routing. A full tree that loses an uplink of a leaf needs more than 1.
pub(crate) const REROUTED_LOAD_MAX: u64 = 2;

/// Reroutes the previous run ([`crate::PreviousRouting::last_run`]) for the graph of this request,
/// within the default [`RerouteLimits`].
///
/// `None` if the previous run is unknown, if the graph has a new link or switch, or if no suitable
/// routes exist. Assumes unchanged [`crate::Hints`].
#[must_use]
pub fn reroute(request: &RoutingRequest<'_>) -> Option<Routing> {
    reroute_within(request, &RerouteLimits::default())
}

/// As [`reroute`], within these limits.
#[must_use]
pub fn reroute_within(request: &RoutingRequest<'_>, limits: &RerouteLimits) -> Option<Routing> {
    reroute_cached(request, limits).map(|(routing, _)| routing)
}

/// As [`reroute_within`]; also returns the dependencies for the next reroute.
pub(crate) fn reroute_cached(
    request: &RoutingRequest<'_>,
    limits: &RerouteLimits,
) -> Option<(Routing, RoutingChannelOrder)> {
    let last = request.previous.last_run.as_deref()?;
    let topo = request.topo;
    let n = topo.num_switches();
    let routing = &last.routing;
    if routing.tables.len() != n || routing.vl_plan.vls > request.usable_vls() {
        return None;
    }
    let delta = Delta::compare(&last.topo, topo).filter(|delta| !delta.has_new_links)?;
    let vl_plan = with_added_lids(topo, &routing.vl_plan, &delta.added)?;
    let reroute = Reroute::new(last, topo, &vl_plan, &delta, Some(limits));
    let jobs = reroute.jobs();
    let solved = reroute.solve(&jobs)?;
    Some(reroute.to_routing(solved, jobs.len()))
}

/// Result of a reroute.
struct Solved {
    changes: Vec<Change>,
    trees: TreeConstraint,
    dependencies: RoutingChannelOrder,
}

/// A LID to reroute.
struct Job {
    dest: Destination,
    /// Switches that lost their output link for the LID, with the port.
    tails: Vec<(usize, u8)>,
    /// All switches need a route: the LID is new, or all of its routes are computed again.
    is_complete: bool,
}

/// An entry that changes: switch, LID, port.
type Change = (usize, Lid, PortNum);

/// LIDs that cannot be rerouted, with the switches that would have no route.
type Failures = BTreeMap<Lid, Vec<usize>>;

/// One incremental reroute.
struct Reroute<'a> {
    last: &'a VerifiedRun,
    topo: &'a Topology,
    vl_plan: &'a VlPlan,
    channels: &'a PortChannels,
    /// The channels of the last run's graph.
    old_channels: &'a PortChannels,
    tables: Vec<&'a Lft>,
    /// `None`: any load and any number of changed entries is accepted.
    limits: Option<&'a RerouteLimits>,
    delta: &'a Delta,
}

impl<'a> Reroute<'a> {
    fn new(
        last: &'a VerifiedRun,
        topo: &'a Topology,
        vl_plan: &'a VlPlan,
        delta: &'a Delta,
        limits: Option<&'a RerouteLimits>,
    ) -> Self {
        Self {
            last,
            topo,
            vl_plan,
            channels: topo.port_channels(),
            old_channels: last.topo.port_channels(),
            tables: last.routing.tables.iter().map(Arc::as_ref).collect(),
            limits,
            delta,
        }
    }

    /// The rerouted routing, and the dependencies for the next reroute.
    fn to_routing(&self, solved: Solved, changed_lids: usize) -> (Routing, RoutingChannelOrder) {
        let (tables, changed_entries) = self.apply(&solved.changes);
        let summary = RerouteSummary {
            lost_links: self.delta.lost.len() / 2,
            removed_lids: self.delta.removed.len(),
            added_lids: self.delta.added.len(),
            changed_entries,
            changed_lids,
        };
        let routing = &self.last.routing;
        let earlier = routing
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.as_reroute().is_none());
        let reroute =
            (summary != RerouteSummary::default()).then_some(Diagnostic::Rerouted(summary));
        let rerouted = Routing {
            engine: routing.engine,
            tables,
            trees: solved.trees,
            order: routing.order.clone(),
            diagnostics: earlier.cloned().chain(reroute).collect(),
            vl_plan: self.vl_plan.clone(),
        };
        (rerouted, solved.dependencies)
    }

    /// Whether a switch has lost all links to other switches: it stays unreachable.
    fn is_isolated(&self, v: usize) -> bool {
        self.topo.num_switches() > 1 && self.topo.links(SwitchIdx::from_index(v)).is_empty()
    }

    /// The LIDs to reroute, ascending.
    fn jobs(&self) -> Vec<Job> {
        let mut owner: Vec<Option<Destination>> =
            vec![None; usize::from(self.topo.top_lid().raw()) + 1];
        for d in self.topo.destinations() {
            owner[usize::from(d.lid.raw())] = Some(*d);
        }
        for d in &self.delta.added {
            owner[usize::from(d.lid.raw())] = None;
        }
        let mut affected: Vec<(Lid, usize)> = Vec::new();
        for &(v, port) in &self.delta.lost {
            let entries = self.tables[v].entries().iter().zip(&owner);
            affected.extend(entries.filter_map(|(&p, d)| {
                let d = d.filter(|d| p == port && d.switch.index() != v)?;
                Some((d.lid, v))
            }));
        }
        affected.sort_unstable();
        let lost = affected.chunk_by(|a, b| a.0 == b.0).filter_map(|tails| {
            let dest = owner[usize::from(tails[0].0.raw())]?;
            let tails = tails
                .iter()
                .map(|t| (t.1, self.tables[t.1].get(dest.lid).raw()));
            Some(Job {
                dest,
                tails: tails.collect(),
                is_complete: false,
            })
        });
        let added = self.delta.added.iter().map(|&dest| Job {
            dest,
            tails: Vec::new(),
            is_complete: true,
        });
        let mut jobs: Vec<Job> = lost.chain(added).collect();
        jobs.sort_by_key(|job| job.dest.lid);
        jobs
    }

    /// Switches that lost their route to a LID, parents first. `seen` is scratch: the last LID for
    /// which a switch was visited.
    fn orphans(&self, job: &Job, seen: &mut [Lid]) -> Vec<usize> {
        let lid = job.dest.lid;
        if job.is_complete {
            let dest_switch = job.dest.switch.index();
            return (0..self.tables.len())
                .filter(|&v| v != dest_switch)
                .collect();
        }
        let mut orphans: Vec<usize> = job.tails.iter().map(|t| t.0).collect();
        orphans.iter().for_each(|&v| seen[v] = lid);
        let mut at = 0;
        while let Some(&v) = orphans.get(at) {
            at += 1;
            for link in self.topo.links(SwitchIdx::from_index(v)) {
                let u = link.peer.index();
                if seen[u] != lid && self.tables[u].get(lid) == link.peer_port {
                    seen[u] = lid;
                    orphans.push(u);
                }
            }
        }
        orphans
    }

    /// Whether this number of changed entries exceeds the limits.
    fn exceeds_limits(&self, changed: usize) -> bool {
        let Some(limits) = self.limits else {
            return false;
        };
        let num_entries = self.tables.len() as f64 * self.topo.destinations().len() as f64;
        changed > limits.always_allowed_entries
            && changed as f64 > num_entries * limits.max_changed_share
    }

    /// New entries for all jobs, and the new tree constraint.
    fn solve(&self, jobs: &[Job]) -> Option<Solved> {
        let routing = &self.last.routing;
        if let (TreeConstraint::Ordered(order), true) = (&routing.trees, self.vl_plan.is_single()) {
            return self.solve_up_down(jobs, order);
        }
        let dependencies = self.last.cache.dependencies();
        // First together with all old entries, so that the update is safe in any order of writes;
        // if that is impossible, without the old entries of orphans.
        self.solve_in_graph(jobs, &self.tables, dependencies)
            .or_else(|| {
                let mut remaining_tables: Tables = routing.tables.clone();
                let mut seen = vec![Lid::NONE; remaining_tables.len()];
                for job in jobs {
                    for v in self.orphans(job, &mut seen) {
                        Arc::make_mut(&mut remaining_tables[v]).set(job.dest.lid, PortNum::DROP);
                    }
                }
                let rows: Vec<&Lft> = remaining_tables.iter().map(Arc::as_ref).collect();
                self.solve_in_graph(jobs, &rows, dependencies)
            })
    }

    /// As [`Self::solve`], if all routes are up/down.
    fn solve_up_down(&self, jobs: &[Job], order: &[u32]) -> Option<Solved> {
        let order = if self.delta.lost.is_empty() && !self.delta.has_new_links {
            order.to_vec()
        } else {
            trees::without_local_roots(self.topo, order)?
        };
        let (changes, _) = self.attach(jobs, Guard::Order, Some(&order), None)?;
        Some(Solved {
            changes,
            trees: TreeConstraint::Ordered(order),
            dependencies: RoutingChannelOrder(None),
        })
    }

    /// As [`Self::solve`], with the channel dependencies of these tables: looked up on demand if a
    /// topological order is cached, computed in full if not, or if the lookups exceed their limit.
    fn solve_in_graph(
        &self,
        jobs: &[Job],
        rows: &[&Lft],
        dependencies: Option<&RoutingChannelOrder>,
    ) -> Option<Solved> {
        let trees = &spanning_tree_constraint(&self.last.topo, &self.last.routing.trees);
        let channels = VlChannelNumbers::new(self.channels, self.vl_plan);
        if let Some(order) = dependencies.and_then(|d| d.0.as_ref()) {
            let exhausted = AtomicBool::new(false);
            let lookup = Lookup::new(self.topo, rows, channels.packets, &exhausted);
            let exact = lookup.is_exact();
            let solved = RoutedDependencies::resume(channels, order, lookup)
                .and_then(|graph| with_spanning_tree(self.topo, trees, graph))
                .and_then(|graph| self.solve_with_graph(jobs, graph, trees));
            if solved.is_some() || (exact && !exhausted.load(Ordering::Relaxed)) {
                return solved;
            }
        }
        let graph = dependency_graph(self.topo, channels, None, rows, trees)?;
        self.solve_with_graph(jobs, graph, trees)
    }

    fn solve_with_graph(
        &self,
        jobs: &[Job],
        graph: RoutedDependencies<'_>,
        constraint: &TreeConstraint,
    ) -> Option<Solved> {
        let guard = Guard::Graph {
            graph: Box::new(graph),
            topo: self.topo,
        };
        let (changes, guard) = self.attach(jobs, guard, None, None)?;
        self.finish(changes, guard, constraint)
    }

    /// The multicast trees and the dependencies after the reroute.
    fn finish(
        &self,
        changes: Vec<Change>,
        guard: Guard<'_>,
        constraint: &TreeConstraint,
    ) -> Option<Solved> {
        let Guard::Graph { mut graph, .. } = guard else {
            return None;
        };
        let trees = trees::spanning(self.topo, constraint, &mut graph);
        Some(Solved {
            changes,
            trees,
            dependencies: RoutingChannelOrder(Some(graph.into_order())),
        })
    }

    /// The entries that change, and the dependencies with them. `None` if a LID cannot be rerouted,
    /// unless there is a list of such LIDs: then the LID is added to the list and its entries stay.
    fn attach<'g>(
        &'g self,
        jobs: &[Job],
        guard: Guard<'g>,
        order: Option<&'g [u32]>,
        mut failed: Option<&mut Failures>,
    ) -> Option<(Vec<Change>, Guard<'g>)> {
        let n = self.topo.num_switches();
        let by_lid: Vec<usize> = self
            .topo
            .by_lid()
            .into_iter()
            .map(SwitchIdx::index)
            .collect();
        let mut rank = vec![0; n];
        for (i, &v) in by_lid.iter().enumerate() {
            rank[v] = i;
        }
        let loads = ChannelLoads::estimate(
            self.topo,
            self.old_channels,
            self.channels,
            &self.tables,
            &by_lid,
            &self.delta.lost,
        );
        let mut routing = OrphanRouting {
            topo: self.topo,
            channels: self.channels,
            old_channels: self.old_channels,
            routes: LidRoutes::new(self.channels, &self.tables, order),
            guard,
            loads,
            rank,
            order_changed: order.is_some_and(
                |order| !matches!(&self.last.routing.trees, TreeConstraint::Ordered(was) if was == order),
            ),
            expected: vec![0; n],
            counted: Vec::new(),
            tail_switches: Vec::new(),
            tried: vec![(0, Stage::Any, 0); n],
        };
        let mut changes = Vec::new();
        let mut seen = vec![Lid::NONE; n];
        let mut changed = 0;
        let mut tails: Vec<Tail> = Vec::new();
        for job in jobs {
            let dest = &job.dest;
            let orphans = self.orphans(job, &mut seen);
            // Load over the lost links: the end ports of all orphans.
            let load: u64 = orphans.iter().map(|&v| routing.weight(dest, v)).sum();
            let load_per_tail = load.div_ceil(job.tails.len().max(1) as u64);
            tails.clear();
            tails.extend(job.tails.iter().filter_map(|&(at, port)| {
                let (to, _) = self.old_channels.peer(at, port)?;
                Some(Tail {
                    at,
                    to,
                    load: load_per_tail,
                })
            }));
            let has_tails_only = !job.is_complete && tails.len() == job.tails.len();
            if has_tails_only && routing.attach_tails(dest, &tails) {
                let port = |v: usize| PortNum(routing.routes.next_port(v));
                changes.extend(tails.iter().map(|t| (t.at, dest.lid, port(t.at))));
                continue;
            }
            changed += orphans.len();
            if self.exceeds_limits(changed + changes.len()) {
                return None;
            }
            let unreachable =
                |v: usize| self.is_isolated(v) || self.is_isolated(dest.switch.index());
            let (isolated, connected): (Vec<usize>, Vec<usize>) =
                orphans.iter().partition(|&&v| unreachable(v));
            changes.extend(isolated.into_iter().map(|v| (v, dest.lid, PortNum::DROP)));
            if !routing.attach_orphans(dest, &connected) {
                let failed = failed.as_deref_mut()?;
                let mut unrouted = connected;
                unrouted.retain(|v| routing.routes.state(*v) == RouteState::Orphan);
                failed.insert(dest.lid, unrouted);
                routing.undo_lid();
                continue;
            }
            for v in connected {
                if matches!(routing.routes.state(v), RouteState::Reaches(_)) {
                    changes.push((v, dest.lid, PortNum(routing.routes.next_port(v))));
                }
            }
        }
        if let Some(limits) = self.limits {
            let loads = &routing.loads;
            let allowed =
                loads.max_before.max(2 * loads.mean(self.topo)) as f64 * limits.max_load_growth;
            if loads.max_of_gaining() as f64 > allowed {
                return None;
            }
        }
        Some((changes, routing.guard))
    }

    /// The tables with these changes, and the number of changed entries. Unchanged tables are
    /// shared.
    fn apply(&self, changes: &[Change]) -> (Tables, usize) {
        let n = self.topo.num_switches();
        let top = self.topo.top_lid();
        let mut rows: BTreeMap<usize, Vec<(Lid, PortNum)>> = BTreeMap::new();
        for &(v, lid, port) in changes {
            rows.entry(v).or_default().push((lid, port));
        }
        for d in self.delta.added.iter().chain(&self.delta.moved) {
            let row = rows.entry(d.switch.index()).or_default();
            row.push((d.lid, d.port));
        }
        let removed = &self.delta.removed;
        if !removed.is_empty() {
            for v in 0..n {
                let row = rows.entry(v).or_default();
                row.extend(removed.iter().map(|&lid| (lid, PortNum::DROP)));
            }
        }
        let mut tables = self.last.routing.tables.clone();
        let rows: Vec<_> = rows.into_iter().collect();
        let changed: Vec<(usize, Option<Lft>, usize)> = rows
            .into_par_iter()
            .map(|(v, mut row)| {
                let old_row = self.tables[v];
                row.retain(|&(lid, port)| old_row.get(lid) != port);
                if row.is_empty() {
                    return (v, None, 0);
                }
                let mut entries = old_row.entries().to_vec();
                entries.resize(usize::from(top.raw()) + 1, PortNum::DROP.raw());
                let mut lft = Lft::from_entries(entries);
                row.iter().for_each(|&(lid, port)| lft.set(lid, port));
                (v, Some(lft), row.len())
            })
            .collect();
        let mut changed_entries = 0;
        for (v, lft, entries) in changed {
            changed_entries += entries;
            if let Some(lft) = lft {
                tables[v] = Arc::new(lft);
            }
        }
        (tables, changed_entries)
    }
}

/// The VL plan, with added LIDs on the SLs of another LID of their switch, or of the nearest switch
/// that has one. `None` if there is none.
fn with_added_lids(topo: &Topology, vl_plan: &VlPlan, added: &[Destination]) -> Option<VlPlan> {
    let mut vl_plan = vl_plan.clone();
    let mut rows: Vec<&mut Arc<[u8]>> = match &mut vl_plan.path_sl {
        PathSl::Uniform(_) | PathSl::BySwitches(_) => return Some(vl_plan),
        PathSl::ByLid(row) => vec![row],
        PathSl::BySwitchAndLid(rows) => rows.iter_mut().collect(),
    };
    let known = |d: &Destination| added.binary_search_by_key(&d.lid, |c| c.lid).is_err();
    let known_on = |s: SwitchIdx| {
        let siblings = topo.destinations_on(s).iter().filter(|s| known(s));
        siblings.max_by_key(|s| (s.port != PortNum::ZERO, std::cmp::Reverse(s.lid)))
    };
    let mut copies = Vec::new();
    for d in added {
        let sibling = nearest_first(topo, d.switch).find_map(known_on)?;
        copies.push((usize::from(sibling.lid.raw()), usize::from(d.lid.raw())));
    }
    if !copies.is_empty() {
        for row in &mut rows {
            let mut sls = row.to_vec();
            sls.resize(sls.len().max(usize::from(topo.top_lid().raw()) + 1), 0);
            for &(from, to) in &copies {
                sls[to] = sls[from];
            }
            **row = sls.into();
        }
    }
    Some(vl_plan)
}

/// A switch and the others by distance from it.
fn nearest_first(topo: &Topology, from: SwitchIdx) -> impl Iterator<Item = SwitchIdx> + '_ {
    let mut found = vec![from];
    let mut at = 0;
    std::iter::from_fn(move || {
        let s = *found.get(at)?;
        at += 1;
        for link in topo.links(s) {
            if !found.contains(&link.peer) {
                found.push(link.peer);
            }
        }
        Some(s)
    })
}
