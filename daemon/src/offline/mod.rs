//! A fabric on paper, routed: what `route` and `explain` have in common.
//!
//! Reads a file or makes a shape, gives it LIDs, resolves what input files name, and lets engines route it. Prints nothing.

mod lids;
mod progress;
pub mod trace;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_core::config::work_units;
use ferrosm_core::plan::graph::{FabricGraph, GraphBuilder, GraphNode, LinkEnd};
use ferrosm_core::plan::hints;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::quality::{self, Effort, Quality};
use ferrosm_routing::{
    CancelToken, Kept, LastRun, Proof, Request, Routing, Step, SwitchIdx, Topology, WorkBudget,
    route_watched,
};
use serde::Serialize;

use crate::cli::HintArgs;
use crate::commands::fabric;
use crate::config::ConfigErrors;
use crate::config::value::Engine;
use crate::failure::Failure;
use crate::output::view::view_of_spec;
use ferrosm_opensm_compat::view::{Component, FabricView, InstalledRouting, Node, PortLocation};
use progress::RoutingProgress;

/// What came out.
#[derive(Debug)]
pub struct OfflineRouting {
    /// The fabric with its tables and lanes.
    pub view: FabricView,
    /// What serves, proven; `None` where there is no switch, and where every engine was refused.
    pub chosen: Option<SelectedRouting>,
    /// What the engine says of its work.
    pub notes: Vec<String>,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<RejectedEngine>,
    /// Warnings: GUIDs of input files that are not in the fabric, parts that are not routed, and the like.
    pub remarks: Vec<String>,
    /// LIDs that were routed.
    pub lids: usize,
    /// Cables that run slower than both of their ends could.
    pub throttled: Vec<SlowLink>,
    /// Nodes of other parts of the fabric.
    pub left_out: usize,
    /// Data VLs that could have been used.
    pub vls_allowed: u8,
    /// Time of all engines that were tried, with their proofs.
    pub took: Duration,
}

/// An engine whose tables do not serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedEngine {
    /// Its name.
    pub engine: String,
    /// Why: one sentence.
    pub reason: String,
}

impl core::fmt::Display for RejectedEngine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.engine, self.reason)
    }
}

/// A cable between two switches that runs slower than both of them can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowLink {
    /// Name of the switch at one end.
    pub name: String,
    /// Its GUID.
    pub guid: String,
    /// Its port.
    pub port: u8,
    /// Name of the switch at the other end.
    pub peer_name: String,
    /// Its GUID.
    pub peer_guid: String,
    /// Its port.
    pub peer_port: u8,
    /// Rate, in Mb/s.
    pub mbps: u32,
    /// What both switches have on another port, in Mb/s.
    pub could_mbps: u32,
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
            gbps(self.could_mbps)
        )
    }
}

/// A routing that may serve.
#[derive(Debug)]
pub struct SelectedRouting {
    /// The graph and what the engine made of it.
    pub run: Arc<LastRun>,
    /// That it is sound.
    pub proof: Proof,
    /// Time of the engine alone.
    pub engine_took: Duration,
    /// Time of this proof alone.
    pub proof_took: Duration,
}

impl OfflineRouting {
    /// What is wrong where there are switches and no engine's tables serve.
    #[must_use]
    pub fn error(&self) -> Option<&'static str> {
        let failed = self.chosen.is_none() && !self.refused.is_empty();
        failed.then_some("no engine can route this fabric")
    }

    /// The same for eyes, with the reasons, each on a line.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let mut told = format!("{}:", self.error()?);
        for refused in &self.refused {
            told.push_str(&format!("\n  {refused}"));
        }
        Some(Failure::with_hint(told, self.remarks.join("\n  ")))
    }
}

impl SelectedRouting {
    /// What the engine made.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.run.routing
    }

    /// How good it is, and how long it took to find that out.
    #[must_use]
    pub fn quality(&self) -> (Quality, Duration) {
        let began = Instant::now();
        let routing = self.routing();
        let effort = Effort::quick();
        let quality = quality::measure(&self.run.topo, &routing.tables, &routing.vl_plan, &effort);
        (quality, began.elapsed())
    }
}

/// Reads and routes what the flags name. That every engine is refused is no error here: see [`OfflineRouting::error`].
///
/// # Errors
/// If there is no such fabric, or an input file is wrong.
pub fn route(args: &HintArgs) -> Result<OfflineRouting, Failure> {
    let said = args
        .files
        .input_files()
        .read()
        .map_err(ConfigErrors::from)?;
    let whole = view_of_spec(&fabric::load(&args.from)?);
    let (view, cut) = one_part(whole, args.node.as_deref())?;
    route_view(view, cut, args, &said)
}

/// What was left out of a fabric, and a sentence about it.
#[derive(Debug, Default)]
struct OmittedNodes {
    nodes: usize,
    remark: Option<String>,
}

/// The part of a fabric that a port is on, or the one with most end ports.
fn one_part(view: FabricView, port: Option<&str>) -> Result<(FabricView, OmittedNodes), Failure> {
    let parts = view.parts();
    let (meant, why) = match port {
        None => (
            parts.first(),
            "the one with most end ports; --node PORT takes another",
        ),
        Some(text) => {
            let at = trace::find_unaddressed(&view, text)
                .map_err(|e| Failure::Usage(format!("--node: {e}")))?;
            let here = |p: &&Component| p.nodes.binary_search(&at.node).is_ok();
            let with_port = parts.iter().find(|p| view.is_in(p, at));
            (
                with_port.or_else(|| parts.iter().find(here)),
                "the one that --node names",
            )
        }
    };
    let Some(part) = meant.filter(|_| parts.len() > 1) else {
        return Ok((view, OmittedNodes::default()));
    };
    let cut = OmittedNodes {
        nodes: view.nodes.len() - part.nodes.len(),
        remark: Some(format!(
            "this is one of {} parts without a cable between them: {why}",
            parts.len()
        )),
    };
    Ok((view.only(part), cut))
}

fn route_view(
    mut view: FabricView,
    cut: OmittedNodes,
    args: &HintArgs,
    said: &hints::GuidHints,
) -> Result<OfflineRouting, Failure> {
    let lids = lids::assign_lids(&mut view)?;
    let FabricGraph {
        topology,
        places,
        nodes: switches,
    } = graph(&view);
    let topo = Arc::new(topology);
    let (hints, not_found) = hints::resolve(said, &places);
    let remarks = cut.remark.into_iter().chain(not_found).collect();
    let request = Request::new(&topo).with_hints(&hints);
    let request = args.vls.map_or(request, |vls| request.with_vls(vls));
    let limit = Duration::from(args.budget);
    let cancel = CancelToken::default();
    let budget = WorkBudget::limited(work_units(limit)).with_token(cancel.clone());
    let request = request.with_budget(&budget);
    let mut routed = OfflineRouting {
        chosen: None,
        notes: Vec::new(),
        refused: Vec::new(),
        remarks,
        throttled: slow_links(&view, &topo, &switches),
        lids,
        left_out: cut.nodes,
        vls_allowed: request.usable_vls(),
        took: Duration::ZERO,
        view,
    };
    if switches.is_empty() {
        return Ok(routed);
    }
    let engines: Vec<&str> = args.engine.iter().map(Engine::name).collect();
    let mut times = StageTimes::start();
    let progress = RoutingProgress::start(limit, cancel);
    let selection = route_watched(&engines, &request, &mut |step| {
        times.stamp(step);
        progress.show(step);
    });
    drop(progress);
    routed.took = times.began.elapsed();
    let names: Vec<String> = switches
        .iter()
        .map(|n| &routed.view.nodes[*n])
        .map(|n| format!("\"{}\" ({})", n.name(), n.guid))
        .collect();
    let name = |s: SwitchIdx| names.get(s.index()).cloned().unwrap_or_default();
    let refused = selection.refused.iter().map(|r| RejectedEngine {
        engine: r.engine.clone(),
        reason: with_names(&routed.view, &r.why(&name)),
    });
    routed.refused = refused.collect();
    let Some((routing, proof)) = selection.chosen else {
        return Ok(routed);
    };
    let notes = routing.notes.iter();
    routed.notes = notes
        .map(|n| with_names(&routed.view, &n.to_string()))
        .collect();
    for (node, lft) in switches.iter().zip(&routing.tables) {
        routed.view.nodes[*node].lft = Some(Arc::clone(lft));
    }
    let busiest = proof.max_load;
    let (engine_took, proof_took) = times.of(routing.engine);
    let run = Arc::new(LastRun {
        topo,
        routing,
        baseline_max_load: busiest,
        kept: Kept::new(),
    });
    routed.view.routing = Some(InstalledRouting::new(Arc::clone(&run), &switches));
    routed.chosen = Some(SelectedRouting {
        run,
        proof,
        engine_took,
        proof_took,
    });
    Ok(routed)
}

/// When what began.
struct StageTimes {
    began: Instant,
    /// By run of an engine: its name, when it began, and when its proof did and ended.
    runs: Vec<(String, Instant, Option<Instant>, Option<Instant>)>,
}

impl StageTimes {
    fn start() -> Self {
        Self {
            began: Instant::now(),
            runs: Vec::new(),
        }
    }

    fn stamp(&mut self, step: Step<'_>) {
        let now = Instant::now();
        match (step, self.runs.last_mut()) {
            (Step::Engine(name), _) => self.runs.push((name.to_owned(), now, None, None)),
            (Step::Proof, Some(run)) => run.2 = Some(now),
            (Step::Rest, Some(run)) => run.3 = Some(now),
            (Step::Proof | Step::Rest, None) => {}
        }
    }

    /// How long the last run of an engine that went as far as its proof took, and that proof.
    fn of(&self, engine: &str) -> (Duration, Duration) {
        let proven = |run: &&(String, Instant, Option<Instant>, Option<Instant>)| {
            run.0 == engine && run.3.is_some()
        };
        match self.runs.iter().rev().find(proven) {
            Some((_, began, Some(proof), Some(end))) => (*proof - *began, *end - *proof),
            Some(_) | None => (Duration::ZERO, Duration::ZERO),
        }
    }
}

/// Engines name switches by their LIDs: adds the name of each.
fn with_names(view: &FabricView, text: &str) -> String {
    const MARK: &str = "with LID ";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let (before, after) = rest.split_at(at + MARK.len());
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, more) = after.split_at(digits);
        out.push_str(before);
        out.push_str(number);
        let lid = number.parse().ok().map(ferrosm_mad::ids::Lid);
        let node = lid.and_then(|lid| {
            let mut switches = view.nodes.iter().filter(|n| n.is_switch());
            switches.find(|n| n.end_port(PortNum::ZERO).lid == lid)
        });
        if let Some(node) = node {
            out.push_str(&format!(" (\"{}\")", node.name()));
        }
        rest = more;
    }
    out.push_str(rest);
    out
}

/// The graph for engines.
fn graph(view: &FabricView) -> FabricGraph<usize> {
    let mut graph = GraphBuilder::default();
    let ids = |node: &Node, port: PortNum| {
        let end = node.end_port(port);
        GraphNode {
            guid: node.guid,
            port_guid: end.guid,
            lids: (end.lid, end.lmc),
        }
    };
    for (n, node) in view.nodes.iter().enumerate().filter(|(_, n)| n.is_switch()) {
        graph.add_switch(n, n, node.num_ports, ids(node, PortNum::ZERO));
    }
    for link in &view.links {
        let end = |at: PortLocation, switch| LinkEnd {
            at: (switch, at.port),
            vls: link.vls,
            mbps: link.mbps(),
        };
        match (graph.switch(link.a.node), graph.switch(link.b.node)) {
            (Some(a), Some(b)) => graph.add_link(end(link.a, a), end(link.b, b)),
            (Some(s), None) => {
                let host = ids(&view.nodes[link.b.node], link.b.port);
                graph.add_end_port(end(link.a, s), host);
            }
            (None, Some(s)) => {
                let host = ids(&view.nodes[link.a.node], link.a.port);
                graph.add_end_port(end(link.b, s), host);
            }
            (None, None) => {}
        }
    }
    graph.build()
}

fn slow_links(view: &FabricView, topo: &Topology, switches: &[usize]) -> Vec<SlowLink> {
    let found = topo.throttled().into_iter().filter_map(|slow| {
        let node = |s: SwitchIdx| Some(&view.nodes[*switches.get(s.index())?]);
        let (a, b) = (node(slow.a.0)?, node(slow.b.0)?);
        Some(SlowLink {
            name: a.name(),
            guid: a.guid.to_string(),
            port: slow.a.1.0,
            peer_name: b.name(),
            peer_guid: b.guid.to_string(),
            peer_port: slow.b.1.0,
            mbps: slow.mbps,
            could_mbps: slow.could_mbps,
        })
    });
    found.collect()
}

/// The most memory that this process has used; `None` where the system does not tell.
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
    use crate::cli::FileArgs;
    use ferrosm_core::plan::hints::GuidHints;
    use ferrosm_mad::attr::NodeType;
    use ferrosm_sim::generate::from_spec;

    fn args(engines: &str) -> HintArgs {
        HintArgs {
            from: String::new(),
            node: None,
            engine: engines.split(',').map(|e| e.parse().unwrap()).collect(),
            budget: Duration::from_secs(2).into(),
            vls: None,
            files: FileArgs::default(),
        }
    }

    fn view(spec: &str) -> FabricView {
        view_of_spec(&from_spec(spec).unwrap())
    }

    #[test]
    fn a_tree_is_routed_and_proven() {
        let said = GuidHints::default();
        let routed = route_view(
            view("fat-tree:4"),
            OmittedNodes::default(),
            &args("updn"),
            &said,
        )
        .unwrap();
        let chosen = routed.chosen.unwrap();
        assert_eq!(
            (chosen.routing().engine, chosen.proof.max_hops),
            ("updn", 4)
        );
        assert_eq!(routed.lids, 36);
        assert_eq!(
            routed.vls_allowed, 8,
            "what the switches of generated fabrics have"
        );
        let switches = routed.view.nodes.iter().filter(|n| n.is_switch());
        assert!(switches.clone().all(|n| n.lft.is_some()));
        assert_eq!(chosen.quality().0.pairs, 16 * 15);
    }

    /// A root that is one of the leaves, and a GUID that nobody has.
    #[test]
    fn side_files_reach_the_engine_and_what_is_not_found_is_told() {
        let view = view("fat-tree:4");
        let leaf = view.links.iter().find_map(|l| {
            let (a, b) = (&view.nodes[l.a.node], &view.nodes[l.b.node]);
            (a.is_switch() != b.is_switch()).then(|| if a.is_switch() { a.guid } else { b.guid })
        });
        let said = GuidHints {
            roots: vec![leaf.unwrap(), ferrosm_mad::ids::NodeGuid(0x99)],
            ..GuidHints::default()
        };
        let graph = graph(&view);
        let (topo, switches) = (graph.topology, graph.nodes);
        let (hints, notes) = hints::resolve(&said, &graph.places);
        assert_eq!(
            view.nodes[switches[hints.roots[0].index()]].guid,
            leaf.unwrap()
        );
        assert!(!topo.end_ports(hints.roots[0]).is_empty() && notes.len() == 1);
        let routed = route_view(view, OmittedNodes::default(), &args("updn"), &said).unwrap();
        assert!(
            routed.remarks[0].contains("0x0000000000000099"),
            "{:?}",
            routed.remarks
        );
    }

    #[test]
    fn switches_that_engines_name_by_lid_get_their_names() {
        let mut view = view("star:2");
        lids::assign_lids(&mut view).unwrap();
        let switch = view.nodes.iter().find(|n| n.is_switch()).unwrap();
        let (lid, name) = (switch.end_ports[0].lid, switch.name());
        let text = format!("the switch with LID {lid}, and the one with LID 9");
        assert_eq!(
            with_names(&view, &text),
            format!("the switch with LID {lid} (\"{name}\"), and the one with LID 9")
        );
    }

    /// minhop has credit loops in a ring of five; nothing comes after it.
    #[test]
    fn without_a_last_resort_the_reasons_are_told() {
        let only = args("minhop,no_fallback");
        let said = GuidHints::default();
        let routed = route_view(view("ring:5,1"), OmittedNodes::default(), &only, &said).unwrap();
        assert!(routed.chosen.is_none());
        let error = routed.failure().unwrap();
        assert_eq!(error.code(), 1);
        assert!(error.to_string().contains("credit loop"), "{error}");
        let routed = route_view(
            view("ring:5,1"),
            OmittedNodes::default(),
            &args("minhop"),
            &said,
        )
        .unwrap();
        assert!(routed.failure().is_none());
        let chosen = routed.chosen.unwrap();
        assert_ne!(chosen.routing().engine, "minhop");
        assert!(chosen.engine_took > Duration::ZERO && chosen.proof_took > Duration::ZERO);
        assert!(chosen.engine_took + chosen.proof_took <= routed.took);
        assert_eq!(routed.refused[0].engine, "minhop");
    }

    #[test]
    fn the_largest_island_is_routed() {
        let mut spec = from_spec("ring:3,2;islands=2").unwrap();
        let lonely = spec
            .nodes
            .iter()
            .position(|n| n.kind == NodeType::Ca)
            .unwrap();
        spec.links
            .retain(|l| l.a.node != lonely && l.b.node != lonely);
        let (view, cut) = one_part(view_of_spec(&spec), None).unwrap();
        assert_eq!((view.nodes.len(), cut.nodes), (9, 9));
        let routed = route_view(view, cut, &args("updn"), &GuidHints::default());
        assert!(routed.unwrap().chosen.is_some());
    }

    #[test]
    fn hosts_back_to_back_need_no_routing() {
        let said = GuidHints::default();
        let routed = route_view(
            view("back-to-back"),
            OmittedNodes::default(),
            &args("updn"),
            &said,
        )
        .unwrap();
        assert!(routed.chosen.is_none());
        assert_eq!(routed.lids, 2);
    }

    /// A cable between switches at half of what its ends have elsewhere is told; mixed generations are not.
    #[test]
    fn throttled_cables_are_told() {
        let said = GuidHints::default();
        let mut slow = view("fat-tree:4");
        let cable = slow.links.iter().position(|l| {
            let switch = |at: PortLocation| slow.nodes[at.node].is_switch();
            switch(l.a) && switch(l.b)
        });
        let cable = cable.unwrap();
        slow.links[cable].speed = Some(ferrosm_mad::attr::LinkSpeed::Edr);
        let routed = route_view(slow, OmittedNodes::default(), &args("updn"), &said).unwrap();
        assert_eq!(routed.throttled.len(), 1);
        let told = routed.throttled[0].to_string();
        assert!(
            told.ends_with(": 100 Gb/s where 200 are possible"),
            "{told}"
        );
        let quality = routed.chosen.unwrap().quality().0;
        assert!(quality.max_load_by_rate.unwrap() > quality.max_load as f64);
        let mixed = view("fat-tree:4;mixed-speeds");
        let routed = route_view(mixed, OmittedNodes::default(), &args("updn"), &said).unwrap();
        assert_eq!(routed.throttled, []);
    }

    #[test]
    fn fewer_lanes_than_cables_have_can_be_asked_for() {
        let few = HintArgs {
            vls: Some(3),
            ..args("updn")
        };
        let routed = route_view(
            view("ring:4,1"),
            OmittedNodes::default(),
            &few,
            &GuidHints::default(),
        )
        .unwrap();
        assert_eq!(routed.vls_allowed, 3);
    }
}
