//! Re-routes after a loss without routing anew: only those who used what is lost get another way (the idea of `SlimUpdate`).
//!
//! Works on the tables of any engine: it knows the run before ([`crate::LastRun`]), not how it was made. For each LID with
//! an entry over a lost channel the switches whose way led over it (the *orphans*) are attached again to those that still
//! arrive; all others keep their entries, to the letter. New LIDs on switches that were there are routed with everybody an
//! orphan; entries of LIDs that are gone are dropped.
//!
//! Ways stay free of credit loops on the lanes that they have: where the routing promises trees in an order
//! ([`TreeConstraint::Ordered`], one lane) every route climbs first and descends then, or such trees would not be safe, and new
//! ways do so too. Otherwise the dependency graph of the tables is built (`channels`) and checked with every way that is
//! added. SLs of paths never change.
//!
//! It never decides that its result is good enough: [`crate::verify()`] does. Where it cannot keep these promises, or
//! where balance would suffer more than [`RerouteLimits`] allow, it gives nothing, and the engine runs whole.

mod attach;
mod column;
mod delta;
mod guard;
mod loads;
mod trees;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use crate::channels::{Lookup, PortChannels, RoutedDependencies, VirtualChannels};
use crate::diagnostics::{Diagnostic, RerouteSummary};
use crate::engine::{LastRun, Request, Routing, TreeConstraint};
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::{PathSl, VlPlan};

use attach::{Attach, Tail};
use column::{Column, Place};
use delta::Delta;
use guard::{Guard, Stage};
use loads::Loads;
pub(crate) use ways::Ways;
use ways::{whole, with_tree};

/// When a repair is not worth having.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerouteLimits {
    /// No channel to which routes move may carry more than so many times what the busiest one carried before (or twice
    /// the mean now, if that is more). 2 lets a LID come down where one did before: after the loss of a leaf's cable that
    /// has to happen somewhere.
    pub max_load_growth: f64,
    /// At most this part of all (switch, LID) entries may have to move, ...
    pub max_moved_share: f64,
    /// ... but so many always may.
    pub moved_always: usize,
}

impl Default for RerouteLimits {
    fn default() -> Self {
        Self {
            max_load_growth: 2.0,
            max_moved_share: 1.0 / 64.0,
            moved_always: 10_000,
        }
    }
}

/// Repairs the routing of the run before ([`crate::Previous::last`]) for the graph of this one, within the default
/// [`RerouteLimits`].
///
/// `None` if nothing is known of the run before, if there is more to do than a repair can (a cable or a switch was gained),
/// or if it cannot be done well. What the operator says of the structure ([`crate::Hints`]) is taken to be unchanged.
#[must_use]
pub fn reroute(request: &Request<'_>) -> Option<Routing> {
    reroute_within(request, &RerouteLimits::default())
}

/// The same within other limits.
#[must_use]
pub fn reroute_within(request: &Request<'_>, limits: &RerouteLimits) -> Option<Routing> {
    reroute_cached(request, limits).map(|(routing, _)| routing)
}

/// The same, and what the next repair can start from.
pub(crate) fn reroute_cached(
    request: &Request<'_>,
    limits: &RerouteLimits,
) -> Option<(Routing, Ways)> {
    let last = request.previous.last.as_deref()?;
    let topo = request.topo;
    let n = topo.num_switches();
    let routing = &last.routing;
    if routing.tables.len() != n || routing.vl_plan.vls > request.usable_vls() {
        return None;
    }
    let delta = Delta::between(&last.topo, topo)?;
    let lanes = with_new_lids(topo, &routing.vl_plan, &delta.come)?;
    let parts = Parts {
        last,
        topo,
        lanes: &lanes,
        channels: PortChannels::new(topo),
        tables: routing.tables.iter().map(Arc::as_ref).collect(),
        limits,
        delta: &delta,
    };
    let jobs = parts.jobs();
    let Solved {
        changes,
        trees,
        ways,
    } = parts.solve(&jobs)?;
    let (tables, entries) = parts.apply(&changes);
    let repair = RerouteSummary {
        lost_cables: delta.lost.len() / 2,
        gone_lids: delta.gone.len(),
        new_lids: delta.come.len(),
        changed_entries: entries,
        changed_lids: jobs.len(),
    };
    let notes = routing.diagnostics.iter();
    let earlier = notes.filter(|note| note.as_reroute().is_none());
    let repaired = Routing {
        engine: routing.engine,
        tables,
        trees,
        order: routing.order.clone(),
        diagnostics: earlier
            .cloned()
            .chain([Diagnostic::Rerouted(repair)])
            .collect(),
        vl_plan: lanes,
    };
    Some((repaired, ways))
}

/// What a repair comes to.
struct Solved {
    changes: Vec<Change>,
    trees: TreeConstraint,
    ways: Ways,
}

/// A LID and who lost the cable by which packets for it left: everybody if the LID is new.
struct Job {
    dest: Destination,
    tails: Vec<(usize, u8)>,
    new: bool,
}

/// An entry that changes: switch, LID, port.
type Change = (usize, Lid, PortNum);

struct Parts<'a> {
    last: &'a LastRun,
    topo: &'a Topology,
    lanes: &'a VlPlan,
    channels: PortChannels,
    tables: Vec<&'a Lft>,
    limits: &'a RerouteLimits,
    delta: &'a Delta,
}

impl Parts<'_> {
    /// A switch without a cable to any other, where there are others: nothing can be done for it.
    fn is_dark(&self, v: usize) -> bool {
        self.topo.num_switches() > 1 && self.topo.links(SwitchIdx::at(v)).is_empty()
    }

    /// What is to be routed, by LID.
    fn jobs(&self) -> Vec<Job> {
        let mut owner: Vec<Option<Destination>> =
            vec![None; usize::from(self.topo.top_lid().raw()) + 1];
        for d in self.topo.destinations() {
            owner[usize::from(d.lid.raw())] = Some(*d);
        }
        for d in &self.delta.come {
            owner[usize::from(d.lid.raw())] = None;
        }
        let mut hit: Vec<(Lid, usize)> = Vec::new();
        for &(v, port) in &self.delta.lost {
            let entries = self.tables[v].entries().iter().zip(&owner);
            hit.extend(entries.filter_map(|(&p, d)| {
                let d = d.filter(|d| p == port && d.switch.index() != v)?;
                Some((d.lid, v))
            }));
        }
        hit.sort_unstable();
        let lost = hit.chunk_by(|a, b| a.0 == b.0).filter_map(|tails| {
            let dest = owner[usize::from(tails[0].0.raw())]?;
            let tails = tails
                .iter()
                .map(|t| (t.1, self.tables[t.1].get(dest.lid).raw()));
            Some(Job {
                dest,
                tails: tails.collect(),
                new: false,
            })
        });
        let come = self.delta.come.iter().map(|&dest| Job {
            dest,
            tails: Vec::new(),
            new: true,
        });
        let mut jobs: Vec<Job> = lost.chain(come).collect();
        jobs.sort_by_key(|job| job.dest.lid);
        jobs
    }

    /// Who lost the way to a LID. `seen` is scratch: the last LID for which a switch was met.
    fn orphans(&self, job: &Job, seen: &mut [Lid]) -> Vec<usize> {
        let lid = job.dest.lid;
        if job.new {
            let here = job.dest.switch.index();
            return (0..self.tables.len()).filter(|&v| v != here).collect();
        }
        let mut orphans: Vec<usize> = job.tails.iter().map(|t| t.0).collect();
        orphans.iter().for_each(|&v| seen[v] = lid);
        let mut at = 0;
        while let Some(&v) = orphans.get(at) {
            at += 1;
            for link in self.topo.links(SwitchIdx::at(v)) {
                let u = link.peer.index();
                if seen[u] != lid && self.tables[u].get(lid) == link.peer_port {
                    seen[u] = lid;
                    orphans.push(u);
                }
            }
        }
        orphans
    }

    /// Whether so many entries are more than may move.
    fn too_many(&self, moved: usize) -> bool {
        let all = self.tables.len() as f64 * self.topo.destinations().len() as f64;
        moved > self.limits.moved_always && moved as f64 > all * self.limits.max_moved_share
    }

    /// New entries for all jobs, and what is to be said of trees.
    fn solve(&self, jobs: &[Job]) -> Option<Solved> {
        let routing = &self.last.routing;
        if let (TreeConstraint::Ordered(order), true) = (&routing.trees, self.lanes.is_single()) {
            return self.in_order(jobs, order);
        }
        let ways = self.last.cache.ways();
        // What all entries before and after make together is safe in any order of writes. If that is too much to ask,
        // those after alone.
        self.in_graph(jobs, &self.tables, ways).or_else(|| {
            let mut without: Tables = routing.tables.clone();
            let mut seen = vec![Lid::NONE; without.len()];
            for job in jobs {
                for v in self.orphans(job, &mut seen) {
                    Arc::make_mut(&mut without[v]).set(job.dest.lid, PortNum::DROP);
                }
            }
            let rows: Vec<&Lft> = without.iter().map(Arc::as_ref).collect();
            self.in_graph(jobs, &rows, ways)
        })
    }

    /// The same where every route climbs first and descends then.
    fn in_order(&self, jobs: &[Job], order: &[u32]) -> Option<Solved> {
        let order = if self.delta.lost.is_empty() {
            order.to_vec()
        } else {
            trees::without_local_tops(self.topo, order)?
        };
        let (changes, _) = self.attach(jobs, Guard::Order, Some(&order))?;
        Some(Solved {
            changes,
            trees: TreeConstraint::Ordered(order),
            ways: Ways(None),
        })
    }

    /// The same, starting from the dependencies of these tables: as they are looked up where numbers are kept, in full
    /// where not, or where too much would have to be looked up.
    fn in_graph(&self, jobs: &[Job], rows: &[&Lft], ways: Option<&Ways>) -> Option<Solved> {
        let trees = &trees::promised(&self.last.topo, &self.last.routing.trees);
        let channels = VirtualChannels::new(&self.channels, self.lanes);
        if let Some(order) = ways.and_then(|ways| ways.0.as_ref()) {
            let exhausted = AtomicBool::new(false);
            let lookup = Lookup::new(self.topo, rows, channels.packets, &exhausted);
            let exact = lookup.is_exact();
            let solved = RoutedDependencies::resume(channels, order, lookup)
                .and_then(|graph| with_tree(self.topo, trees, graph))
                .and_then(|graph| self.guarded(jobs, graph, trees));
            if solved.is_some() || (exact && !exhausted.load(Ordering::Relaxed)) {
                return solved;
            }
        }
        let graph = whole(self.topo, channels, rows, trees)?;
        self.guarded(jobs, graph, trees)
    }

    fn guarded(
        &self,
        jobs: &[Job],
        graph: RoutedDependencies<'_>,
        promise: &TreeConstraint,
    ) -> Option<Solved> {
        let guard = Guard::Graph {
            graph: Box::new(graph),
            topo: self.topo,
        };
        let (changes, guard) = self.attach(jobs, guard, None)?;
        let Guard::Graph { mut graph, .. } = guard else {
            return None;
        };
        let trees = trees::after_loss(self.topo, promise, &mut graph);
        Some(Solved {
            changes,
            trees,
            ways: Ways(Some(graph.into_order())),
        })
    }

    fn attach<'g>(
        &'g self,
        jobs: &[Job],
        guard: Guard<'g>,
        order: Option<&'g [u32]>,
    ) -> Option<(Vec<Change>, Guard<'g>)> {
        let n = self.topo.num_switches();
        let switches = self.topo.by_lid().into_iter();
        let by_lid: Vec<usize> = switches.map(SwitchIdx::index).collect();
        let mut rank = vec![0; n];
        for (i, &v) in by_lid.iter().enumerate() {
            rank[v] = i;
        }
        let loads = Loads::before(
            self.topo,
            &PortChannels::new(&self.last.topo),
            &self.channels,
            &self.tables,
            &by_lid,
            &self.delta.lost,
        );
        let mut work = Attach {
            topo: self.topo,
            channels: &self.channels,
            column: Column::new(&self.channels, &self.tables, order),
            guard,
            loads,
            rank,
            turned: order.is_some_and(
                |order| !matches!(&self.last.routing.trees, TreeConstraint::Ordered(was) if was == order),
            ),
            expected: vec![0; n],
            counted: Vec::new(),
            heads: Vec::new(),
            tried: vec![(0, Stage::Any, 0); n],
        };
        let old = PortChannels::new(&self.last.topo);
        let (mut changes, mut seen, mut moved) = (Vec::new(), vec![Lid::NONE; n], 0);
        let mut tails: Vec<Tail> = Vec::new();
        for job in jobs {
            let dest = &job.dest;
            let orphans = self.orphans(job, &mut seen);
            // What came over the lost cables: the end ports of all who lost their way.
            let load: u64 = orphans.iter().map(|&v| work.weight(dest, v)).sum();
            let share = load.div_ceil(job.tails.len().max(1) as u64);
            tails.clear();
            tails.extend(job.tails.iter().filter_map(|&(at, port)| {
                let (to, _) = old.peer(at, port)?;
                Some(Tail {
                    at,
                    to,
                    load: share,
                })
            }));
            if !job.new && work.tails(dest, &tails) {
                let port = |v: usize| PortNum(work.column.next_port(v));
                changes.extend(tails.iter().map(|t| (t.at, dest.lid, port(t.at))));
                continue;
            }
            moved += orphans.len();
            if self.too_many(moved + changes.len()) {
                return None;
            }
            let unreachable = |v: usize| self.is_dark(v) || self.is_dark(dest.switch.index());
            let (dark, lit): (Vec<usize>, Vec<usize>) =
                orphans.iter().partition(|&&v| unreachable(v));
            changes.extend(dark.into_iter().map(|v| (v, dest.lid, PortNum::DROP)));
            if !work.lid(dest, &lit) {
                return None;
            }
            for v in lit {
                if matches!(work.column.place(v), Place::Arrives(_)) {
                    changes.push((v, dest.lid, PortNum(work.column.next_port(v))));
                }
            }
        }
        let allowed = work.loads.most_before.max(2 * work.loads.mean(self.topo)) as f64
            * self.limits.max_load_growth;
        (work.loads.most_gained() as f64 <= allowed).then_some((changes, work.guard))
    }

    /// The tables with these changes, and how many entries differ from before. Rows without one are what they were.
    fn apply(&self, changes: &[Change]) -> (Tables, usize) {
        let n = self.topo.num_switches();
        let top = self.topo.top_lid();
        let mut rows: BTreeMap<usize, Vec<(Lid, PortNum)>> = BTreeMap::new();
        for &(v, lid, port) in changes {
            rows.entry(v).or_default().push((lid, port));
        }
        for d in self.delta.come.iter().chain(&self.delta.replugged) {
            let row = rows.entry(d.switch.index()).or_default();
            row.push((d.lid, d.port));
        }
        let gone = &self.delta.gone;
        if !gone.is_empty() {
            for v in 0..n {
                let row = rows.entry(v).or_default();
                row.extend(gone.iter().map(|&lid| (lid, PortNum::DROP)));
            }
        }
        let mut tables = self.last.routing.tables.clone();
        let rows: Vec<_> = rows.into_iter().collect();
        let made: Vec<(usize, Option<Lft>, usize)> = rows
            .into_par_iter()
            .map(|(v, mut row)| {
                let was = self.tables[v];
                row.retain(|&(lid, port)| was.get(lid) != port);
                if row.is_empty() {
                    return (v, None, 0);
                }
                let mut entries = was.entries().to_vec();
                entries.resize(usize::from(top.raw()) + 1, PortNum::DROP.raw());
                let mut lft = Lft::from_entries(entries);
                row.iter().for_each(|&(lid, port)| lft.set(lid, port));
                (v, Some(lft), row.len())
            })
            .collect();
        let mut moved = 0;
        for (v, lft, entries) in made {
            moved += entries;
            if let Some(lft) = lft {
                tables[v] = Arc::new(lft);
            }
        }
        (tables, moved)
    }
}

/// The lanes, where new LIDs get the SLs of a LID on the same switch. `None` if there is none to take them from.
fn with_new_lids(topo: &Topology, lanes: &VlPlan, come: &[Destination]) -> Option<VlPlan> {
    let mut lanes = lanes.clone();
    let mut rows: Vec<&mut Arc<[u8]>> = match &mut lanes.path_sl {
        PathSl::Uniform(_) | PathSl::BySwitches(_) => return Some(lanes),
        PathSl::ByLid(row) => vec![row],
        PathSl::BySwitchAndLid(rows) => rows.iter_mut().collect(),
    };
    let known = |d: &Destination| !come.iter().any(|c| c.lid == d.lid);
    let mut copies = Vec::new();
    for d in come {
        let siblings = topo.destinations_on(d.switch).iter().filter(|s| known(s));
        let sibling =
            siblings.max_by_key(|s| (s.port != PortNum::ZERO, std::cmp::Reverse(s.lid)))?;
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
    Some(lanes)
}
