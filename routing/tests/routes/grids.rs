//! Grids: detection of dimensions, and verification of the routings along them.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "test helpers; seeds and errors of engines are printed"
)]

use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables, detours};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::hints::{TorusHint, TorusSeed};
use ferrosm_routing::structure::dragonfly::{GroupKind, dragonfly as find_dragonfly};
use ferrosm_routing::structure::grid::{DimKind, Grid, grid};
use ferrosm_routing::{
    Hints, PreviousRouting, Proof, RouteError, Routing, RoutingRequest, SwitchIdx, Topology,
    TreeConstraint, engine_by_name, verify,
};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

use DimKind::{Full, Path, Ring};

/// A product of paths, rings and full meshes. Switches are numbered in shuffled order; links are
/// added in shuffled order if `seed` is not 0.
pub(crate) fn product(
    dims: &[(DimKind, usize)],
    hosts: usize,
    parallel: usize,
    seed: u64,
) -> Fabric {
    let n: usize = dims.iter().map(|d| d.1).product();
    let mut rng = Lcg(seed);
    let mut name: Vec<usize> = (0..n).collect();
    let mut links = Vec::new();
    for s in 0..n {
        let mut stride = 1;
        for &(kind, side) in dims {
            let x = s / stride % side;
            let at = |y: usize| s - x * stride + y * stride;
            match kind {
                Full => links.extend((x + 1..side).map(|y| (s, at(y)))),
                Ring if side > 2 => links.push((s, at((x + 1) % side))),
                Ring | Path if x + 1 < side => links.push((s, at(x + 1))),
                Ring | Path => {}
            }
            stride *= side;
        }
    }
    if seed != 0 {
        for i in (1..n).rev() {
            name.swap(i, rng.below(i + 1));
        }
        for i in (1..links.len()).rev() {
            links.swap(i, rng.below(i + 1));
        }
    }
    let degree: usize = dims.iter().map(|d| if d.0 == Full { d.1 } else { 2 }).sum();
    let mut f = Fabric::switches(n, (degree * parallel + hosts) as u8);
    f.hosts_on(0..n, hosts);
    for (a, b) in links {
        (0..parallel).for_each(|_| f.link(name[a], name[b]));
    }
    f
}

/// Removes a share of the links, at least one, while the switches stay connected.
fn degraded(fabric: &Fabric, per_thousand: usize, seed: u64) -> Fabric {
    let mut rng = Lcg(seed);
    let mut fabric = fabric.clone();
    for _ in 0..(fabric.links.len() * per_thousand).div_ceil(1000) {
        let candidate = fabric.without_link(rng.below(fabric.links.len()));
        if candidate.connected() {
            fabric = candidate;
        }
    }
    fabric
}

/// Removes a switch with its links and hosts.
fn without_switch(fabric: &Fabric, lost: usize) -> Fabric {
    let mut f = fabric.clone();
    let name = |s: usize| if s > lost { s - 1 } else { s };
    f.ports.remove(lost);
    f.links.retain(|&((a, _), (b, _))| a != lost && b != lost);
    f.hosts.retain(|h| h.0 != lost);
    f.hosts.iter_mut().for_each(|h| h.0 = name(h.0));
    for ((a, _), (b, _)) in &mut f.links {
        (*a, *b) = (name(*a), name(*b));
    }
    f
}

/// The detected form of these dimensions, sorted.
fn canonical(dims: &[(DimKind, usize)]) -> Vec<(DimKind, usize)> {
    let mut found_dims: Vec<(DimKind, usize)> = dims
        .iter()
        .flat_map(|&(kind, size)| match (kind, size) {
            (_, 1) => vec![],
            (_, 2) => vec![(Path, 2)],
            (Ring, 3) => vec![(Full, 3)],
            (Ring, 4) => vec![(Path, 2); 2],
            other => vec![other],
        })
        .collect();
    found_dims.sort_unstable();
    found_dims
}

fn dims_of(grid: &Grid) -> Vec<(DimKind, usize)> {
    let mut dims: Vec<_> = grid.dims.iter().map(|d| (d.kind, d.size)).collect();
    dims.sort_unstable();
    dims
}

/// Asserts that every link joins positions of the grid that are adjacent in one dimension.
fn assert_links_match_coordinates(topo: &Topology, grid: &Grid) {
    for s in topo.switches() {
        assert_eq!(grid.switch_at(grid.coords(s)), Some(s));
        for link in topo.links(s) {
            let (a, b) = (grid.coords(s), grid.coords(link.peer));
            let differ: Vec<usize> = (0..a.len()).filter(|&d| a[d] != b[d]).collect();
            let [d] = differ[..] else {
                panic!("{a:?} to {b:?}")
            };
            let (dim, distance) = (grid.dims[d], a[d].abs_diff(b[d]));
            assert!(
                dim.kind == Full || distance == 1 || (dim.kind == Ring && distance == dim.size - 1)
            );
        }
    }
}

const SHAPES: &[&[(DimKind, usize)]] = &[
    &[(Ring, 5)],
    &[(Ring, 9)],
    &[(Path, 2)],
    &[(Path, 7)],
    &[(Full, 3)],
    &[(Full, 8)],
    &[(Ring, 3), (Ring, 3)],
    &[(Ring, 4), (Ring, 4)],
    &[(Ring, 5), (Ring, 5)],
    &[(Ring, 8), (Ring, 6)],
    &[(Ring, 4), (Ring, 8)],
    &[(Ring, 2), (Ring, 7)],
    &[(Path, 3), (Path, 3)],
    &[(Path, 5), (Path, 4)],
    &[(Ring, 6), (Path, 4)],
    &[(Full, 4), (Full, 4)],
    &[(Full, 8), (Full, 3)],
    &[(Full, 4), (Ring, 6)],
    &[(Full, 5), (Path, 4)],
    &[(Ring, 3), (Ring, 3), (Ring, 3)],
    &[(Ring, 4), (Ring, 4), (Ring, 4)],
    &[(Ring, 5), (Ring, 4), (Ring, 3)],
    &[(Ring, 6), (Ring, 6), (Ring, 6)],
    &[(Path, 4), (Path, 3), (Path, 2)],
    &[(Path, 2), (Path, 2), (Path, 2)],
    &[(Ring, 6), (Path, 3), (Ring, 2)],
    &[(Full, 4), (Full, 3), (Full, 5)],
    &[(Full, 4), (Ring, 5), (Path, 3)],
    &[(Path, 2); 6],
    &[(Ring, 3), (Ring, 4), (Ring, 5), (Ring, 2)],
    &[(Ring, 5), (Ring, 5), (Ring, 5), (Path, 3)],
    &[(Full, 4), (Full, 4), (Full, 4), (Full, 4)],
];

/// All shapes, in order and shuffled, with parallel links, hosts and aggregation nodes.
#[test]
fn complete_grids_are_detected() {
    for (i, shape) in SHAPES.iter().enumerate() {
        for (seed, parallel) in [(0, 1), (i as u64 + 1, 1), (i as u64 + 100, 2)] {
            let fabric = product(shape, i % 3, parallel, seed);
            let topo = if i % 2 == 0 {
                fabric.with_sharp()
            } else {
                fabric
            }
            .build();
            let detected = grid(&topo, &Hints::default())
                .unwrap_or_else(|e| panic!("{shape:?} seed {seed}: {e}"));
            assert_eq!(
                dims_of(&detected),
                canonical(shape),
                "{shape:?} seed {seed}"
            );
            assert!(detected.is_complete(), "{detected}");
            assert_links_match_coordinates(&topo, &detected);
        }
    }
}

/// Detection of degraded shapes: always correct, and mostly successful if little is missing.
#[test]
fn most_degraded_grids_are_detected() {
    for (per_thousand, wanted) in [(1, 97), (10, 95), (50, 90), (200, 50)] {
        let (mut found, mut tried) = (0, 0);
        for (i, shape) in SHAPES.iter().enumerate() {
            for seed in 1..6 {
                let fabric = degraded(
                    &product(shape, 1, 1, seed),
                    per_thousand,
                    seed + 77 * i as u64,
                );
                let topo = fabric.build();
                tried += 1;
                match grid(&topo, &Hints::default()) {
                    Ok(grid) => {
                        assert_links_match_coordinates(&topo, &grid);
                        found += 1;
                    }
                    Err(e) => println!("{per_thousand} {shape:?} seed {seed}: {e}"),
                }
            }
        }
        println!("{per_thousand} per thousand lost: {found} of {tried} found");
        assert!(
            found * 100 >= tried * wanted,
            "{per_thousand}: {found} of {tried}"
        );
    }
}

/// One switch removed from the middle: its position is detected as empty.
#[test]
fn lost_switch_leaves_an_empty_grid_position() {
    for (shape, seed) in [
        (&[(Ring, 6), (Ring, 6)][..], 3),
        (&[(Ring, 5), (Ring, 5), (Ring, 5)], 4),
        (&[(Full, 5), (Full, 5)], 5),
    ] {
        let complete = product(shape, 1, 1, seed);
        for lost in [0, 7, 24] {
            let topo = without_switch(&complete, lost).build();
            let detected = grid(&topo, &Hints::default()).unwrap();
            assert_eq!(dims_of(&detected), canonical(shape));
            assert_eq!((detected.lost_switches, detected.lost_links), (1, 0));
            assert_links_match_coordinates(&topo, &detected);
        }
    }
}

/// Fat trees, dragonflies and random graphs are not grids; fat trees and grids are not dragonflies.
#[test]
fn structures_are_distinguished() {
    for fabric in [
        two_level(4, 3, 2, 1),
        two_level(8, 4, 2, 2),
        three_level(3),
        three_level(4),
        dragonfly(9, 4, 2),
        random(30, 40, 5, 1),
    ] {
        for topo in [fabric.build(), fabric.with_sharp().build()] {
            let detected = grid(&topo, &Hints::default());
            assert!(detected.is_err(), "{}", detected.unwrap());
        }
    }
    for shape in SHAPES {
        let detected = find_dragonfly(&product(shape, 1, 1, 7).build());
        assert!(detected.is_err(), "{}", detected.unwrap());
    }
    for fabric in [
        two_level(4, 3, 2, 1),
        three_level(3),
        three_level(4),
        three_level_of(4, 5, 2),
        random(30, 40, 5, 1),
    ] {
        let detected = find_dragonfly(&fabric.build());
        assert!(detected.is_err(), "{}", detected.unwrap());
    }
}

/// Both kinds of dragonflies, complete and with a few links missing.
#[test]
fn dragonflies_are_detected() {
    for (fabric, kind, groups) in [
        (dragonfly(9, 4, 2), GroupKind::FullMesh, 9),
        (dragonfly(17, 8, 4), GroupKind::FullMesh, 17),
        (dragonfly_plus(5, 4, 4, 1, 2), GroupKind::LeafSpine, 5),
        (dragonfly_plus(9, 8, 8, 1, 2), GroupKind::LeafSpine, 9),
        // Spines form triangles: one of each group.
        (dragonfly_plus(5, 4, 4, 4, 2), GroupKind::LeafSpine, 5),
        // As many links between spines as to leaves.
        (dragonfly_plus(3, 4, 4, 4, 2), GroupKind::LeafSpine, 3),
        // Without end ports.
        (dragonfly_plus(9, 6, 6, 2, 0), GroupKind::LeafSpine, 9),
    ] {
        for fabric in [
            fabric.clone(),
            degraded(&fabric, 20, 5),
            fabric.with_sharp(),
        ] {
            let detected = find_dragonfly(&fabric.build()).unwrap();
            assert_eq!(
                (detected.kind, detected.groups),
                (kind, groups),
                "{detected}"
            );
        }
    }
}

/// Whether unicast packets on their VLs and packets on the multicast tree together are free of
/// credit loops.
fn tree_and_routes_are_deadlock_free(topo: &Topology, routing: &Routing) -> bool {
    let TreeConstraint::Within { up, sl } = &routing.trees else {
        return false;
    };
    let mut dependencies = DiGraphMap::<(u32, u8, u8), ()>::new();
    let vl_plan = &routing.vl_plan;
    let mut add_dependencies = |hops: &[(SwitchIdx, PortNum, PortNum)], sl: u8| {
        let used: Vec<(u32, u8, u8)> = hops
            .iter()
            .map(|&(s, i, o)| (s.0, o.raw(), vl_plan.vl(s, i, o, sl)))
            .collect();
        used.windows(2).for_each(|w| {
            dependencies.add_edge(w[0], w[1], ());
        });
    };
    for d in topo.destinations() {
        for from in topo.switches() {
            let (mut at, mut input, mut hops) = (from, PortNum::ZERO, Vec::new());
            while at != d.switch {
                let port = routing.tables[at.index()].get(d.lid);
                hops.push((at, input, port));
                (at, input) = topo.neighbor(at, port).unwrap();
            }
            add_dependencies(&hops, vl_plan.sl(from, d));
        }
    }
    assert_eq!(up.iter().filter(|p| p.is_none()).count(), 1, "one root");
    let mut branches = vec![Vec::new(); topo.num_switches()];
    for s in topo.switches() {
        if let Some(port) = up[s.index()] {
            let (above, parent_port) = topo.neighbor(s, port).unwrap();
            branches[s.index()].push(port);
            branches[above.index()].push(parent_port);
        }
    }
    for s in topo.switches() {
        for &input in branches[s.index()].iter().chain([&PortNum::ZERO]) {
            for &output in branches[s.index()].iter().filter(|&&o| o != input) {
                let (next, next_port) = topo.neighbor(s, output).unwrap();
                for &last in branches[next.index()].iter().filter(|&&o| o != next_port) {
                    add_dependencies(&[(s, input, output), (next, next_port, last)], *sl);
                }
            }
        }
    }
    toposort(&dependencies, None).is_ok()
}

/// Routes and verifies the tables, also by the oracle if `with_oracle`; `None` if the engine fails.
fn verified(
    engine: &str,
    topo: &Topology,
    vls: u8,
    with_oracle: bool,
    description: &str,
) -> Option<(Routing, Proof)> {
    let request = RoutingRequest::new(topo).with_vls(vls);
    let routing = match engine_by_name(engine).unwrap().route(&request) {
        Ok(routing) => routing,
        Err(e) => {
            println!("{description}: {e}");
            return None;
        }
    };
    assert!(routing.vl_plan.vls <= vls, "{description}");
    let proof = verify(topo, &routing.tables, &routing.vl_plan)
        .unwrap_or_else(|e| panic!("{description}: {e} {:?}", routing.diagnostics));
    assert!(proof.reversible, "{description}");
    if with_oracle {
        assert_eq!(
            check_tables(topo, &routing.tables, &routing.vl_plan),
            Verdict::Good,
            "{description}"
        );
        if routing.trees == TreeConstraint::Search {
            println!("{description}: no tree");
        } else {
            assert!(
                tree_and_routes_are_deadlock_free(topo, &routing),
                "{description}: {:?}",
                routing.diagnostics
            );
        }
    }
    Some((routing, proof))
}

/// Every complete shape on one, two and eight VLs: the engine succeeds, with shortest paths if
/// there are VLs for datelines.
#[test]
fn dor_routes_complete_grids() {
    for (i, shape) in SHAPES.iter().enumerate() {
        for vls in [1, 2, 8] {
            let topo = product(shape, 1, 1 + i % 2, i as u64 + 5).build();
            let description = format!("dor {shape:?} {vls} VLs");
            let (routing, proof) =
                verified("dor", &topo, vls, topo.num_switches() < 100, &description).unwrap();
            assert!(
                matches!(routing.trees, TreeConstraint::Within { .. }),
                "{description}"
            );
            if vls > 1 {
                assert_eq!(detours(&topo, &routing.tables), 0, "{description}");
                assert!(proof.vls_used <= 2, "{description}");
            }
        }
    }
}

/// 0.1, 1, 5 and 20 % of the links lost: the engine fails, or its tables pass verification.
#[test]
fn dor_routes_degraded_grids() {
    for (per_thousand, wanted) in [(1, 90), (10, 90), (50, 90), (200, 55)] {
        let (mut num_routed, mut tried) = (0, 0);
        for (i, shape) in SHAPES.iter().enumerate() {
            for vls in [1, 4, 8] {
                let seed = i as u64 * 31 + u64::from(vls);
                let topo = degraded(&product(shape, 1, 1, seed), per_thousand, seed).build();
                let description = format!(
                    "dor {shape:?} {vls} VLs, {per_thousand} per thousand lost, seed {seed}"
                );
                tried += 1;
                num_routed += usize::from(
                    verified("dor", &topo, vls, topo.num_switches() < 50, &description).is_some(),
                );
            }
        }
        println!("{per_thousand} per thousand lost: {num_routed} of {tried} routed");
        assert!(num_routed * 100 >= tried * wanted);
    }
}

/// 1 and 5 % of the links, or a switch, lost: four VLs suffice, and the busiest channel carries at
/// most two, three and two times the load of the complete grid.
#[test]
fn dor_detours_keep_most_of_the_balance() {
    for shape in [
        &[(Ring, 8), (Ring, 8)][..],
        &[(Ring, 6), (Ring, 6), (Ring, 6)],
        &[(Path, 6), (Path, 6), (Path, 6)],
        &[(Full, 8), (Full, 8)],
        &[(Full, 4), (Ring, 6), (Path, 4)],
    ] {
        for seed in 1..5 {
            let complete = product(shape, 2, 1, seed);
            let whole = verified("dor", &complete.build(), 4, false, "complete").unwrap();
            for (fabric, factor) in [
                (degraded(&complete, 10, seed), 2.0),
                (degraded(&complete, 50, seed), 3.0),
                (without_switch(&complete, seed as usize * 5), 2.0),
            ] {
                let topo = fabric.build();
                let description = format!("dor {shape:?} times {factor}, seed {seed}");
                let small = topo.num_switches() < 70;
                let (_, proof) = verified("dor", &topo, 4, small, &description).unwrap();
                let growth = proof.max_load as f64 / whole.1.max_load as f64;
                println!("{description}: {growth:.2}, {} VLs", proof.vls_used);
                assert!(growth <= factor, "{description}: {growth}");
            }
        }
    }
}

/// Whether the shape is a torus or mesh of at most three axes; rings of four count.
fn is_torus(shape: &[(DimKind, usize)]) -> bool {
    shape.len() <= 3 && shape.iter().all(|d| d.0 != Full || d.1 <= 3)
}

/// Every complete torus and mesh: shortest paths, four VLs per QoS level, a spanning tree.
#[test]
fn torus_2qos_routes_complete_tori() {
    for (i, shape) in SHAPES.iter().enumerate() {
        for vls in [1, 4, 7, 8, 15] {
            let topo = product(shape, 1, 1 + i % 2, i as u64 + 5).build();
            let description = format!("torus-2QoS {shape:?} {vls} VLs");
            let verified_routing = verified(
                "torus-2QoS",
                &topo,
                vls,
                topo.num_switches() < 100,
                &description,
            );
            assert_eq!(
                verified_routing.is_some(),
                vls >= 4 && (is_torus(shape) || shape.iter().all(|d| d.1 == 2)),
                "{description}"
            );
            let Some((routing, proof)) = verified_routing else {
                continue;
            };
            assert_eq!(routing.vl_plan.vls, if vls >= 8 { 8 } else { 4 });
            assert!(
                matches!(routing.trees, TreeConstraint::Within { .. }),
                "{description}"
            );
            assert_eq!(detours(&topo, &routing.tables), 0, "{description}");
            assert!(proof.vls_used <= 2, "{description}");
        }
    }
}

/// 1, 5 and 20 % of the links lost: the engine fails, or its tables pass verification. A torus
/// always tolerates one lost link, without a change of SLs, or one lost switch.
#[test]
fn torus_2qos_routes_around_losses() {
    for shape in [
        &[(Ring, 5), (Ring, 5)][..],
        &[(Ring, 8), (Ring, 6)],
        &[(Ring, 4), (Ring, 8)],
        &[(Ring, 5), (Ring, 4), (Ring, 3)],
        &[(Ring, 6), (Ring, 6), (Ring, 6)],
    ] {
        for seed in 1..5 {
            let complete = product(shape, 1, 1, seed);
            let small = complete.ports.len() < 50;
            let before = verified("torus-2QoS", &complete.build(), 8, small, "complete")
                .unwrap()
                .0;
            let one_link_lost = degraded(&complete, 1, seed).build();
            let after = verified(
                "torus-2QoS",
                &one_link_lost,
                8,
                small,
                &format!("{shape:?} one link, seed {seed}"),
            )
            .unwrap()
            .0;
            assert_eq!(
                before.vl_plan.path_sl, after.vl_plan.path_sl,
                "{shape:?} seed {seed}"
            );
            let topo = without_switch(&complete, seed as usize * 3).build();
            verified(
                "torus-2QoS",
                &topo,
                8,
                small,
                &format!("{shape:?} one switch, seed {seed}"),
            )
            .unwrap();
            for per_thousand in [10, 50, 200] {
                let topo = degraded(&complete, per_thousand, seed).build();
                let description = format!("{shape:?} {per_thousand} per thousand, seed {seed}");
                verified("torus-2QoS", &topo, 8, small, &description);
            }
        }
    }
}

/// A torus of 8 x 4 in order: switch x + 8 y, with the LID one higher.
fn eight_by_four() -> Topology {
    product(&[(Ring, 8), (Ring, 4)], 2, 1, 0).build()
}

fn with_torus(topo: &Topology, torus: TorusHint) -> Result<Routing, RouteError> {
    let hints = Hints {
        torus: Some(torus),
        ..Hints::default()
    };
    engine_by_name("torus-2QoS")
        .unwrap()
        .route(&RoutingRequest::new(topo).with_hints(&hints).with_vls(8))
}

fn hint(radix: [u16; 3], seeds: Vec<TorusSeed>) -> TorusHint {
    TorusHint {
        radix,
        wraps: [true; 3],
        seeds,
        portgroup_max_ports: 16,
        port_order: Vec::new(),
    }
}

/// `torus-2QoS.conf` defines which dimension is x, which direction is up and where the dateline is;
/// contradictions are errors.
#[test]
fn torus_config_defines_axes_and_datelines() {
    let topo = eight_by_four();
    let link = |a: u32, b: u32| Some((SwitchIdx(a), SwitchIdx(b)));
    let seed = |dateline| TorusSeed {
        links: [link(0, 1), None, link(0, 8), link(0, 24), None, None],
        dateline,
    };
    let sl = |routing: &Routing, a: u32, b: u32| {
        let to = topo.destinations_on(SwitchIdx(b))[0];
        routing.vl_plan.sl(SwitchIdx(a), &to)
    };
    let plain = with_torus(&topo, hint([8, 4, 1], vec![seed([0; 3])])).unwrap();
    assert!(verify(&topo, &plain.tables, &plain.vl_plan).is_ok());
    assert_eq!(
        [
            sl(&plain, 7, 0),
            sl(&plain, 2, 3),
            sl(&plain, 24, 0),
            sl(&plain, 31, 0)
        ],
        [1, 0, 2, 3]
    );
    let moved = with_torus(&topo, hint([8, 4, 1], vec![seed([3, -1, 0])])).unwrap();
    assert!(verify(&topo, &moved.tables, &moved.vl_plan).is_ok());
    assert_eq!(
        [
            sl(&moved, 7, 0),
            sl(&moved, 2, 3),
            sl(&moved, 24, 0),
            sl(&moved, 16, 24)
        ],
        [0, 1, 0, 2]
    );
    // Now x is the short dimension.
    let swapped = TorusSeed {
        links: [link(0, 8), link(0, 24), None, link(0, 1), None, None],
        dateline: [0; 3],
    };
    let swapped = with_torus(&topo, hint([4, 8, 1], vec![swapped])).unwrap();
    assert!(verify(&topo, &swapped.tables, &swapped.vl_plan).is_ok());
    assert_eq!(
        [sl(&swapped, 24, 0), sl(&swapped, 1, 0), sl(&swapped, 7, 0)],
        [1, 2, 0]
    );
    // Without seeds, and with sizes that are not dimensions.
    assert!(with_torus(&topo, hint([1, 4, 8], Vec::new())).is_ok());
    for invalid in [
        hint([8, 8, 1], Vec::new()),
        hint([8, 4, 2], Vec::new()),
        hint([4, 8, 1], vec![seed([0; 3])]),
    ] {
        assert!(matches!(
            with_torus(&topo, invalid),
            Err(RouteError::Hint(_))
        ));
    }
    let narrow = TorusHint {
        portgroup_max_ports: 2,
        ..hint([8, 4, 1], Vec::new())
    };
    assert!(matches!(
        with_torus(&topo, narrow),
        Err(RouteError::Hint(_))
    ));
}

/// In another order of discovery, and with one or four threads: every switch has the same table,
/// all paths the same SL.
#[test]
fn tables_are_independent_of_discovery_order_and_threads() {
    for (shape, seed) in [
        (&[(Ring, 5), (Ring, 6)][..], 3),
        (&[(Full, 4), (Path, 3)], 4),
        (&[(Ring, 4), (Ring, 4)], 5),
        (&[(Ring, 5), (Ring, 5), (Ring, 5)], 6),
    ] {
        let fabric = degraded(&product(shape, 2, 2, seed), 20, seed);
        let topo = fabric.build();
        let n = topo.num_switches();
        let renumbered = |s: usize| SwitchIdx(((s + 7) % n) as u32);
        let renumbered_topo = fabric.build_renumbered(7);
        for engine in ["dor", "torus-2QoS"] {
            let route = |topo: &Topology, threads| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let request = RoutingRequest::new(topo).with_vls(8);
                pool.install(|| engine_by_name(engine).unwrap().route(&request))
            };
            let (original, with_threads) = (route(&topo, 1), route(&renumbered_topo, 4));
            let (Ok(original_routing), Ok(renumbered_routing)) = (&original, &with_threads) else {
                assert!(
                    original.is_err() && with_threads.is_err(),
                    "{engine} {shape:?}"
                );
                continue;
            };
            for s in topo.switches() {
                assert_eq!(
                    original_routing.tables[s.index()],
                    renumbered_routing.tables[renumbered(s.index()).index()],
                    "{engine} {shape:?}"
                );
                for d in topo.destinations() {
                    let to = renumbered_topo
                        .destinations()
                        .iter()
                        .find(|t| t.lid == d.lid)
                        .unwrap();
                    assert_eq!(
                        original_routing.vl_plan.sl(s, d),
                        renumbered_routing.vl_plan.sl(renumbered(s.index()), to)
                    );
                }
            }
        }
    }
}

/// Installed tables stay unchanged if the fabric is unchanged, and LIDs share parallel links
/// evenly. Five switches have an additional host with LMC 2.
#[test]
fn parallel_links_are_balanced_and_stable() {
    let mut fabric = product(&[(Ring, 5), (Path, 3)], 3, 2, 9);
    fabric.ports.iter_mut().for_each(|p| *p += 1);
    for s in 0..5 {
        let port = fabric.ports[s];
        fabric.hosts.push((s, port, 4));
    }
    let topo = Arc::new(fabric.build());
    for engine in ["dor", "torus-2QoS"] {
        let (routing, proof) = verified(engine, &topo, 8, true, engine).unwrap();
        assert!(
            proof.max_load as f64 <= 2.2 * proof.mean_load,
            "{engine} {proof}"
        );
        let previous = PreviousRouting::from_routing(&topo, &routing);
        let again = engine_by_name(engine)
            .unwrap()
            .route(
                &RoutingRequest::new(&topo)
                    .with_vls(8)
                    .with_previous(&previous),
            )
            .unwrap();
        assert_eq!(again.tables, routing.tables);
    }
}
