//! The routing in force, the routing job, and when routes have to be computed again.

pub mod adopt;
mod choice;
pub mod desired_lfts;
pub mod drain;
mod first_job;
pub mod graph;
pub mod installed_groups;
mod job_state;
pub(crate) mod kept;
pub mod lft_writes;
mod passes;
pub mod routes;
mod switch_routes;
mod update_outcome;
pub mod vl_change;
pub mod vl_plan;
pub mod what_if;

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric};
use ferrosm_fabric::routing_origin::RoutingInputs;
use ferrosm_mad::ids::{Lid, NodeGuid};
use ferrosm_mad::time::Instant;
use ferrosm_routing::select::AUTO;
use ferrosm_routing::{
    KeptSwitchUse, PathSl, Proof, RerouteCache, Routing, Tables, TreeConstraint, VerifiedRun,
};

use crate::config::SmConfig;
use crate::lids::plan::LidPlan;
use crate::report::routing_message::RoutingMessage;
use crate::report::{Problem, ProblemKind, SweepReport};
use crate::routing::desired_lfts::{DesiredLfts, NodeLfts};
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::routes::{RoutingJob, RoutingJobResult, RoutingStart};
use crate::routing::vl_plan::FabricVlPlan;
use crate::routing::what_if::RoutingBasis;
use job_state::JobState;
use update_outcome::UpdateOutcome;

pub(crate) use update_outcome::AbortedUpdate;

/// A fabric that changes faster than it can be routed is programmed with the result of an outdated
/// job after this many attempts.
const STALE_RESULTS_MAX: u8 = 3;

/// A fabric that has grown by this factor since an engine routed it is starting up: the engine runs
/// again, even if that drains routes.
const STARTUP_GROWTH: usize = 2;

/// A routing, with the node of each of its switches.
pub(crate) type InstalledRouting = (Arc<VerifiedRun>, Vec<NodeIdx>);

/// A routing that takes the place of the one in force.
#[derive(Debug)]
pub(crate) struct NewRouting {
    pub(crate) routing: InstalledRouting,
    pub(crate) vls: FabricVlPlan,
    pub(crate) messages: Vec<RoutingMessage>,
    pub(crate) proof: Proof,
    /// LIDs that some end ports do not reach.
    pub(crate) unreachable: Vec<Lid>,
    /// The constraint of multicast trees if its LFT update stops between two stages; `None` if no
    /// tree is known to be deadlock-free then.
    pub(crate) abort_trees: Option<TreeConstraint>,
}

/// The routing for which multicast trees are computed.
#[derive(Debug)]
enum TreeRouting {
    /// The routing in force.
    InForce,
    /// LFTs have entries of the routing in force and of the one before. This is the routing in
    /// force, with a tree constraint that suits both.
    Interim(InstalledRouting),
    /// LFTs have entries of other routings, and no tree is known to be deadlock-free with them.
    None,
}

/// How the routing in force was computed, for reports.
#[derive(Debug, Default)]
struct EngineReport {
    name: &'static str,
    messages: Vec<RoutingMessage>,
    proof: Option<Proof>,
}

/// The routing component.
#[derive(Debug)]
pub(crate) struct RoutingState {
    /// The routing in force.
    installed: Option<InstalledRouting>,
    desired: DesiredLfts,
    /// Switches that no route may pass through.
    drained_switches: BTreeSet<NodeGuid>,
    /// An operator drained something or put it back since the routing in force was installed.
    has_maintenance_changed: bool,
    engine: EngineReport,
    /// LIDs that some end ports do not reach with the routing in force.
    unreachable: Vec<Lid>,
    /// The configuration that the routing in force was computed for, and its inputs.
    computed_for: Option<(u64, RoutingInputs)>,
    /// Something that routes depend on has changed since the last job began.
    is_stale: bool,
    trees: TreeRouting,
    /// [`NewRouting::abort_trees`] of the routing in force.
    abort_trees: Option<TreeConstraint>,
    last_update: UpdateOutcome,
    /// The last job, without its history.
    last_job: Option<Arc<RoutingJob>>,
    /// The job of the routing in force, without its history.
    job_in_force: Option<Arc<RoutingJob>>,
    /// What the next job starts from.
    start: RoutingStart,
    /// What the current job started from, and the minimum for the next;
    /// [`RoutingStart::Incremental`] once its routing is in force.
    job_start: RoutingStart,
    /// A switch whose LFT the last job may have preserved responds again.
    has_switch_responded: bool,
    job: JobState,
    /// Jobs so far.
    jobs: u64,
    /// Results in a row that were discarded because the fabric changed meanwhile.
    stale_results: u8,
    /// Counts configurations: a job is for one of them.
    configuration: u64,
    /// Number of switches of the last routing that an engine computed or that was adopted; 0
    /// before.
    engine_switches: usize,
}

impl Default for RoutingState {
    fn default() -> Self {
        Self {
            installed: None,
            desired: DesiredLfts::default(),
            drained_switches: BTreeSet::new(),
            has_maintenance_changed: false,
            engine: EngineReport::default(),
            unreachable: Vec::new(),
            computed_for: None,
            is_stale: true,
            trees: TreeRouting::InForce,
            abort_trees: None,
            last_update: UpdateOutcome::Complete,
            last_job: None,
            job_in_force: None,
            start: RoutingStart::Incremental,
            job_start: RoutingStart::Incremental,
            has_switch_responded: false,
            job: JobState::None,
            jobs: 0,
            stale_results: 0,
            configuration: 0,
            engine_switches: 0,
        }
    }
}

impl RoutingState {
    pub(crate) const fn installed(&self) -> Option<&InstalledRouting> {
        self.installed.as_ref()
    }

    /// LIDs that some end ports do not reach with the routing in force, ascending.
    pub(crate) fn unreachable(&self) -> &[Lid] {
        &self.unreachable
    }

    /// The LFTs that switches should have.
    pub(crate) const fn desired(&self) -> &DesiredLfts {
        &self.desired
    }

    /// Sets the LFTs that switches should have.
    pub(crate) fn set_desired(&mut self, desired: DesiredLfts) {
        self.desired = desired;
    }

    /// The LFTs that the same switches should have after a drain.
    pub(crate) fn replace_desired(&mut self, lfts: NodeLfts) {
        self.desired.replace(lfts);
    }

    /// The inputs that the routing in force was computed from.
    pub(crate) fn inputs(&self) -> Option<&RoutingInputs> {
        self.installed.as_ref()?;
        self.computed_for.as_ref().map(|(_, inputs)| inputs)
    }

    /// The routing in force, and what the next job starts from; `None` without a routing.
    pub(crate) fn basis(&self, groups: InstalledGroups) -> Option<RoutingBasis> {
        let (run, nodes) = self.installed.as_ref()?;
        let job = self.job_in_force.as_ref()?;
        let lfts = nodes.iter().map(|n| self.desired.get(*n).cloned());
        let tables: Option<Tables> = lfts.collect();
        let is_stub = |n| self.desired.is_stub(n);
        let proof = self.engine.proof.clone()?;
        if job.nodes() != nodes {
            return None;
        }
        let run = Arc::clone(run);
        let job = Arc::clone(job);
        Some(RoutingBasis::new(job, run, tables?, proof, is_stub, groups))
    }

    /// The routing for which multicast trees are computed.
    pub(crate) const fn of_trees(&self) -> Option<&InstalledRouting> {
        match &self.trees {
            TreeRouting::InForce => self.installed.as_ref(),
            TreeRouting::Interim(routing) => Some(routing),
            TreeRouting::None => None,
        }
    }

    /// Whether MFTs stay as they are, because no tree is known to be deadlock-free with the LFTs.
    pub(crate) const fn freezes_trees(&self) -> bool {
        matches!(self.trees, TreeRouting::None)
    }

    /// The routing in force is unknown: another SM may have replaced it.
    pub(crate) fn forget_installed(&mut self) {
        self.installed = None;
        if !matches!(self.trees, TreeRouting::InForce) {
            self.trees = TreeRouting::None;
        }
    }

    /// No route passes through these switches from the next job on, unless nothing else leads to a
    /// part of the fabric.
    pub(crate) fn set_drained(&mut self, switches: BTreeSet<NodeGuid>) {
        self.drained_switches = switches;
        self.has_maintenance_changed = true;
        self.is_stale = true;
    }

    /// Something that routes depend on has changed.
    pub(crate) const fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The LFT update was aborted. Returns whether the one before was complete.
    pub(crate) fn on_aborted(&mut self, left: AbortedUpdate, now: Instant) -> bool {
        match left {
            AbortedUpdate::Restored => {}
            AbortedUpdate::BetweenStages => self.trees = self.interim_trees(),
            AbortedUpdate::Mixed => self.trees = TreeRouting::None,
        }
        self.last_update.abort(left, now)
    }

    /// The routing in force, with trees that are deadlock-free between the stages of its LFT
    /// update.
    fn interim_trees(&self) -> TreeRouting {
        let Some(((run, nodes), trees)) = self.installed.as_ref().zip(self.abort_trees.clone())
        else {
            return TreeRouting::None;
        };
        let run = if trees == run.routing.trees {
            Arc::clone(run)
        } else {
            Arc::new(VerifiedRun {
                topo: Arc::clone(&run.topo),
                routing: Routing {
                    trees,
                    ..run.routing.clone()
                },
                baseline_max_load: run.baseline_max_load,
                cache: RerouteCache::new(),
            })
        };
        TreeRouting::Interim((run, nodes.clone()))
    }

    /// A switch that did not respond responds again: the routes were computed with its LFT, or are
    /// computed with it now.
    pub(crate) fn on_switch_responds(&mut self) {
        self.is_stale = true;
        self.has_switch_responded = true;
        self.replace_limited_routes();
    }

    /// Replaces routes that avoid switches because of their LFTs, and those that lack entries: an
    /// incremental reroute would preserve both.
    fn replace_limited_routes(&mut self) {
        let avoids_switches = |message: &RoutingMessage| {
            let avoided = KeptSwitchUse::EndPortsOnly;
            matches!(message, RoutingMessage::TablesKept { kept_use, .. } if *kept_use == avoided)
        };
        let proof = self.engine.proof.as_ref();
        let lacks_entries =
            proof.is_some_and(|proof| proof.idle_unreachable + proof.kept_unreachable > 0);
        if lacks_entries || self.engine.messages.iter().any(avoids_switches) {
            self.reroute_from(RoutingStart::InstalledTables);
        }
    }

    /// When an aborted update is tried again.
    pub(crate) const fn retry_at(&self) -> Option<Instant> {
        self.last_update.retry_at()
    }

    /// Whether an aborted update is due to be tried again; once.
    pub(crate) fn take_retry(&mut self, now: Instant) -> bool {
        self.last_update.take_retry(now)
    }

    /// All LFTs are written.
    pub(crate) const fn on_tables_written(&mut self) {
        self.last_update.complete();
    }

    /// The next job starts from `start`, or from what an earlier request named if that discards
    /// more.
    pub(crate) fn reroute_from(&mut self, start: RoutingStart) {
        self.start = self.start.max(start);
        self.is_stale = true;
    }

    /// The next job is a full reroute from the graph.
    pub(crate) const fn rebalance(&mut self) {
        self.start = RoutingStart::Scratch;
        self.is_stale = true;
    }

    /// The configuration changed.
    pub(crate) const fn begin_configuration(&mut self) {
        self.configuration += 1;
    }

    #[cfg(test)]
    pub(crate) const fn configuration(&self) -> u64 {
        self.configuration
    }

    /// Whether routes have to be computed. All changes so far belong to that job.
    pub(crate) fn take_due(&mut self, fabric: &ObservedFabric) -> bool {
        let has_lft = |n: &Node| n.table_caps().lft > 0;
        let unrouted = fabric
            .nodes()
            .any(|(i, n)| has_lft(n) && self.desired.get(i).is_none());
        let has_switches = fabric.switches().next().is_some();
        let is_stale = core::mem::take(&mut self.is_stale);
        let is_retry = self.last_update.requires_routes();
        has_switches && (is_stale || unrouted || is_retry)
    }

    /// Begins a job.
    pub(crate) fn begin_job(
        &mut self,
        fabric: &ObservedFabric,
        lids: &LidPlan,
        cfg: &SmConfig,
    ) -> RoutingJob {
        self.jobs += 1;
        // A job whose routing did not come into force passes its start to the next one.
        self.job_start = core::mem::take(&mut self.start).max(self.job_start);
        self.has_switch_responded = false;
        let mut job = RoutingJob::new(fabric, lids, cfg, self);
        self.last_job = Some(Arc::new(job.without_history()));
        job.generation = self.configuration;
        job.may_drain |= job.nodes().len() >= STARTUP_GROWTH * self.engine_switches;
        job.is_maintenance = self.has_maintenance_changed;
        job.plans_abort_trees = self.last_update.is_incomplete();
        let token = job.abandoned.clone();
        self.job = JobState::Running { id: job.id, token };
        job
    }

    /// A routing for this number of switches will be installed.
    pub(crate) const fn on_engine_run(&mut self, is_of_engine: bool, switches: usize) {
        if is_of_engine || self.engine_switches == 0 {
            self.engine_switches = switches;
        }
    }

    /// Whether the current job may adopt the routing that another run of an SM installed.
    pub(crate) fn may_adopt(&self) -> bool {
        self.installed.is_none() && self.job_start == RoutingStart::Incremental
    }

    /// Abandons the current job.
    pub(crate) fn cancel_job(&mut self) {
        self.job.cancel();
    }

    /// Takes the result of the current job; that of a cancelled one is dropped.
    pub(crate) fn on_computed(&mut self, computed: RoutingJobResult) {
        self.job.on_computed(computed);
    }

    pub(crate) fn take_result(&mut self) -> Option<RoutingJobResult> {
        self.job.take_result()
    }

    /// Whether a result is used. One of another configuration never is; an outdated one only if
    /// earlier ones were discarded.
    pub(crate) fn accept(&mut self, result: &RoutingJobResult) -> bool {
        let is_of_other_configuration = result.generation != self.configuration;
        if is_of_other_configuration || (self.is_stale && self.stale_results < STALE_RESULTS_MAX) {
            if !is_of_other_configuration {
                self.stale_results += 1;
            }
            self.is_stale = true;
            return false;
        }
        self.stale_results = 0;
        true
    }

    /// Whether the fabric changes faster than it can be routed: the current job's result is used if
    /// no other configuration takes effect.
    pub(crate) const fn is_outpaced(&self) -> bool {
        self.stale_results >= STALE_RESULTS_MAX
    }

    /// The routing in force from now on. Returns its VL plan.
    pub(crate) fn install(&mut self, new: NewRouting, cfg: &SmConfig) -> FabricVlPlan {
        self.engine = EngineReport {
            name: new.routing.0.routing.engine,
            messages: new.messages,
            proof: Some(new.proof),
        };
        self.installed = Some(new.routing);
        if let Some(job) = self.last_job.take() {
            self.job_in_force = Some(job);
        }
        self.unreachable = new.unreachable;
        self.trees = TreeRouting::InForce;
        self.abort_trees = new.abort_trees;
        self.last_update.begin();
        self.has_maintenance_changed = false;
        self.job_start = RoutingStart::Incremental;
        if self.has_switch_responded {
            self.replace_limited_routes();
        }
        // Computing the digest of long routing input files takes time.
        let current = self.configuration;
        if self
            .computed_for
            .as_ref()
            .is_none_or(|(of, _)| *of != current)
        {
            self.computed_for = Some((current, cfg.routing_inputs()));
        }
        new.vls
    }

    /// Adds how the routing in force was computed to a report.
    pub(crate) fn report(&self, report: &mut SweepReport, cfg: &SmConfig) {
        report.engine = self.engine.name;
        report.has_several_sls = self
            .installed
            .as_ref()
            .is_some_and(|(run, _)| !matches!(run.routing.vl_plan.path_sl, PathSl::Uniform(_)));
        report.problems.extend(self.unused_engine(cfg));
        let messages = self.engine.messages.iter();
        report.routing_messages.extend(messages.cloned());
        report.proof.clone_from(&self.engine.proof);
    }

    /// The problem that another engine than the first configured one is in use.
    fn unused_engine(&self, cfg: &SmConfig) -> Option<Problem> {
        let configured = cfg.engines.first()?;
        let used = self.engine.name;
        if used.is_empty() || configured == AUTO || configured == used {
            return None;
        }
        let rejection = self.engine.messages.iter().find_map(|message| {
            let RoutingMessage::EngineRejected(why) = message else {
                return None;
            };
            (why.message.engine == *configured).then(|| why.to_string())
        });
        Some(Problem {
            location: Location::Subnet,
            kind: ProblemKind::EngineNotUsed {
                configured: configured.clone(),
                used,
                reason: rejection,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SM abandons a job: it ends without a result.
    #[test]
    fn abandoned_job_has_no_result() {
        let mut routing = RoutingState::default();
        let begin = |routing: &mut RoutingState| {
            let cfg = SmConfig::default();
            routing.begin_job(&ObservedFabric::default(), &LidPlan::default(), &cfg)
        };
        let abandoned = begin(&mut routing);
        assert!(abandoned.run().is_some());
        routing.cancel_job();
        assert!(abandoned.run().is_none());
        assert!(begin(&mut routing).run().is_some());
    }
}
