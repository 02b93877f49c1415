//! Guarantees of engines on any fabric: all LIDs are reachable, up/down never deadlocks, trees keep
//! their shortest paths.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::common::*;
use crate::oracle;
use crate::oracle::{Verdict, check_tables, detours};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{
    Proof, RouteError, Routing, RoutingRequest, SwitchIdx, Topology, TopologyBuilder, VlPlan,
    engine_by_name, verify,
};
use proptest::prelude::*;

/// Engines that route every connected graph without hints. The others have tests of their own.
const UNIVERSAL_ENGINES: &[&str] = &["updn", "minhop", "sssp", "nue"];

fn route(engine: &str, topo: &Topology) -> Routing {
    engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo))
        .unwrap()
}

fn verified(engine: &str, fabric: &Fabric) -> Proof {
    let topo = fabric.build();
    let routing = route(engine, &topo);
    assert_eq!(routing.engine, engine);
    verify(&topo, &routing.tables, &VlPlan::single()).unwrap_or_else(|e| panic!("{e}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any connected multigraph with loopback plugs, hosts on any switch and LMC 0 to 2: up/down
    /// passes verification and the oracle; shortest paths reach every LID, possibly with credit
    /// loops.
    #[test]
    fn up_down_routes_any_connected_graph(
        n in 1usize..20, extra in 0usize..30, hosts in 0usize..30, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        let updn = route("updn", &topo);
        prop_assert!(verify(&topo, &updn.tables, &VlPlan::single()).is_ok());
        prop_assert_eq!(check_tables(&topo, &updn.tables, &updn.vl_plan), Verdict::Good);
        let minhop = route("minhop", &topo);
        let verdict = check_tables(&topo, &minhop.tables, &minhop.vl_plan);
        prop_assert!(matches!(verdict, Verdict::Good | Verdict::CreditLoop));
        prop_assert_eq!(detours(&topo, &minhop.tables), 0);
    }

    /// A tree without a tenth of its links, if still connected: up/down passes verification.
    #[test]
    fn up_down_routes_degraded_trees(seed: u64, sharp: bool) {
        let mut fabric = three_level(3);
        let mut rng = Lcg(seed);
        for _ in 0..fabric.links.len() / 10 {
            let reduced = fabric.without_link(rng.below(fabric.links.len()));
            if reduced.connected() {
                fabric = reduced;
            }
        }
        let topo = if sharp { fabric.with_sharp() } else { fabric }.build();
        let updn = route("updn", &topo);
        prop_assert_eq!(check_tables(&topo, &updn.tables, &updn.vl_plan), Verdict::Good);
    }

    /// Another order of discovery (same LIDs, same links) gives every switch the same table.
    #[test]
    fn tables_are_independent_of_discovery_order(
        n in 2usize..16, extra in 0usize..20, hosts in 0usize..20, seed: u64, shift in 1usize..15,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let topo = fabric.build();
        let renumbered_index = |s: usize| (s + shift) % n;
        let renumbered_topo = fabric.build_renumbered(shift);
        for engine in UNIVERSAL_ENGINES {
            let (original, renumbered) = (route(engine, &topo), route(engine, &renumbered_topo));
            for s in 0..n {
                prop_assert_eq!(&original.tables[s], &renumbered.tables[renumbered_index(s)]);
            }
        }
    }
}

/// Rings, tori, hypercubes and dragonflies of many sizes: up/down passes verification.
#[test]
fn up_down_routes_regular_fabrics_other_than_trees() {
    let mut fabrics: Vec<Fabric> = (1..12).map(|n| ring(n, 1)).collect();
    fabrics.extend((1..7).map(|d| hypercube(d, 1)));
    fabrics.extend([[2, 3, 1], [3, 3, 3], [4, 4, 4], [5, 3, 2]].map(|s| torus(&s, 2)));
    fabrics.extend([(3, 2), (5, 4), (9, 4)].map(|(g, s)| dragonfly(g, s, 2)));
    for fabric in fabrics {
        verified("updn", &fabric);
        verified("updn", &fabric.with_sharp());
    }
}

/// Full trees of two and three levels, with and without an aggregation node in every switch, with
/// parallel links: both engines keep every shortest path between end ports, and up/down finds the
/// spines without hints.
#[test]
fn trees_keep_all_shortest_paths() {
    for fabric in [
        two_level(2, 2, 2, 1),
        two_level(3, 2, 2, 1),
        two_level(6, 3, 3, 1),
        two_level(8, 4, 6, 2),
        three_level(2),
        three_level(3),
        three_level(4),
        three_level_of(4, 3, 2),
    ] {
        for fabric in [fabric.clone(), fabric.with_sharp()] {
            let topo = fabric.build();
            let tables = route("updn", &topo).tables;
            assert_eq!(
                check_tables(&topo, &tables, &VlPlan::single()),
                Verdict::Good
            );
            let leaves: Vec<_> = topo
                .switches()
                .filter(|&s| topo.end_ports(s).len() > 1)
                .collect();
            let distances = oracle::distances(&topo);
            for d in topo
                .destinations()
                .iter()
                .filter(|d| leaves.contains(&d.switch))
            {
                for &from in &leaves {
                    let hops = oracle::follow(&topo, &tables, from, d.lid).unwrap().len();
                    assert_eq!(hops, distances[from.index()][d.switch.index()] as usize);
                }
            }
        }
    }
}

/// On a full tree every channel towards a leaf carries the routes to one end port, and the busiest
/// channel carries no more, which is the optimum.
#[test]
fn full_trees_have_optimal_balance() {
    for (fabric, hosts, each) in [
        (two_level(12, 6, 6, 1), 72, 6),
        (three_level(4), 128, 4),
        (three_level(6), 432, 6),
    ] {
        assert_eq!(verified("updn", &fabric).max_load, hosts - each);
    }
}

/// Leaves with fewer end ports than uplinks do not all leave the same uplinks idle: with 10 end
/// ports per leaf over 12 spines, channels to the spines differ from the mean by at most a tenth.
#[test]
fn uplinks_are_used_evenly_with_few_end_ports() {
    let topo = two_level(16, 12, 10, 1).build();
    let tables = route("updn", &topo).tables;
    for leaf in 0..16 {
        let mut routes = vec![0usize; 23];
        for d in topo
            .destinations()
            .iter()
            .filter(|d| d.port != PortNum::ZERO)
        {
            routes[tables[leaf].get(d.lid).index()] += usize::from(d.switch.index() != leaf);
        }
        // 150 routes over ports 11 to 22.
        assert!(
            routes[11..].iter().all(|r| (11..=14).contains(r)),
            "{routes:?}"
        );
    }
}

/// LIDs of one end port (LMC 2) use different spines.
#[test]
fn lids_of_one_end_port_use_different_spines() {
    let mut fabric = Fabric::switches(8, 16);
    for leaf in 0..4 {
        (4..8).for_each(|spine| fabric.link(leaf, spine));
        (0..3).for_each(|_| fabric.host(leaf, 4));
    }
    let topo = fabric.build();
    let tables = route("updn", &topo).tables;
    assert_eq!(
        check_tables(&topo, &tables, &VlPlan::single()),
        Verdict::Good
    );
    for end_port in topo.end_ports(SwitchIdx(0)) {
        let ports: std::collections::BTreeSet<PortNum> = (0..4)
            .map(|offset| tables[1].get(Lid(end_port.lid.raw() + offset)))
            .collect();
        assert_eq!(ports.len(), 4);
    }
}

/// Entries of own LIDs are 0, of attached end ports their port, of unused LIDs drop.
#[test]
fn entries_of_local_and_unused_lids_follow_the_specification() {
    let mut b = TopologyBuilder::new();
    let s = b.switch(4, Lid(8));
    b.switch_lids(s, 4);
    b.end_port((s, PortNum(3)), Lid(2), 2);
    b.link((s, PortNum(1)), (s, PortNum(2)));
    let topo = b.build();
    let table = &route("updn", &topo).tables[0];
    let drop = PortNum::DROP;
    let entries: Vec<PortNum> = (0..14).map(|l| table.get(Lid(l))).collect();
    let (z, p) = (PortNum::ZERO, PortNum(3));
    assert_eq!(
        entries,
        [
            drop, drop, p, p, drop, drop, drop, drop, z, z, z, z, drop, drop
        ]
    );
    assert!(verify(&topo, &route("minhop", &topo).tables, &VlPlan::single()).is_ok());
}

/// A fabric without switches has no tables and passes verification.
#[test]
fn fabric_without_switches_has_no_tables() {
    let topo = TopologyBuilder::new().build();
    for engine in UNIVERSAL_ENGINES {
        let routing = route(engine, &topo);
        assert!(routing.tables.is_empty());
        assert_eq!(
            verify(&topo, &routing.tables, &VlPlan::single())
                .unwrap()
                .pairs,
            0
        );
    }
}

/// Two switches without a link are rejected, without partial tables.
#[test]
fn partitioned_fabric_is_rejected() {
    let topo = Fabric::switches(2, 4).build();
    for engine in UNIVERSAL_ENGINES {
        let error = engine_by_name(engine)
            .unwrap()
            .route(&RoutingRequest::new(&topo))
            .unwrap_err();
        assert_eq!(error, RouteError::Disconnected { components: 2 });
    }
}

/// A chain whose hop counts do not fit in a byte is routed and verified.
#[test]
fn routes_paths_of_more_than_127_hops() {
    let mut fabric = Fabric::switches(300, 3);
    (1..300).for_each(|s| fabric.link(s - 1, s));
    fabric.host(0, 1);
    fabric.host(299, 1);
    for engine in UNIVERSAL_ENGINES {
        assert_eq!(verified(engine, &fabric).max_hops, 299);
    }
}

/// A switch with more neighbours than a machine word has bits.
#[test]
fn routes_switch_with_200_neighbours() {
    let mut fabric = Fabric::switches(202, 201);
    for leaf in 2..202 {
        fabric.link(0, leaf);
        fabric.link(1, leaf);
        fabric.host(leaf, 1);
    }
    assert_eq!(verified("updn", &fabric).max_hops, 2);
}

/// One and two workers give the same tables and the same proof.
#[test]
fn results_are_independent_of_thread_count() {
    let with_threads = |threads: usize, topo: &Topology, engine: &str| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let tables = route(engine, topo).tables;
            let verdict = verify(topo, &tables, &VlPlan::single());
            (tables, verdict)
        })
    };
    for fabric in [three_level(4), random(40, 60, 90, 3), torus(&[4, 4, 4], 2)] {
        let topo = fabric.build();
        for engine in UNIVERSAL_ENGINES {
            let one = with_threads(1, &topo, engine);
            assert_eq!(one, with_threads(2, &topo, engine));
            assert_eq!(one, with_threads(5, &topo, engine));
        }
    }
}
