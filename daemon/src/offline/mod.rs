//! Offline routing of a fabric file or generated fabric, for `route` and `explain`.
//!
//! Loads the fabric, assigns LIDs, resolves the GUIDs in OpenSM input files, and runs the routing
//! engines. Prints nothing.

pub mod fabric;
mod lids;
mod progress;
pub mod trace;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_core::config::work_units;
use ferrosm_core::plan::graph::{GraphBuilder, GraphNode, LinkEnd};
use ferrosm_core::plan::messages::EngineMessage;
use ferrosm_core::plan::routing_hints::{self, GuidIndex, HintWarning};
use ferrosm_core::plan::switch_names::{SwitchNames, WithSwitchNames};
use ferrosm_fabric::location::NodeName;
use ferrosm_mad::attr::NodeDescription;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::quality::{self, Effort, Quality};
use ferrosm_routing::{
    CancelToken, EngineRejection, Proof, RerouteCache, Routing, RoutingRequest, SelectionStep,
    SwitchIdx, Topology, VerifiedRun, WorkBudget, route_with_progress,
};
use serde::Serialize;
use tracing::warn;

use crate::cli::OfflineArgs;

use crate::config::ConfigErrors;
use crate::failure::Failure;
use crate::output::view::view_of_spec;
use ferrosm_opensm_compat::view::{
    ConnectedComponent, FabricNode, FabricView, InstalledRouting, PortLocation,
};
use progress::RoutingProgress;

/// Result of offline routing.
#[derive(Debug)]
pub struct OfflineRouting {
    /// The fabric with its LFTs and VL tables.
    pub view: FabricView,
    /// The selected, verified routing; `None` without switches, or if every engine was rejected.
    pub selected: Option<SelectedRouting>,
    /// Messages of the engine about its result.
    pub messages: Vec<EngineMessage>,
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
pub fn route(args: &OfflineArgs) -> Result<OfflineRouting, Failure> {
    let (hints, warnings) = args
        .files
        .input_files()
        .read()
        .map_err(ConfigErrors::from)?;
    for warning in warnings {
        warn!(%warning, "input file warning");
    }
    let view = view_of_spec(&fabric::load(&args.from)?);
    let (view, omitted) = select_component(view, args.node.as_deref())?;
    route_view(view, omitted, args, &hints)
}

/// Nodes that are not routed.
#[derive(Debug, Default)]
struct OmittedNodes {
    nodes: usize,
    warning: Option<OfflineWarning>,
}

/// Selects the connected component of a port or, without a port, the one with most end ports.
fn select_component(
    view: FabricView,
    port: Option<&str>,
) -> Result<(FabricView, OmittedNodes), Failure> {
    let components = view.components();
    let selected = match port {
        None => components.first(),
        Some(text) => {
            let at = trace::find_unaddressed(&view, text)
                .map_err(|e| Failure::Usage(format!("--node: {e}")))?;
            let has_node = |p: &&ConnectedComponent| p.nodes.binary_search(&at.node).is_ok();
            let with_port = components.iter().find(|p| view.component_contains(p, at));
            with_port.or_else(|| components.iter().find(has_node))
        }
    };
    let Some(component) = selected.filter(|_| components.len() > 1) else {
        return Ok((view, OmittedNodes::default()));
    };
    let omitted = OmittedNodes {
        nodes: view.nodes.len() - component.nodes.len(),
        warning: Some(OfflineWarning::DisconnectedComponents {
            count: components.len(),
            is_named: port.is_some(),
        }),
    };
    Ok((view.restricted_to(component), omitted))
}

fn route_view(
    mut view: FabricView,
    omitted: OmittedNodes,
    args: &OfflineArgs,
    guid_hints: &routing_hints::GuidHints,
) -> Result<OfflineRouting, Failure> {
    let lids = lids::assign_lids(&mut view)?;
    let (topology, guid_index) = graph(&view);
    let switches = switches(&view);
    let topo = Arc::new(topology);
    let (hints, not_found) = routing_hints::resolve(guid_hints, &guid_index);
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
        messages: Vec::new(),
        rejected: Vec::new(),
        warnings,
        slow_links: slow_links(&view, &topo, &switches),
        lids,
        nodes_outside: omitted.nodes,
        vls_allowed: request.usable_vls(),
        took: Duration::ZERO,
        view,
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
    let names: SwitchNames = switches
        .iter()
        .map(|n| &routed.view.nodes[*n])
        .map(|node| NodeName {
            description: NodeDescription::new(&node.name()),
            guid: node.guid,
        })
        .collect();
    let rejected = selection.rejected.into_iter();
    routed.rejected = rejected.map(|r| names.attach(r)).collect();
    let Some((routing, proof)) = selection.chosen else {
        return Ok(routed);
    };
    let messages = routing.diagnostics.iter().cloned();
    routed.messages = messages
        .map(|diagnostic| EngineMessage::Engine(names.attach(diagnostic)))
        .collect();
    for (node, lft) in switches.iter().zip(&routing.tables) {
        routed.view.nodes[*node].lft = Some(Arc::clone(lft));
    }
    let busiest = proof.max_load;
    let (engine_took, proof_took) = times.engine_times(routing.engine);
    let run = Arc::new(VerifiedRun {
        topo,
        routing,
        baseline_max_load: busiest,
        cache: RerouteCache::new(),
    });
    routed.view.routing = Some(InstalledRouting::new(Arc::clone(&run), &switches));
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

/// The node of each switch of the graph.
fn switches(view: &FabricView) -> Vec<usize> {
    let nodes = view.nodes.iter().enumerate();
    nodes
        .filter(|(_, n)| n.is_switch())
        .map(|(n, _)| n)
        .collect()
}

/// Builds the graph that engines route, with all switches in order.
fn graph(view: &FabricView) -> (Topology, GuidIndex) {
    let mut graph = GraphBuilder::default();
    let ids = |node: &FabricNode, port: PortNum| {
        let end_port = node.end_port(port);
        GraphNode {
            guid: node.guid,
            port_guid: end_port.guid,
            lids: (end_port.lid, end_port.lmc),
        }
    };
    for (n, node) in view.nodes.iter().enumerate().filter(|(_, n)| n.is_switch()) {
        graph.add_switch(n, node.num_ports, ids(node, PortNum::ZERO));
    }
    for link in &view.links {
        let link_end = |at: PortLocation, switch| LinkEnd {
            at: (switch, at.port),
            vls: link.vls,
            mbps: link.mbps(),
        };
        match (graph.switch(link.a.node), graph.switch(link.b.node)) {
            (Some(a), Some(b)) => graph.add_link(link_end(link.a, a), link_end(link.b, b)),
            (Some(s), None) => {
                let host = ids(&view.nodes[link.b.node], link.b.port);
                graph.add_end_port(link_end(link.a, s), host);
            }
            (None, Some(s)) => {
                let host = ids(&view.nodes[link.a.node], link.a.port);
                graph.add_end_port(link_end(link.b, s), host);
            }
            (None, None) => {}
        }
    }
    graph.build()
}

fn slow_links(view: &FabricView, topo: &Topology, switches: &[usize]) -> Vec<SlowLink> {
    let degraded = topo.degraded_links().into_iter().filter_map(|slow| {
        let node = |s: SwitchIdx| Some(&view.nodes[*switches.get(s.index())?]);
        let a = node(slow.a.0)?;
        let b = node(slow.b.0)?;
        Some(SlowLink {
            name: a.name(),
            guid: a.guid.to_string(),
            port: slow.a.1.0,
            peer_name: b.name(),
            peer_guid: b.guid.to_string(),
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
    use ferrosm_core::plan::routing_hints::GuidHints;
    use ferrosm_mad::attr::NodeType;
    use ferrosm_sim::generate::from_spec;

    fn args(engines: &str) -> OfflineArgs {
        OfflineArgs::with_engines("", &engines.split(',').collect::<Vec<_>>())
    }

    fn view(spec: &str) -> FabricView {
        view_of_spec(&from_spec(spec).unwrap())
    }

    #[test]
    fn fat_tree_is_routed_and_verified() {
        let guid_hints = GuidHints::default();
        let routed = route_view(
            view("fat-tree:4"),
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
        let switches = routed.view.nodes.iter().filter(|n| n.is_switch());
        assert!(switches.clone().all(|n| n.lft.is_some()));
        assert_eq!(selected.quality().0.pairs, 16 * 15);
    }

    /// One root is a leaf switch, the other GUID is not in the fabric.
    #[test]
    fn input_files_reach_the_engine_and_unknown_guids_are_reported() {
        let view = view("fat-tree:4");
        let leaf = view.links.iter().find_map(|l| {
            let a = &view.nodes[l.a.node];
            let b = &view.nodes[l.b.node];
            (a.is_switch() != b.is_switch()).then(|| if a.is_switch() { a.guid } else { b.guid })
        });
        let guid_hints = GuidHints {
            roots: vec![leaf.unwrap(), ferrosm_mad::ids::NodeGuid(0x99)],
            ..GuidHints::default()
        };
        let (topo, guid_index) = graph(&view);
        let switches = switches(&view);
        let (hints, warnings) = routing_hints::resolve(&guid_hints, &guid_index);
        assert_eq!(
            view.nodes[switches[hints.roots[0].index()]].guid,
            leaf.unwrap()
        );
        assert!(!topo.end_ports(hints.roots[0]).is_empty() && warnings.len() == 1);
        let routed = route_view(view, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
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
        let view = view("star:2");
        let switch = view.nodes.iter().find(|n| n.is_switch()).unwrap();
        let name = format!("\"{}\" ({})", switch.name(), switch.guid);
        let routed = route_view(view, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
        let order = routed.messages.iter().find(|m| m.kind() == "switch-order");
        let text = order.unwrap().to_string();
        assert!(text.ends_with(&format!("first switch: {name}")), "{text}");
    }

    /// minhop has credit loops in a ring of five switches.
    #[test]
    fn rejection_reasons_are_reported_without_fallback() {
        let only_minhop = args("minhop,no_fallback");
        let guid_hints = GuidHints::default();
        let routed = route_view(
            view("ring:5,1"),
            OmittedNodes::default(),
            &only_minhop,
            &guid_hints,
        )
        .unwrap();
        assert!(routed.selected.is_none());
        let error = routed.failure().unwrap();
        assert_eq!(error.code(), 1);
        assert!(error.to_string().contains("credit loop"), "{error}");
        let routed = route_view(
            view("ring:5,1"),
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
        let (view, omitted) = select_component(view_of_spec(&spec), None).unwrap();
        assert_eq!((view.nodes.len(), omitted.nodes), (9, 9));
        let routed = route_view(view, omitted, &args("updn"), &GuidHints::default());
        assert!(routed.unwrap().selected.is_some());
    }

    #[test]
    fn back_to_back_hosts_need_no_routing() {
        let guid_hints = GuidHints::default();
        let routed = route_view(
            view("back-to-back"),
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
        let mut slow = view("fat-tree:4");
        let link = slow.links.iter().position(|l| {
            let switch = |at: PortLocation| slow.nodes[at.node].is_switch();
            switch(l.a) && switch(l.b)
        });
        let link = link.unwrap();
        slow.links[link].speed = Some(ferrosm_mad::attr::LinkSpeed::Edr);
        let routed = route_view(slow, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
        assert_eq!(routed.slow_links.len(), 1);
        let text = routed.slow_links[0].to_string();
        assert!(
            text.ends_with(": 100 Gb/s where 200 are possible"),
            "{text}"
        );
        let quality = routed.selected.unwrap().quality().0;
        assert!(quality.max_load_by_rate.unwrap() > quality.max_load as f64);
        let mixed = view("fat-tree:4;mixed-speeds");
        let routed =
            route_view(mixed, OmittedNodes::default(), &args("updn"), &guid_hints).unwrap();
        assert_eq!(routed.slow_links, []);
    }

    #[test]
    fn vls_can_be_limited() {
        let limited = OfflineArgs {
            vls: Some(3),
            ..args("updn")
        };
        let routed = route_view(
            view("ring:4,1"),
            OmittedNodes::default(),
            &limited,
            &GuidHints::default(),
        )
        .unwrap();
        assert_eq!(routed.vls_allowed, 3);
    }
}
