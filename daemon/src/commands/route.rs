//! `ferrosm route`: routes a fabric on paper and proves the tables.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{Proof, Request, Routing, SwitchIdx, Topology, TopologyBuilder, route_with};

use crate::cli::RouteArgs;
use crate::commands::fabric;
use crate::dump;
use crate::failure::Failure;
use crate::output::{self, View, json, proof};

/// What came out.
#[derive(Debug)]
pub struct Routed {
    /// The tables and their proof; `None` where there is no switch.
    pub chosen: Option<(Routing, Proof)>,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<String>,
    /// LIDs that were routed.
    pub lids: usize,
    /// Nodes on other islands.
    pub left_out: usize,
    /// Lanes that could have been used.
    pub vls_allowed: u8,
    /// Time of engines and proofs.
    pub took: Duration,
}

/// Runs the command.
///
/// # Errors
/// If there is no such fabric, or no engine's tables pass the proof.
pub fn run(args: &RouteArgs) -> Result<(), Failure> {
    let (view, left_out) = largest_island(View::of_spec(&fabric::load(&args.from)?));
    let (view, routed) = route(view, left_out, args)?;
    if let Some(dir) = &args.dump_dir {
        dump::write(&view, dir)?;
    }
    if args.json {
        return output::print(&json::pretty(&document(&view, &routed)));
    }
    output::print(&proof::render(&view, &routed))
}

fn largest_island(view: View) -> (View, usize) {
    let islands = view.islands();
    match islands.as_slice() {
        [largest, _, ..] => (view.only(largest), view.nodes.len() - largest.len()),
        _ => (view, 0),
    }
}

fn route(mut view: View, left_out: usize, args: &RouteArgs) -> Result<(View, Routed), Failure> {
    let lids = assign_lids(&mut view)?;
    let (topology, switches) = topology(&view);
    let mut routed = Routed {
        chosen: None,
        refused: Vec::new(),
        lids,
        left_out,
        vls_allowed: args.vls,
        took: Duration::ZERO,
    };
    if switches.is_empty() {
        return Ok((view, routed));
    }
    let engines: Vec<&str> = args
        .engine
        .iter()
        .map(crate::config::value::Engine::name)
        .collect();
    let began = std::time::Instant::now();
    let selection = route_with(&engines, &Request::new(&topology).with_vls(args.vls));
    routed.took = began.elapsed();
    let name = |s: SwitchIdx| {
        let node = switches.get(s.index()).map(|i| &view.nodes[*i]);
        node.map(|n| format!("\"{}\" ({})", n.name(), n.guid))
            .unwrap_or_default()
    };
    routed.refused = selection
        .refused
        .iter()
        .map(|r| describe(r, &name))
        .collect();
    let Some((routing, proof)) = selection.chosen else {
        return Err(Failure::job(format!(
            "no engine can route this fabric: {}",
            routed.refused.join("; ")
        )));
    };
    for (node, lft) in switches.iter().zip(&routing.tables) {
        view.nodes[*node].lft = Some(Arc::clone(lft));
    }
    routed.chosen = Some((routing, proof));
    Ok((view, routed))
}

/// Why an engine was refused, with switches by their names.
fn describe(refused: &ferrosm_routing::Refused, name: &dyn Fn(SwitchIdx) -> String) -> String {
    refused.describe(name)
}

/// LIDs of the file stay as far as they do not contradict each other; cabled end ports without one get the lowest that
/// is free. Returns how many LIDs are in use.
fn assign_lids(view: &mut View) -> Result<usize, Failure> {
    let mut taken = vec![false; usize::from(Lid::UNICAST_MAX.0) + 1];
    taken[0] = true;
    let mut free = |first: usize, count: usize| {
        let range = taken
            .get_mut(first..first + count)
            .filter(|r| first > 0 && !r.contains(&true));
        range.map(|r| r.fill(true)).is_some()
    };
    let cabled: Vec<Vec<PortNum>> = view
        .ends()
        .iter()
        .map(|ends| ends.iter().map(|e| e.port).collect())
        .collect();
    let mut without = Vec::new();
    let mut used = 0;
    for (n, node) in view.nodes.iter_mut().enumerate() {
        let is_switch = node.is_switch();
        for (e, end) in node.end_ports.iter_mut().enumerate() {
            if !is_switch && !cabled[n].contains(&end.port) {
                end.lid = Lid::NONE;
                continue;
            }
            let count = 1usize << end.lmc.0.min(7);
            if end.lid.is_unicast() && free(usize::from(end.lid.0), count) {
                used += count;
            } else {
                without.push((n, e, count));
            }
        }
    }
    let mut next = 1usize;
    for (n, e, count) in without {
        let mut at = next.next_multiple_of(count);
        while at + count <= usize::from(Lid::UNICAST_MAX.0) + 1 && !free(at, count) {
            at += count;
        }
        let lid = u16::try_from(at)
            .ok()
            .map(Lid)
            .filter(|_| at + count <= usize::from(Lid::UNICAST_MAX.0) + 1);
        let Some(lid) = lid else {
            return Err(Failure::job(format!(
                "LIDs are exhausted: {} are in use, and \"{}\" needs {count} more",
                used,
                view.nodes[n].name()
            )));
        };
        view.nodes[n].end_ports[e].lid = lid;
        used += count;
        if count == 1 {
            next = at + 1;
        }
    }
    Ok(used)
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
        match (index[link.a.node], index[link.b.node]) {
            (Some(a), Some(b)) => builder.link((a, link.a.port), (b, link.b.port)),
            (Some(s), None) | (None, Some(s)) => {
                let (at, host) = if index[link.a.node].is_some() {
                    (link.a, link.b)
                } else {
                    (link.b, link.a)
                };
                let end = view.nodes[host.node].end_port(host.port);
                builder.end_port((s, at.port), end.lid, 1 << end.lmc.0.min(7));
            }
            (None, None) => {}
        }
    }
    (builder.build(), switches)
}

fn document<'a>(view: &View, routed: &'a Routed) -> json::routing::Document<'a> {
    use ferrosm_mad::attr::NodeType;
    let chosen = routed.chosen.as_ref();
    json::routing::Document {
        schema: json::SCHEMA,
        engine: chosen.map_or("", |(r, _)| r.engine),
        vls: 1,
        switches: view.count(NodeType::Switch),
        cas: view.count(NodeType::Ca),
        routers: view.count(NodeType::Router),
        links: view.links.len(),
        lids: routed.lids,
        left_out_nodes: routed.left_out,
        refused: routed.refused.clone(),
        notes: chosen.map_or(&[], |(r, _)| r.notes.as_slice()),
        proof: chosen.map(|(_, p)| json::sweep::ProofOf::new(p)),
        compute_ms: json::sweep::ms(routed.took),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::NodeType;
    use ferrosm_mad::ids::Lmc;
    use ferrosm_sim::generate::from_spec;
    use std::collections::BTreeSet;

    fn args(from: &str) -> RouteArgs {
        RouteArgs {
            from: from.to_owned(),
            engine: vec!["updn".parse().unwrap()],
            vls: 1,
            dump_dir: None,
            json: false,
        }
    }

    #[test]
    fn a_tree_is_routed_and_proven() {
        let view = View::of_spec(&from_spec("fat-tree:4").unwrap());
        let (view, routed) = route(view, 0, &args("")).unwrap();
        let (routing, proof) = routed.chosen.unwrap();
        assert_eq!((routing.engine, proof.max_hops), ("updn", 4));
        assert_eq!(routed.lids, 36);
        assert!(
            view.nodes
                .iter()
                .filter(|n| n.is_switch())
                .all(|n| n.lft.is_some())
        );
    }

    #[test]
    fn lids_of_the_file_stay_and_others_fill_the_gaps() {
        let mut spec = from_spec("star:3").unwrap();
        spec.nodes[0].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[1].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[2].lids = vec![(Lid(0), Lmc(1))];
        let mut view = View::of_spec(&spec);
        assert_eq!(assign_lids(&mut view).unwrap(), 5);
        let lid = |n: usize| view.nodes[n].end_ports[0].lid;
        assert_eq!(lid(0), Lid(3));
        assert_eq!(lid(2).0 % 2, 0, "a range begins at a multiple of its size");
        let all: BTreeSet<u16> = [lid(0).0, lid(1).0, lid(2).0, lid(2).0 + 1, lid(3).0].into();
        assert_eq!(all.len(), 5, "no LID twice: {all:?}");
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
        assert!(route(view, left_out, &args("")).unwrap().1.chosen.is_some());
    }

    #[test]
    fn hosts_back_to_back_need_no_routing() {
        let view = View::of_spec(&from_spec("back-to-back").unwrap());
        let (_, routed) = route(view, 0, &args("")).unwrap();
        assert!(routed.chosen.is_none());
        assert_eq!(routed.lids, 2);
    }
}
