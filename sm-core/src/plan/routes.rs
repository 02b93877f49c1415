//! From the subnet to forwarding tables: the routing job, which is pure and may run anywhere.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, Lmc, PortNum};
use ferrosm_routing::multicast;
use ferrosm_routing::select::EngineRejection;
use ferrosm_routing::transition::groups::Replacement;
use ferrosm_routing::transition::{self, Transition};
use ferrosm_routing::{
    CancelToken, Hints, LastRun, Lft, Previous, Proof, Request, RerouteCache, Routing, SwitchIdx,
    Topology, WorkBudget,
};
use rustc_hash::FxHashMap;

use super::adopt::{AdoptedRouting, InheritedRouting};
use super::change::VlChange;
use super::failure::{EngineRefusal, RoutingFailure};
use super::graph::{FabricGraph, GraphBuilder, GraphNode, LinkEnd};
use super::installed_groups::InstalledGroups;
use super::lids::LidPlan;
use super::routing_hints;
use super::vls::{FabricVlPlan, operated_vls};
use crate::config::{SmConfig, work_units};
use crate::subnet::{NodeIdx, Port, PortRef, Subnet};

/// Everything that routing needs to know; it holds no reference to the subnet.
#[derive(Debug)]
pub struct RoutingJob {
    /// Tells answers of different jobs apart.
    pub id: u64,
    /// The switches and what hangs on them.
    pub topology: Arc<Topology>,
    /// The tables that are in the switches now, so that few entries move.
    pub previous: Previous,
    /// The same, for the order of writes.
    pub installed: Vec<Option<Arc<Lft>>>,
    /// Lanes of the routing in force.
    pub previous_vls: Option<FabricVlPlan>,
    /// The same of multicast.
    pub groups: InstalledGroups,
    /// The configuration that it is for.
    pub generation: u64,
    /// Engines in the order in which they are tried.
    pub engines: Vec<String>,
    /// Data VLs that may be used.
    pub vls: u8,
    /// Time that comparing engines may take. Whoever runs the job and has a clock cancels [`Self::cancel`] after it.
    pub budget: Duration,
    /// Ends the comparison of engines; the best routing found so far is the result.
    pub cancel: CancelToken,
    /// What the operator says of the structure, as far as it was found in the fabric.
    pub hints: Hints,
    /// What of it was not found, and the like.
    pub remarks: Vec<String>,
    /// Names of the switches, for messages.
    pub names: Vec<String>,
    /// What is known of the routing that the last run or another subnet manager left.
    pub inherited: Option<InheritedRouting>,
    nodes: Vec<NodeIdx>,
}

/// What a [`RoutingJob`] found.
#[derive(Debug)]
pub struct RoutingJobResult {
    /// The job's.
    pub id: u64,
    /// The job's.
    pub generation: u64,
    /// Proven tables, or why no engine could do it.
    pub result: Result<Routes, RoutingFailure>,
    /// The switch that each table is for.
    pub nodes: Vec<NodeIdx>,
}

/// Tables that may be installed.
#[derive(Debug)]
pub struct Routes {
    /// The graph, and what the engine made of it: the next job starts from it.
    pub run: Arc<LastRun>,
    /// That the tables reach everything and cannot deadlock.
    pub proof: Proof,
    /// How to get there from what is installed.
    pub order: LftWriteOrder,
    /// Packets are under way and lanes matter: SLtoVLMappingTables are there before forwarding tables are written.
    pub sl_to_vl_first: bool,
    /// Multicast entries that must be emptied before anything of this is written.
    pub in_the_way: Vec<(Lid, NodeIdx)>,
    /// What the engine says of its work, and why engines before it were refused.
    pub notes: Vec<String>,
}

/// What a routing starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RoutingStart {
    /// The routing in force, without what was lost, if that will do.
    #[default]
    Incremental,
    /// The engine, which keeps installed entries where they are as good as others.
    InstalledTables,
    /// Nothing but the graph, whatever moves.
    Scratch,
}

/// Tables by node.
pub type NodeLfts = Vec<(NodeIdx, Arc<Lft>)>;

/// In which order tables can be written so that nothing loops or deadlocks meanwhile.
#[derive(Debug, Default)]
pub enum LftWriteOrder {
    /// In any, all at once.
    #[default]
    Any,
    /// Blocks of forwarding tables, stage after stage; blocks that are not named do not matter.
    Stages(Vec<Vec<(NodeIdx, u16)>>),
    /// These tables first, which drop what changes; then, after a pause, tables of lanes, and the tables themselves.
    Drain {
        /// What drops.
        first: NodeLfts,
        /// Blocks of the tables themselves, as in [`Self::Stages`]; none: in any order.
        then: Vec<Vec<(NodeIdx, u16)>>,
    },
}

/// The end of a link at a port of a switch.
fn link_end(subnet: &Subnet, p: PortRef, s: SwitchIdx, cfg: &SmConfig) -> LinkEnd {
    LinkEnd {
        at: (s, p.port),
        vls: Some(operated_vls(subnet, p, cfg)),
        mbps: subnet.port(p).and_then(Port::mbps),
    }
}

/// Whether a graph has no more cables than another one, and no switches that the other one does not have. `nodes` and `others`
/// are ascending.
fn is_part(topo: &Topology, nodes: &[NodeIdx], other: &Topology, others: &[NodeIdx]) -> bool {
    let cable_ends = |t: &Topology| t.switches().map(|s| t.links(s).len()).sum::<usize>();
    cable_ends(topo) <= cable_ends(other) && nodes.iter().all(|n| others.binary_search(n).is_ok())
}

impl RoutingJob {
    /// Builds the job: switches with a linear forwarding table, the links between them, and the LIDs behind each port.
    /// `last` is the routing in force with the node of each of its switches.
    #[must_use]
    pub fn new(
        id: u64,
        subnet: &Subnet,
        lids: &LidPlan,
        cfg: &SmConfig,
        last: Option<&(Arc<LastRun>, Vec<NodeIdx>)>,
        start: RoutingStart,
    ) -> Self {
        let mut graph = GraphBuilder::default();
        let mut names = Vec::new();
        let mut previous = Previous::none();
        let of_switches = lids.lids.iter().filter(|(p, ..)| p.port == PortNum::ZERO);
        let base: FxHashMap<NodeIdx, (Lid, Lmc)> = of_switches
            .map(|(p, lid, lmc)| (p.node, (*lid, *lmc)))
            .collect();
        for (idx, node) in subnet.nodes() {
            if node.switch_info().is_none_or(|s| s.linear_fdb_cap == 0) {
                continue;
            }
            let switch = GraphNode {
                guid: node.info.node_guid,
                port_guid: node.info.port_guid,
                lids: base.get(&idx).copied().unwrap_or((Lid::NONE, Lmc(0))),
            };
            graph.add_switch(idx, idx.index(), node.info.num_ports, switch);
            names.push(format!(
                "\"{}\" ({})",
                node.description, node.info.node_guid
            ));
            previous.lfts.push(node.installed.clone());
            previous.order.push(node.order);
        }
        let end = |p: PortRef, s| link_end(subnet, p, s, cfg);
        for link in subnet.links() {
            let a = graph.switch(link.a.node.index());
            if let Some((a, b)) = a.zip(graph.switch(link.b.node.index())) {
                graph.add_link(end(link.a, a), end(link.b, b));
            }
        }
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
                graph.add_end_port(end(peer, s), port);
            }
        }
        let FabricGraph {
            topology,
            places,
            nodes,
        } = graph.build();
        previous.last = last
            .filter(|(_, of)| *of == nodes)
            .map(|(run, _)| Arc::clone(run));
        previous.pinned_engine = last
            .filter(|(run, of)| is_part(&topology, &nodes, &run.topo, of))
            .map(|(run, _)| run.routing.engine);
        let (hints, remarks) = routing_hints::resolve(&cfg.hints, &places);
        let installed = previous.lfts.clone();
        match start {
            RoutingStart::Incremental => {}
            RoutingStart::InstalledTables => {
                previous.last = None;
                previous.pinned_engine = None;
            }
            RoutingStart::Scratch => previous = Previous::none(),
        }
        Self {
            id,
            topology: Arc::new(topology),
            previous,
            installed,
            previous_vls: None,
            groups: InstalledGroups::default(),
            generation: 0,
            engines: cfg.engines.clone(),
            vls: cfg.routing_vls,
            budget: cfg.routing_budget,
            cancel: CancelToken::default(),
            hints,
            remarks,
            names,
            inherited: None,
            nodes,
        }
    }

    /// The switch of each index of the graph.
    #[must_use]
    pub fn nodes(&self) -> &[NodeIdx] {
        &self.nodes
    }

    /// Computes the tables. Takes about [`Self::budget`] with automatic choice, and as long as an engine takes that the
    /// operator has named.
    #[must_use]
    pub fn run(&self) -> RoutingJobResult {
        let engines: Vec<&str> = self.engines.iter().map(String::as_str).collect();
        let budget = WorkBudget::limited(work_units(self.budget)).with_token(self.cancel.clone());
        let request = Request::new(&self.topology)
            .with_previous(&self.previous)
            .with_hints(&self.hints)
            .with_vls(self.vls)
            .with_budget(&budget);
        let (adopted, refused) = self.adopt(&request);
        let mut failure = RoutingFailure {
            adoption: refused,
            engines: Vec::new(),
        };
        let chosen = adopted.or_else(|| {
            let selection = ferrosm_routing::route_with(&engines, &request);
            failure.engines = selection.rejected.iter().map(|r| self.refusal(r)).collect();
            let (routing, proof) = selection.chosen?;
            let before = self.previous.last.as_ref();
            let before = before.filter(|_| selection.rerouted);
            Some(AdoptedRouting {
                busiest: before.map_or(proof.max_load, |last| last.baseline_max_load),
                routing,
                proof,
                cache: selection.cache,
                note: String::new(),
            })
        });
        let result = match chosen {
            None => Err(failure),
            Some(chosen) => {
                let AdoptedRouting {
                    mut routing,
                    proof,
                    busiest,
                    cache,
                    note,
                } = chosen;
                let mut notes: Vec<String> = failure.lines().collect();
                // A promise of trees is part of what later repairs keep.
                let last = self.previous.last.as_ref();
                let groups = last.and_then(|last| last.routing.trees.sl());
                multicast::resolve_trees(&self.topology, &mut routing, groups);
                notes.extend(Some(note).filter(|note| !note.is_empty()));
                notes.extend(self.remarks.iter().cloned());
                notes.extend(routing.diagnostics.iter().map(ToString::to_string));
                let live = self.is_live();
                let (order, in_the_way) = if live {
                    self.order_of_writes(&routing, &cache, &mut notes)
                } else {
                    (LftWriteOrder::Any, Vec::new())
                };
                let before = self.previous_vls.as_ref();
                let had_lanes = before.is_some_and(|before| !before.is_single());
                let sl_to_vl_first = live && (had_lanes || !routing.vl_plan.is_single());
                let run = LastRun {
                    topo: Arc::clone(&self.topology),
                    routing,
                    baseline_max_load: busiest,
                    cache,
                };
                Ok(Routes {
                    run: Arc::new(run),
                    proof,
                    order,
                    sl_to_vl_first,
                    in_the_way,
                    notes,
                })
            }
        };
        RoutingJobResult {
            id: self.id,
            generation: self.generation,
            result,
            nodes: self.nodes.clone(),
        }
    }

    /// What is inherited, if it may stay; or why it may not, where that is worth telling.
    fn adopt(&self, request: &Request<'_>) -> (Option<AdoptedRouting>, Option<String>) {
        let Some(inherited) = self.inherited.as_ref().filter(|_| self.is_live()) else {
            return (None, None);
        };
        match inherited.adopt(request, &self.installed, &|s| self.name(s)) {
            Ok(adopted) => (Some(adopted), None),
            Err(why) => (None, Some(why)),
        }
    }

    /// Whether any switch forwards anything.
    fn is_live(&self) -> bool {
        let lives = |lft: &Arc<Lft>| lft.entries().iter().any(|p| *p != PortNum::DROP.raw());
        self.installed.iter().flatten().any(lives)
    }

    /// In which order the tables can take the place of those that are installed, and which entries of groups go before.
    fn order_of_writes(
        &self,
        routing: &Routing,
        cache: &RerouteCache,
        notes: &mut Vec<String>,
    ) -> (LftWriteOrder, Vec<(Lid, NodeIdx)>) {
        let drained = self.drained_for_lanes(routing, notes);
        let node = |s: SwitchIdx| self.nodes.get(s.index()).copied();
        let here = |(s, block)| Some((node(s)?, block));
        let names = |tables: Vec<Arc<Lft>>| self.nodes.iter().copied().zip(tables).collect();
        let was: Vec<Option<Arc<Lft>>> = match &drained {
            Some(tables) => tables.iter().cloned().map(Some).collect(),
            None => self.installed.clone(),
        };
        let (tables, lanes) = (&routing.tables, &routing.vl_plan);
        let transition = transition::plan_with(&self.topology, &was, tables, lanes, cache);
        let replacement = Replacement {
            topo: &self.topology,
            old: &was,
            new: tables,
            vl_plan: lanes,
            cache,
            transition: &transition,
        };
        let before = self.previous_vls.as_ref();
        let in_the_way = self.groups.conflicting(replacement, &self.nodes, before);
        let stages: Vec<Vec<(NodeIdx, u16)>> = match transition {
            Transition::AnyOrder => Vec::new(),
            Transition::Stages(stages) => {
                notes.push(format!(
                    "LFT update in {} stages (mixed old and new entries could loop or deadlock)",
                    stages.len()
                ));
                let stages = stages.into_iter();
                stages
                    .map(|stage| stage.into_iter().filter_map(here).collect())
                    .collect()
            }
            Transition::Drain { first, conflict } => {
                notes.push(format!(
                    "LFT update drains changing routes first (mixed old and new entries: {})",
                    conflict.describe(&|s| self.name(s))
                ));
                let first = names(first);
                let then = Vec::new();
                return (LftWriteOrder::Drain { first, then }, in_the_way);
            }
        };
        let order = match drained {
            Some(first) => LftWriteOrder::Drain {
                first: names(first),
                then: stages,
            },
            None if stages.is_empty() => LftWriteOrder::Any,
            None => LftWriteOrder::Stages(stages),
        };
        (order, in_the_way)
    }

    /// Where lanes change under packets: the installed tables without the routes of these packets. Then no packet that
    /// began on old lanes is under way when the new ones come.
    fn drained_for_lanes(
        &self,
        routing: &Routing,
        notes: &mut Vec<String>,
    ) -> Option<Vec<Arc<Lft>>> {
        let before = self.previous_vls.as_ref()?;
        let change = before.change_to(&self.topology, &self.nodes, &routing.vl_plan);
        let lids: Vec<Lid> = match change {
            VlChange::None => return None,
            VlChange::UnusedSls => {
                notes.push("SLtoVL tables of unused VLs are written before the routes".to_owned());
                return None;
            }
            VlChange::PathSls(lids) => lids,
            VlChange::UsedSlToVl => {
                let all = self.topology.destinations().iter();
                all.map(|d| d.lid).collect()
            }
        };
        let known = |lid: &Lid| {
            let mut tables = self.installed.iter().flatten();
            tables.any(|lft| lft.get(*lid) != PortNum::DROP)
        };
        let lids: Vec<Lid> = lids.into_iter().filter(known).collect();
        if lids.is_empty() {
            return None;
        }
        notes.push(format!(
            "routes to {} LIDs are drained while their VLs change",
            lids.len()
        ));
        notes.push(
            "SLs of paths change: existing connections keep their SL until they query the path again"
                .to_owned(),
        );
        let tables = self.installed.iter().zip(&routing.tables);
        Some(
            tables
                .map(|(was, is)| {
                    // What is not known is taken to be what will be there.
                    let mut lft = Lft::clone(was.as_ref().unwrap_or(is));
                    for lid in &lids {
                        lft.set(*lid, PortNum::DROP);
                    }
                    Arc::new(lft)
                })
                .collect(),
        )
    }

    fn refusal(&self, refused: &EngineRejection) -> EngineRefusal {
        EngineRefusal {
            engine: refused.engine.clone(),
            why: refused.describe_reason(&|s| self.name(s)),
        }
    }

    /// A switch's name.
    #[must_use]
    pub fn name(&self, switch: SwitchIdx) -> String {
        self.names.get(switch.index()).cloned().unwrap_or_default()
    }
}

/// The blocks that turn the installed table into the wanted one; everything where the installed one is not known.
#[must_use]
pub fn blocks_to_write(installed: Option<&Arc<Lft>>, wanted: &Arc<Lft>) -> Vec<u16> {
    if installed.is_some_and(|i| Arc::ptr_eq(i, wanted)) {
        return Vec::new();
    }
    ferrosm_routing::changed_blocks(installed.map(Arc::as_ref), wanted).collect()
}
