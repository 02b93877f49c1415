//! The automatic choice: what is compared and what is not, and that the best of what is compared serves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers")]

use crate::common::*;
use ferrosm_routing::quality::{Effort, shifts_by_leaf};
use ferrosm_routing::{
    Diagnostic, Proof, Request, Routing, Topology, engine_by_name, route_with, verify,
};

fn auto(topo: &Topology, vls: u8) -> (Routing, Proof) {
    let request = Request::new(topo).with_vls(vls);
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

/// Busiest cable, squared, times the mean of 64 shifts.
fn product(topo: &Topology, routing: &Routing, proof: &Proof) -> f64 {
    let effort = Effort {
        shifts_max: 64,
        ..Effort::default()
    };
    let max_load = proof.max_load as f64;
    max_load * max_load * shifts_by_leaf(topo, &routing.tables, &effort).mean
}

/// Without every so-manieth cable, still connected.
fn thinned(fabric: &Fabric, every: usize) -> Fabric {
    let mut thin = fabric.clone();
    for i in (0..fabric.cables.len()).rev().step_by(every) {
        let less = thin.without_cable(i);
        if less.connected() {
            thin = less;
        }
    }
    thin
}

/// No engine that is compared would have been better by more than the tolerance, by the stated rule worked out anew.
#[test]
fn the_best_of_what_is_compared_serves() {
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
        let own = product(&topo, &routing, &proof);
        let mut tried = 0;
        for engine in engines {
            let request = Request::new(&topo).with_vls(vls);
            let Ok(other) = engine_by_name(engine).unwrap().route(&request) else {
                continue;
            };
            let Ok(proof) = verify(&topo, &other.tables, &other.vl_plan) else {
                continue;
            };
            if proof.reversible {
                tried += 1;
                assert!(
                    own <= 1.051 * product(&topo, &other, &proof),
                    "{name}: {engine}"
                );
            }
        }
        assert!(tried > 1, "{name}: nothing was compared");
    }
}

/// Whole shapes say which engine is right: nothing is compared.
#[test]
fn whole_shapes_are_not_compared() {
    for (fabric, engine) in [
        (torus(&[6, 5], 2), "torus-2QoS"),
        (hypercube(4, 1), "dor"),
        (two_level(8, 4, 4, 1), "dmodc"),
        (three_level(3), "dmodc"),
    ] {
        let (routing, _) = auto(&fabric.build(), 8);
        assert_eq!(routing.engine, engine);
        assert!(!is_compared(&routing), "{:?}", routing.diagnostics);
    }
}

/// The order of discovery changes neither the choice nor what is said of it.
#[test]
fn the_choice_does_not_depend_on_discovery() {
    let fabric = thinned(&torus(&[6, 5], 2), 11);
    let (first, proof) = auto(&fabric.build(), 8);
    for turn in [1, 7, 19] {
        let (other, other_proof) = auto(&fabric.build_turned(turn), 8);
        assert_eq!(first.engine, other.engine);
        assert_eq!(proof.max_load, other_proof.max_load);
        let told = |r: &Routing| {
            let mut notes = r.diagnostics.iter();
            notes
                .find(|n| matches!(n, Diagnostic::Compared { .. }))
                .cloned()
        };
        assert_eq!(told(&first), told(&other));
    }
}

/// Opposite places of rings of four and eight are shared out: every cable along the longest rings of a whole torus carries the
/// same. The mean distance along a ring of n is n / 4, over two channels for each switch.
#[test]
fn rings_of_four_and_eight_are_even() {
    for sides in [&[4, 4, 4][..], &[8, 4], &[8, 8]] {
        let topo = torus(sides, 1).build();
        let request = Request::new(&topo).with_vls(8);
        let routing = engine_by_name("torus-2QoS")
            .unwrap()
            .route(&request)
            .unwrap();
        let proof = verify(&topo, &routing.tables, &routing.vl_plan).unwrap();
        assert!(proof.reversible, "{sides:?}");
        let longest = *sides.iter().max().unwrap();
        let even = topo.num_switches() * longest / 8;
        assert_eq!(proof.max_load, even as u64, "{sides:?}");
    }
}
