//! Guarantees of `nue`: any connected graph, any number of VLs, no credit loop even if replies use
//! the SL of their request; and its quality compared with up/down.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::oracle;
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables, detours, reversible};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{
    Hints, PreviousRouting, Proof, RouteError, Routing, RoutingRequest, SwitchIdx, Topology,
    TopologyBuilder, TreeConstraint, engine_by_name, verify,
};
use proptest::prelude::*;

fn route_with(engine: &str, topo: &Topology, vls: u8) -> Routing {
    let engine = engine_by_name(engine).unwrap();
    engine
        .route(&RoutingRequest::new(topo).with_vls(vls))
        .unwrap()
}

fn route(topo: &Topology, vls: u8) -> Routing {
    route_with("nue", topo, vls)
}

/// Routes and verifies, replies included.
fn verified(topo: &Topology, vls: u8) -> (Routing, Proof) {
    let routing = route(topo, vls);
    assert!(routing.vl_plan.vls <= vls);
    let proof = verify(topo, &routing.tables, &routing.vl_plan).unwrap_or_else(|e| panic!("{e}"));
    assert!(proof.reversible, "replies may use the SL of their request");
    (routing, proof)
}

/// Routes and verifies, also by the oracle.
fn verified_by_oracle(topo: &Topology, vls: u8) -> (Routing, Proof) {
    let (routing, proof) = verified(topo, vls);
    assert_eq!(
        check_tables(topo, &routing.tables, &routing.vl_plan),
        Verdict::Good
    );
    assert!(reversible(topo, &routing.tables, &routing.vl_plan));
    (routing, proof)
}

/// Removes about this percentage of the links while the fabric stays connected.
fn degraded(mut fabric: Fabric, percent: usize, seed: u64) -> Fabric {
    let mut rng = Lcg(seed);
    for _ in 0..(fabric.links.len() * percent).div_ceil(100) {
        let reduced = fabric.without_link(rng.below(fabric.links.len()));
        if reduced.connected() {
            fabric = reduced;
        }
    }
    fabric
}

/// A small fabric of one of the shapes.
fn shape(kind: usize, seed: u64) -> Fabric {
    match kind {
        0 => three_level(3),
        1 => two_level(6, 3, 2, 2),
        2 => torus(&[4, 5], 2),
        3 => torus(&[3, 3, 3], 1),
        4 => hypercube(4, 1),
        5 => dragonfly(5, 4, 2),
        6 => ring(9, 2),
        _ => random(24, 30, 30, seed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any connected multigraph with loopback plugs, hosts on any switch and LMC 0 to 2, on 1 to 15
    /// VLs.
    #[test]
    fn routes_any_connected_graph_on_any_number_of_vls(
        n in 1usize..24, extra in 0usize..40, hosts in 0usize..30, vls in 1u8..=15, seed: u64,
    ) {
        verified_by_oracle(&random(n, extra, hosts, seed).build(), vls);
    }

    /// Every shape with 0 to 20 % of its links removed, with and without an aggregation node in
    /// every switch.
    #[test]
    fn routes_every_shape_with_lost_links(
        kind in 0usize..8, percent in 0usize..=20, sharp: bool, vls in 1u8..=15, seed: u64,
    ) {
        let fabric = degraded(shape(kind, seed), percent, seed);
        let fabric = if sharp { fabric.with_sharp() } else { fabric };
        verified_by_oracle(&fabric.build(), vls);
    }

    /// One and four threads give the same tables and SLs.
    #[test]
    fn results_are_independent_of_threads(kind in 0usize..8, vls in 1u8..=8, seed: u64) {
        let topo = degraded(shape(kind, seed), 10, seed).build();
        let route_with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| route(&topo, vls))
        };
        let (one, four) = (route_with_threads(1), route_with_threads(4));
        prop_assert_eq!(one.tables, four.tables);
        prop_assert_eq!(one.vl_plan, four.vl_plan);
    }

    /// Another order of discovery: the same table in every switch, the same SL for every path, the
    /// same tree.
    #[test]
    fn results_are_independent_of_discovery_order(
        kind in 0usize..8, vls in 1u8..=6, seed: u64, shift in 1usize..9,
    ) {
        let fabric = degraded(shape(kind, seed), 10, seed);
        let topo = fabric.build();
        let n = topo.num_switches();
        let renumbered_switch = |s: SwitchIdx| SwitchIdx(((s.index() + shift) % n) as u32);
        let renumbered_topo = fabric.build_renumbered(shift);
        let (original, renumbered) = (route(&topo, vls), route(&renumbered_topo, vls));
        let up = |r: &Routing, s: SwitchIdx| match &r.trees {
            TreeConstraint::Within { up, .. } => up[s.index()],
            TreeConstraint::Search | TreeConstraint::Ordered(_) => panic!("nue has an escape tree"),
        };
        for s in topo.switches() {
            prop_assert_eq!(&original.tables[s.index()], &renumbered.tables[renumbered_switch(s).index()]);
            prop_assert_eq!(up(&original, s), up(&renumbered, renumbered_switch(s)));
            for d in topo.destinations() {
                let to = renumbered_topo.destinations().iter().find(|t| t.lid == d.lid).unwrap();
                prop_assert_eq!(original.vl_plan.sl(s, d), renumbered.vl_plan.sl(renumbered_switch(s), to));
            }
        }
    }

    /// Multicast along the escape tree adds no credit loop: with every turn of the tree on the VL
    /// of SL 0, the dependency graph is acyclic.
    #[test]
    fn escape_tree_is_deadlock_free_with_the_routes(kind in 0usize..8, vls in 1u8..=4, seed: u64) {
        let topo = degraded(shape(kind, seed), 10, seed).build();
        let routing = route(&topo, vls);
        let TreeConstraint::Within { up, sl } = &routing.trees else { panic!("nue has an escape tree") };
        let mut dependencies = oracle::dependencies(&topo, &routing.tables, &routing.vl_plan);
        prop_assert_eq!(*sl, 0);
        for v in topo.switches() {
            // Ports of the tree, and the channels that arrive there.
            let below = topo.links(v).iter().filter(|l| up[l.peer.index()] == Some(l.peer_port));
            let children: Vec<_> = below
                .chain(topo.links(v).iter().filter(|l| up[v.index()] == Some(l.port)))
                .collect();
            for input in &children {
                for output in children.iter().filter(|o| o.port != input.port) {
                    let into = (input.peer.0, input.peer_port.raw(), 0);
                    dependencies.add_edge(into, (v.0, output.port.raw(), 0), ());
                }
            }
        }
        prop_assert!(petgraph::algo::toposort(&dependencies, None).is_ok());
        // The tree spans all switches: exactly one has no parent.
        prop_assert_eq!(up.iter().filter(|p| p.is_none()).count(), 1);
        for mut v in topo.switches() {
            let mut steps = 0;
            while let Some(port) = up[v.index()] {
                v = topo.neighbor(v, port).unwrap().0;
                steps += 1;
                prop_assert!(steps <= topo.num_switches());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Up to 200 switches: verification only, because the oracle would take too long.
    #[test]
    fn routes_large_graphs(n in 100usize..=200, extra in 0usize..300, vls in 1u8..=15, seed: u64) {
        verified(&degraded(random(n, extra, 100, seed), 5, seed).build(), vls);
    }
}

/// Complete trees: only shortest paths, one VL even if more are usable, minimum load of the busiest
/// link.
#[test]
fn trees_need_one_vl_and_are_balanced() {
    for fabric in [
        three_level(4),
        three_level(6),
        two_level(12, 6, 6, 1),
        two_level(18, 9, 9, 1),
    ] {
        let topo = fabric.build();
        for vls in [1, 8] {
            let (routing, proof) = verified(&topo, vls);
            assert_eq!(routing.vl_plan.vls, 1);
            assert_eq!(detours(&topo, &routing.tables), 0);
            let leaf = topo.end_ports(SwitchIdx(0)).len() as u64;
            let hosts = fabric.hosts.len() as u64;
            assert_eq!(
                proof.max_load,
                hosts - leaf,
                "one LID of each other leaf per link"
            );
        }
    }
}

/// Where up/down takes detours: paths on one VL are not longer than up/down's, the busiest channel
/// has a lower load, and more VLs shorten paths until they are shortest.
#[test]
fn beats_up_down_and_improves_with_more_vls() {
    for (name, fabric, enough) in [
        ("torus 5x5", torus(&[5, 5], 2), 4),
        ("torus 4x4x4", torus(&[4, 4, 4], 1), 4),
        ("hypercube", hypercube(5, 1), 4),
        ("dragonfly", dragonfly(9, 4, 2), 4),
        ("ring", ring(12, 2), 4),
    ] {
        let topo = fabric.build();
        let updn = route_with("updn", &topo, 1);
        let updn = verify(&topo, &updn.tables, &updn.vl_plan).unwrap();
        let mut last: Option<Proof> = None;
        for vls in [1, 2, enough] {
            let (_, proof) = verified(&topo, vls);
            let (nue_hops, updn_hops) = (proof.mean_hops(), updn.mean_hops());
            assert!(
                nue_hops <= updn_hops,
                "{name} on {vls}: {nue_hops} hops, up/down {updn_hops}"
            );
            let (nue_load, updn_load) = (proof.max_load, updn.max_load);
            assert!(
                nue_load <= updn_load,
                "{name} on {vls}: load {nue_load}, up/down {updn_load}"
            );
            if let Some(last) = last {
                assert!(proof.mean_hops() <= last.mean_hops(), "{name} on {vls}");
                assert!(proof.max_load <= last.max_load, "{name} on {vls}");
            }
            last = Some(proof);
        }
        assert_eq!(detours(&topo, &route(&topo, enough).tables), 0);
    }
}

/// No more VLs are used than the links between switches operate.
#[test]
fn link_with_fewest_vls_limits_vls() {
    let fabric = torus(&[5, 5], 1);
    let topo = fabric.build();
    assert!(route(&topo, 8).vl_plan.vls > 2, "would use more");
    let mut b = TopologyBuilder::new();
    for s in topo.switches() {
        b.switch(topo.num_ports(s), topo.lid(s));
    }
    for s in topo.switches() {
        for l in topo.links(s) {
            b.link((s, l.port), (l.peer, l.peer_port));
        }
        for e in topo.end_ports(s) {
            b.end_port((s, e.port), e.lid, e.count);
        }
    }
    let first = topo.links(SwitchIdx(0))[0];
    b.vls((SwitchIdx(0), first.port), 2);
    let narrow = b.build();
    let (routing, _) = verified_by_oracle(&narrow, 8);
    assert!(routing.vl_plan.vls <= 2);
}

/// Unchanged fabric: no entry moves, and every table is the same allocation.
#[test]
fn unchanged_fabric_keeps_table_allocations() {
    for kind in 0..8 {
        let topo = degraded(shape(kind, 5), 10, 5).build();
        let nue = engine_by_name("nue").unwrap();
        let before = route(&topo, 4);
        let previous = PreviousRouting::from_tables_of(&before);
        let request = RoutingRequest::new(&topo)
            .with_previous(&previous)
            .with_vls(4);
        let after = nue.route(&request).unwrap();
        assert!(
            before
                .tables
                .iter()
                .zip(&after.tables)
                .all(|(a, b)| Arc::ptr_eq(a, b))
        );
        assert_eq!(before.vl_plan, after.vl_plan);
        assert_eq!(before.order, after.order);
    }
}

/// The configured order of LIDs changes which LID is routed first; the routing passes verification.
#[test]
fn routing_order_changes_first_choice() {
    let topo = two_level(6, 4, 3, 1).build();
    let last = topo.destinations_on(SwitchIdx(5))[1].lid;
    let hints = Hints {
        routing_order: vec![last, Lid(0xBFFF)],
        ..Hints::default()
    };
    let nue = engine_by_name("nue").unwrap();
    let request = RoutingRequest::new(&topo).with_vls(1);
    let hinted = nue.route(&request.with_hints(&hints)).unwrap();
    verify(&topo, &hinted.tables, &hinted.vl_plan).unwrap();
    assert_ne!(hinted.tables, route(&topo, 1).tables);
}

/// No switches, one switch, switches without LIDs or hosts: all are routed; a partitioned fabric is
/// rejected.
#[test]
fn routes_small_and_irregular_fabrics() {
    assert!(route(&TopologyBuilder::new().build(), 4).tables.is_empty());
    let mut one = Fabric::switches(1, 8);
    one.hosts_on([0], 3);
    verified_by_oracle(&one.build(), 3);
    verified_by_oracle(&ring(5, 0).build(), 3);
    let mut b = TopologyBuilder::new();
    let (x, y, z) = (
        b.switch(4, Lid(1)),
        b.switch(4, Lid::NONE),
        b.switch(4, Lid::NONE),
    );
    b.link((x, PortNum(1)), (y, PortNum(1)));
    b.link((y, PortNum(2)), (z, PortNum(2)));
    b.link((z, PortNum(1)), (x, PortNum(2)));
    b.end_port((z, PortNum(3)), Lid(9), 4);
    verified_by_oracle(&b.build(), 2);
    let partitioned = Fabric::switches(2, 4).build();
    let nue = engine_by_name("nue").unwrap();
    assert_eq!(
        nue.route(&RoutingRequest::new(&partitioned)).unwrap_err(),
        RouteError::Disconnected { components: 2 }
    );
}
