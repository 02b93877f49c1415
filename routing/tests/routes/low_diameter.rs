//! Guarantees of `dragonfly` and `diameter2`: one SL, at most three VLs (one on a dragonfly+),
//! balance, multicast trees, and detours around missing links and switches.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables, detours, follow};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::multicast::{Member, SpanningForest};
use ferrosm_routing::structure::dragonfly::dragonfly as find_dragonfly;
use ferrosm_routing::verify::{TreePorts, verify_with_trees};
use ferrosm_routing::{
    PathSl, PreviousRouting, Proof, RouteError, Routing, RoutingRequest, ShapeError, SwitchIdx,
    Topology, engine_by_name, route_with, verify,
};
use proptest::prelude::*;

/// Up to this number of switches, the oracle follows every packet.
const ORACLE_SWITCHES_MAX: usize = 60;

/// A canonical dragonfly: `size` switches per group with `global` global links each, one link
/// between any two of the `size * global + 1` groups.
fn canonical(size: usize, global: usize, hosts: usize) -> Fabric {
    let groups = size * global + 1;
    let mut f = Fabric::switches(groups * size, (size + global + hosts) as u8);
    f.hosts_on(0..groups * size, hosts);
    for g in 0..groups {
        for a in 0..size {
            (a + 1..size).for_each(|b| f.link(g * size + a, g * size + b));
        }
        for h in g + 1..groups {
            f.link(g * size + (h - 1) / global, h * size + g / global);
        }
    }
    f
}

/// A Slim Fly of 2 q² switches for a prime q of the form 4 w + 1 with the primitive root `root`.
fn slim_fly(q: usize, root: usize, hosts: usize) -> Fabric {
    let powers: Vec<usize> = std::iter::successors(Some(1), |x| Some(x * root % q))
        .take(q - 1)
        .collect();
    let is_power = |difference: usize, odd: usize| {
        let position = powers.iter().position(|&p| p == difference);
        position.is_some_and(|i| i % 2 == odd)
    };
    let n = 2 * q * q;
    let mut f = Fabric::switches(n, (2 * q + hosts) as u8);
    f.hosts_on(0..n, hosts);
    for x in 0..q {
        for y in 0..q {
            for other in y + 1..q {
                if is_power(other - y, 0) {
                    f.link(x * q + y, x * q + other);
                }
                if is_power(other - y, 1) {
                    f.link(q * q + x * q + y, q * q + x * q + other);
                }
            }
            for m in 0..q {
                f.link(x * q + y, q * q + m * q + (y + q * q - m * x) % q);
            }
        }
    }
    f
}

/// An orthogonal fat tree of two levels: leaves are the points of a projective plane of prime order
/// q, spines its lines. Any two leaves share one spine.
fn orthogonal_fat_tree(q: usize, hosts: usize) -> Fabric {
    let mut points = vec![[1, 0, 0]];
    points.extend((0..q).map(|a| [a, 1, 0]));
    points.extend((0..q * q).map(|i| [i / q, i % q, 1]));
    let n = points.len();
    let mut f = Fabric::switches(2 * n, (q + 1 + hosts) as u8);
    f.hosts_on(0..n, hosts);
    for (i, point) in points.iter().enumerate() {
        for (j, line) in points.iter().enumerate() {
            let product: usize = point.iter().zip(line).map(|(a, b)| a * b).sum();
            if product.is_multiple_of(q) {
                f.link(i, n + j);
            }
        }
    }
    f
}

/// Without a percentage of its links, still connected.
fn damaged(fabric: &Fabric, percent: usize, seed: u64) -> Fabric {
    let mut rng = Lcg(seed);
    let mut rest = fabric.clone();
    for _ in 0..fabric.links.len() * percent / 100 {
        let reduced = rest.without_link(rng.below(rest.links.len()));
        if reduced.connected() {
            rest = reduced;
        }
    }
    rest
}

/// Without all links of a switch but one, which keeps it in the fabric.
fn almost_without(fabric: &Fabric, switch: usize) -> Fabric {
    let mut rest = fabric.clone();
    let mut kept = false;
    rest.links.retain(|&((a, _), (b, _))| {
        let is_here = a == switch || b == switch;
        !is_here || !std::mem::replace(&mut kept, true)
    });
    rest
}

fn route(engine: &str, topo: &Topology, vls: u8) -> Result<Routing, RouteError> {
    let request = RoutingRequest::new(topo).with_vls(vls);
    engine_by_name(engine).unwrap().route(&request)
}

/// Checks all guarantees of a routing.
fn check(topo: &Topology, routing: &Routing, description: &str) -> Proof {
    assert_eq!(routing.vl_plan.path_sl, PathSl::Uniform(0), "{description}");
    assert!(routing.vl_plan.vls <= 3, "{description}");
    let proof = verify(topo, &routing.tables, &routing.vl_plan)
        .unwrap_or_else(|e| panic!("{description}: {e}"));
    assert!(proof.reversible, "{description}");
    assert_eq!(proof.idle_unreachable, 0, "{description}");
    if topo.num_switches() <= ORACLE_SWITCHES_MAX {
        let verdict = check_tables(topo, &routing.tables, &routing.vl_plan);
        assert_eq!(verdict, Verdict::Good, "{description}");
    }
    let forest =
        SpanningForest::new(topo, routing).unwrap_or_else(|e| panic!("{description}: {e}"));
    assert_eq!(forest.sl, 0, "{description}: multicast needs SL 0");
    let members: Vec<Member> = topo
        .switches()
        .flat_map(|switch| topo.end_ports(switch).iter().map(move |e| (switch, e.port)))
        .map(|(switch, port)| Member {
            switch,
            port,
            receives: true,
        })
        .collect();
    let trees: Vec<TreePorts> = (0..4u64)
        .filter(|&group| members.len() > group as usize)
        .map(|group| {
            let from = members.iter().copied().skip(group as usize);
            let few: Vec<Member> = from.step_by(1 + 7 * group as usize).collect();
            let tree = forest.tree(&few, group);
            assert!(tree.unreachable.is_empty(), "{description}");
            TreePorts {
                sl: forest.sl,
                ports: tree.ports().collect(),
            }
        })
        .collect();
    verify_with_trees(topo, &routing.tables, &routing.vl_plan, &trees)
        .unwrap_or_else(|e| panic!("{description}, with trees: {e}"));
    proof
}

fn balance(proof: &Proof) -> f64 {
    proof.max_load as f64 / proof.mean_load
}

/// Complete dragonflies with one and with several links between two groups: two VLs, no path of
/// more than three hops, and the busiest channel carries at most 1.15 times the mean.
#[test]
fn complete_dragonflies_are_balanced_on_two_vls() {
    for (name, fabric, limit) in [
        ("4 x 9", canonical(4, 2, 2), 1.15),
        ("6 x 19", canonical(6, 3, 3), 1.15),
        ("8 x 33", canonical(8, 4, 4), 1.15),
        ("3 x 5", dragonfly(5, 3, 2), 2.0),
        (
            "4 x 9, aggregation nodes",
            canonical(4, 2, 2).with_sharp(),
            1.15,
        ),
    ] {
        let topo = fabric.build();
        let routing = route("dragonfly", &topo, 2).unwrap();
        let proof = check(&topo, &routing, name);
        assert_eq!(routing.vl_plan.vls, 2, "{name}");
        assert!(proof.max_hops <= 3, "{name}");
        assert!(balance(&proof) <= limit, "{name}: {}", balance(&proof));
        let chosen = route_with(&["auto"], &RoutingRequest::new(&topo)).chosen;
        assert_eq!(chosen.unwrap().0.engine, "dragonfly", "{name}");
    }
}

/// Without a switch and its end ports.
fn without_switch(fabric: &Fabric, switch: usize) -> Fabric {
    let mut rest = Fabric::switches(fabric.ports.len() - 1, fabric.ports[0]);
    let others = |s: usize| (s != switch).then_some(s - usize::from(s > switch));
    for &((a, _), (b, _)) in &fabric.links {
        if let (Some(a), Some(b)) = (others(a), others(b)) {
            rest.link(a, b);
        }
    }
    for s in fabric.hosts.iter().filter_map(|&(s, _, _)| others(s)) {
        rest.host(s, 1);
    }
    rest
}

/// Dragonflies without 5 % of their links: three VLs, every pair connected, and the busiest channel
/// carries at most 2.5 times the mean.
#[test]
fn damaged_dragonflies_use_detours() {
    let fabric = canonical(10, 5, 3);
    for seed in 0..8 {
        let topo = damaged(&fabric, 5, seed).build();
        let description = format!("seed {seed}");
        let routing = route("dragonfly", &topo, 3).unwrap();
        let proof = check(&topo, &routing, &description);
        assert!(balance(&proof) <= 2.5, "{description}: {}", balance(&proof));
        assert!(matches!(
            route("dragonfly", &topo, 2),
            Err(RouteError::TooFewVls {
                needed: 3,
                usable: 2
            })
        ));
    }
}

/// Dragonflies without 20 % of their links: the groups of most are detected. The engine refuses
/// some of them because two switches of a group have no common neighbour.
#[test]
fn heavily_damaged_dragonflies_use_detours() {
    let fabric = canonical(10, 5, 3);
    let mut detected = 0;
    let mut routed = 0;
    for seed in 0..8 {
        let topo = damaged(&fabric, 20, seed).build();
        match route("dragonfly", &topo, 3) {
            Ok(routing) => {
                let proof = check(&topo, &routing, "20 %");
                assert!(balance(&proof) <= 4.0, "{}", balance(&proof));
                detected += 1;
                routed += 1;
            }
            Err(RouteError::Shape(ShapeError::NoDetour { .. })) => detected += 1,
            Err(RouteError::Shape(ShapeError::NotADragonfly(_))) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(detected >= 7 && routed >= 4, "{detected}, {routed}");
}

/// Dragonfly+ without 5 % and 20 % of their links, with several links between two groups.
#[test]
fn damaged_dragonfly_plus_keeps_one_vl() {
    let fabric = dragonfly_plus(9, 8, 8, 8, 4);
    for (percent, limit) in [(5, 1.8), (20, 3.5)] {
        for seed in 0..4 {
            let description = format!("{percent} %, seed {seed}");
            let topo = damaged(&fabric, percent, seed).build();
            let routing = route("dragonfly", &topo, 1).unwrap();
            let proof = check(&topo, &routing, &description);
            assert!(
                balance(&proof) <= limit,
                "{description}: {}",
                balance(&proof)
            );
        }
    }
}

/// A missing switch, a switch with a single link left, and more end ports, on spines too.
#[test]
fn changed_switches_keep_the_groups() {
    let mesh = canonical(6, 3, 2);
    let plus = dragonfly_plus(9, 4, 4, 4, 3);
    for (name, fabric, groups) in [
        ("dragonfly", without_switch(&mesh, 20), 19),
        ("leaf", without_switch(&plus, 9), 9),
        ("spine", without_switch(&plus, 13), 9),
        ("last spine", without_switch(&plus, 71), 9),
        ("single link", almost_without(&plus, 9), 9),
    ] {
        let topo = fabric.build();
        assert_eq!(find_dragonfly(&topo).unwrap().groups, groups, "{name}");
        check(&topo, &route("dragonfly", &topo, 3).unwrap(), name);
    }
    for (mut fabric, switches, groups) in [(mesh, [3, 40], 19), (plus, [9, 15], 9)] {
        fabric.ports.iter_mut().for_each(|ports| *ports += 2);
        fabric.hosts_on(switches, 2);
        let topo = fabric.build();
        assert_eq!(find_dragonfly(&topo).unwrap().groups, groups);
        check(
            &topo,
            &route("dragonfly", &topo, 3).unwrap(),
            "more end ports",
        );
    }
}

/// The longest path between two end ports of switches with several.
fn max_leaf_hops(topo: &Topology, routing: &Routing) -> usize {
    let leaves = || topo.switches().filter(|&s| topo.end_ports(s).len() > 1);
    leaves()
        .flat_map(|from| leaves().map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
        .flat_map(|(from, to)| topo.destinations_on(to).iter().map(move |d| (from, d.lid)))
        .map(|(from, lid)| follow(topo, &routing.tables, from, lid).unwrap().len())
        .max()
        .unwrap()
}

/// Complete dragonfly+: one VL, three hops between leaves, and the busiest channel carries at most
/// 1.15 times the mean, if spines have no aggregation nodes: paths to these are longer.
#[test]
fn complete_dragonfly_plus_is_balanced_on_one_vl() {
    for (name, fabric, limit) in [
        ("9 x 4", dragonfly_plus(9, 4, 4, 4, 4), 1.15),
        ("13 x 8", dragonfly_plus(13, 8, 8, 8, 8), 1.15),
        (
            "17 x 4, one link each",
            dragonfly_plus(17, 4, 4, 4, 4),
            1.15,
        ),
        ("5 x 4, planes", dragonfly_plus(5, 4, 4, 4, 6), 1.15),
        (
            "9 x 4, aggregation nodes",
            dragonfly_plus(9, 4, 4, 4, 8).with_sharp(),
            1.5,
        ),
    ] {
        let topo = fabric.build();
        let routing = route("dragonfly", &topo, 1).unwrap();
        let proof = check(&topo, &routing, name);
        assert!(routing.vl_plan.is_single(), "{name}");
        assert_eq!(max_leaf_hops(&topo, &routing), 3, "{name}");
        assert!(balance(&proof) <= limit, "{name}: {}", balance(&proof));
        let chosen = route_with(&["auto"], &RoutingRequest::new(&topo)).chosen;
        assert_eq!(chosen.unwrap().0.engine, "dragonfly", "{name}");
    }
}

/// Packets from one leaf to another use all spines, and the end ports of a leaf take different ones
/// towards the leaves of its group.
#[test]
fn end_ports_of_a_leaf_use_different_spines() {
    let topo = dragonfly_plus(5, 4, 4, 4, 4).build();
    let routing = route("dragonfly", &topo, 1).unwrap();
    for (from, to) in [(0, 1), (2, 0), (9, 11)] {
        let to = SwitchIdx(to);
        let ports: BTreeSet<PortNum> = topo
            .end_ports(to)
            .iter()
            .map(|e| routing.tables[from].get(e.lid))
            .collect();
        assert_eq!(ports.len(), 4, "from {from} to {to:?}");
    }
}

/// A Hoffman-Singleton graph, a Slim Fly of 338 switches and an orthogonal fat tree: two VLs,
/// shortest paths, balance.
#[test]
fn fabrics_of_diameter_2_use_shortest_paths_on_two_vls() {
    for (name, fabric, limit) in [
        ("slim fly 5", slim_fly(5, 2, 2), 1.15),
        ("slim fly 13", slim_fly(13, 2, 6), 1.15),
        ("orthogonal fat tree 3", orthogonal_fat_tree(3, 3), 1.15),
        (
            "slim fly 5, aggregation nodes",
            slim_fly(5, 2, 2).with_sharp(),
            1.15,
        ),
    ] {
        let topo = fabric.build();
        let routing = route("diameter2", &topo, 2).unwrap();
        let proof = check(&topo, &routing, name);
        assert!(balance(&proof) <= limit, "{name}: {}", balance(&proof));
        assert_eq!(detours(&topo, &routing.tables), 0, "{name}");
        if !name.starts_with("orthogonal") {
            let chosen = route_with(&["auto"], &RoutingRequest::new(&topo)).chosen;
            assert_eq!(chosen.unwrap().0.engine, "diameter2", "{name}");
        }
    }
}

/// Slim Flies without 5 % and 20 % of their links, and without all links but one of a switch.
#[test]
fn damaged_fabrics_of_diameter_2_keep_two_vls() {
    let fabric = slim_fly(5, 2, 2);
    for seed in 0..6 {
        for percent in [5, 20] {
            let topo = damaged(&fabric, percent, seed).build();
            let routing = route("diameter2", &topo, 2).unwrap();
            check(&topo, &routing, &format!("{percent} %, seed {seed}"));
        }
    }
    let topo = almost_without(&fabric, 7).build();
    check(&topo, &route("diameter2", &topo, 2).unwrap(), "one link");
    let topo = damaged(&slim_fly(13, 2, 6), 5, 3).build();
    let proof = check(&topo, &route("diameter2", &topo, 2).unwrap(), "large");
    assert!(balance(&proof) <= 2.0, "{}", balance(&proof));
}

/// A ring is not of diameter 2 and has no groups; a torus has no groups.
#[test]
fn other_structures_are_rejected() {
    let topo = ring(12, 1).build();
    assert!(matches!(
        route("diameter2", &topo, 8),
        Err(RouteError::Shape(ShapeError::DistantSwitches {
            distant: 84,
            pairs: 132
        }))
    ));
    for fabric in [ring(12, 1), torus(&[4, 4], 1)] {
        let error = route("dragonfly", &fabric.build(), 8).unwrap_err();
        assert!(matches!(
            error,
            RouteError::Shape(ShapeError::NotADragonfly(_))
        ));
    }
}

/// One VL is too few.
#[test]
fn one_vl_is_too_few() {
    for (engine, fabric) in [
        ("dragonfly", canonical(4, 2, 2)),
        ("diameter2", slim_fly(5, 2, 1)),
    ] {
        assert!(matches!(
            route(engine, &fabric.build(), 1),
            Err(RouteError::TooFewVls {
                needed: 2,
                usable: 1
            })
        ));
    }
}

/// Parallel links carry equal shares, and a link that returns leaves the installed entries of other
/// links as they are.
#[test]
fn parallel_links_share_the_load() {
    let mut fabric = canonical(4, 2, 2);
    fabric.ports.iter_mut().for_each(|ports| *ports = 20);
    for ((a, _), (b, _)) in fabric.links.clone() {
        fabric.link(a, b);
    }
    let topo = Arc::new(fabric.build());
    let routing = route("dragonfly", &topo, 2).unwrap();
    let proof = check(&topo, &routing, "two links each");
    assert!(balance(&proof) <= 1.3, "{}", balance(&proof));
    let previous = PreviousRouting::from_tables_of(&routing);
    let request = RoutingRequest::new(&topo).with_previous(&previous);
    let again = engine_by_name("dragonfly")
        .unwrap()
        .route(&request)
        .unwrap();
    assert_eq!(routing.tables, again.tables);
}

/// Another order of discovery gives every switch the same table.
#[test]
fn tables_are_independent_of_discovery_order() {
    for (engine, fabric) in [
        ("dragonfly", damaged(&canonical(6, 3, 2), 4, 2)),
        ("diameter2", damaged(&slim_fly(5, 2, 2), 5, 2)),
    ] {
        let n = fabric.ports.len();
        let original = route(engine, &fabric.build(), 8).unwrap();
        for shift in [1, 17] {
            let renumbered = route(engine, &fabric.build_renumbered(shift), 8).unwrap();
            for s in 0..n {
                assert_eq!(
                    original.tables[s],
                    renumbered.tables[(s + shift) % n],
                    "{engine}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Dragonflies of any size with any number of lost links: if the engine finds detours, the
    /// routing keeps all guarantees.
    #[test]
    fn dragonflies_with_any_damage_keep_their_guarantees(
        size in 2usize..7, groups in 3usize..9, percent in 0usize..25, seed: u64, sharp: bool,
    ) {
        let fabric = damaged(&dragonfly(groups, size, 1), percent, seed);
        let topo = if sharp { fabric.with_sharp() } else { fabric }.build();
        if let Ok(routing) = route("dragonfly", &topo, 3) {
            check(&topo, &routing, "dragonfly");
        }
    }

    /// Dragonfly+ of any size with any number of lost links: if the groups are detected, one VL
    /// suffices.
    #[test]
    fn dragonfly_plus_with_any_damage_keeps_its_guarantees(
        groups in 3usize..8, leaves in 2usize..5, spines in 2usize..5, global in 1usize..6,
        percent in 0usize..30, seed: u64, sharp: bool,
    ) {
        prop_assume!(spines * global >= groups - 1);
        let fabric = damaged(&dragonfly_plus(groups, leaves, spines, global, 2), percent, seed);
        let topo = if sharp { fabric.with_sharp() } else { fabric }.build();
        let routing = route("dragonfly", &topo, 1);
        if percent == 0 {
            prop_assert!(routing.is_ok(), "{routing:?}");
        }
        if let Ok(routing) = routing {
            check(&topo, &routing, "dragonfly+");
        }
    }

    /// Dense random graphs: if most switches are at most two hops apart, the routing keeps all
    /// guarantees.
    #[test]
    fn random_graphs_of_diameter_2_keep_their_guarantees(
        n in 4usize..24, extra in 10usize..90, hosts in 3usize..40, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        if let Ok(routing) = route("diameter2", &topo, 2) {
            check(&topo, &routing, "diameter2");
        }
    }
}
