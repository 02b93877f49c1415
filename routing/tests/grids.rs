//! Grids: what is found of them, and that what is routed along them passes the proof.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

#[path = "common/mod.rs"]
mod common;

use common::*;
use ferrosm_routing::structure::dragonfly::{GroupKind, dragonfly as find_dragonfly};
use ferrosm_routing::structure::grid::{DimKind, Grid, grid};
use ferrosm_routing::{Hints, Topology};

use DimKind::{Full, Path, Ring};

/// A product of paths, rings and full meshes, with its switches numbered in a shuffled order, and cables entered in a
/// shuffled order where `seed` is not 0.
fn product(dims: &[(DimKind, usize)], hosts: usize, parallel: usize, seed: u64) -> Fabric {
    let n: usize = dims.iter().map(|d| d.1).product();
    let mut dice = Lcg(seed);
    let mut name: Vec<usize> = (0..n).collect();
    let mut cables = Vec::new();
    for s in 0..n {
        let mut stride = 1;
        for &(kind, side) in dims {
            let x = s / stride % side;
            let beside = |y: usize| s - x * stride + y * stride;
            match kind {
                Full => cables.extend((x + 1..side).map(|y| (s, beside(y)))),
                Ring if side > 2 => cables.push((s, beside((x + 1) % side))),
                Ring | Path if x + 1 < side => cables.push((s, beside(x + 1))),
                Ring | Path => {}
            }
            stride *= side;
        }
    }
    if seed != 0 {
        for i in (1..n).rev() {
            name.swap(i, dice.below(i + 1));
        }
        for i in (1..cables.len()).rev() {
            cables.swap(i, dice.below(i + 1));
        }
    }
    let degree: usize = dims.iter().map(|d| if d.0 == Full { d.1 } else { 2 }).sum();
    let mut f = Fabric::switches(n, (degree * parallel + hosts) as u8);
    f.hosts_on(0..n, hosts);
    for (a, b) in cables {
        (0..parallel).for_each(|_| f.cable(name[a], name[b]));
    }
    f
}

/// Pulls so many per thousand of the cables, at least one, as long as the switches hang together.
fn degraded(fabric: &Fabric, per_thousand: usize, seed: u64) -> Fabric {
    let mut dice = Lcg(seed);
    let mut fabric = fabric.clone();
    for _ in 0..(fabric.cables.len() * per_thousand).div_ceil(1000) {
        let less = fabric.without_cable(dice.below(fabric.cables.len()));
        if less.connected() {
            fabric = less;
        }
    }
    fabric
}

/// Takes all cables and hosts off a switch and the switch out of the fabric.
fn without_switch(fabric: &Fabric, lost: usize) -> Fabric {
    let mut f = fabric.clone();
    let name = |s: usize| if s > lost { s - 1 } else { s };
    f.ports.remove(lost);
    f.cables.retain(|&((a, _), (b, _))| a != lost && b != lost);
    f.hosts.retain(|h| h.0 != lost);
    f.hosts.iter_mut().for_each(|h| h.0 = name(h.0));
    for ((a, _), (b, _)) in &mut f.cables {
        (*a, *b) = (name(*a), name(*b));
    }
    f
}

/// What the search calls these dimensions, sorted.
fn canonical(dims: &[(DimKind, usize)]) -> Vec<(DimKind, usize)> {
    let mut found: Vec<(DimKind, usize)> = dims
        .iter()
        .flat_map(|&(kind, size)| match (kind, size) {
            (_, 1) => vec![],
            (_, 2) => vec![(Path, 2)],
            (Ring, 3) => vec![(Full, 3)],
            (Ring, 4) => vec![(Path, 2); 2],
            other => vec![other],
        })
        .collect();
    found.sort_unstable();
    found
}

fn dims_of(grid: &Grid) -> Vec<(DimKind, usize)> {
    let mut dims: Vec<_> = grid.dims.iter().map(|d| (d.kind, d.size)).collect();
    dims.sort_unstable();
    dims
}

/// The grid is what its coordinates say, cable by cable.
fn holds(topo: &Topology, grid: &Grid) {
    for s in topo.switches() {
        assert_eq!(grid.switch_at(grid.coords(s)), Some(s));
        for link in topo.links(s) {
            let (a, b) = (grid.coords(s), grid.coords(link.peer));
            let differ: Vec<usize> = (0..a.len()).filter(|&d| a[d] != b[d]).collect();
            let [d] = differ[..] else {
                panic!("{a:?} to {b:?}")
            };
            let (dim, by) = (grid.dims[d], a[d].abs_diff(b[d]));
            assert!(dim.kind == Full || by == 1 || (dim.kind == Ring && by == dim.size - 1));
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

/// Every shape, in order and shuffled, with parallel cables, hosts and aggregation nodes.
#[test]
fn whole_grids_are_found() {
    for (i, shape) in SHAPES.iter().enumerate() {
        for (seed, parallel) in [(0, 1), (i as u64 + 1, 1), (i as u64 + 100, 2)] {
            let fabric = product(shape, i % 3, parallel, seed);
            let topo = if i % 2 == 0 {
                fabric.with_sharp()
            } else {
                fabric
            }
            .build();
            let found = grid(&topo, &Hints::default())
                .unwrap_or_else(|e| panic!("{shape:?} seed {seed}: {e}"));
            assert_eq!(dims_of(&found), canonical(shape), "{shape:?} seed {seed}");
            assert!(found.is_whole(), "{found}");
            holds(&topo, &found);
        }
    }
}

/// How many of the degraded shapes are still found: soundly always, and mostly where little is lost.
#[test]
fn most_degraded_grids_are_found() {
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
                        holds(&topo, &grid);
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

/// One switch out of the middle: its place is known to be empty.
#[test]
fn a_lost_switch_leaves_an_empty_place() {
    for (shape, seed) in [
        (&[(Ring, 6), (Ring, 6)][..], 3),
        (&[(Ring, 5), (Ring, 5), (Ring, 5)], 4),
        (&[(Full, 5), (Full, 5)], 5),
    ] {
        let whole = product(shape, 1, 1, seed);
        for lost in [0, 7, 24] {
            let topo = without_switch(&whole, lost).build();
            let found = grid(&topo, &Hints::default()).unwrap();
            assert_eq!(dims_of(&found), canonical(shape));
            assert_eq!((found.lost_switches, found.lost_links), (1, 0));
            holds(&topo, &found);
        }
    }
}

/// Fat trees, dragonflies and random graphs are no grids; fat trees and grids are no dragonflies.
#[test]
fn structures_are_told_apart() {
    for fabric in [
        two_level(4, 3, 2, 1),
        two_level(8, 4, 2, 2),
        three_level(3),
        three_level(4),
        dragonfly(9, 4, 2),
        random(30, 40, 5, 1),
    ] {
        for topo in [fabric.build(), fabric.with_sharp().build()] {
            let found = grid(&topo, &Hints::default());
            assert!(found.is_err(), "{}", found.unwrap());
        }
    }
    for shape in SHAPES {
        let found = find_dragonfly(&product(shape, 1, 1, 7).build());
        assert!(found.is_err(), "{}", found.unwrap());
    }
    for fabric in [
        two_level(4, 3, 2, 1),
        three_level(3),
        three_level(4),
        three_level_of(4, 5, 2),
        random(30, 40, 5, 1),
    ] {
        let found = find_dragonfly(&fabric.build());
        assert!(found.is_err(), "{}", found.unwrap());
    }
}

/// Groups of leaves and spines, one cable between the spines of any two groups.
fn dragonfly_plus(groups: usize, half: usize) -> Fabric {
    let n = groups * 2 * half;
    let mut f = Fabric::switches(n, (2 * half + groups + 2) as u8);
    for g in 0..groups {
        let leaf = |i: usize| g * 2 * half + i;
        f.hosts_on((0..half).map(leaf), 2);
        for l in 0..half {
            (0..half).for_each(|s| f.cable(leaf(l), leaf(half + s)));
        }
        for h in g + 1..groups {
            f.cable(leaf(half + h % half), h * 2 * half + half + g % half);
        }
    }
    f
}

/// Both kinds, whole and with a few cables lost.
#[test]
fn dragonflies_are_found() {
    for (fabric, kind, groups) in [
        (dragonfly(9, 4, 2), GroupKind::FullMesh, 9),
        (dragonfly(17, 8, 4), GroupKind::FullMesh, 17),
        (dragonfly_plus(5, 4), GroupKind::LeafSpine, 5),
        (dragonfly_plus(9, 8), GroupKind::LeafSpine, 9),
    ] {
        for fabric in [
            fabric.clone(),
            degraded(&fabric, 20, 5),
            fabric.with_sharp(),
        ] {
            let found = find_dragonfly(&fabric.build()).unwrap();
            assert_eq!((found.kind, found.groups), (kind, groups), "{found}");
        }
    }
}
