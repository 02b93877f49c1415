//! The routing job: from the observed fabric to forwarding tables. Pure; may run on any thread.

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_mad::ids::{Lid, Lmc, PortNum};
use ferrosm_routing::multicast;
use ferrosm_routing::table_limits::{
    DroppedTransit, LimitedSwitch, NarrowSwitch, transit_lids, truncated_tables, widened,
    without_transit,
};
use ferrosm_routing::update::transition::groups::Replacement;
use ferrosm_routing::update::transition::{self, Transition};
use ferrosm_routing::{
    CancelToken, EarlierRun, Hints, KeptSwitchUse, KeptTables, Lft, PreviousRouting, Proof,
    RerouteCache, Routing, RoutingRequest, SwitchIdx, Tables, Topology, VerifiedRun, VlPlan,
    WorkBudget,
};
use rustc_hash::FxHashMap;

use crate::config::hints::{self, GuidHints, GuidIndex, HintWarning};
use crate::config::{DrainPolicy, SmConfig, work_units};
use crate::lids::plan::{LidPlan, LimitedLft};
use crate::report::routing_failure::{AdoptionRejection, RoutingFailure};
use crate::report::routing_message::RoutingMessage;
use crate::report::switch_names::SwitchNames;
use crate::routing::RoutingState;
use crate::routing::adopt::{AdoptedRouting, InheritedRouting};
use crate::routing::drain::{RoutingUpdate, VlTransition, dropped_lids};
use crate::routing::graph::{GraphBuilder, GraphNode, LinkEnd};
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::kept::{kept_tables, weighted_vls};
use crate::routing::lft_writes::{LftPass, LftWriteOrder, LftWritePlan};
use crate::routing::passes::{TablePass, find_passes};
use crate::routing::switch_routes::{ClearedUpdate, clear_switch_routes};
use crate::routing::vl_plan::{FabricVlPlan, operated_vls};

/// The inputs of a routing computation, copied from the observed fabric.
#[derive(Debug)]
pub struct RoutingJob {
    /// Identifies the job in its result.
    pub id: u64,
    /// Switches, links and end ports, without links that are not routed
    /// ([`VerifiedRoutes::stubs`]).
    pub topology: Arc<Topology>,
    /// The same with all links.
    pub(super) full_topology: Arc<Topology>,
    /// Switches whose LFT is too small for all LIDs.
    pub(super) limited: Vec<LimitedSwitch>,
    /// Those of them of which some links are not routed, and the drained switches.
    pub(super) stubs: Vec<SwitchIdx>,
    /// Data VLs of the routing in force.
    pub(super) vls_in_force: u8,
    /// The installed tables and the last routing, from which engines start to change few entries.
    pub previous: PreviousRouting,
    /// The installed LFTs, for the order of writes; `None` where unknown.
    pub installed: Vec<Option<Arc<Lft>>>,
    /// VLs of the routing in force.
    pub previous_vls: Option<FabricVlPlan>,
    /// Installed multicast entries.
    pub groups: InstalledGroups,
    /// Generation of the configuration.
    pub generation: u64,
    /// Engines, in the order in which they are tried.
    pub engines: Vec<String>,
    /// Data VLs that may be used.
    pub vls: u8,
    /// Time limit of the automatic choice of an engine. The caller cancels [`Self::cancel`] when it
    /// has passed.
    pub budget: Duration,
    /// Stops the comparison of engines; the result is the best routing found so far.
    pub cancel: CancelToken,
    /// Stops the job, because the SM no longer needs its result.
    pub(crate) abandoned: CancelToken,
    /// The operator's routing hints, resolved in this fabric.
    pub hints: Hints,
    /// Warnings about hints that could not be resolved.
    pub hint_warnings: Vec<HintWarning>,
    /// Source of the hints.
    pub(super) guid_hints: Arc<GuidHints>,
    /// GUIDs of the graph.
    pub(super) guid_index: GuidIndex,
    /// Tables that switches keep because they reject writes.
    pub kept: KeptTables,
    /// Names of the switches, for messages.
    pub names: SwitchNames,
    /// Also determines [`LftWritePlan::abort_trees`], which can take longer than the rest of
    /// an incremental reroute.
    pub plans_abort_trees: bool,
    /// The routing of an earlier run or another SM that may be installed.
    pub inherited: Option<InheritedRouting>,
    /// Whether routes that have not lost a link may be drained.
    pub may_drain: bool,
    /// Whether an operator drains something or puts it back: packets are dropped only if no
    /// candidate avoids it.
    pub is_maintenance: bool,
    pub(super) nodes: Vec<NodeIdx>,
}

/// The result of a [`RoutingJob`].
#[derive(Debug)]
pub struct RoutingJobResult {
    /// Identifier of the job.
    pub id: u64,
    /// Generation of the job's configuration.
    pub generation: u64,
    /// Verified tables, or why every engine failed.
    pub result: Result<VerifiedRoutes, RoutingFailure>,
    /// The node of each table.
    pub nodes: Vec<NodeIdx>,
}

/// Verified tables, ready to be installed.
#[derive(Debug)]
pub struct VerifiedRoutes {
    /// The graph and its routing, from which the next job starts. Its tables have an entry for each
    /// LID.
    pub run: Arc<VerifiedRun>,
    /// The tables as far as switches can hold them.
    pub tables: Tables,
    /// Switches whose LFT is too small for all LIDs, and of which some links are not routed: other
    /// switches would lose packets there.
    pub stubs: BTreeSet<NodeIdx>,
    /// The proof of reachability and deadlock freedom.
    pub proof: Proof,
    /// How the LFTs are written.
    pub writes: LftWritePlan,
    /// SLtoVLMappingTables must be written before LFTs, because routes are in use and depend on
    /// VLs.
    pub sl_to_vl_first: bool,
    /// LIDs that some end ports do not reach, because of LFT entries that switches keep.
    pub unreachable: Vec<Lid>,
    /// Messages of the engine, and why engines tried before it were rejected.
    pub messages: Vec<RoutingMessage>,
    /// An engine computed the routing; otherwise an earlier routing was adopted or rerouted.
    pub is_of_engine: bool,
}

/// A routing of a graph.
struct Routed {
    topology: Arc<Topology>,
    /// Switches of which some links are not in `topology`.
    stubs: Vec<SwitchIdx>,
    planned: PlannedUpdate,
    /// LIDs that switches with small LFTs drop.
    dropped: Vec<DroppedTransit>,
    /// Switches with few VLs that are leaves in `topology`.
    narrow: Vec<NarrowSwitch>,
    /// Why adoption and engines were rejected.
    failure: RoutingFailure,
}

/// The starting point of a routing computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RoutingStart {
    /// An incremental reroute of the routing in force, if possible.
    #[default]
    Incremental,
    /// An engine run that preserves installed entries that are as good as others.
    InstalledTables,
    /// An engine run that ignores installed entries.
    Scratch,
}

/// A routing and how it is written.
pub(super) struct PlannedUpdate {
    pub(super) adopted: AdoptedRouting,
    /// The tables of `adopted` without entries that switches cannot hold.
    pub(super) tables: Tables,
    pub(super) writes: LftWritePlan,
    pub(super) messages: Vec<RoutingMessage>,
    pub(super) is_of_engine: bool,
    pub(super) kept_use: KeptSwitchUse,
}

/// The end of a link at a port of a switch.
fn link_end(fabric: &ObservedFabric, p: PortRef, s: SwitchIdx, cfg: &SmConfig) -> LinkEnd {
    LinkEnd {
        at: (s, p.port),
        vls: Some(operated_vls(fabric, p, cfg).min(weighted_vls(fabric, p))),
        mbps: fabric.port(p).and_then(Port::mbps),
    }
}

/// Whether every switch of a graph is in another graph, which has at least as many links. `nodes`
/// and `other_nodes` are ascending.
pub(super) fn is_subgraph(
    topo: &Topology,
    nodes: &[NodeIdx],
    other: &Topology,
    other_nodes: &[NodeIdx],
) -> bool {
    let link_ends = |t: &Topology| t.switches().map(|s| t.links(s).len()).sum::<usize>();
    link_ends(topo) <= link_ends(other)
        && nodes.iter().all(|n| other_nodes.binary_search(n).is_ok())
}

impl RoutingJob {
    /// Builds the job that `routing` has numbered, from switches with an LFT, the links between
    /// them, and the LIDs of end ports.
    #[must_use]
    pub(super) fn new(
        fabric: &ObservedFabric,
        lids: &LidPlan,
        cfg: &SmConfig,
        routing: &RoutingState,
    ) -> Self {
        let last = routing.installed.as_ref();
        let desired = &routing.desired;
        let mut graph = GraphBuilder::default();
        let mut nodes = Vec::new();
        let mut names = Vec::new();
        let mut previous = PreviousRouting::none();
        let of_switches = lids.lids.iter().filter(|(p, ..)| p.port == PortNum::ZERO);
        let base: FxHashMap<NodeIdx, (Lid, Lmc)> = of_switches
            .map(|(p, lid, lmc)| (p.node, (*lid, *lmc)))
            .collect();
        for (idx, node) in fabric.nodes() {
            if node.table_caps().lft == 0 {
                continue;
            }
            let switch = GraphNode {
                guid: node.info.node_guid,
                port_guid: node.info.port_guid,
                lids: base.get(&idx).copied().unwrap_or((Lid::NONE, Lmc(0))),
            };
            graph.add_switch(idx.index(), node.info.num_ports, switch);
            nodes.push(idx);
            names.push(node.name());
            previous.lfts.push(node.lft_in_use().cloned());
            previous.order.push(desired.order(idx));
        }
        let end_of = |p: PortRef, s| link_end(fabric, p, s, cfg);
        let is_avoided = |p: PortRef| fabric.port(p).is_some_and(|port| port.is_avoided);
        for link in fabric.links().filter(|link| !is_avoided(link.a)) {
            let a = graph.switch(link.a.node.index());
            if let Some((a, b)) = a.zip(graph.switch(link.b.node.index())) {
                graph.add_link(end_of(link.a, a), end_of(link.b, b));
            }
        }
        let limited: Vec<LimitedSwitch> = lids
            .limited_lfts(fabric)
            .filter_map(|LimitedLft { node, entries }| {
                let switch = graph.switch(node.index())?;
                Some(LimitedSwitch { switch, entries })
            })
            .collect();
        for (p, lid, lmc) in &lids.lids {
            if graph.switch(p.node.index()).is_none()
                && let Some(peer) = fabric.peer(*p)
                && let Some(s) = graph.switch(peer.node.index())
                && let Some((node, port)) = fabric.get(p.node).zip(fabric.port(*p))
            {
                let port = GraphNode {
                    guid: node.info.node_guid,
                    port_guid: port.guid,
                    lids: (*lid, *lmc),
                };
                graph.add_end_port(end_of(peer, s), port);
            }
        }
        let drained = routing.drained_switches.iter();
        let drained: Vec<SwitchIdx> = drained
            .filter_map(|guid| graph.switch(fabric.node_by_guid(*guid)?.index()))
            .collect();
        let (topology, guid_index) = graph.build();
        let full_topology = Arc::new(topology);
        let small = limited.iter().map(|limited| limited.switch);
        let mut stubs: Vec<SwitchIdx> = small
            .filter(|s| desired.is_stub(nodes[s.index()]))
            .collect();
        stubs.extend(drained);
        stubs.sort_unstable();
        stubs.dedup();
        let topology = if stubs.is_empty() {
            Arc::clone(&full_topology)
        } else {
            Arc::new(without_transit(&full_topology, &stubs))
        };
        if let Some((run, run_nodes)) = last {
            let run = Arc::clone(run);
            if *run_nodes == nodes {
                previous.last_run = Some(run);
            } else {
                let index = |n: &NodeIdx| run_nodes.binary_search(n).ok();
                let switch = |n| index(n).and_then(|at| run.topo.switches().nth(at));
                previous.earlier_run = Some(EarlierRun {
                    switches: nodes.iter().map(switch).collect(),
                    run,
                });
            }
        }
        previous.pinned_engine = last
            .filter(|(run, run_nodes)| is_subgraph(&topology, &nodes, &run.topo, run_nodes))
            .map(|(run, _)| run.routing.engine);
        let kept = kept_tables(fabric, &topology, &nodes).with_cut_off_switches(&topology);
        let (hints, hint_warnings) = hints::resolve(&cfg.hints, &guid_index);
        let installed = previous.lfts.clone();
        match routing.job_start {
            RoutingStart::Incremental => {}
            RoutingStart::InstalledTables => {
                previous.last_run = None;
                previous.earlier_run = None;
                previous.pinned_engine = None;
            }
            RoutingStart::Scratch => previous = PreviousRouting::none(),
        }
        Self {
            id: routing.jobs,
            topology,
            full_topology,
            limited,
            stubs,
            vls_in_force: last.map_or(1, |(run, _)| run.routing.vl_plan.vls),
            previous,
            installed,
            previous_vls: None,
            groups: InstalledGroups::default(),
            generation: 0,
            engines: cfg.engines.clone(),
            vls: cfg.routing_vls,
            budget: cfg.routing_budget,
            cancel: CancelToken::default(),
            abandoned: CancelToken::default(),
            hints,
            hint_warnings,
            guid_hints: Arc::clone(&cfg.hints),
            guid_index,
            kept,
            names: names.into_iter().collect(),
            plans_abort_trees: false,
            inherited: None,
            may_drain: cfg.routing_drain == DrainPolicy::Allow,
            is_maintenance: false,
            nodes,
        }
    }

    /// The node of each switch of the graph, by index.
    #[must_use]
    pub fn nodes(&self) -> &[NodeIdx] {
        &self.nodes
    }

    /// Afterwards [`Self::run`] returns a result even if the SM abandons the job.
    pub fn detach(&mut self) {
        self.abandoned = CancelToken::default();
    }

    /// Computes and verifies tables. Takes about [`Self::budget`] with automatic choice of the
    /// engine; a configured engine is not limited. `None` if the SM abandoned the job meanwhile.
    #[must_use]
    pub fn run(&self) -> Option<RoutingJobResult> {
        let computed = self.compute();
        (!self.abandoned.is_cancelled()).then_some(computed)
    }

    pub(super) fn compute(&self) -> RoutingJobResult {
        let routed = self.route_around_small_lfts();
        RoutingJobResult {
            id: self.id,
            generation: self.generation,
            result: routed
                .map(|routed| self.verified_routes(routed))
                .map_err(|failure| *failure),
            nodes: self.nodes.clone(),
        }
    }

    /// Routes the fabric. Where other switches route LIDs through a switch whose LFT cannot hold
    /// them, it is routed again without such links: first those of the switches found, then those
    /// of all switches with small LFTs.
    fn route_around_small_lfts(&self) -> Result<Routed, Box<RoutingFailure>> {
        let mut stubs = self.stubs.clone();
        let mut routed = self.route_on(&self.topology, stubs.clone())?;
        for is_last in [false, true] {
            let found = routed.dropped.iter().map(|dropped| dropped.limited.switch);
            let mut found: Vec<SwitchIdx> = found.filter(|s| !stubs.contains(s)).collect();
            if found.is_empty() {
                break;
            }
            if is_last {
                let all = self.limited.iter().map(|limited| limited.switch);
                found = all.filter(|s| !stubs.contains(s)).collect();
            }
            stubs.extend(found);
            stubs.sort_unstable();
            let topology = Arc::new(without_transit(&self.full_topology, &stubs));
            match self.route_on(&topology, stubs.clone()) {
                Ok(other) => routed = other,
                Err(_) => break,
            }
        }
        Ok(routed)
    }

    /// Routes a graph, and does not let few switches with few VLs limit the VLs of all: if the
    /// routing in force uses more, or an engine needs more, these switches are routed as leaves.
    fn route_on(
        &self,
        topology: &Arc<Topology>,
        stubs: Vec<SwitchIdx>,
    ) -> Result<Routed, Box<RoutingFailure>> {
        let inherited = self.inherited.as_ref().map_or(1, |i| i.routing.vls());
        let in_force = self.vls_in_force.max(inherited).min(self.vls);
        let wide = (topology.common_vls() < self.vls)
            .then(|| widened(topology))
            .flatten();
        let Some((wide, narrow)) = wide else {
            return self.route_with_engines(topology, stubs, Vec::new());
        };
        let wide = Arc::new(wide);
        let route_wide = |stubs| self.route_with_engines(&wide, stubs, narrow.clone());
        if in_force > topology.common_vls()
            && let Ok(routed) = route_wide(stubs.clone())
        {
            return Ok(routed);
        }
        let routed = self.route_with_engines(topology, stubs.clone(), Vec::new());
        let needs_more = |failure: &RoutingFailure| {
            let mut reasons = failure.engines.iter().map(|e| e.message.reason.kind());
            reasons.any(|kind| kind == "too-few-vls")
        };
        let lacks_vls = match &routed {
            Ok(routed) => needs_more(&routed.failure),
            Err(failure) => needs_more(failure),
        };
        match lacks_vls.then(|| route_wide(stubs)) {
            Some(Ok(wide)) if !needs_more(&wide.failure) => Ok(wide),
            Some(_) | None => routed,
        }
    }

    /// Routes a graph with the engines.
    fn route_with_engines(
        &self,
        topology: &Arc<Topology>,
        stubs: Vec<SwitchIdx>,
        narrow: Vec<NarrowSwitch>,
    ) -> Result<Routed, Box<RoutingFailure>> {
        let engines: Vec<&str> = self.engines.iter().map(String::as_str).collect();
        let budget = WorkBudget::limited(work_units(self.budget))
            .with_token(self.cancel.clone())
            .with_abandoned(self.abandoned.clone());
        let request = RoutingRequest::new(topology)
            .with_previous(&self.previous)
            .with_hints(&self.hints)
            .with_kept(&self.kept)
            .with_vls(self.vls)
            .with_budget(&budget);
        let (adopted, refused) = self.adopt(&request);
        let mut failure = RoutingFailure {
            adoption: refused.map(|rejection| self.names.attach(rejection)),
            engines: Vec::new(),
        };
        let planned = match adopted {
            Some(adopted) => Some(self.plan_update(adopted, topology)),
            None => self.choose(&engines, &request, &mut failure),
        };
        let Some(planned) = planned else {
            return Err(Box::new(failure));
        };
        let dropped = self.limited.iter().filter_map(|limited| {
            let lids = transit_lids(topology, &planned.adopted.routing.tables, *limited);
            Some(DroppedTransit {
                limited: *limited,
                lids: lids.len(),
                first: *lids.first()?,
            })
        });
        Ok(Routed {
            topology: Arc::clone(topology),
            dropped: dropped.collect(),
            narrow,
            stubs,
            planned,
            failure,
        })
    }

    /// The routes with the tables that switches can hold, and how these are written.
    fn verified_routes(&self, routed: Routed) -> VerifiedRoutes {
        let PlannedUpdate {
            adopted,
            tables,
            writes,
            messages: planned_messages,
            is_of_engine,
            kept_use,
        } = routed.planned;
        let AdoptedRouting {
            routing,
            proof,
            baseline_max_load,
            cache,
            message,
        } = adopted;
        let mut messages: Vec<RoutingMessage> =
            RoutingMessage::of_failure(&routed.failure).collect();
        messages.extend(message);
        messages.extend(self.hint_warnings.iter().cloned().map(RoutingMessage::Hint));
        let diagnostics = routing.diagnostics.iter().cloned();
        messages.extend(diagnostics.map(|d| RoutingMessage::Engine(self.names.attach(d))));
        if !self.kept.is_empty() {
            let switches = self.kept.switches();
            messages.push(RoutingMessage::TablesKept {
                switches: switches.map(|s| self.names.name(s)).collect(),
                kept_use,
            });
        }
        let unreachable = match proof.kept_unreachable {
            0 => Vec::new(),
            _ => self
                .kept
                .unreachable_lids(&routed.topology, &routing.tables),
        };
        let dropped = routed.dropped.into_iter().map(|d| self.names.attach(d));
        messages.extend(dropped.map(RoutingMessage::DroppedTransit));
        let narrow = routed.narrow.into_iter().map(|n| self.names.attach(n));
        messages.extend(narrow.map(RoutingMessage::NarrowSwitch));
        messages.extend(planned_messages);
        let before = self.previous_vls.as_ref();
        let had_several_vls = before.is_some_and(|before| !before.is_single());
        let sl_to_vl_first =
            self.has_installed_routes() && (had_several_vls || !routing.vl_plan.is_single());
        let stubs = routed.stubs.iter().map(|s| self.nodes[s.index()]);
        VerifiedRoutes {
            tables,
            stubs: stubs.collect(),
            run: Arc::new(VerifiedRun {
                topo: routed.topology,
                routing,
                baseline_max_load,
                cache,
            }),
            proof,
            writes,
            sl_to_vl_first,
            unreachable,
            messages,
            is_of_engine,
        }
    }

    /// Adopts the inherited routing, if it has what switches keep; returns the reason if it is
    /// rejected.
    fn adopt(
        &self,
        request: &RoutingRequest<'_>,
    ) -> (Option<AdoptedRouting>, Option<AdoptionRejection>) {
        let Some(inherited) = self
            .inherited
            .as_ref()
            .filter(|_| self.has_installed_routes())
        else {
            return (None, None);
        };
        match inherited.adopt(request, &self.installed, &self.limited) {
            Ok(adopted) => {
                let has_kept_tables = self.kept.are_in(request.topo, &adopted.routing);
                (has_kept_tables.then_some(adopted), None)
            }
            Err(rejection) => (None, Some(rejection)),
        }
    }

    /// How a routing is written.
    pub(super) fn plan_update(
        &self,
        mut adopted: AdoptedRouting,
        topology: &Topology,
    ) -> PlannedUpdate {
        // Incremental reroutes preserve the tree constraint.
        let last = self.previous.run();
        let groups = last.and_then(|last| last.routing.trees.sl());
        multicast::resolve_trees(topology, &mut adopted.routing, groups);
        let tables = truncated_tables(&adopted.routing.tables, &self.limited);
        let mut messages = Vec::new();
        let writes = if self.has_installed_routes() {
            self.plan_writes((&adopted.routing, &tables), &adopted.cache, &mut messages)
        } else {
            LftWritePlan::default()
        };
        PlannedUpdate {
            adopted,
            tables,
            writes,
            messages,
            is_of_engine: false,
            kept_use: KeptSwitchUse::Transit,
        }
    }

    /// Whether any switch has a route.
    pub(super) fn has_installed_routes(&self) -> bool {
        self.installed.iter().flatten().any(|lft| lft.has_routes())
    }

    /// How the LFTs are written in several passes.
    fn plan_passes(
        &self,
        installed: Vec<Option<Arc<Lft>>>,
        passes: Vec<TablePass>,
        vl_plan: &VlPlan,
        messages: &mut Vec<RoutingMessage>,
    ) -> LftWritePlan {
        let before = self.previous_vls.as_ref();
        let mut conflicting = BTreeSet::new();
        let mut old = installed;
        let mut planned = VecDeque::new();
        let cache = RerouteCache::new();
        for pass in passes {
            let replacement = Replacement {
                topo: &self.full_topology,
                old: &old,
                new: &pass.tables,
                vl_plan,
                cache: &cache,
                transition: &pass.transition,
            };
            conflicting.extend(self.groups.conflicting(replacement, &self.nodes, before));
            old = pass.tables.iter().cloned().map(Some).collect();
            planned.push_back(LftPass {
                tables: self.nodes.iter().copied().zip(pass.tables).collect(),
                stages: self.stages_by_node(pass.transition),
            });
        }
        let stages = planned.iter().map(|pass| pass.stages.len().max(1)).sum();
        messages.push(RoutingMessage::StagedUpdate { stages });
        let last_stages = planned.pop_back().map_or_else(Vec::new, |last| last.stages);
        LftWritePlan {
            order: match planned.is_empty() {
                true => LftWriteOrder::Stages(last_stages),
                false => LftWriteOrder::Passes {
                    passes: planned,
                    last_stages,
                },
            },
            conflicting_groups: conflicting.into_iter().collect(),
            abort_trees: None,
            drained_lids: 0,
        }
    }

    /// How the LFTs are written after routes of switches were cleared.
    fn plan_cleared(
        &self,
        cleared: ClearedUpdate,
        vl_plan: &VlPlan,
        messages: &mut Vec<RoutingMessage>,
    ) -> LftWritePlan {
        let lids = cleared.lids;
        messages.push(RoutingMessage::SwitchRoutesCleared { lids });
        let start = cleared.first.iter().cloned().map(Some).collect();
        let plan = self.plan_passes(start, cleared.passes, vl_plan, messages);
        let mut passes = VecDeque::new();
        let mut later_stages = Vec::new();
        match plan.order {
            LftWriteOrder::Passes {
                passes: planned,
                last_stages,
            } => {
                passes = planned;
                later_stages = last_stages;
            }
            LftWriteOrder::Stages(stages) => later_stages = stages,
            LftWriteOrder::Any | LftWriteOrder::Drain { .. } => {}
        }
        LftWritePlan {
            order: LftWriteOrder::Drain {
                first: self.nodes.iter().copied().zip(cleared.first).collect(),
                passes,
                later_stages,
            },
            ..plan
        }
    }

    /// The stages of a transition, by node.
    fn stages_by_node(&self, transition: Transition) -> Vec<Vec<(NodeIdx, u16)>> {
        let located = |(s, block): (SwitchIdx, u16)| Some((*self.nodes.get(s.index())?, block));
        match transition {
            Transition::Stages(stages) => stages
                .into_iter()
                .map(|stage| stage.into_iter().filter_map(located).collect())
                .collect(),
            Transition::AnyOrder | Transition::Drain { .. } => Vec::new(),
        }
    }

    fn plan_writes(
        &self,
        (routing, tables): (&Routing, &Tables),
        cache: &RerouteCache,
        messages: &mut Vec<RoutingMessage>,
    ) -> LftWritePlan {
        let by_node = |tables: Vec<Arc<Lft>>| self.nodes.iter().copied().zip(tables).collect();
        // Installed entries may lead over links that are not routed any more.
        let topo = &self.full_topology;
        let VlTransition {
            drained,
            installed: installed_tables,
            transition,
            mut drained_lids,
        } = RoutingUpdate {
            topology: topo,
            nodes: &self.nodes,
            installed: &self.installed,
            previous_vls: self.previous_vls.as_ref(),
            vl_plan: &routing.vl_plan,
            tables,
            may_drain: self.may_drain,
            cache,
        }
        .plan(messages);
        let vl_plan = &routing.vl_plan;
        if let (Transition::Drain { .. }, None, true) = (&transition, &drained, self.is_maintenance)
        {
            if let Some(passes) = find_passes(topo, &installed_tables, tables, vl_plan) {
                return self.plan_passes(installed_tables, passes, vl_plan, messages);
            }
            if let Some(cleared) = clear_switch_routes(topo, &installed_tables, tables, vl_plan) {
                return self.plan_cleared(cleared, vl_plan, messages);
            }
        }
        let replacement = Replacement {
            topo,
            old: &installed_tables,
            new: tables,
            vl_plan,
            cache,
            transition: &transition,
        };
        let before = self.previous_vls.as_ref();
        let conflicting_groups = self.groups.conflicting(replacement, &self.nodes, before);
        let abort_trees = match transition {
            Transition::Stages(_) if self.plans_abort_trees => {
                transition::trees_in_all_phases(replacement, &routing.trees)
            }
            Transition::Stages(_) | Transition::AnyOrder | Transition::Drain { .. } => None,
        };
        let order = match (transition, drained) {
            (Transition::AnyOrder, None) => LftWriteOrder::Any,
            (Transition::AnyOrder, Some(first)) => LftWriteOrder::Drain {
                first: by_node(first),
                passes: VecDeque::new(),
                later_stages: Vec::new(),
            },
            (transition @ Transition::Stages(_), drained) => {
                let stages = self.stages_by_node(transition);
                messages.push(RoutingMessage::StagedUpdate {
                    stages: stages.len(),
                });
                match drained {
                    None => LftWriteOrder::Stages(stages),
                    Some(first) => LftWriteOrder::Drain {
                        first: by_node(first),
                        passes: VecDeque::new(),
                        later_stages: stages,
                    },
                }
            }
            (Transition::Drain { first, conflict }, drained_for_vls) => {
                let lids = dropped_lids(&self.topology, &installed_tables, &first);
                drained_lids += lids;
                if drained_for_vls.is_none() {
                    let conflict = self.names.attach(conflict);
                    messages.push(RoutingMessage::DrainedUpdate { lids, conflict });
                }
                LftWriteOrder::Drain {
                    first: by_node(first),
                    passes: VecDeque::new(),
                    later_stages: Vec::new(),
                }
            }
        };
        LftWritePlan {
            order,
            conflicting_groups,
            abort_trees,
            drained_lids,
        }
    }
}
