//! What moves when a fabric changes: as little as can be, and a repair leads back to where it was.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::sync::Arc;

use crate::common::*;
use ferrosm_routing::{
    Previous, Request, Routing, Topology, VlPlan, changed_blocks, engine_by_name, verify,
};
use proptest::prelude::*;

/// Engines that route every connected graph and need not be told anything. The others have tests of their own.
const EVERYWHERE: &[&str] = &["updn", "minhop", "sssp", "nue"];

fn route(engine: &str, topo: &Topology, before: Option<&Routing>) -> Routing {
    let previous = before.map_or_else(Previous::none, Previous::from_tables_of);
    engine_by_name(engine)
        .unwrap()
        .route(&Request::new(topo).with_previous(&previous))
        .unwrap()
}

fn moved(before: &Routing, after: &Routing) -> usize {
    let pairs = before.tables.iter().zip(&after.tables);
    pairs
        .map(|(x, y)| {
            x.entries()
                .iter()
                .zip(y.entries())
                .filter(|(a, b)| a != b)
                .count()
        })
        .sum()
}

fn using(before: &Routing, (switch, port): (usize, u8)) -> usize {
    before.tables[switch]
        .entries()
        .iter()
        .filter(|&&e| e == port)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Nothing changed: not an entry moves, and every table is the same allocation.
    #[test]
    fn an_unchanged_fabric_keeps_its_very_tables(
        n in 1usize..16, extra in 0usize..20, hosts in 0usize..20, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        for engine in EVERYWHERE {
            let before = route(engine, &topo, None);
            let after = route(engine, &topo, Some(&before));
            prop_assert!(before.tables.iter().zip(&after.tables).all(|(a, b)| Arc::ptr_eq(a, b)), "{}", engine);
        }
    }

    /// A cable of any graph is lost and repaired: up/down passes the proof each time.
    #[test]
    fn every_step_of_a_loss_and_a_repair_is_proven(
        n in 3usize..16, extra in 2usize..20, hosts in 0usize..20, seed: u64, pick: usize,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let less = fabric.without_cable(pick % fabric.cables.len());
        prop_assume!(less.connected());
        let (full, less) = (fabric.build(), less.build());
        let before = route("updn", &full, None);
        let during = route("updn", &less, Some(&before));
        prop_assert!(verify(&less, &during.tables, &VlPlan::single()).is_ok());
        prop_assert!(verify(&full, &route("updn", &full, Some(&during)).tables, &VlPlan::single()).is_ok());
    }
}

/// A tree loses each of its cables in turn. Entries that used it must move (that is the floor);
/// what else moves stays within five floors per cable and within 2.5 over all cables. The repair
/// gives back the first tables.
#[test]
fn one_lost_cable_moves_few_entries_and_its_repair_moves_them_back() {
    // nue computes afresh; after losses it is the repair that keeps entries where they are.
    for (fabric, engine) in EVERYWHERE.iter().filter(|e| **e != "nue").flat_map(|e| {
        [
            (three_level(4), *e),
            (two_level(12, 6, 6, 1).with_sharp(), *e),
        ]
    }) {
        let topo = fabric.build();
        let before = route(engine, &topo, None);
        let (mut moves, mut floors, mut worst) = (0, 0, 0);
        for (i, &(a, b)) in fabric.cables.iter().enumerate() {
            let less = fabric.without_cable(i).build();
            let after = route(engine, &less, Some(&before));
            let floor = using(&before, a) + using(&before, b);
            assert!(moved(&before, &after) >= floor);
            worst = worst.max(moved(&before, &after) * 10 / floor.max(1));
            moves += moved(&before, &after);
            floors += floor;
            let again = route(engine, &topo, Some(&after));
            assert!(
                again.tables == before.tables,
                "{engine}: cable {i} and its repair"
            );
        }
        println!("{engine}: {moves} / {floors}, worst {worst} / 10");
        // Where a lost cable makes the shortest ways to switches themselves close a circle, sssp grows them anew.
        let most = if engine == "sssp" { 8 } else { 5 };
        assert!(
            2 * moves < most * floors,
            "{engine}: {moves} moved, the floor is {floors}"
        );
    }
}

/// A leaf loses a host: no route of another LID moves, only tables' entries for that LID.
#[test]
fn a_lost_host_moves_nobody_else() {
    let fabric = three_level(4);
    let full = fabric.build();
    let before = route("updn", &full, None);
    let mut less = fabric;
    // The last in LID order, so that the builder gives all others the same LIDs.
    less.hosts.pop();
    let less = less.build();
    let after = route("updn", &less, Some(&before));
    for d in less.destinations() {
        for s in less.switches() {
            assert_eq!(
                after.tables[s.index()].get(d.lid),
                before.tables[s.index()].get(d.lid)
            );
        }
    }
    let last_block = u16::try_from(usize::from(full.top_lid().raw()) / 64).unwrap();
    for (x, y) in before.tables.iter().zip(&after.tables) {
        assert!(changed_blocks(Some(x), y).all(|b| b == last_block));
    }
}

/// A switch that comes back without tables is given what it had; the tables of the others stay.
#[test]
fn a_switch_that_lost_its_tables_gets_them_back() {
    let topo = three_level(3).build();
    let before = route("updn", &topo, None);
    let mut previous = Previous::from_tables_of(&before);
    previous.lfts[5] = None;
    let after = engine_by_name("updn")
        .unwrap()
        .route(&Request::new(&topo).with_previous(&previous))
        .unwrap()
        .tables;
    assert_eq!(after, before.tables);
}

/// A torus and a random graph lose each cable in turn. The order of the switches is kept, so the routes that did
/// not use the cable hardly move, whichever cable it was; up/down stays proven, and the repair moves nothing else.
#[test]
fn the_order_outlives_a_lost_cable() {
    for fabric in [torus(&[5, 5], 2), random(24, 30, 48, 7)] {
        let topo = fabric.build();
        let before = route("updn", &topo, None);
        let all: usize = before.tables.iter().map(|t| t.entries().len()).sum();
        let (mut moves, mut cables) = (0, 0);
        for i in 0..fabric.cables.len() {
            let less = fabric.without_cable(i);
            if !less.connected() {
                continue;
            }
            let less = less.build();
            let after = route("updn", &less, Some(&before));
            assert!(verify(&less, &after.tables, &VlPlan::single()).is_ok());
            moves += moved(&before, &after);
            cables += 1;
        }
        let percent = moves * 100 / (cables * all);
        println!("{percent} % of {all} entries move on average");
        assert!(
            percent < 12,
            "{percent} % of the entries move when a cable is lost"
        );
    }
}
