//! The routing job: from the observed fabric to forwarding tables. It is pure and may run on any thread.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, Lmc, PortNum};
use ferrosm_routing::multicast;
use ferrosm_routing::table_limits::{
    DroppedTransit, LimitedSwitch, NarrowSwitch, transit_lids, truncated_tables, widened,
    without_transit,
};
use ferrosm_routing::transition::groups::Replacement;
use ferrosm_routing::transition::{self, Transition};
use ferrosm_routing::{
    CancelToken, Hints, KeptSwitchUse, KeptTables, Lft, PreviousRouting, Proof, RerouteCache,
    Routing, RoutingRequest, SwitchIdx, Tables, Topology, TreeConstraint, VerifiedRun, WorkBudget,
};
use rustc_hash::FxHashMap;

use super::adopt::{AdoptedRouting, InheritedRouting};
use super::change::VlChange;
use super::failure::{AdoptionRejection, RoutingFailure};
use super::graph::{FabricGraph, GraphBuilder, GraphNode, LinkEnd};
use super::installed_groups::InstalledGroups;
use super::kept::kept_tables;
use super::lids::{LidPlan, LimitedLft};
use super::messages::EngineMessage;
use super::routing_hints::{self, HintWarning};
use super::switch_names::SwitchNames;
use super::vls::{FabricVlPlan, operated_vls};
use crate::config::{SmConfig, work_units};
use crate::desired_lfts::{DesiredLfts, NodeLfts};
use crate::subnet::{NodeIdx, Port, PortRef, Subnet};

/// The inputs of a routing computation. It contains no reference to the subnet.
#[derive(Debug)]
pub struct RoutingJob {
    /// Identifies the job in its result.
    pub id: u64,
    /// Switches, links and end ports, without links that are not routed ([`VerifiedRoutes::stubs`]).
    pub topology: Arc<Topology>,
    /// The same with all links.
    full_topology: Arc<Topology>,
    /// Switches whose LFT is too small for all LIDs.
    limited: Vec<LimitedSwitch>,
    /// Those of them of which some links are not routed.
    stubs: Vec<SwitchIdx>,
    /// Data VLs of the routing in force.
    vls_in_force: u8,
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
    /// Time limit of the automatic choice of an engine. The caller cancels [`Self::cancel`] when it has passed.
    pub budget: Duration,
    /// Stops the comparison of engines; the result is the best routing found so far.
    pub cancel: CancelToken,
    /// Stops the job, because the SM no longer needs its result.
    pub(crate) abandoned: CancelToken,
    /// The operator's routing hints, resolved in this fabric.
    pub hints: Hints,
    /// Warnings about hints that could not be resolved.
    pub hint_warnings: Vec<HintWarning>,
    /// Tables that switches keep because they reject writes.
    pub kept: KeptTables,
    /// Names of the switches, for messages.
    pub names: SwitchNames,
    /// Also determines [`LftWritePlan::trees_if_aborted`], which can take longer than the rest of an incremental reroute.
    pub finds_interim_trees: bool,
    /// The routing of an earlier run or another SM that may be installed.
    pub inherited: Option<InheritedRouting>,
    nodes: Vec<NodeIdx>,
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
    /// The graph and its routing, from which the next job starts. Its tables have an entry for each LID.
    pub run: Arc<VerifiedRun>,
    /// The tables as far as switches can hold them.
    pub tables: Tables,
    /// Switches whose LFT is too small for all LIDs, and of which some links are not routed: other switches would lose packets there.
    pub stubs: BTreeSet<NodeIdx>,
    /// The proof of reachability and deadlock freedom.
    pub proof: Proof,
    /// How the LFTs are written.
    pub writes: LftWritePlan,
    /// SLtoVLMappingTables must be written before LFTs, because routes are in use and depend on VLs.
    pub sl_to_vl_first: bool,
    /// LIDs that some end ports do not reach, because of LFT entries that switches keep.
    pub unreachable: Vec<Lid>,
    /// Messages of the engine, and why engines tried before it were rejected.
    pub messages: Vec<EngineMessage>,
}

/// A routing of a graph.
struct Routed {
    topology: Arc<Topology>,
    /// Switches of which some links are not in `topology`.
    stubs: Vec<SwitchIdx>,
    chosen: AdoptedRouting,
    /// How switches that keep tables are used.
    kept_use: KeptSwitchUse,
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

/// The order in which LFTs are written so that no mixture of old and new entries loops or deadlocks.
#[derive(Debug, Default)]
pub enum LftWriteOrder {
    /// Any order.
    #[default]
    Any,
    /// LFT blocks, stage by stage. Blocks that are not listed may be written at any time.
    Stages(Vec<Vec<(NodeIdx, u16)>>),
    /// First LFTs that drop the changing routes; after packets have drained, SLtoVL tables and the new LFTs.
    Drain {
        /// LFTs without the changing routes.
        first: NodeLfts,
        /// Stages of the new LFTs, as in [`Self::Stages`]; empty for any order.
        later_stages: Vec<Vec<(NodeIdx, u16)>>,
    },
}

/// How the new LFTs replace the installed ones.
#[derive(Debug, Default)]
pub struct LftWritePlan {
    /// The order of the writes.
    pub order: LftWriteOrder,
    /// Multicast entries that must be cleared before LFTs are written.
    pub conflicting_groups: Vec<(Lid, NodeIdx)>,
    /// The constraint of multicast trees if the update stops between two stages; `None` if no tree is known to be deadlock-free then, or
    /// without [`RoutingJob::finds_interim_trees`].
    pub trees_if_aborted: Option<TreeConstraint>,
}

/// The end of a link at a port of a switch.
fn link_end(subnet: &Subnet, p: PortRef, s: SwitchIdx, cfg: &SmConfig) -> LinkEnd {
    LinkEnd {
        at: (s, p.port),
        vls: Some(operated_vls(subnet, p, cfg)),
        mbps: subnet.port(p).and_then(Port::mbps),
    }
}

/// Whether every switch of a graph is in another graph, which has at least as many links. `nodes` and `other_nodes` are ascending.
fn is_subgraph(
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
    /// Builds the job from switches with an LFT, the links between them, and the LIDs of end ports. `last` is the routing in force, with
    /// the node of each of its switches; `desired` are the LFTs that switches should have.
    #[must_use]
    pub(crate) fn new(
        id: u64,
        subnet: &Subnet,
        lids: &LidPlan,
        cfg: &SmConfig,
        last: Option<&(Arc<VerifiedRun>, Vec<NodeIdx>)>,
        desired: &DesiredLfts,
        start: RoutingStart,
    ) -> Self {
        let mut graph = GraphBuilder::default();
        let mut names = Vec::new();
        let mut previous = PreviousRouting::none();
        let of_switches = lids.lids.iter().filter(|(p, ..)| p.port == PortNum::ZERO);
        let base: FxHashMap<NodeIdx, (Lid, Lmc)> = of_switches
            .map(|(p, lid, lmc)| (p.node, (*lid, *lmc)))
            .collect();
        for (idx, node) in subnet.nodes() {
            if node.table_caps().lft == 0 {
                continue;
            }
            let switch = GraphNode {
                guid: node.info.node_guid,
                port_guid: node.info.port_guid,
                lids: base.get(&idx).copied().unwrap_or((Lid::NONE, Lmc(0))),
            };
            graph.add_switch(idx, idx.index(), node.info.num_ports, switch);
            names.push(node.name());
            previous.lfts.push(node.installed.clone());
            previous.order.push(desired.order(idx));
        }
        let end_of = |p: PortRef, s| link_end(subnet, p, s, cfg);
        let is_avoided = |p: PortRef| subnet.port(p).is_some_and(|port| port.is_avoided);
        for link in subnet.links().filter(|link| !is_avoided(link.a)) {
            let a = graph.switch(link.a.node.index());
            if let Some((a, b)) = a.zip(graph.switch(link.b.node.index())) {
                graph.add_link(end_of(link.a, a), end_of(link.b, b));
            }
        }
        let limited: Vec<LimitedSwitch> = lids
            .limited_lfts(subnet)
            .filter_map(|LimitedLft { node, entries }| {
                let switch = graph.switch(node.index())?;
                Some(LimitedSwitch { switch, entries })
            })
            .collect();
        for (p, lid, lmc) in &lids.lids {
            if graph.switch(p.node.index()).is_none()
                && let Some(peer) = subnet.peer(*p)
                && let Some(s) = graph.switch(peer.node.index())
                && let Some((node, port)) = subnet.get(p.node).zip(subnet.port(*p))
            {
                let port = GraphNode {
                    guid: node.info.node_guid,
                    port_guid: port.guid,
                    lids: (*lid, *lmc),
                };
                graph.add_end_port(end_of(peer, s), port);
            }
        }
        let FabricGraph {
            topology,
            guid_index,
            nodes,
        } = graph.build();
        let full_topology = Arc::new(topology);
        let stubs = limited.iter().map(|limited| limited.switch);
        let stubs: Vec<SwitchIdx> = stubs
            .filter(|s| desired.is_stub(nodes[s.index()]))
            .collect();
        let topology = if stubs.is_empty() {
            Arc::clone(&full_topology)
        } else {
            Arc::new(without_transit(&full_topology, &stubs))
        };
        previous.last_run = last
            .filter(|(_, run_nodes)| *run_nodes == nodes)
            .map(|(run, _)| Arc::clone(run));
        previous.pinned_engine = last
            .filter(|(run, run_nodes)| is_subgraph(&topology, &nodes, &run.topo, run_nodes))
            .map(|(run, _)| run.routing.engine);
        let kept = kept_tables(subnet, &topology, &nodes);
        let (hints, hint_warnings) = routing_hints::resolve(&cfg.hints, &guid_index);
        let installed = previous.lfts.clone();
        match start {
            RoutingStart::Incremental => {}
            RoutingStart::InstalledTables => {
                previous.last_run = None;
                previous.pinned_engine = None;
            }
            RoutingStart::Scratch => previous = PreviousRouting::none(),
        }
        Self {
            id,
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
            kept,
            names: names.into_iter().collect(),
            finds_interim_trees: false,
            inherited: None,
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

    /// Computes and verifies tables. Takes about [`Self::budget`] with automatic choice of the engine; a configured engine is not limited.
    /// `None` if the SM abandoned the job meanwhile.
    #[must_use]
    pub fn run(&self) -> Option<RoutingJobResult> {
        let computed = self.compute();
        (!self.abandoned.is_cancelled()).then_some(computed)
    }

    fn compute(&self) -> RoutingJobResult {
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

    /// Routes the fabric. Where other switches route LIDs through a switch whose LFT cannot hold them, it is routed again without such
    /// links: first those of the switches found, then those of all switches with small LFTs.
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

    /// Routes a graph, and does not let few switches with few VLs limit the VLs of all: if the routing in force uses more, or an engine needs
    /// more, these switches are routed as leaves.
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
        let mut kept_use = KeptSwitchUse::Transit;
        let chosen = adopted.or_else(|| {
            let selection = ferrosm_routing::route_with(&engines, &request);
            let rejected = selection.rejected.into_iter();
            failure.engines = rejected.map(|r| self.names.attach(r)).collect();
            let (routing, proof) = selection.chosen?;
            kept_use = selection.kept_use;
            let before = self.previous.last_run.as_ref();
            let before = before.filter(|_| selection.rerouted);
            Some(AdoptedRouting {
                baseline_max_load: before.map_or(proof.max_load, |last| last.baseline_max_load),
                routing,
                proof,
                cache: selection.cache,
                message: None,
            })
        });
        let Some(chosen) = chosen else {
            return Err(Box::new(failure));
        };
        let dropped = self.limited.iter().filter_map(|limited| {
            let lids = transit_lids(topology, &chosen.routing.tables, *limited);
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
            chosen,
            kept_use,
            failure,
        })
    }

    /// The routes with the tables that switches can hold, and how these are written.
    fn verified_routes(&self, routed: Routed) -> VerifiedRoutes {
        let AdoptedRouting {
            mut routing,
            proof,
            baseline_max_load,
            cache,
            message,
        } = routed.chosen;
        let mut messages: Vec<EngineMessage> = EngineMessage::of_failure(&routed.failure).collect();
        // Incremental reroutes preserve the tree constraint.
        let last = self.previous.last_run.as_ref();
        let groups = last.and_then(|last| last.routing.trees.sl());
        multicast::resolve_trees(&routed.topology, &mut routing, groups);
        messages.extend(message);
        messages.extend(self.hint_warnings.iter().cloned().map(EngineMessage::Hint));
        let diagnostics = routing.diagnostics.iter().cloned();
        messages.extend(diagnostics.map(|d| EngineMessage::Engine(self.names.attach(d))));
        if !self.kept.is_empty() {
            let switches = self.kept.switches();
            messages.push(EngineMessage::TablesKept {
                switches: switches.map(|s| self.names.name(s)).collect(),
                kept_use: routed.kept_use,
            });
        }
        let unreachable = match proof.kept_unreachable {
            0 => Vec::new(),
            _ => self
                .kept
                .unreachable_lids(&routed.topology, &routing.tables),
        };
        let dropped = routed.dropped.into_iter().map(|d| self.names.attach(d));
        messages.extend(dropped.map(EngineMessage::DroppedTransit));
        let narrow = routed.narrow.into_iter().map(|n| self.names.attach(n));
        messages.extend(narrow.map(EngineMessage::NarrowSwitch));
        let tables = truncated_tables(&routing.tables, &self.limited);
        let live = self.is_live();
        let writes = if live {
            self.plan_writes((&routing, &tables), &cache, &mut messages)
        } else {
            LftWritePlan::default()
        };
        let before = self.previous_vls.as_ref();
        let had_several_vls = before.is_some_and(|before| !before.is_single());
        let sl_to_vl_first = live && (had_several_vls || !routing.vl_plan.is_single());
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
        }
    }

    /// Adopts the inherited routing; returns the reason if it is rejected.
    fn adopt(
        &self,
        request: &RoutingRequest<'_>,
    ) -> (Option<AdoptedRouting>, Option<AdoptionRejection>) {
        let Some(inherited) = self
            .inherited
            .as_ref()
            .filter(|_| self.is_live() && self.kept.is_empty())
        else {
            return (None, None);
        };
        match inherited.adopt(request, &self.installed, &self.limited) {
            Ok(adopted) => (Some(adopted), None),
            Err(rejection) => (None, Some(rejection)),
        }
    }

    /// Whether any switch has a route.
    fn is_live(&self) -> bool {
        let has_route = |lft: &Arc<Lft>| lft.entries().iter().any(|p| *p != PortNum::DROP.raw());
        self.installed.iter().flatten().any(has_route)
    }

    fn plan_writes(
        &self,
        (routing, tables): (&Routing, &Tables),
        cache: &RerouteCache,
        messages: &mut Vec<EngineMessage>,
    ) -> LftWritePlan {
        let drained = self.drain_for_vl_change((routing, tables), messages);
        let node = |s: SwitchIdx| self.nodes.get(s.index()).copied();
        let located = |(s, block)| Some((node(s)?, block));
        let by_node = |tables: Vec<Arc<Lft>>| self.nodes.iter().copied().zip(tables).collect();
        let installed_tables: Vec<Option<Arc<Lft>>> = match &drained {
            Some(tables) => tables.iter().cloned().map(Some).collect(),
            None => self.installed.clone(),
        };
        let vl_plan = &routing.vl_plan;
        // Installed entries may lead over links that are not routed any more.
        let topo = &self.full_topology;
        let transition = transition::plan_with(topo, &installed_tables, tables, vl_plan, cache);
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
        let trees_if_aborted = match transition {
            Transition::Stages(_) if self.finds_interim_trees => {
                transition::trees_in_all_phases(replacement, &routing.trees)
            }
            Transition::Stages(_) | Transition::AnyOrder | Transition::Drain { .. } => None,
        };
        let order = match (transition, drained) {
            (Transition::AnyOrder, None) => LftWriteOrder::Any,
            (Transition::AnyOrder, Some(first)) => LftWriteOrder::Drain {
                first: by_node(first),
                later_stages: Vec::new(),
            },
            (Transition::Stages(stages), drained) => {
                messages.push(EngineMessage::StagedUpdate {
                    stages: stages.len(),
                });
                let stages = stages.into_iter();
                let stages: Vec<Vec<(NodeIdx, u16)>> = stages
                    .map(|stage| stage.into_iter().filter_map(located).collect())
                    .collect();
                match drained {
                    None => LftWriteOrder::Stages(stages),
                    Some(first) => LftWriteOrder::Drain {
                        first: by_node(first),
                        later_stages: stages,
                    },
                }
            }
            (Transition::Drain { first, conflict }, _) => {
                messages.push(EngineMessage::DrainedUpdate(self.names.attach(conflict)));
                LftWriteOrder::Drain {
                    first: by_node(first),
                    later_stages: Vec::new(),
                }
            }
        };
        LftWritePlan {
            order,
            conflicting_groups,
            trees_if_aborted,
        }
    }

    /// If VLs change on routes in use: the installed LFTs without these routes, so that no packet on its old VL is in a switch when the new
    /// SLtoVL tables are written.
    fn drain_for_vl_change(
        &self,
        (routing, tables): (&Routing, &Tables),
        messages: &mut Vec<EngineMessage>,
    ) -> Option<Vec<Arc<Lft>>> {
        let before = self.previous_vls.as_ref()?;
        let change = before.change_to(&self.full_topology, &self.nodes, &routing.vl_plan);
        let lids: Vec<Lid> = match change {
            VlChange::None => return None,
            VlChange::UnusedSls => {
                messages.push(EngineMessage::UnusedVlsFirst);
                return None;
            }
            VlChange::PathSls(lids) => lids,
            VlChange::UsedSlToVl => {
                let destinations = self.topology.destinations().iter();
                destinations.map(|d| d.lid).collect()
            }
        };
        let is_known = |lid: &Lid| {
            let mut tables = self.installed.iter().flatten();
            tables.any(|lft| lft.get(*lid) != PortNum::DROP)
        };
        let lids: Vec<Lid> = lids.into_iter().filter(is_known).collect();
        if lids.is_empty() {
            return None;
        }
        messages.push(EngineMessage::DrainedForVls { lids: lids.len() });
        messages.push(EngineMessage::PathSlsChange);
        Some(
            self.installed
                .iter()
                .zip(tables)
                .map(|(old_lft, new_lft)| {
                    // An unknown table counts as the new one.
                    let mut lft = Lft::clone(old_lft.as_ref().unwrap_or(new_lft));
                    for lid in &lids {
                        lft.set(*lid, PortNum::DROP);
                    }
                    Arc::new(lft)
                })
                .collect(),
        )
    }
}

/// The LFT blocks that differ from the wanted ones; all blocks if the installed LFT is unknown.
#[must_use]
pub fn blocks_to_write(installed: Option<&Arc<Lft>>, desired: &Arc<Lft>) -> Vec<u16> {
    if installed.is_some_and(|i| Arc::ptr_eq(i, desired)) {
        return Vec::new();
    }
    ferrosm_routing::changed_blocks(installed.map(Arc::as_ref), desired).collect()
}
