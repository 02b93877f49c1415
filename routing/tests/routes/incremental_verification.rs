//! Incremental verification: after any change its result equals that of a full verification.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::sync::Arc;

use crate::common::*;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::update::reroute::{RerouteLimits, reroute_within};
use ferrosm_routing::verify::IncrementalVerifier;
use ferrosm_routing::{
    ENGINE_NAMES, Lft, PathSl, PreviousRouting, RoutingRequest, Tables, Topology, VlPlan,
    engine_by_name, verify,
};
use proptest::prelude::*;

fn overwrite(tables: &mut Tables, rng: &mut Lcg, top: Lid) {
    let s = rng.below(tables.len());
    let mut lft = Lft::clone(&tables[s]);
    let lid = Lid(rng.below(usize::from(top.raw()) + 1) as u16);
    lft.set(lid, PortNum(1 + rng.below(6) as u8));
    tables[s] = Arc::new(lft);
}

fn random_vl_plan(topo: &Topology, rng: &mut Lcg) -> VlPlan {
    let n = topo.num_switches();
    let lids = usize::from(topo.top_lid().raw()) + 1;
    match rng.below(6) {
        0 | 1 => VlPlan::single(),
        2 => VlPlan::modulo(3, PathSl::Uniform(rng.below(3) as u8)),
        3 => VlPlan::modulo(
            2,
            PathSl::ByLid((0..lids).map(|_| rng.below(2) as u8).collect()),
        ),
        _ => {
            // Symmetric.
            let salt = rng.below(4);
            let sl = |a: usize, b: usize| ((a.min(b) * 7 + a.max(b) * 3) / (1 + salt) % 2) as u8;
            let row = |a: usize| (0..n).map(|b| sl(a, b)).collect();
            VlPlan::modulo(2, PathSl::BySwitches((0..n).map(row).collect()))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Twelve changes of any kind: a link lost or restored and routed again with the installed
    /// tables, other engines, overwritten entries, other VLs, an end port added or removed. Each
    /// time the same proof or failure.
    #[test]
    fn incremental_results_equal_full_verification(n in 2usize..9, extra in 0usize..12, hosts in 0usize..14, seed: u64) {
        let complete = random(n, extra, hosts, seed);
        let mut fabric = complete.clone();
        let mut rng = Lcg(!seed);
        let mut verifier = IncrementalVerifier::new();
        let mut topo = Arc::new(fabric.build());
        let mut vl_plan = VlPlan::single();
        let route = |topo: &Topology, engine: &str, previous: &PreviousRouting| {
            let engine = engine_by_name(engine).unwrap();
            engine.route(&RoutingRequest::new(topo).with_previous(previous)).unwrap()
        };
        let mut routing = route(&topo, "updn", &PreviousRouting::none());
        for _ in 0..12 {
            match rng.below(8) {
                0..=2 if !fabric.links.is_empty() => {
                    let reduced = fabric.without_link(rng.below(fabric.links.len()));
                    if reduced.connected() {
                        fabric = reduced;
                    }
                }
                3 => fabric.links.clone_from(&complete.links),
                4 => overwrite(&mut routing.tables, &mut rng, topo.top_lid()),
                5 => routing = route(&topo, "minhop", &PreviousRouting::none()),
                6 => vl_plan = random_vl_plan(&topo, &mut rng),
                7 if fabric.hosts.len() > 1 => drop(fabric.hosts.pop()),
                _ => {}
            }
            let next = Arc::new(fabric.build());
            if next != topo {
                routing = route(&next, "updn", &PreviousRouting::from_tables_of(&routing));
                topo = next;
            }
            let incremental_result = verifier.verify(&topo, &routing.tables, &vl_plan);
            prop_assert_eq!(incremental_result, verify(&topo, &routing.tables, &vl_plan));
        }
    }
}

/// Any loss of balance and any number of moves is allowed.
const ANY: RerouteLimits = RerouteLimits {
    max_load_growth: f64::INFINITY,
    max_changed_share: 1.0,
    always_allowed_entries: 0,
};

/// Loses links and hosts one after the other. Incremental reroutes and fresh routings are verified
/// by one incremental verifier. Returns the number of incremental reroutes.
fn lose_and_reroute(engine: &str, complete: &Fabric, losses: usize, seed: u64) -> usize {
    let mut fabric = complete.clone();
    let mut rng = Lcg(seed);
    let mut verifier = IncrementalVerifier::new();
    let engine = engine_by_name(engine).unwrap();
    let mut topo = Arc::new(fabric.build());
    let Ok(mut routing) = engine.route(&RoutingRequest::new(&topo)) else {
        return 0;
    };
    let mut rerouted = 0;
    for _ in 0..losses {
        let result = verifier.verify(&topo, &routing.tables, &routing.vl_plan);
        assert_eq!(
            result,
            verify(&topo, &routing.tables, &routing.vl_plan),
            "{}",
            engine.name()
        );
        // Continuing from a copy does not affect the original.
        let before = verifier.clone();
        let reduced = if rng.below(4) == 0 && fabric.hosts.len() > 1 {
            let mut reduced = fabric.clone();
            reduced.hosts.remove(rng.below(reduced.hosts.len()));
            reduced
        } else if fabric.links.is_empty() {
            break;
        } else {
            fabric.without_link(rng.below(fabric.links.len()))
        };
        if !reduced.connected() {
            continue;
        }
        let next = Arc::new(reduced.build());
        let previous = PreviousRouting::from_routing(&topo, &routing);
        let request = RoutingRequest::new(&next).with_previous(&previous);
        let after = reroute_within(&request, &ANY);
        rerouted += usize::from(after.is_some());
        let Some(after) = after.or_else(|| engine.route(&request).ok()) else {
            break;
        };
        let mut other = before.clone();
        let _ = other.verify(&next, &routing.tables, &routing.vl_plan);
        (fabric, topo, routing) = (reduced, next, after);
        verifier = before;
    }
    rerouted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any connected multigraph, any engine, any number of VLs.
    #[test]
    fn incremental_reroutes_are_verified_incrementally(
        n in 2usize..14, extra in 0usize..24, hosts in 0usize..16, engine in 0..ENGINE_NAMES.len(), seed: u64,
    ) {
        lose_and_reroute(ENGINE_NAMES[engine], &random(n, extra, hosts, seed), 8, !seed);
    }
}

/// Fabrics whose engines need VLs, and trees: most losses are handled by incremental reroute, so
/// verification is incremental.
#[test]
fn incremental_reroutes_of_vls_and_trees_are_verified_incrementally() {
    for (fabric, engines) in [
        (
            torus(&[4, 4], 2),
            &["dfsssp", "lash", "nue", "dor", "torus-2QoS"][..],
        ),
        (ring(7, 2), &["dfsssp", "lash", "nue"]),
        (
            three_level(3),
            &["dmodc", "updn", "minhop", "dfsssp", "nue"],
        ),
        (dragonfly(5, 4, 2), &["dfsssp", "nue"]),
    ] {
        let rerouted: usize = engines
            .iter()
            .map(|e| lose_and_reroute(e, &fabric, 10, 5))
            .sum();
        assert!(rerouted > 3 * engines.len(), "{engines:?}: {rerouted}");
    }
}
