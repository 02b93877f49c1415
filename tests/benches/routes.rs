//! Measures engines on fabrics of known shape: time, balance, and stability after one lost link.
//!
//! Arguments after `cargo bench -p ferrosm-tests --bench routes --`:
//! `[engine=A,B] [lost=20] [reroute=1] [NAME-PART | FILE.net]...`. A file is the output of
//! ibnetdiscover. `lost=N` first removes every Nth link; `reroute=1` measures only the incremental
//! reroute.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock, prints, and panics on invalid input files"
)]

#[path = "../../routing/tests/routes/common.rs"]
#[allow(dead_code, reason = "shared module, partly used here")]
mod common;

use std::sync::Arc;
use std::time::Instant;

use common::*;
use ferrosm_routing::update::reroute::reroute;
use ferrosm_routing::update::transition;
use ferrosm_routing::verify::IncrementalVerifier;
use ferrosm_routing::{
    Engine, PreviousRouting, RerouteCache, Routing, RoutingRequest, Tables, Topology, VerifiedRun,
    changed_blocks, engine_by_name, verify,
};

fn main() {
    let all: Vec<(&str, Fabric)> = vec![
        ("tree2-648", two_level(36, 18, 18, 1)),
        ("tree2-16x16+2", two_level(16, 12, 10, 2)),
        ("tree2-648-sharp", two_level(36, 18, 18, 1).with_sharp()),
        ("tree3-3456", three_level(12)),
        ("tree3-11664", three_level(18)),
        ("tree3-43904", three_level(28)),
        ("tree3-thin", three_level_of(18, 20, 14)),
        ("torus-4x4x4", torus(&[4, 4, 4], 2)),
        ("torus-6x6x6", torus(&[6, 6, 6], 1)),
        ("ring-12", ring(12, 2)),
        ("hypercube-6", hypercube(6, 2)),
        ("dragonfly", dragonfly(9, 8, 4)),
        ("random-60", random(60, 120, 200, 7)),
        ("random-200", random(200, 300, 800, 8)),
    ];
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let (options, names): (Vec<String>, Vec<String>) = arguments.partition(|a| a.contains('='));
    let (engine_options, options): (Vec<String>, Vec<String>) =
        options.into_iter().partition(|a| a.starts_with("engine="));
    let value = |name: &str| {
        let found = options.iter().find_map(|o| o.strip_prefix(name));
        found.and_then(|v| v.parse::<usize>().ok())
    };
    let (lost, only_reroute) = (value("lost="), value("reroute=") == Some(1));
    let only = names;
    let requested: Vec<&str> = engine_options
        .iter()
        .flat_map(|a| a[7..].split(','))
        .collect();
    let engines = if requested.is_empty() {
        &["updn", "minhop"][..]
    } else {
        &requested
    };
    for file in only.iter().filter(|o| o.ends_with(".net")) {
        let text = std::fs::read_to_string(file).unwrap();
        report(
            file.rsplit('/').next().unwrap_or(file),
            &from_net(&text),
            engines,
            only_reroute,
        );
    }
    for (name, fabric) in all {
        if only.is_empty() || only.iter().any(|o| name.contains(o.as_str())) {
            let mut fabric = fabric;
            if let Some(nth) = lost {
                for link in (0..fabric.links.len()).rev().step_by(nth) {
                    let degraded = fabric.without_link(link);
                    if degraded.connected() {
                        fabric = degraded;
                    }
                }
            }
            report(name, &fabric, engines, only_reroute);
        }
    }
}

fn report(name: &str, fabric: &Fabric, engines: &[&str], only_reroute: bool) {
    let topo = fabric.build();
    for &engine in engines {
        let engine = engine_by_name(engine).unwrap();
        let mut best = f64::MAX;
        let mut routing = None;
        for _ in 0..5 {
            let t = Instant::now();
            routing = Some(engine.route(&RoutingRequest::new(&topo)));
            best = best.min(t.elapsed().as_secs_f64());
            if best > 1.0 {
                break;
            }
        }
        let routing = match routing.unwrap() {
            Ok(routing) => routing,
            Err(error) => {
                println!(
                    "{name:16} {:7} {:7.1} ms fails: {error}",
                    engine.name(),
                    best * 1e3
                );
                continue;
            }
        };
        let t = Instant::now();
        let proof = verify(&topo, &routing.tables, &routing.vl_plan);
        let verified = t.elapsed().as_secs_f64();
        let text = match &proof {
            Ok(p) => format!(
                "{} VLs max {} mean {:.1} ratio {:.2} hops {:.3} pairs {}",
                routing.vl_plan.vls,
                p.max_load,
                p.mean_load,
                p.max_load as f64 / p.mean_load,
                p.mean_hops(),
                p.pairs
            ),
            Err(e) => e.to_string().chars().take(60).collect(),
        };
        println!(
            "{name:16} {:7} {:7.1} ms verify {:6.1} ms  {text}",
            engine.name(),
            best * 1e3,
            verified * 1e3,
        );
        for diagnostic in &routing.diagnostics {
            println!("      {diagnostic}");
        }
        if proof.is_ok() && !fabric.links.is_empty() && (best < 3.0 || only_reroute) {
            report_lost_link(fabric, &*engine, &topo, &routing, only_reroute);
        }
    }
}

fn report_lost_link(
    fabric: &Fabric,
    engine: &dyn Engine,
    topo: &Topology,
    routed: &Routing,
    only_reroute: bool,
) {
    for link in [0, fabric.links.len() / 2, fabric.links.len() - 1] {
        let degraded = fabric.without_link(link);
        if !degraded.connected() {
            continue;
        }
        let ((a, pa), (b, pb)) = fabric.links[link];
        let degraded_topo = degraded.build();
        if only_reroute {
            println!("      lost {a}:{pa}-{b}:{pb}");
            report_reroute(topo, routed, &degraded_topo);
            continue;
        }
        let previous = PreviousRouting::from_tables_of(routed);
        let before = &routed.tables;
        let t = Instant::now();
        let after = engine
            .route(&RoutingRequest::new(&degraded_topo).with_previous(&previous))
            .unwrap();
        let took = t.elapsed().as_secs_f64();
        let cold = engine.route(&RoutingRequest::new(&degraded_topo)).unwrap();
        let again = engine
            .route(
                &RoutingRequest::new(topo).with_previous(&PreviousRouting::from_tables_of(&after)),
            )
            .unwrap();
        let (entries, blocks) = changes(before, &after.tables);
        let (cold_entries, cold_blocks) = changes(before, &cold.tables);
        report_reroute(topo, routed, &degraded_topo);
        let using = |s: usize, p: u8| before[s].entries().iter().filter(|&&e| e == p).count();
        let proof = verify(&degraded_topo, &after.tables, &after.vl_plan);
        println!(
            "      lost {a}:{pa}-{b}:{pb} {:6.1} ms: {entries} entries {blocks} blocks (used it: {} + {}; cold: \
             {cold_entries}, {cold_blocks}); restored: {}; {}",
            took * 1e3,
            using(a, pa),
            using(b, pb),
            again.tables == *before,
            proof.map_or_else(
                |e| e.to_string(),
                |p| format!(
                    "max {} ratio {:.2}",
                    p.max_load,
                    p.max_load as f64 / p.mean_load
                )
            ),
        );
    }
}

/// Measures the incremental reroute after a lost link, its incremental verification, and the
/// planning of the LFT update.
fn report_reroute(topo: &Topology, routed: &Routing, degraded_topo: &Topology) {
    let previous = PreviousRouting::from_routing(&Arc::new(topo.clone()), routed);
    let cold = PreviousRouting::from_routing(&Arc::new(topo.clone()), routed);
    let request = RoutingRequest::new(degraded_topo).with_previous(&previous);
    let timed = |f: &mut dyn FnMut()| {
        let t = Instant::now();
        f();
        t.elapsed().as_secs_f64() * 1e3
    };
    let last = previous.last_run.as_ref().unwrap();
    let prepared = timed(&mut || last.prepare());
    let unprepared = timed(&mut || {
        drop(reroute(
            &RoutingRequest::new(degraded_topo).with_previous(&cold),
        ))
    });
    let mut best = [f64::MAX; 4];
    let mut after = None;
    for _ in 0..5 {
        best[0] = best[0].min(timed(&mut || after = reroute(&request)));
    }
    let Some(after) = after else {
        println!(
            "      reroute {:6.1} ms (unprepared {unprepared:.1}, prepare {prepared:.1}): fails, the engine must run",
            best[0]
        );
        return;
    };
    let mut verifier = IncrementalVerifier::new();
    verifier
        .verify(topo, &routed.tables, &routed.vl_plan)
        .unwrap();
    let run = VerifiedRun {
        topo: Arc::new(degraded_topo.clone()),
        routing: after.clone(),
        baseline_max_load: 0,
        cache: RerouteCache::new(),
    };
    run.prepare();
    let mut proof = Err(ferrosm_routing::VerifyError::default());
    for _ in 0..5 {
        let mut next = verifier.clone();
        best[1] = best[1].min(timed(&mut || {
            proof = next.verify(degraded_topo, &after.tables, &after.vl_plan);
        }));
        best[2] = best[2].min(timed(&mut || {
            assert_eq!(proof, verify(degraded_topo, &after.tables, &after.vl_plan));
        }));
        best[3] = best[3].min(timed(&mut || {
            drop(transition::plan_with(
                degraded_topo,
                &previous.lfts,
                &after.tables,
                &after.vl_plan,
                &run.cache,
            ));
        }));
    }
    let (entries, blocks) = changes(&routed.tables, &after.tables);
    println!(
        "      reroute {:6.1} ms (unprepared {unprepared:.1}, prepare {prepared:.1}), verify {:.1} ms (full {:.1}), \
         transition {:.1} ms, cache {:.1} MB: {entries} entries {blocks} blocks; {}",
        best[0],
        best[1],
        best[2],
        best[3],
        last.cache.memory() as f64 / 1e6,
        proof.map_or_else(
            |e| e.to_string(),
            |p| format!("max {} hops {:.3}", p.max_load, p.mean_hops()),
        ),
    );
}

fn changes(before: &Tables, after: &Tables) -> (usize, usize) {
    let entries = |(x, y): (&_, &_)| entry_changes(x, y);
    (
        before.iter().zip(after).map(entries).sum(),
        before
            .iter()
            .zip(after)
            .map(|(x, y)| changed_blocks(Some(x), y).count())
            .sum(),
    )
}

fn entry_changes(x: &Arc<ferrosm_routing::Lft>, y: &Arc<ferrosm_routing::Lft>) -> usize {
    x.entries()
        .iter()
        .zip(y.entries())
        .filter(|(a, b)| a != b)
        .count()
}

/// Switches and links of ibnetdiscover output. Reads well-formed files only.
fn from_net(text: &str) -> Fabric {
    let quoted = |line: &str, i: usize| line.split('"').nth(i).map(str::to_owned);
    let bracketed = |part: &str| {
        part.split(['[', ']'])
            .nth(1)
            .and_then(|p| p.parse::<u8>().ok())
    };
    let mut index = std::collections::BTreeMap::new();
    let mut fabric = Fabric::default();
    for line in text.lines().filter(|l| l.starts_with("Switch")) {
        index.insert(quoted(line, 1).unwrap(), fabric.ports.len());
        let ports: u32 = line
            .split_whitespace()
            .nth(1)
            .and_then(|p| p.parse().ok())
            .unwrap();
        fabric.ports.push(u8::try_from(ports.min(254)).unwrap());
    }
    let mut at = None;
    for line in text.lines() {
        if line.starts_with("Switch") || line.starts_with("Ca") || line.starts_with("Rt") {
            at = quoted(line, 1).and_then(|id| index.get(&id).copied());
        } else if let (Some(s), true, Some(port)) = (at, line.starts_with('['), bracketed(line)) {
            let peer = quoted(line, 1).unwrap();
            match index.get(&peer) {
                Some(&t) => {
                    let peer_port = bracketed(
                        line.rsplit('"')
                            .nth(1)
                            .map_or("", |_| line.splitn(3, '"').nth(2).unwrap_or("")),
                    );
                    fabric.links.push(((s, port), (t, peer_port.unwrap())));
                }
                None => fabric.hosts.push((s, port, 1)),
            }
        }
    }
    // Each link is listed from both ends.
    fabric.links.retain(|&(a, b)| a <= b);
    fabric
}
