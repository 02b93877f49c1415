//! Automatic engine selection: when engines are compared, and that the best one is selected.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers")]

use crate::common::*;
use ferrosm_routing::quality::{Effort, shifts_by_leaf};
use ferrosm_routing::{
    Diagnostic, Proof, Routing, RoutingRequest, Topology, engine_by_name, route_with, verify,
};

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
/// implementation of the rule.
#[test]
fn selects_best_of_compared_engines() {
    let cases: [(&str, Fabric, &[&str], u8); 5] = [
        (
            "torus",
            thinned(&torus(&[6, 5], 2), 11),
            &["torus-2QoS", "dor", "nue", "dfsssp"],
            8,
        ),
        (
            "mesh of 4",
            thinned(&torus(&[4, 4], 2), 9),
            &["dor", "nue", "dfsssp"],
            8,
        ),
        (
            "hypercube",
            thinned(&hypercube(4, 1), 7),
            &["dor", "nue", "dfsssp"],
            8,
        ),
        ("random", random(24, 30, 48, 3), &["nue", "dfsssp"], 8),
        (
            "tree",
            thinned(&two_level(8, 4, 4, 2), 7),
            &["dmodc", "ftree", "updn", "nue"],
            1,
        ),
    ];
    for (name, fabric, engines, vls) in cases {
        let topo = fabric.build();
        let (routing, proof) = auto(&topo, 8);
        assert!(is_compared(&routing), "{name}: {:?}", routing.diagnostics);
        assert!(
            engines.contains(&routing.engine),
            "{name}: {}",
            routing.engine
        );
        assert!(proof.reversible, "{name}");
        assert!(routing.vl_plan.vls <= vls, "{name}");
        let own_product = product(&topo, &routing, &proof);
        let mut tried = 0;
        for engine in engines {
            let request = RoutingRequest::new(&topo).with_vls(vls);
            let Ok(other) = engine_by_name(engine).unwrap().route(&request) else {
                continue;
            };
            let Ok(proof) = verify(&topo, &other.tables, &other.vl_plan) else {
                continue;
            };
            if proof.reversible {
                tried += 1;
                assert!(
                    own_product <= 1.051 * product(&topo, &other, &proof),
                    "{name}: {engine}"
                );
            }
        }
        assert!(tried > 1, "{name}: nothing was compared");
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
