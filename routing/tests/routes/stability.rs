//! Stability: few entries change when the fabric changes, and restoring it restores the tables.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::sync::Arc;

use crate::common::*;
use ferrosm_routing::{
    PreviousRouting, Routing, RoutingRequest, Topology, VlPlan, changed_blocks, engine_by_name,
    verify,
};
use proptest::prelude::*;

/// Engines that route every connected graph without hints. The others have tests of their own.
const UNIVERSAL_ENGINES: &[&str] = &["updn", "minhop", "sssp", "nue"];

fn route(engine: &str, topo: &Topology, before: Option<&Routing>) -> Routing {
    let previous = before.map_or_else(PreviousRouting::none, PreviousRouting::from_tables_of);
    engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo).with_previous(&previous))
        .unwrap()
}

fn moved_entries(before: &Routing, after: &Routing) -> usize {
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

fn entries_over(before: &Routing, (switch, port): (usize, u8)) -> usize {
    before.tables[switch]
        .entries()
        .iter()
        .filter(|&&e| e == port)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Unchanged fabric: no entry moves, and every table is the same allocation.
    #[test]
    fn unchanged_fabric_keeps_table_allocations(
        n in 1usize..16, extra in 0usize..20, hosts in 0usize..20, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        for engine in UNIVERSAL_ENGINES {
            let before = route(engine, &topo, None);
            let after = route(engine, &topo, Some(&before));
            prop_assert!(before.tables.iter().zip(&after.tables).all(|(a, b)| Arc::ptr_eq(a, b)), "{}", engine);
        }
    }

    /// A link of any graph is lost and restored: up/down passes verification each time.
    #[test]
    fn every_step_of_loss_and_restore_passes_verification(
        n in 3usize..16, extra in 2usize..20, hosts in 0usize..20, seed: u64, pick: usize,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let reduced = fabric.without_link(pick % fabric.links.len());
        prop_assume!(reduced.connected());
        let (full, reduced) = (fabric.build(), reduced.build());
        let before = route("updn", &full, None);
        let during = route("updn", &reduced, Some(&before));
        prop_assert!(verify(&reduced, &during.tables, &VlPlan::single()).is_ok());
        prop_assert!(verify(&full, &route("updn", &full, Some(&during)).tables, &VlPlan::single()).is_ok());
    }
}

/// A tree loses each of its links in turn. Entries over the link must move (the minimum); all moves
/// stay within five times the minimum per link and 2.5 times over all links. Restoring the link
/// restores the tables.
#[test]
fn lost_link_moves_few_entries_and_restoring_it_moves_them_back() {
    // `nue` recomputes all paths; only incremental reroute keeps its entries after losses.
    for (fabric, engine) in UNIVERSAL_ENGINES
        .iter()
        .filter(|e| **e != "nue")
        .flat_map(|e| {
            [
                (three_level(4), *e),
                (two_level(12, 6, 6, 1).with_sharp(), *e),
            ]
        })
    {
        let topo = fabric.build();
        let before = route(engine, &topo, None);
        let (mut moves, mut minimum_moves, mut worst) = (0, 0, 0);
        for (i, &(a, b)) in fabric.links.iter().enumerate() {
            let reduced = fabric.without_link(i).build();
            let after = route(engine, &reduced, Some(&before));
            let minimum = entries_over(&before, a) + entries_over(&before, b);
            assert!(moved_entries(&before, &after) >= minimum);
            worst = worst.max(moved_entries(&before, &after) * 10 / minimum.max(1));
            moves += moved_entries(&before, &after);
            minimum_moves += minimum;
            let again = route(engine, &topo, Some(&after));
            assert!(
                again.tables == before.tables,
                "{engine}: link {i} lost and restored"
            );
        }
        println!("{engine}: {moves} / {minimum_moves}, worst {worst} / 10");
        // If a lost link makes shortest paths to switch LIDs close a credit loop, `sssp` rebuilds
        // these paths.
        let max = if engine == "sssp" { 8 } else { 5 };
        assert!(
            2 * moves < max * minimum_moves,
            "{engine}: {moves} moved, the minimum is {minimum_moves}"
        );
    }
}

/// A leaf loses a host: only the entries of that LID change.
#[test]
fn lost_host_moves_no_other_lid() {
    let fabric = three_level(4);
    let full = fabric.build();
    let before = route("updn", &full, None);
    let mut reduced = fabric;
    // The last in LID order, so that the builder assigns the same LIDs to all others.
    reduced.hosts.pop();
    let reduced = reduced.build();
    let after = route("updn", &reduced, Some(&before));
    for d in reduced.destinations() {
        for s in reduced.switches() {
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

/// A switch that returns without tables gets its previous tables; those of the others stay.
#[test]
fn switch_without_tables_gets_its_previous_tables() {
    let topo = three_level(3).build();
    let before = route("updn", &topo, None);
    let mut previous = PreviousRouting::from_tables_of(&before);
    previous.lfts[5] = None;
    let after = engine_by_name("updn")
        .unwrap()
        .route(&RoutingRequest::new(&topo).with_previous(&previous))
        .unwrap()
        .tables;
    assert_eq!(after, before.tables);
}

/// A torus and a random graph lose each link in turn. The order of the switches stays, so routes
/// over other links hardly move; up/down passes verification, and restoring the link moves nothing
/// else.
#[test]
fn switch_order_survives_a_lost_link() {
    for fabric in [torus(&[5, 5], 2), random(24, 30, 48, 7)] {
        let topo = fabric.build();
        let before = route("updn", &topo, None);
        let all: usize = before.tables.iter().map(|t| t.entries().len()).sum();
        let (mut moves, mut links) = (0, 0);
        for i in 0..fabric.links.len() {
            let reduced = fabric.without_link(i);
            if !reduced.connected() {
                continue;
            }
            let reduced = reduced.build();
            let after = route("updn", &reduced, Some(&before));
            assert!(verify(&reduced, &after.tables, &VlPlan::single()).is_ok());
            moves += moved_entries(&before, &after);
            links += 1;
        }
        let percent = moves * 100 / (links * all);
        println!("{percent} % of {all} entries move on average");
        assert!(
            percent < 12,
            "{percent} % of the entries move when a link is lost"
        );
    }
}
