//! A fabric on paper, routed: what `route` and `explain` have in common.
//!
//! Reads a file or makes a shape, gives it LIDs, finds what side files name, and lets engines route it. Prints nothing.

mod lids;
pub mod trace;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_core::plan::hints::{self, Places};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::quality::{self, Effort, Quality};
use ferrosm_routing::{
    LastRun, Proof, Request, Routing, SwitchIdx, Topology, TopologyBuilder, route_with, verify,
};

use crate::cli::HintArgs;
use crate::commands::fabric;
use crate::config::value::Engine;
use crate::failure::Failure;
use crate::output::View;
use crate::output::view::Lanes;
use crate::side_files;

/// What came out.
#[derive(Debug)]
pub struct Routed {
    /// The fabric with its tables and lanes.
    pub view: View,
    /// What serves, proven; `None` where there is no switch.
    pub chosen: Option<Chosen>,
    /// What the engine says of its work.
    pub notes: Vec<String>,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<String>,
    /// What side files name and the fabric has not got, and the like.
    pub remarks: Vec<String>,
    /// LIDs that were routed.
    pub lids: usize,
    /// Nodes on other islands.
    pub left_out: usize,
    /// Data VLs that could have been used.
    pub vls_allowed: u8,
    /// Time of all engines that were tried, with their proofs.
    pub took: Duration,
}

/// A routing that may serve.
#[derive(Debug)]
pub struct Chosen {
    /// The graph and what the engine made of it.
    pub run: Arc<LastRun>,
    /// That it is sound.
    pub proof: Proof,
    /// Time of this proof alone.
    pub proof_took: Duration,
}

impl Chosen {
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
        let quality = quality::measure(&self.run.topo, &routing.tables, &routing.lanes, &effort);
        (quality, began.elapsed())
    }
}

/// Reads and routes what the flags name.
///
/// # Errors
/// If there is no such fabric, a side file is wrong, or no engine's tables pass the proof.
pub fn route(args: &HintArgs) -> Result<Routed, Failure> {
    let said = side_files::read(&args.files.side_files())?;
    let (view, left_out) = largest_island(View::of_spec(&fabric::load(&args.from)?));
    route_view(view, left_out, args, &said)
}

fn largest_island(view: View) -> (View, usize) {
    let islands = view.islands();
    match islands.as_slice() {
        [largest, _, ..] => (view.only(largest), view.nodes.len() - largest.len()),
        _ => (view, 0),
    }
}

fn route_view(
    mut view: View,
    left_out: usize,
    args: &HintArgs,
    said: &hints::GuidHints,
) -> Result<Routed, Failure> {
    let lids = lids::assign_lids(&mut view)?;
    let (topo, switches) = topology(&view);
    let topo = Arc::new(topo);
    let (hints, remarks) = hints::resolve(said, &places(&view, &switches));
    let request = Request::new(&topo).hinted(&hints);
    let request = args.vls.map_or(request, |vls| request.with_vls(vls));
    let mut routed = Routed {
        chosen: None,
        notes: Vec::new(),
        refused: Vec::new(),
        remarks,
        lids,
        left_out,
        vls_allowed: request.lanes(),
        took: Duration::ZERO,
        view,
    };
    if switches.is_empty() {
        return Ok(routed);
    }
    let engines: Vec<&str> = args.engine.iter().map(Engine::name).collect();
    let began = Instant::now();
    let selection = route_with(&engines, &request);
    routed.took = began.elapsed();
    let names: Vec<String> = switches
        .iter()
        .map(|n| &routed.view.nodes[*n])
        .map(|n| format!("\"{}\" ({})", n.name(), n.guid))
        .collect();
    let name = |s: SwitchIdx| names.get(s.index()).cloned().unwrap_or_default();
    routed.refused = selection
        .refused
        .iter()
        .map(|r| with_names(&routed.view, &r.describe(&name)))
        .collect();
    let Some((routing, _)) = selection.chosen else {
        let mut hint = String::new();
        for remark in &routed.remarks {
            hint.push_str(if hint.is_empty() { "" } else { "\n  " });
            hint.push_str(remark);
        }
        return Err(Failure::with_hint(
            format!(
                "no engine can route this fabric: {}",
                routed.refused.join("; ")
            ),
            hint,
        ));
    };
    let notes = routing.notes.iter();
    routed.notes = notes.map(|n| with_names(&routed.view, n)).collect();
    for (node, lft) in switches.iter().zip(&routing.tables) {
        routed.view.nodes[*node].lft = Some(Arc::clone(lft));
    }
    // Once more, for its time alone.
    let began = Instant::now();
    let proof = verify(&topo, &routing.tables, &routing.lanes)
        .map_err(|failure| Failure::job(failure.describe(&name)))?;
    let proof_took = began.elapsed();
    let busiest = proof.max_load;
    let run = Arc::new(LastRun {
        topo,
        routing,
        busiest,
    });
    routed.view.lanes = Some(Lanes::new(Arc::clone(&run), &switches));
    routed.chosen = Some(Chosen {
        run,
        proof,
        proof_took,
    });
    Ok(routed)
}

/// Engines name switches by their LIDs: adds the name of each.
fn with_names(view: &View, text: &str) -> String {
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

/// The graph for engines, and which node each switch of it is.
fn topology(view: &View) -> (Topology, Vec<usize>) {
    let mut builder = TopologyBuilder::new();
    let mut index = vec![None; view.nodes.len()];
    let mut switches = Vec::new();
    for (n, node) in view.nodes.iter().enumerate().filter(|(_, n)| n.is_switch()) {
        let port0 = node.end_port(PortNum::ZERO);
        let switch = builder.switch(node.num_ports, port0.lid);
        builder.switch_lids(switch, 1 << port0.lmc.0.min(7));
        index[n] = Some(switch);
        switches.push(n);
    }
    for link in &view.links {
        let ends = [(link.a, link.b), (link.b, link.a)];
        match (index[link.a.node], index[link.b.node]) {
            (Some(a), Some(b)) => builder.link((a, link.a.port), (b, link.b.port)),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => {
                for (at, host) in ends {
                    if let Some(s) = index[at.node] {
                        let end = view.nodes[host.node].end_port(host.port);
                        builder.end_port((s, at.port), end.lid, 1 << end.lmc.0.min(7));
                    }
                }
            }
        }
        for (at, _) in ends {
            if let (Some(s), Some(vls)) = (index[at.node], link.vls) {
                builder.vls((s, at.port), vls);
            }
        }
    }
    (builder.build(), switches)
}

/// Where GUIDs are.
fn places(view: &View, switches: &[usize]) -> Places {
    let mut places = Places::new();
    let mut index = vec![None; view.nodes.len()];
    for (s, n) in (0u32..).map(SwitchIdx).zip(switches) {
        let node = &view.nodes[*n];
        let port0 = node.end_port(PortNum::ZERO);
        places.switch(
            s,
            node.num_ports,
            node.guid,
            port0.guid,
            (port0.lid, port0.lmc),
        );
        index[*n] = Some(s);
    }
    for link in &view.links {
        for (at, host) in [(link.a, link.b), (link.b, link.a)] {
            let node = &view.nodes[host.node];
            if let Some(s) = index[at.node].filter(|_| !node.is_switch()) {
                let end = node.end_port(host.port);
                places.end_port(s, node.guid, end.guid, (end.lid, end.lmc));
            }
        }
    }
    places
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
            engine: engines.split(',').map(|e| e.parse().unwrap()).collect(),
            vls: None,
            files: FileArgs::default(),
        }
    }

    fn view(spec: &str) -> View {
        View::of_spec(&from_spec(spec).unwrap())
    }

    #[test]
    fn a_tree_is_routed_and_proven() {
        let said = GuidHints::default();
        let routed = route_view(view("fat-tree:4"), 0, &args("updn"), &said).unwrap();
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
        let (topo, switches) = topology(&view);
        let (hints, notes) = hints::resolve(&said, &places(&view, &switches));
        assert_eq!(
            view.nodes[switches[hints.roots[0].index()]].guid,
            leaf.unwrap()
        );
        assert!(!topo.end_ports(hints.roots[0]).is_empty() && notes.len() == 1);
        let routed = route_view(view, 0, &args("updn"), &said).unwrap();
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
        let error = route_view(view("ring:5,1"), 0, &only, &GuidHints::default()).unwrap_err();
        assert_eq!(error.code(), 1);
        assert!(error.to_string().contains("credit loop"), "{error}");
        let routed = route_view(view("ring:5,1"), 0, &args("minhop"), &GuidHints::default());
        let routed = routed.unwrap();
        assert_ne!(routed.chosen.unwrap().routing().engine, "minhop");
        assert!(
            routed.refused[0].starts_with("minhop: "),
            "{:?}",
            routed.refused
        );
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
        let (view, left_out) = largest_island(View::of_spec(&spec));
        assert_eq!((view.nodes.len(), left_out), (9, 9));
        let routed = route_view(view, left_out, &args("updn"), &GuidHints::default());
        assert!(routed.unwrap().chosen.is_some());
    }

    #[test]
    fn hosts_back_to_back_need_no_routing() {
        let said = GuidHints::default();
        let routed = route_view(view("back-to-back"), 0, &args("updn"), &said).unwrap();
        assert!(routed.chosen.is_none());
        assert_eq!(routed.lids, 2);
    }

    #[test]
    fn fewer_lanes_than_cables_have_can_be_asked_for() {
        let few = HintArgs {
            vls: Some(3),
            ..args("updn")
        };
        let routed = route_view(view("ring:4,1"), 0, &few, &GuidHints::default()).unwrap();
        assert_eq!(routed.vls_allowed, 3);
    }
}
