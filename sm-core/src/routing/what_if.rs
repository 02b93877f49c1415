//! What the SM would do after a loss, or with other engines: the routing job that would run then,
//! compared with the routing in force. Pure; may run on any thread.
//!
//! The job is that of the SM, so that it reroutes incrementally or runs an engine as the SM would.
//! What is cut off from the part of the fabric with the most end ports has left the subnet, as for
//! an SM in that part.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::connectivity::Connectivity;
use ferrosm_routing::table_limits::{LimitedSwitch, without_transit};
use ferrosm_routing::{
    Additions, CancelToken, EarlierRun, Hints, Lft, Loss, PathSl, PreviousRouting, Proof,
    RemainingTopology, SwitchIdx, Tables, Topology, VerifiedRun, changed_blocks,
};

use crate::config::hints;
use crate::report::routing_failure::RoutingFailure;
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::routes::{RoutingJob, RoutingStart, is_subgraph};
use crate::routing::vl_plan::FabricVlPlan;

/// More than the nodes of any subnet: each has a LID of its own.
const NODES_MAX: u32 = 1 << 17;

/// The routing in force, and what the next routing job starts from.
#[derive(Debug, Clone)]
pub struct RoutingBasis {
    /// The job of the routing in force, without the routing before.
    inputs: Arc<RoutingJob>,
    run: Arc<VerifiedRun>,
    /// The LFTs that switches should have, in the order of the graph.
    tables: Tables,
    /// Switches with small LFTs of which some links are not routed.
    stubs: Vec<SwitchIdx>,
    proof: Proof,
    groups: InstalledGroups,
}

/// What is lost, and which engines route the rest.
#[derive(Debug, Clone, Default)]
pub struct WhatIfQuestion {
    /// What is lost.
    pub loss: Loss,
    /// Switches that no route passes through any more, as when they are drained: their own LIDs
    /// stay. The connectivity of the answer is that without them.
    pub drained: BTreeSet<SwitchIdx>,
    /// Drained switches that routes may pass through again.
    pub undrained: BTreeSet<SwitchIdx>,
    /// The operator drains what is lost, or puts back what is added, as opposed to a failure.
    pub is_maintenance: bool,
    /// What is added after the loss.
    pub additions: Additions,
    /// Engines to route with instead of the configured ones; empty: as the SM would.
    pub engines: Vec<String>,
    /// The routes are computed without regard to the installed ones, as by [`Command::Reroute`].
    ///
    /// [`Command::Reroute`]: crate::Command::Reroute
    pub from_scratch: bool,
}

/// Stops the computation of an answer.
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    /// Stops the comparison of engines; the answer is for the best routing found so far.
    pub comparison: CancelToken,
    /// Stops all: the answer is of no use.
    pub all: CancelToken,
}

/// The answer.
#[derive(Debug)]
pub struct Prediction {
    pub connectivity_before: Connectivity,
    pub connectivity: Connectivity,
    /// The routing of the remaining fabric, or why there is none.
    pub routes: Result<PredictedRoutes, RoutingFailure>,
}

/// A routing that would be installed.
#[derive(Debug)]
pub struct PredictedRoutes {
    pub run: Arc<VerifiedRun>,
    pub proof: Proof,
    /// The node of each switch of the graph.
    pub nodes: Vec<NodeIdx>,
    /// The LFTs that switches would have, in the order of the graph.
    pub tables: Tables,
    /// An engine computed the routing; otherwise the routing in force was rerouted.
    pub is_of_engine: bool,
    /// LIDs whose routes are removed for a moment, because they could deadlock with new ones.
    pub drained_lids: usize,
    pub changes: RouteChanges,
}

/// How much of the tables differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteChanges {
    /// LFT entries of LIDs that stay.
    pub entries_moved: u64,
    /// LIDs that have such an entry.
    pub destinations_moved: u64,
    /// LFT entries of LIDs that leave the subnet.
    pub entries_removed: u64,
    /// LFT entries of LIDs that enter the subnet, and those of added switches.
    pub entries_added: u64,
    /// LFT blocks that are written.
    pub lft_blocks: u64,
    /// Pairs of a switch with end ports and a LID that stay, whose packets get another SL.
    pub sl_changes: u64,
}

impl RoutingBasis {
    /// `inputs` is [`RoutingJob::without_history`] of the job that `run` is from.
    pub(crate) fn new(
        inputs: Arc<RoutingJob>,
        run: Arc<VerifiedRun>,
        tables: Tables,
        proof: Proof,
        is_stub: impl Fn(NodeIdx) -> bool,
        groups: InstalledGroups,
    ) -> Self {
        let limited = inputs.limited.iter().map(|limited| limited.switch);
        let small = limited.filter(|s| is_stub(inputs.nodes[s.index()]));
        // The job knows the drained switches.
        let stubs: BTreeSet<SwitchIdx> = small.chain(inputs.stubs.iter().copied()).collect();
        Self {
            stubs: stubs.into_iter().collect(),
            inputs,
            run,
            tables,
            proof,
            groups,
        }
    }

    /// The routing of a job without a history, for a fabric that no SM configured.
    #[must_use]
    pub fn of_first_job(inputs: RoutingJob, run: Arc<VerifiedRun>, proof: Proof) -> Self {
        let tables = run.routing.tables.clone();
        Self {
            inputs: Arc::new(inputs),
            run,
            tables,
            stubs: Vec::new(),
            proof,
            groups: InstalledGroups::default(),
        }
    }

    /// The graph, with all links.
    #[must_use]
    pub fn graph(&self) -> &Arc<Topology> {
        &self.inputs.full_topology
    }

    /// The operator's hints.
    #[must_use]
    pub fn hints(&self) -> &Hints {
        &self.inputs.hints
    }

    /// The node of each switch of the graph.
    #[must_use]
    pub fn nodes(&self) -> &[NodeIdx] {
        &self.inputs.nodes
    }

    /// The routing in force.
    #[must_use]
    pub const fn run(&self) -> &Arc<VerifiedRun> {
        &self.run
    }

    /// The LFTs that switches should have, in the order of the graph.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The configured engines, in the order in which they are tried.
    #[must_use]
    pub fn engines(&self) -> &[String] {
        &self.inputs.engines
    }

    /// The proof of the routing in force.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Time limit of the automatic choice of an engine, after which the caller of [`what_if`]
    /// cancels it.
    #[must_use]
    pub fn budget(&self) -> core::time::Duration {
        self.inputs.budget
    }

    /// The routing job of the SM after a loss.
    fn job_after(&self, question: &WhatIfQuestion, remaining: &RemainingTopology) -> RoutingJob {
        let inputs = &self.inputs;
        let full_topology = Arc::new(remaining.topology.clone());
        let before = &remaining.switches;
        let is_old = |s: &SwitchIdx| s.index() < inputs.nodes.len();
        let all_stay = before.len() == inputs.nodes.len() && before.iter().all(is_old);
        let last = inputs.nodes.iter().map(|node| node.slot()).max();
        let node = |s: &SwitchIdx| match inputs.nodes.get(s.index()) {
            Some(node) => *node,
            None => {
                let number = s.0 - SwitchIdx::from_index(inputs.nodes.len()).0;
                NodeIdx::imagined(last.unwrap_or(0) + NODES_MAX, number)
            }
        };
        let nodes: Vec<NodeIdx> = before.iter().map(node).collect();
        let mut stubs: Vec<SwitchIdx> = self
            .stubs
            .iter()
            .filter(|s| !question.undrained.contains(s))
            .chain(&question.drained)
            .filter_map(|s| remaining.find(*s))
            .collect();
        stubs.sort_unstable();
        stubs.dedup();
        let topology = match stubs[..] {
            [] => Arc::clone(&full_topology),
            [..] => Arc::new(without_transit(&full_topology, &stubs)),
        };
        let limited = inputs.limited.iter().filter_map(|limited| {
            let switch = remaining.find(limited.switch)?;
            Some(LimitedSwitch { switch, ..*limited })
        });
        let guid_index = inputs.guid_index.after_loss(remaining);
        let (hints, _) = hints::resolve(&inputs.guid_hints, &guid_index);
        let installed: Vec<Option<Arc<Lft>>> = before
            .iter()
            .map(|s| self.tables.get(s.index()).cloned())
            .collect();
        let order = self.run.routing.order.as_deref().unwrap_or_default();
        let mut previous = PreviousRouting {
            lfts: installed.clone(),
            order: before
                .iter()
                .map(|s| order.get(s.index()).copied())
                .collect(),
            ..PreviousRouting::none()
        };
        let start = if question.from_scratch {
            RoutingStart::Scratch
        } else if question.engines.is_empty() {
            RoutingStart::Incremental
        } else {
            RoutingStart::InstalledTables
        };
        if start == RoutingStart::Incremental {
            if all_stay {
                previous.last_run = Some(Arc::clone(&self.run));
            } else {
                previous.earlier_run = Some(EarlierRun {
                    run: Arc::clone(&self.run),
                    switches: before.iter().map(|s| is_old(s).then_some(*s)).collect(),
                });
            }
            previous.pinned_engine = is_subgraph(&topology, &nodes, &self.run.topo, &inputs.nodes)
                .then_some(self.run.routing.engine);
        }
        if start == RoutingStart::Scratch {
            previous = PreviousRouting::none();
        }
        let engines = match question.engines[..] {
            [] => inputs.engines.clone(),
            [..] => question.engines.clone(),
        };
        let kept = inputs.kept.after_loss(remaining);
        RoutingJob {
            topology,
            stubs,
            limited: limited.collect(),
            vls_in_force: self.run.routing.vl_plan.vls,
            previous,
            installed,
            previous_vls: Some(FabricVlPlan::new(0, Arc::clone(&self.run), &inputs.nodes)),
            groups: self.groups.after_loss(remaining),
            engines,
            hints,
            guid_index,
            kept: kept.with_cut_off_switches(&full_topology),
            names: inputs.names.of_switches(before),
            nodes,
            full_topology,
            is_maintenance: question.is_maintenance,
            ..inputs.without_history()
        }
    }

    /// Compares a routing with that in force.
    fn changes(&self, after: &VerifiedRun, tables: &Tables, before: &[SwitchIdx]) -> RouteChanges {
        let old_topo = &self.run.topo;
        let old_destinations = old_topo.destinations();
        let stays = |lid: Lid| after.topo.destination(lid).is_some();
        let left: Vec<Lid> = old_destinations
            .iter()
            .map(|d| d.lid)
            .filter(|lid| !stays(*lid))
            .collect();
        let mut changes = RouteChanges::default();
        let mut moved: BTreeSet<Lid> = BTreeSet::new();
        for (new, s) in tables.iter().zip(before) {
            let old = self.tables.get(s.index());
            if old.is_some_and(|old| Arc::ptr_eq(old, new)) {
                continue;
            }
            changes.lft_blocks += changed_blocks(old.map(|old| &**old), new).count() as u64;
            for d in after.topo.destinations() {
                let is_added = old.is_none() || old_topo.destination(d.lid).is_none();
                let old_port = old.map_or(PortNum::DROP, |old| old.get(d.lid));
                if old_port == new.get(d.lid) {
                    continue;
                }
                if is_added {
                    changes.entries_added += 1;
                } else {
                    changes.entries_moved += 1;
                    moved.insert(d.lid);
                }
            }
            let Some(old) = old else {
                continue;
            };
            let removed = left.iter().filter(|lid| old.get(**lid) != new.get(**lid));
            changes.entries_removed += removed.count() as u64;
        }
        changes.destinations_moved = moved.len() as u64;
        changes.sl_changes = self.sl_changes(after, before);
        changes
    }

    fn sl_changes(&self, after: &VerifiedRun, before: &[SwitchIdx]) -> u64 {
        let old_plan = &self.run.routing.vl_plan;
        let old_plan_switches = self.inputs.nodes.len();
        let new_plan = &after.routing.vl_plan;
        if let (PathSl::Uniform(old), PathSl::Uniform(new)) = (&old_plan.path_sl, &new_plan.path_sl)
            && old == new
        {
            return 0;
        }
        let is_old = |(_, s): &(SwitchIdx, &SwitchIdx)| s.index() < old_plan_switches;
        let switches = after.topo.switches().zip(before).filter(is_old);
        let sources = switches.filter(|(s, _)| !after.topo.end_ports(*s).is_empty());
        let mut changed = 0;
        for (s, old_s) in sources {
            let others = after.topo.destinations().iter().filter(|d| d.switch != s);
            let differs = others.filter(|d| {
                let old = self.run.topo.destination(d.lid);
                old.is_some_and(|old| old_plan.sl(*old_s, old) != new_plan.sl(s, d))
            });
            changed += differs.count() as u64;
        }
        changed
    }
}

/// What the SM would do after a loss, or with other engines.
#[must_use]
pub fn what_if(
    basis: &RoutingBasis,
    question: &WhatIfQuestion,
    cancellation: &Cancellation,
) -> Prediction {
    let topo = basis.graph();
    let connectivity_before = Connectivity::after(topo, &Loss::default());
    let WhatIfQuestion {
        loss,
        drained,
        additions,
        ..
    } = question;
    let mut out_of_use = loss.clone();
    out_of_use.switches.extend(drained);
    let connectivity = match additions.is_empty() {
        true => Connectivity::after(topo, &out_of_use),
        false => {
            let remaining = topo.after_change(&out_of_use, additions, |_| true);
            Connectivity::after_change(topo, &remaining)
        }
    };
    let is_reached = |s| connectivity.is_in_main_part(s) || drained.contains(&s);
    let remaining = topo.after_change(loss, additions, is_reached);
    let mut job = basis.job_after(question, &remaining);
    job.cancel = cancellation.comparison.clone();
    job.abandoned = cancellation.all.clone();
    let result = job.compute().result;
    let routes = result.map(|routes| PredictedRoutes {
        changes: basis.changes(&routes.run, &routes.tables, &remaining.switches),
        nodes: job.nodes.clone(),
        tables: routes.tables,
        run: routes.run,
        proof: routes.proof,
        is_of_engine: routes.is_of_engine,
        drained_lids: routes.writes.drained_lids,
    });
    Prediction {
        connectivity_before,
        connectivity,
        routes,
    }
}
