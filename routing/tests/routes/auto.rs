//! Automatic engine selection: when engines are compared, and that the best one is selected.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers")]

use crate::common::*;
use ferrosm_routing::quality::{Effort, shifts_by_leaf};
use ferrosm_routing::{
    Diagnostic, PreviousRouting, Proof, Routing, RoutingRequest, Topology, engine_by_name,
    route_with, route_with_engines, verify,
};
use std::sync::Arc;

fn auto(topo: &Topology, vls: u8) -> (Routing, Proof) {
    let request = RoutingRequest::new(topo).with_vls(vls);
    route_with(&["auto", "no_fallback"], &request)
        .chosen
        .unwrap()
}

fn is_compared(routing: &Routing) -> bool {
    routing
        .diagnostics
        .iter()
        .any(|n| matches!(n, Diagnostic::Compared { .. }))
}

/// Load of the busiest link, squared, times the mean congestion of 64 shifts.
fn product(topo: &Topology, routing: &Routing, proof: &Proof) -> f64 {
    let effort = Effort {
        shifts_max: 64,
        ..Effort::default()
    };
    let max_load = proof.max_load as f64;
    max_load * max_load * shifts_by_leaf(topo, &routing.tables, &effort).mean
}

/// The fabric without every `every`-th link, still connected.
fn thinned(fabric: &Fabric, every: usize) -> Fabric {
    let mut thin = fabric.clone();
    for i in (0..fabric.links.len()).rev().step_by(every) {
        let reduced = thin.without_link(i);
        if reduced.connected() {
            thin = reduced;
        }
    }
    thin
}

/// No compared engine would have been better by more than the tolerance, by an independent
/// implementation of the rule. On trees, a routing on several VLs counts as 1.5 times as bad.
#[test]
fn selects_best_of_compared_engines() {
    let general: &[(&str, u8)] = &[("nue", 8), ("dfsssp", 8)];
    let on_grid: &[(&str, u8)] = &[("dor", 8), ("nue", 8), ("dfsssp", 8)];
    let on_torus: &[(&str, u8)] = &[("torus-2QoS", 8), ("dor", 8), ("nue", 8), ("dfsssp", 8)];
    let on_tree: &[(&str, u8)] = &[
        ("dmodc", 1),
        ("ftree", 1),
        ("updn", 1),
        ("dfsssp", 8),
        ("nue", 1),
        ("nue", 8),
    ];
    let cases = [
        ("torus", thinned(&torus(&[6, 5], 2), 11), on_torus, 1.0),
        ("mesh of 4", thinned(&torus(&[4, 4], 2), 9), on_grid, 1.0),
        ("hypercube", thinned(&hypercube(4, 1), 7), on_grid, 1.0),
        ("random", random(24, 30, 48, 3), general, 1.0),
        ("tree", thinned(&two_level(8, 4, 4, 2), 7), on_tree, 1.5),
        (
            "tree with aggregation nodes",
            thinned(&three_level(3).with_sharp(), 7),
            on_tree,
            1.5,
        ),
    ];
    for (name, fabric, engines, several_vls) in cases {
        let topo = fabric.build();
        let (routing, proof) = auto(&topo, 8);
        assert!(is_compared(&routing), "{name}: {:?}", routing.diagnostics);
        assert!(
            engines.iter().any(|(engine, _)| *engine == routing.engine),
            "{name}: {}",
            routing.engine
        );
        assert!(proof.reversible, "{name}");
        let weighted = |routing: &Routing, proof: &Proof| {
            let weight = if proof.vls_used > 1 { several_vls } else { 1.0 };
            weight * product(&topo, routing, proof)
        };
        let own = weighted(&routing, &proof);
        let mut tried = 0;
        for &(engine, vls) in engines {
            let request = RoutingRequest::new(&topo).with_vls(vls);
            let Ok(other) = engine_by_name(engine).unwrap().route(&request) else {
                continue;
            };
            let Ok(proof) = verify(&topo, &other.tables, &other.vl_plan) else {
                continue;
            };
            if proof.reversible {
                tried += 1;
                assert!(own <= 1.051 * weighted(&other, &proof), "{name}: {engine}");
            }
        }
        assert!(tried > 1, "{name}: nothing was compared");
    }
}

/// A first routing of a tree may use several VLs if that is clearly better. Routes that are on one
/// VL stay there.
#[test]
fn routes_of_a_tree_on_one_vl_stay_there() {
    let fabric = thinned(&three_level(3).with_sharp(), 7);
    let topo = Arc::new(fabric.build());
    let (fresh, _) = auto(&topo, 8);
    assert!(fresh.vl_plan.vls > 1, "{:?}", fresh.diagnostics);
    let (single, _) = auto(&topo, 1);
    for previous in [
        PreviousRouting::from_routing(&topo, &single),
        PreviousRouting::from_tables_of(&single),
    ] {
        let request = RoutingRequest::new(&topo)
            .with_vls(8)
            .with_previous(&previous);
        let chosen = route_with_engines(&["auto", "no_fallback"], &request).chosen;
        assert_eq!(chosen.unwrap().0.vl_plan.vls, 1);
    }
}

/// Complete shapes determine the engine: no comparison.
#[test]
fn complete_shapes_need_no_comparison() {
    for (fabric, engine) in [
        (torus(&[6, 5], 2), "torus-2QoS"),
        (hypercube(4, 1), "dor"),
        (dragonfly(9, 4, 2), "dragonfly"),
        (dragonfly_plus(9, 4, 4, 2, 3), "dragonfly"),
        (two_level(8, 4, 4, 1), "dmodc"),
        (three_level(3), "dmodc"),
    ] {
        let (routing, _) = auto(&fabric.build(), 8);
        assert_eq!(routing.engine, engine);
        assert!(!is_compared(&routing), "{:?}", routing.diagnostics);
    }
}

/// The order of discovery changes neither the selection nor its diagnostics.
#[test]
fn selection_is_independent_of_discovery_order() {
    let fabric = thinned(&torus(&[6, 5], 2), 11);
    let (first, proof) = auto(&fabric.build(), 8);
    for shift in [1, 7, 19] {
        let (other, other_proof) = auto(&fabric.build_renumbered(shift), 8);
        assert_eq!(first.engine, other.engine);
        assert_eq!(proof.max_load, other_proof.max_load);
        let result = |r: &Routing| {
            let mut diagnostics = r.diagnostics.iter();
            diagnostics
                .find(|n| matches!(n, Diagnostic::Compared { .. }))
                .cloned()
        };
        assert_eq!(result(&first), result(&other));
    }
}

/// Opposite positions of rings of four and eight split their traffic: every link along the longest
/// rings of a complete torus has the same load. The mean distance in a ring of n is n / 4, over two
/// channels per switch.
#[test]
fn rings_of_four_and_eight_have_equal_link_load() {
    for sides in [&[4, 4, 4][..], &[8, 4], &[8, 8]] {
        let topo = torus(sides, 1).build();
        let request = RoutingRequest::new(&topo).with_vls(8);
        let routing = engine_by_name("torus-2QoS")
            .unwrap()
            .route(&request)
            .unwrap();
        let proof = verify(&topo, &routing.tables, &routing.vl_plan).unwrap();
        assert!(proof.reversible, "{sides:?}");
        let longest = *sides.iter().max().unwrap();
        let mean_load = topo.num_switches() * longest / 8;
        assert_eq!(proof.max_load, mean_load as u64, "{sides:?}");
    }
}
