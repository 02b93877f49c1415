//! Guarantees of `sssp`, `dfsssp` and `lash`: shortest paths, no credit loop on the usable VLs or
//! the number of VLs required, replies on the SL of their request, a compatible multicast tree.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::oracle;
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables, dependencies, detours, reversible};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{
    Diagnostic, Hints, PathSl, PreviousRouting, Proof, RouteError, Routing, RoutingRequest,
    SwitchIdx, Topology, TreeConstraint, VlPlan, engine_by_name, verify,
};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;
use proptest::prelude::*;

const VL_ENGINES: [&str; 2] = ["dfsssp", "lash"];

fn route(engine: &str, topo: &Topology, vls: u8) -> Result<Routing, RouteError> {
    let request = RoutingRequest::new(topo).with_vls(vls);
    engine_by_name(engine).unwrap().route(&request)
}

fn verified(engine: &str, topo: &Topology, vls: u8) -> (Routing, Proof) {
    let routing = route(engine, topo, vls).unwrap_or_else(|e| panic!("{engine}: {e}"));
    let proof = verify(topo, &routing.tables, &routing.vl_plan).unwrap_or_else(|e| panic!("{e}"));
    (routing, proof)
}

/// Checks all guarantees of a routing packet by packet.
fn check(topo: &Topology, routing: &Routing, vls: u8) {
    assert!(routing.vl_plan.vls <= vls);
    assert_eq!(
        check_tables(topo, &routing.tables, &routing.vl_plan),
        Verdict::Good
    );
    assert!(verify(topo, &routing.tables, &routing.vl_plan).is_ok());
    assert_eq!(detours(topo, &routing.tables), 0);
    let is_one_way = routing.diagnostics.contains(&Diagnostic::OneWaySls);
    assert_eq!(
        reversible(topo, &routing.tables, &routing.vl_plan),
        !is_one_way,
        "replies on the SL of their request"
    );
    match &routing.trees {
        TreeConstraint::Within { up, sl } => check_tree(topo, routing, up, *sl),
        TreeConstraint::Search => {}
        TreeConstraint::Ordered(_) => panic!("unexpected switch order"),
    }
}

/// Checks that the tree spans all switches and forms no credit loop with the packets on its VL.
fn check_tree(topo: &Topology, routing: &Routing, up: &[Option<PortNum>], sl: u8) {
    assert_eq!(up.iter().filter(|p| p.is_none()).count(), 1);
    for start in topo.switches() {
        let (mut at, mut steps) = (start, 0);
        while let Some(port) = up[at.index()] {
            at = topo.neighbor(at, port).unwrap().0;
            steps += 1;
            assert!(steps <= topo.num_switches(), "the tree has a cycle");
        }
    }
    let vl = sl % routing.vl_plan.vls;
    let mut dependency_graph = DiGraphMap::<(u32, u8), ()>::new();
    for (x, y, ()) in dependencies(topo, &routing.tables, &routing.vl_plan).all_edges() {
        if x.2 == vl && y.2 == vl {
            dependency_graph.add_edge((x.0, x.1), (y.0, y.1), ());
        }
    }
    let mut links = vec![Vec::new(); topo.num_switches()];
    for s in topo.switches() {
        if let Some(port) = up[s.index()] {
            let (parent, parent_port) = topo.neighbor(s, port).unwrap();
            links[s.index()].push((port, parent, parent_port));
            links[parent.index()].push((parent_port, s, port));
        }
    }
    for s in topo.switches() {
        for &(input, from, peer_port) in &links[s.index()] {
            for &(output, ..) in links[s.index()].iter().filter(|c| c.0 != input) {
                dependency_graph.add_edge((from.0, peer_port.raw()), (s.0, output.raw()), ());
            }
        }
    }
    assert!(
        toposort(&dependency_graph, None).is_ok(),
        "the tree closes a credit loop with the packets"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any connected multigraph, any number of VLs: routed correctly on at most that many, or
    /// rejected with a larger number, on which routing succeeds.
    #[test]
    fn any_graph_is_routed_or_required_vls_are_reported(
        n in 2usize..30, extra in 0usize..50, hosts in 1usize..50, vls in 1u8..16, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        for engine in VL_ENGINES {
            match route(engine, &topo, vls) {
                Ok(routing) => check(&topo, &routing, vls),
                Err(RouteError::TooFewVls { needed, usable }) => {
                    prop_assert_eq!(usable, vls);
                    prop_assert!(needed > usize::from(vls));
                    if needed <= 15 {
                        let enough = route(engine, &topo, needed as u8).unwrap();
                        check(&topo, &enough, needed as u8);
                    }
                }
                Err(other) => prop_assert!(false, "{}: {}", engine, other),
            }
        }
        let sssp = route("sssp", &topo, 1).unwrap();
        prop_assert_eq!(detours(&topo, &sssp.tables), 0);
        let verdict = check_tables(&topo, &sssp.tables, &sssp.vl_plan);
        prop_assert!(matches!(verdict, Verdict::Good | Verdict::CreditLoop));
    }

    /// One and three workers, another order of discovery: the same table in every switch, the same
    /// SL for every path.
    #[test]
    fn results_are_independent_of_threads_and_discovery_order(
        n in 2usize..16, extra in 0usize..30, hosts in 1usize..30, seed: u64, shift in 1usize..15,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let topo = fabric.build();
        let renumbered_index = |s: usize| (s + shift) % n;
        let renumbered_topo = fabric.build_renumbered(shift);
        for engine in ["sssp", "dfsssp", "lash"] {
            let route_with_threads = |threads: usize, topo: &Topology| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| route(engine, topo, 15))
            };
            let (one, three) = (route_with_threads(1, &topo), route_with_threads(3, &topo));
            let renumbered = route_with_threads(2, &renumbered_topo);
            match (one, three, renumbered) {
                (Ok(one), Ok(three), Ok(other_order)) => {
                    prop_assert_eq!(&one.tables, &three.tables);
                    prop_assert_eq!(&one.vl_plan, &three.vl_plan);
                    prop_assert_eq!(&one.trees, &three.trees);
                    for s in 0..n {
                        prop_assert_eq!(&one.tables[s], &other_order.tables[renumbered_index(s)]);
                        for (d, e) in topo.destinations().iter().zip(renumbered_topo.destinations()) {
                            let (a, b) = (SwitchIdx(s as u32), SwitchIdx(renumbered_index(s) as u32));
                            prop_assert_eq!(one.vl_plan.sl(a, d), other_order.vl_plan.sl(b, e));
                        }
                    }
                }
                (one, three, other_order) => {
                    prop_assert_eq!(one.as_ref().err(), three.as_ref().err());
                    prop_assert_eq!(one.err(), other_order.err());
                }
            }
        }
    }
}

/// Rings, tori, hypercubes, dragonflies and meshes on eight VLs, complete and with one link lost:
/// all are routed, and replies may use the SL of their request. Also checks the number of VLs.
#[test]
fn regular_fabrics_need_few_vls() {
    let mesh = |n: usize| {
        let mut f = torus(&[n, n], 2);
        f.links.retain(|&((a, _), (b, _))| {
            let (x, y) = (a % n, b % n);
            x.abs_diff(y) <= 1 && (a / n).abs_diff(b / n) <= 1
        });
        f
    };
    let cases = [
        ("ring of 12", ring(12, 2), 2, 2),
        ("torus of 4x4x4", torus(&[4, 4, 4], 1), 8, 1),
        ("torus of 5x5", torus(&[5, 5], 1), 4, 4),
        ("hypercube of 5 dimensions", hypercube(5, 2), 1, 1),
        ("dragonfly", dragonfly(9, 4, 2), 3, 3),
        ("mesh of 5x5", mesh(5), 4, 1),
    ];
    for (name, fabric, dfsssp, lash) in cases {
        let mut reduced = fabric.without_link(fabric.links.len() / 2);
        if !reduced.connected() {
            reduced = fabric.clone();
        }
        for (engine, max_vls) in [("dfsssp", dfsssp), ("lash", lash)] {
            let topo = fabric.build();
            let (routing, _) = verified(engine, &topo, 8);
            check(&topo, &routing, 8);
            assert!(
                routing.vl_plan.vls <= max_vls,
                "{engine}, {name}: {} VLs",
                routing.vl_plan.vls
            );
            assert!(
                matches!(routing.trees, TreeConstraint::Within { sl: 0, .. }),
                "{name}"
            );
            let topo = reduced.build();
            let (routing, _) = verified(engine, &topo, 8);
            check(&topo, &routing, 8);
        }
    }
}

/// A torus of 6x6x6, for which OpenSM's dfsssp requires nine VLs: eight are enough, with both
/// directions of a pair on one.
#[test]
fn torus_6x6x6_fits_eight_vls() {
    let topo = torus(&[6, 6, 6], 1).build();
    for engine in VL_ENGINES {
        let (routing, proof) = verified(engine, &topo, 8);
        assert!(proof.reversible, "{engine}");
        assert!(matches!(routing.trees, TreeConstraint::Within { .. }));
    }
}

/// Full trees: one VL, optimal balance, a multicast tree.
#[test]
fn trees_need_one_vl_and_have_optimal_balance() {
    for (fabric, best) in [
        (two_level(12, 6, 6, 1), 66),
        (three_level(4), 124),
        (three_level(6), 426),
    ] {
        let topo = fabric.build();
        for engine in ["sssp", "dfsssp", "lash"] {
            let (routing, proof) = verified(engine, &topo, 15);
            assert_eq!(proof.max_load, best, "{engine}");
            assert!(routing.vl_plan.is_single());
            if engine != "sssp" {
                check(&topo, &routing, 1);
                assert!(matches!(routing.trees, TreeConstraint::Within { .. }));
            }
        }
    }
}

/// A ring of five switches on one VL: shortest paths have a credit loop, and two VLs are required.
#[test]
fn too_few_vls_are_rejected_with_the_required_number() {
    let topo = ring(5, 1).build();
    for engine in VL_ENGINES {
        let error = route(engine, &topo, 1).unwrap_err();
        assert_eq!(
            error,
            RouteError::TooFewVls {
                needed: 2,
                usable: 1
            }
        );
        assert_eq!(verified(engine, &topo, 2).0.vl_plan.vls, 2);
    }
}

/// Routes are spread over all VLs where possible: on a ring of 16, no VL has three quarters.
#[test]
fn routes_are_spread_over_vls() {
    let topo = ring(16, 1).build();
    let (routing, _) = verified("lash", &topo, 8);
    let VlPlan {
        path_sl: PathSl::BySwitches(rows),
        vls,
        ..
    } = &routing.vl_plan
    else {
        panic!("expected SLs by pairs of switches");
    };
    let entries = rows.iter().flat_map(|row| row.iter());
    let mut count = vec![0; usize::from(*vls)];
    entries.for_each(|sl| count[usize::from(*sl)] += 1);
    assert!(count.iter().all(|&c| c < 256 * 3 / 4), "{count:?}");
}

/// A port whose routes are not counted attracts all of them; at equal weights the first port of the
/// configured order is used.
#[test]
fn hints_change_weights_and_port_order() {
    let fabric = two_level(3, 3, 4, 1);
    let topo = fabric.build();
    let leaf = SwitchIdx(0);
    let spine_ports: Vec<PortNum> = topo.links(leaf).iter().map(|l| l.port).collect();
    let hints = Hints {
        port_order: vec![(leaf, vec![spine_ports[2]])],
        ..Hints::default()
    };
    let engine = engine_by_name("sssp").unwrap();
    let routing = engine
        .route(&RoutingRequest::new(&topo).with_hints(&hints))
        .unwrap();
    // No weight counts for the first LID on another leaf.
    let first = topo.destinations_on(SwitchIdx(1))[1].lid;
    let plain = engine.route(&RoutingRequest::new(&topo)).unwrap();
    let at_leaf = |r: &Routing, lid: Lid| r.tables[0].get(lid);
    assert_ne!(at_leaf(&plain, first), spine_ports[2]);
    let others = topo.destinations_on(SwitchIdx(1)).iter().skip(1);
    assert!(
        others
            .clone()
            .any(|d| at_leaf(&routing, d.lid) != at_leaf(&plain, d.lid))
    );
}

/// Unchanged fabric: the same allocations. A link lost: only LIDs that used it move. Restored: the
/// original tables.
#[test]
fn installed_shortest_paths_are_kept() {
    for fabric in [three_level(4), random(24, 30, 60, 11), torus(&[4, 4], 2)] {
        let topo = Arc::new(fabric.build());
        let engine = engine_by_name("sssp").unwrap();
        let first = engine.route(&RoutingRequest::new(&topo)).unwrap();
        let before = PreviousRouting::from_routing(&topo, &first);
        let again = engine
            .route(&RoutingRequest::new(&topo).with_previous(&before))
            .unwrap();
        assert!(
            first
                .tables
                .iter()
                .zip(&again.tables)
                .all(|(x, y)| Arc::ptr_eq(x, y))
        );
        let link = fabric.links.len() / 2;
        let degraded = fabric.without_link(link);
        if !degraded.connected() {
            continue;
        }
        let reduced = degraded.build();
        let old = PreviousRouting::from_tables_of(&first);
        let after = engine
            .route(&RoutingRequest::new(&reduced).with_previous(&old))
            .unwrap();
        assert_eq!(detours(&reduced, &after.tables), 0);
        let hops = (oracle::distances(&topo), oracle::distances(&reduced));
        // Paths to switch LIDs, and of switches that no packet passes, change where they would
        // close a credit loop.
        for d in topo.destinations().iter().filter(|d| d.port.0 != 0) {
            let mut passed = vec![false; topo.num_switches()];
            for from in topo.switches().filter(|s| !topo.end_ports(*s).is_empty()) {
                let mut at = from;
                while !passed[at.index()] && at != d.switch {
                    passed[at.index()] = true;
                    let out = after.tables[at.index()].get(d.lid);
                    at = reduced.neighbor(at, out).unwrap().0;
                }
            }
            for s in topo.switches().filter(|s| passed[s.index()]) {
                let (old_port, new_port) = (
                    first.tables[s.index()].get(d.lid),
                    after.tables[s.index()].get(d.lid),
                );
                let Some((peer, _)) = reduced.neighbor(s, old_port) else {
                    continue;
                };
                let to = d.switch.index();
                let is_shortest = hops.1[peer.index()][to] + 1 == hops.1[s.index()][to];
                assert!(
                    !is_shortest || old_port == new_port,
                    "a route moved without need"
                );
            }
        }
        let restored = engine
            .route(
                &RoutingRequest::new(&topo).with_previous(&PreviousRouting::from_tables_of(&after)),
            )
            .unwrap();
        assert_eq!(restored.tables, first.tables);
    }
}
