//! The routing in force, the routing job, and when routes have to be computed again.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric};
use ferrosm_fabric::routing_origin::RoutingInputs;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use ferrosm_routing::select::AUTO;
use ferrosm_routing::{
    CancelToken, PathSl, Proof, RerouteCache, Routing, TreeConstraint, VerifiedRun,
};

use crate::config::SmConfig;
use crate::desired_lfts::{DesiredLfts, NodeLfts};
use crate::plan::lids::LidPlan;
use crate::plan::messages::RoutingMessage;
use crate::plan::routes::{RoutingJob, RoutingJobResult, RoutingStart};
use crate::plan::vls::FabricVlPlan;
use crate::report::{Problem, ProblemKind, SweepReport};

/// A fabric that changes faster than it can be routed is programmed with the result of an outdated
/// job after this many attempts.
const STALE_RESULTS_MAX: u8 = 3;

/// Shortest and longest time until the second and further retries of an update that dropped routes
/// and wrote them back. Each retry interrupts routes. Meanwhile LFTs may not suit a fabric that has
/// changed, so the switch must not stay untried for long.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(80));

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

/// What an aborted LFT update left in the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbortedUpdate {
    /// The LFTs before the update.
    Restored,
    /// Entries of the routing in force and of the one before, as between two stages of the update.
    BetweenStages,
    /// Another mixture of entries.
    Mixed,
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
    /// The last LFT update was aborted: the next sweep computes routes again.
    is_aborted: bool,
    /// No LFT update has completed since the last one was aborted. Only then do jobs determine
    /// trees for the next abort.
    has_aborted_before: bool,
    /// No job begins before this time merely because the last update was aborted: each attempt
    /// interrupts the routes that it drops.
    retry_at: Option<Instant>,
    /// The delay of the last retry; zero after a complete update.
    retry_delay: Duration,
    /// The current update is such a retry, and not due to a change.
    is_retry: bool,
    /// What the next job starts from.
    start: RoutingStart,
    /// What the current job started from, and the minimum for the next;
    /// [`RoutingStart::Incremental`] once its routing is in force.
    job_start: RoutingStart,
    /// The ID of the current job, and the token that abandons it.
    job: Option<(u64, CancelToken)>,
    /// Jobs so far.
    jobs: u64,
    /// The result of the current job, until the sweep takes it.
    result: Option<RoutingJobResult>,
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
            engine: EngineReport::default(),
            unreachable: Vec::new(),
            computed_for: None,
            is_stale: true,
            trees: TreeRouting::InForce,
            abort_trees: None,
            is_aborted: false,
            has_aborted_before: false,
            retry_at: None,
            retry_delay: Duration::ZERO,
            is_retry: false,
            start: RoutingStart::Incremental,
            job_start: RoutingStart::Incremental,
            job: None,
            jobs: 0,
            result: None,
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

    /// Something that routes depend on has changed.
    pub(crate) const fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The LFT update was aborted. Returns whether the one before was complete.
    pub(crate) fn on_aborted(&mut self, left: AbortedUpdate, now: Instant) -> bool {
        self.is_aborted = true;
        match left {
            AbortedUpdate::Restored => {}
            AbortedUpdate::BetweenStages => self.trees = self.interim_trees(),
            AbortedUpdate::Mixed => self.trees = TreeRouting::None,
        }
        let is_first = !core::mem::replace(&mut self.has_aborted_before, true);
        self.retry_at = None;
        let is_retry = core::mem::take(&mut self.is_retry);
        if left == AbortedUpdate::Restored && !is_first {
            let (shortest, longest) = RETRY_DELAYS;
            let factor = if is_retry { 2 } else { 1 };
            self.retry_delay = (self.retry_delay * factor).clamp(shortest, longest);
            self.retry_at = Some(now + self.retry_delay);
        }
        is_first
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

    /// When an aborted update is tried again.
    pub(crate) const fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Whether an aborted update is due to be tried again; once.
    pub(crate) fn take_retry(&mut self, now: Instant) -> bool {
        let is_due = self.retry_at.take_if(|due| *due <= now).is_some();
        self.is_retry |= is_due;
        is_due
    }

    /// All LFTs are written.
    pub(crate) const fn on_tables_written(&mut self) {
        self.has_aborted_before = self.is_aborted;
        if !self.has_aborted_before {
            self.retry_delay = Duration::ZERO;
            self.is_retry = false;
        }
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
        let retries = self.is_aborted && self.retry_at.is_none();
        has_switches && (is_stale || unrouted || retries)
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
        let last = self.installed.as_ref();
        let (id, start) = (self.jobs, self.job_start);
        let mut job = RoutingJob::new(id, fabric, lids, cfg, last, &self.desired, start);
        job.generation = self.configuration;
        job.may_drain |= job.nodes().len() >= STARTUP_GROWTH * self.engine_switches;
        job.plans_abort_trees = self.has_aborted_before;
        self.job = Some((id, job.abandoned.clone()));
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
        if let Some((_, abandoned)) = self.job.take() {
            abandoned.cancel();
        }
        self.result = None;
    }

    /// Takes the result of the current job; that of a cancelled one is dropped.
    pub(crate) fn on_computed(&mut self, computed: RoutingJobResult) {
        if self.job.as_ref().is_some_and(|(id, _)| *id == computed.id) {
            self.job = None;
            self.result = Some(computed);
        }
    }

    pub(crate) const fn take_result(&mut self) -> Option<RoutingJobResult> {
        self.result.take()
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
        self.unreachable = new.unreachable;
        self.trees = TreeRouting::InForce;
        self.abort_trees = new.abort_trees;
        self.is_aborted = false;
        self.retry_at = None;
        self.job_start = RoutingStart::Incremental;
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
