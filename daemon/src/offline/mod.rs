//! Offline routing of a fabric file or generated fabric, for `route` and `explain`.
//!
//! Loads the fabric, assigns LIDs, resolves the GUIDs in OpenSM input files, and runs the routing
//! engines. Prints nothing.

pub mod args;
pub mod components;
pub mod fabric;
mod lids;
pub(crate) mod progress;
pub mod spec;
pub mod trace;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_core::config::hints::{self, GuidIndex, HintWarning};
use ferrosm_core::config::work_units;
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::report::switch_names::{SwitchNames, WithSwitchNames};
use ferrosm_core::routing::graph::{GraphBuilder, GraphNode, LinkEnd};
use ferrosm_core::routing::what_if::RoutingBasis;
use ferrosm_core::{RoutingJob, SmConfig};
use ferrosm_fabric::location::NodeName;
use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{NodeDescription, PortInfo};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid, PortNum};
use ferrosm_routing::quality::{self, Effort, Quality};
use ferrosm_routing::{
    CancelToken, DATA_VLS_MAX, EngineRejection, Proof, RerouteCache, Routing, RoutingRequest,
    SelectionStep, Topology, VerifiedRun, WorkBudget, route_with_progress,
};
use serde::Serialize;
use tracing::warn;

use crate::offline::args::OfflineArgs;

use crate::config::ConfigErrors;
use crate::failure::Failure;
use components::{ConnectedComponent, components, restrict};
use progress::RoutingProgress;

/// Result of offline routing.
#[derive(Debug)]
pub struct OfflineRouting {
    /// The fabric with its LFTs and VL tables.
    pub snapshot: Snapshot,
    /// The selected, verified routing; `None` without switches, or if every engine was rejected.
    pub selected: Option<SelectedRouting>,
    /// The selected routing, and what the next one would start from.
    pub basis: Option<RoutingBasis>,
    /// Messages of the engine about its result.
    pub messages: Vec<RoutingMessage>,
    /// Engines that were rejected, with the reasons.
    pub rejected: Vec<WithSwitchNames<EngineRejection>>,
    /// Warnings, such as GUIDs of input files that are not in the fabric, and components that are
    /// not routed.
    pub warnings: Vec<OfflineWarning>,
    /// LIDs that were routed.
    pub lids: usize,
    /// Links between switches that run below the capability of both ends.
    pub slow_links: Vec<SlowLink>,
    /// Nodes of other components, which are not routed.
    pub nodes_outside: usize,
    /// Data VLs that the engine could use.
    pub vls_allowed: u8,
    /// Time of all engines that were tried, with verification.
    pub took: Duration,
}

/// A warning about the fabric or the input files. `Display` is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfflineWarning {
    /// Only one connected component is routed.
    DisconnectedComponents {
        /// Number of components.
        count: usize,
        /// Whether `--node` selected the component.
        is_named: bool,
    },
    /// A routing hint does not match the fabric.
    Hint(HintWarning),
}

impl OfflineWarning {
    /// A stable name of the warning, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::DisconnectedComponents { .. } => "disconnected-components",
            Self::Hint(warning) => warning.kind(),
        }
    }
}

impl core::fmt::Display for OfflineWarning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::DisconnectedComponents { count, is_named } => {
                let source = if *is_named {
                    "the one that --node names"
                } else {
                    "the one with most end ports; --node PORT selects another"
                };
                write!(
                    f,
                    "only one of {count} disconnected components is routed: {source}"
                )
            }
            Self::Hint(warning) => warning.fmt(f),
        }
    }
}

/// A link between two switches that runs slower than other links of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowLink {
    /// Name of the first switch.
    pub name: String,
    /// GUID of the first switch.
    pub guid: String,
    /// Port of the first switch.
    pub port: u8,
    /// Name of the second switch.
    pub peer_name: String,
    /// GUID of the second switch.
    pub peer_guid: String,
    /// Port of the second switch.
    pub peer_port: u8,
    /// Rate of the link, in Mb/s.
    pub mbps: u32,
    /// Rate that both switches reach on other ports, in Mb/s.
    pub possible_mbps: u32,
}

impl core::fmt::Display for SlowLink {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let gbps = |mbps: u32| f64::from(mbps) / 1000.0;
        write!(
            f,
            "\"{}\" port {} to \"{}\" port {}: {} Gb/s where {} are possible",
            self.name,
            self.port,
            self.peer_name,
            self.peer_port,
            gbps(self.mbps),
            gbps(self.possible_mbps)
        )
    }
}

/// The verified routing that was selected.
#[derive(Debug)]
pub struct SelectedRouting {
    /// The graph and the routing.
    pub run: Arc<VerifiedRun>,
    /// Result of its verification.
    pub proof: Proof,
    /// Time of the engine alone.
    pub engine_took: Duration,
    /// Time of this verification alone.
    pub proof_took: Duration,
}

impl OfflineRouting {
    /// The error message if every engine was rejected.
    #[must_use]
    pub fn error(&self) -> Option<&'static str> {
        let failed = self.selected.is_none() && !self.rejected.is_empty();
        failed.then_some("no engine can route this fabric")
    }

    /// The error with the reason of each engine on a line of its own.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let mut text = format!("{}:", self.error()?);
        for rejected in &self.rejected {
            text.push_str(&format!("\n  {rejected}"));
        }
        let warnings: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        Some(Failure::with_hint(text, warnings.join("\n  ")))
    }
}

impl SelectedRouting {
    /// The routing.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.run.routing
    }

    /// Measures the quality of the routing; also returns the time of the measurement.
    #[must_use]
    pub fn quality(&self) -> (Quality, Duration) {
        let started = Instant::now();
        let routing = self.routing();
        let effort = Effort::quick();
        let quality = quality::measure(&self.run.topo, &routing.tables, &routing.vl_plan, &effort);
        (quality, started.elapsed())
    }
}

/// Loads and routes the fabric that the flags name. If every engine is rejected, the result has an
/// [`OfflineRouting::error`].
///
/// # Errors
/// The fabric does not exist, or an input file is invalid.
pub fn route(from: &str, args: &OfflineArgs) -> Result<OfflineRouting, Failure> {
    let (hints, warnings) = args
        .files
        .input_files()
        .read(&|path| std::fs::read(path))
        .map_err(ConfigErrors::from)?;
    for warning in warnings {
        warn!(%warning, "input file warning");
    }
    let mut fabric = spec::observed(&fabric::load(from)?);
    let omitted = select_component(&mut fabric, args.node.as_deref())?;
    route_fabric(fabric, omitted, args, &hints)
}

/// Nodes that are not routed.
#[derive(Debug, Default)]
pub(crate) struct OmittedNodes {
    nodes: usize,
    warning: Option<OfflineWarning>,
}

/// Restricts the fabric to the connected component of a port or, without a port, to the one with
/// most end ports.
fn select_component(
    fabric: &mut ObservedFabric,
    port: Option<&str>,
) -> Result<OmittedNodes, Failure> {
    let components = components(fabric);
    let selected = match port {
        None => components.first(),
        Some(text) => {
            let at = trace::find_unaddressed(&spec::snapshot(fabric, None, None), text)
                .map_err(|e| Failure::Usage(format!("--node: {e}")))?;
            let node = fabric.node_at_index(at.node());
            let with_port = |c: &&ConnectedComponent| {
                node.is_some_and(|node| c.contains(fabric, PortRef::new(node, at.num())))
            };
            let with_node =
                |c: &&ConnectedComponent| node.is_some_and(|node| c.nodes.contains(&node));
            let selected = components.iter().find(with_port);
            selected.or_else(|| components.iter().find(with_node))
        }
    };
    let Some(component) = selected.filter(|_| components.len() > 1) else {
        return Ok(OmittedNodes::default());
    };
    let omitted = OmittedNodes {
        nodes: fabric.node_count() - component.nodes.len(),
        warning: Some(OfflineWarning::DisconnectedComponents {
            count: components.len(),
            is_named: port.is_some(),
        }),
    };
    restrict(fabric, component);
    Ok(omitted)
}

/// Routes a fabric, which it assigns LIDs to.
pub(crate) fn route_fabric(
    mut fabric: ObservedFabric,
    omitted: OmittedNodes,
    args: &OfflineArgs,
    guid_hints: &hints::GuidHints,
) -> Result<OfflineRouting, Failure> {
    let lids = lids::assign_lids(&mut fabric)?;
    let (topology, guid_index) = graph(&fabric);
    let cfg = SmConfig {
        engines: args.engine.clone(),
        routing_vls: args.vls.unwrap_or(DATA_VLS_MAX),
        routing_budget: args.budget.into(),
        hints: Arc::new(guid_hints.clone()),
        ..SmConfig::default()
    };
    let named = fabric.switches().map(|(idx, node)| (idx, node.name()));
    let job = RoutingJob::of_graph(topology.clone(), guid_index.clone(), named.collect(), &cfg);
    let switches: Vec<NodeIdx> = fabric.switches().map(|(idx, _)| idx).collect();
    let topo = Arc::new(topology);
    let (hints, not_found) = hints::resolve(guid_hints, &guid_index);
    let not_found = not_found.into_iter().map(OfflineWarning::Hint);
    let warnings = omitted.warning.into_iter().chain(not_found).collect();
    let request = RoutingRequest::new(&topo).with_hints(&hints);
    let request = args.vls.map_or(request, |vls| request.with_vls(vls));
    let limit = Duration::from(args.budget);
    let cancel = CancelToken::default();
    let budget = WorkBudget::limited(work_units(limit)).with_token(cancel.clone());
    let request = request.with_budget(&budget);
    let mut routed = OfflineRouting {
        selected: None,
        basis: None,
        messages: Vec::new(),
        rejected: Vec::new(),
        warnings,
        slow_links: slow_links(&fabric, &topo),
        lids,
        nodes_outside: omitted.nodes,
        vls_allowed: request.usable_vls(),
        took: Duration::ZERO,
        snapshot: spec::snapshot(&fabric, None, None),
    };
    if switches.is_empty() {
        return Ok(routed);
    }
    let engines: Vec<&str> = args.engine.iter().map(String::as_str).collect();
    let mut times = StageTimes::start();
    let progress = RoutingProgress::start(limit, cancel);
    let selection = route_with_progress(&engines, &request, &mut |step| {
        times.stamp(step);
        progress.show(step);
    });
    drop(progress);
    routed.took = times.started.elapsed();
    let names: SwitchNames = fabric
        .switches()
        .map(|(_, node)| NodeName {
            description: NodeDescription::new(&node.description.unquoted()),
            guid: node.info.node_guid,
        })
        .collect();
    let rejected = selection.rejected.into_iter();
    routed.rejected = rejected.map(|r| names.attach(r)).collect();
    let Some((routing, proof)) = selection.chosen else {
        return Ok(routed);
    };
    let messages = routing.diagnostics.iter().cloned();
    routed.messages = messages
        .map(|diagnostic| RoutingMessage::Engine(names.attach(diagnostic)))
        .collect();
    for (idx, lft) in switches.iter().zip(&routing.tables) {
        if let Some(node) = fabric.get_mut(*idx) {
            node.lft.installed = Some(Arc::clone(lft));
        }
    }
    let busiest = proof.max_load;
    let (engine_took, proof_took) = times.engine_times(routing.engine);
    let run = Arc::new(VerifiedRun {
        topo,
        routing,
        baseline_max_load: busiest,
        cache: RerouteCache::new(),
    });
    routed.basis = Some(RoutingBasis::of_first_job(
        job,
        Arc::clone(&run),
        proof.clone(),
    ));
    let installed = Some((Arc::clone(&run), switches.as_slice()));
    routed.snapshot = spec::snapshot(&fabric, installed, Some(&routed.snapshot));
    routed.selected = Some(SelectedRouting {
        run,
        proof,
        engine_took,
        proof_took,
    });
    Ok(routed)
}

/// Start times of the stages.
struct StageTimes {
    started: Instant,
    /// Per run of an engine: its name, its start, and the start and end of its verification.
    runs: Vec<(String, Instant, Option<Instant>, Option<Instant>)>,
}

impl StageTimes {
    fn start() -> Self {
        Self {
            started: Instant::now(),
            runs: Vec::new(),
        }
    }

    fn stamp(&mut self, step: SelectionStep<'_>) {
        let now = Instant::now();
        match (step, self.runs.last_mut()) {
            (SelectionStep::Engine(name), _) => self.runs.push((name.to_owned(), now, None, None)),
            (SelectionStep::Verification, Some(run)) => run.2 = Some(now),
            (SelectionStep::Comparison, Some(run)) => run.3 = Some(now),
            (SelectionStep::Verification | SelectionStep::Comparison, None) => {}
        }
    }

    /// Times of the last verified run of an engine and of its verification.
    fn engine_times(&self, engine: &str) -> (Duration, Duration) {
        let is_verified = |run: &&(String, Instant, Option<Instant>, Option<Instant>)| {
            run.0 == engine && run.3.is_some()
        };
        match self.runs.iter().rev().find(is_verified) {
            Some((_, started, Some(proof), Some(end))) => (*proof - *started, *end - *proof),
            Some(_) | None => (Duration::ZERO, Duration::ZERO),
        }
    }
}

/// Builds the graph that engines route, with all switches in order.
fn graph(fabric: &ObservedFabric) -> (Topology, GuidIndex) {
    let mut graph = GraphBuilder::default();
    for (idx, node) in fabric.switches() {
        let switch = graph_node(node, PortNum::ZERO);
        graph.add_switch(idx.index(), node.info.num_ports, switch);
    }
    for link in fabric.links() {
        let ends = [link.a, link.b].map(|end| fabric.port(end).filter(|port| port.known));
        let ends = ends.into_iter().flatten();
        let mbps = ends.clone().next().and_then(Port::mbps);
        let vls = ends.map(|port| PortInfo::operational_vls.read(&port.raw));
        let vls = vls.filter_map(data_vls).min();
        let link_end = |end: PortRef, switch| LinkEnd {
            at: (switch, end.port),
            vls,
            mbps,
        };
        let host = |end: PortRef| Some(graph_node(fabric.get(end.node)?, end.port));
        let [a, b] = [link.a, link.b].map(|end| graph.switch(end.node.index()));
        match (a, b) {
            (Some(a), Some(b)) => graph.add_link(link_end(link.a, a), link_end(link.b, b)),
            (Some(s), None) => {
                if let Some(host) = host(link.b) {
                    graph.add_end_port(link_end(link.a, s), host);
                }
            }
            (None, Some(s)) => {
                if let Some(host) = host(link.a) {
                    graph.add_end_port(link_end(link.b, s), host);
                }
            }
            (None, None) => {}
        }
    }
    graph.build()
}

/// A node with the addresses of one of its end ports.
fn graph_node(node: &Node, port: PortNum) -> GraphNode {
    let guid = node.info.node_guid;
    let end_port = node.ports.get(port.index()).filter(|port| port.known);
    let addresses = end_port.map(|port| {
        let info = port.info();
        (port.guid, (info.lid, info.lmc))
    });
    let (port_guid, lids) = addresses.unwrap_or((PortGuid(guid.0), (Lid::NONE, Lmc(0))));
    GraphNode {
        guid,
        port_guid,
        lids,
    }
}

/// Number of data VLs of an OperationalVLs code; `None` for reserved codes.
const fn data_vls(code: u8) -> Option<u8> {
    match code {
        1..=4 => Some(1 << (code - 1)),
        5 => Some(15),
        _ => None,
    }
}

fn slow_links(fabric: &ObservedFabric, topo: &Topology) -> Vec<SlowLink> {
    let switches: Vec<&Node> = fabric.switches().map(|(_, node)| node).collect();
    let degraded = topo.degraded_links().into_iter().filter_map(|slow| {
        let a = switches.get(slow.a.0.index())?;
        let b = switches.get(slow.b.0.index())?;
        Some(SlowLink {
            name: a.description.unquoted(),
            guid: a.info.node_guid.to_string(),
            port: slow.a.1.0,
            peer_name: b.description.unquoted(),
            peer_guid: b.info.node_guid.to_string(),
            peer_port: slow.b.1.0,
            mbps: slow.mbps,
            possible_mbps: slow.supported_mbps,
        })
    });
    degraded.collect()
}

/// Peak resident memory of this process; `None` if `/proc` does not report it.
#[must_use]
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_core::config::hints::GuidHints;
    use ferrosm_mad::attr::NodeType;
    use ferrosm_sim::generate::from_spec;
    use ferrosm_sim::spec::LinkSpec;

    fn args(engines: &str) -> OfflineArgs {
        OfflineArgs::with_engines(&engines.split(',').collect::<Vec<_>>())
    }

    fn fabric(spec: &str) -> ObservedFabric {
        spec::observed(&from_spec(spec).unwrap())
    }

    #[test]
    fn fat_tree_is_routed_and_verified() {
        let guid_hints = GuidHints::default();
        let routed = route_fabric(
            fabric("fat-tree:4"),
            OmittedNodes::default(),
            &args("updn"),
            &guid_hints,
        )
        .unwrap();
        let selected = routed.selected.unwrap();
        assert_eq!(
            (selected.routing().engine, selected.proof.max_hops),
            ("updn", 4)
        );
        assert_eq!(routed.lids, 36);
        assert_eq!(routed.vls_allowed, 8, "data VLs of generated switches");
        let mut switches = routed.snapshot.nodes().filter(|n| n.is_switch());
        assert!(switches.all(|n| n.installed_lft().is_some()));
        assert_eq!(selected.quality().0.pairs, 16 * 15);
    }

    /// One root is a leaf switch, the other GUID is not in the fabric.
    #[test]
    fn input_files_reach_the_engine_and_unknown_guids_are_reported() {
        let fabric = fabric("fat-tree:4");
        let node = |end: PortRef| fabric.get(end.node).unwrap();
        let leaf = fabric.links().find_map(|link| {
            let [a, b] = [link.a, link.b].map(node);
            let switch = if a.is_switch() { a } else { b };
            (a.is_switch() != b.is_switch()).then_some(switch.info.node_guid)
        });
        let guid_hints = GuidHints {
            roots: vec![leaf.unwrap(), ferrosm_mad::ids::NodeGuid(0x99)],
            ..GuidHints::default()
        };
        let (topo, guid_index) = graph(&fabric);
        let (hints, warnings) = hints::resolve(&guid_hints, &guid_index);
        let root = fabric.switches().nth(hints.roots[0].index()).unwrap().1;
        assert_eq!(root.info.node_guid, leaf.unwrap());
        assert!(!topo.end_ports(hints.roots[0]).is_empty() && warnings.len() == 1);
        let routed = route_fabric(fabric, OmittedNodes::default(), &args("updn"), &guid_hints);
        let routed = routed.unwrap();
        let absent = HintWarning::AbsentGuids {
            file: "root_guid_file",
            what: "switch",
            guids: vec![0x99],
        };
        assert_eq!(routed.warnings[0], OfflineWarning::Hint(absent));
    }

    #[test]
    fn messages_name_switches() {
        let guid_hints = GuidHints::default();
        let fabric = fabric("star:2");
        let name = fabric.switches().next().unwrap().1.name().to_string();
        let routed = route_fabric(fabric, OmittedNodes::default(), &args("updn"), &guid_hints);
        let routed = routed.unwrap();
        let order = routed.messages.iter().find(|m| m.kind() == "switch-order");
        let text = order.unwrap().to_string();
        assert!(text.ends_with(&format!("first switch: {name}")), "{text}");
    }

    /// minhop has credit loops in a ring of five switches.
    #[test]
    fn rejection_reasons_are_reported_without_fallback() {
        let only_minhop = args("minhop,no_fallback");
        let guid_hints = GuidHints::default();
        let routed = route_fabric(
            fabric("ring:5,1"),
            OmittedNodes::default(),
            &only_minhop,
            &guid_hints,
        )
        .unwrap();
        assert!(routed.selected.is_none());
        let error = routed.failure().unwrap();
        assert_eq!(error.code(), 1);
        assert!(error.to_string().contains("credit loop"), "{error}");
        let routed = route_fabric(
            fabric("ring:5,1"),
            OmittedNodes::default(),
            &args("minhop"),
            &guid_hints,
        )
        .unwrap();
        assert!(routed.failure().is_none());
        let selected = routed.selected.unwrap();
        assert_ne!(selected.routing().engine, "minhop");
        assert!(selected.engine_took > Duration::ZERO && selected.proof_took > Duration::ZERO);
        assert!(selected.engine_took + selected.proof_took <= routed.took);
        assert_eq!(routed.rejected[0].message.engine, "minhop");
    }

    #[test]
    fn largest_component_is_routed() {
        let mut spec = from_spec("ring:3,2;components=2").unwrap();
        let unconnected = spec
            .nodes
            .iter()
            .position(|n| n.kind == NodeType::Ca)
            .unwrap();
        spec.links
            .retain(|l| l.a.node != unconnected && l.b.node != unconnected);
        let mut fabric = spec::observed(&spec);
        let omitted = select_component(&mut fabric, None).unwrap();
        assert_eq!((fabric.node_count(), omitted.nodes), (9, 9));
        let routed = route_fabric(fabric, omitted, &args("updn"), &GuidHints::default());
        assert!(routed.unwrap().selected.is_some());
    }

    #[test]
    fn back_to_back_hosts_need_no_routing() {
        let guid_hints = GuidHints::default();
        let routed = route_fabric(
            fabric("back-to-back"),
            OmittedNodes::default(),
            &args("updn"),
            &guid_hints,
        )
        .unwrap();
        assert!(routed.selected.is_none());
        assert_eq!(routed.lids, 2);
    }

    /// A link at half the rate of the other links of both switches is reported; fabrics of mixed
    /// generations are not.
    #[test]
    fn slow_links_are_reported() {
        let guid_hints = GuidHints::default();
        let mut slow = from_spec("fat-tree:4").unwrap();
        let is_switch = |node: usize| slow.nodes[node].kind == NodeType::Switch;
        let is_inner = |l: &LinkSpec| is_switch(l.a.node) && is_switch(l.b.node);
        let link = slow.links.iter().position(is_inner).unwrap();
        slow.links[link].speed = ferrosm_mad::attr::LinkSpeed::Edr;
        let slow = spec::observed(&slow);
        let routed =
            route_fabric(slow, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
        assert_eq!(routed.slow_links.len(), 1);
        let text = routed.slow_links[0].to_string();
        assert!(
            text.ends_with(": 100 Gb/s where 200 are possible"),
            "{text}"
        );
        let quality = routed.selected.unwrap().quality().0;
        assert!(quality.max_load_by_rate.unwrap() > quality.max_load as f64);
        let mixed = fabric("fat-tree:4;mixed-speeds");
        let routed =
            route_fabric(mixed, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
        assert_eq!(routed.slow_links, []);
    }

    #[test]
    fn vls_can_be_limited() {
        let limited = OfflineArgs {
            vls: Some(3),
            ..args("updn")
        };
        let routed = route_fabric(
            fabric("ring:4,1"),
            OmittedNodes::default(),
            &limited,
            &GuidHints::default(),
        )
        .unwrap();
        assert_eq!(routed.vls_allowed, 3);
    }
}
