//! Verification rejects defects with the right reason and agrees with the oracle, which follows
//! every packet.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::select::RejectReason;
use ferrosm_routing::{
    Describe, Lft, RouteError, RoutingRequest, SwitchIdx, Tables, Topology, VerifyError, VlPlan,
    engine_by_name, route_with, verify,
};
use proptest::prelude::*;

fn tables(engine: &str, topo: &Topology) -> Tables {
    engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo))
        .unwrap()
        .tables
}

fn corrupt(tables: &mut Tables, switch: usize, lid: u16, port: u8) {
    let mut lft = Lft::clone(&tables[switch]);
    lft.set(Lid(lid), PortNum(port));
    tables[switch] = Arc::new(lft);
}

fn verdict(outcome: Result<(), &VerifyError>) -> Verdict {
    match outcome {
        Ok(()) => Verdict::Good,
        Err(f) if f.loops.count > 0 => Verdict::Loops,
        Err(f) if f.unreachable.count > 0 => Verdict::Unreachable,
        Err(f) if f.dropped.lids > 0 => {
            assert!(!f.dropped.first.is_empty(), "no example");
            Verdict::Dropped
        }
        Err(f) => {
            assert!(f.cycle.is_some(), "an error without a reason");
            Verdict::CreditLoop
        }
    }
}

/// Three switches in a row with one end port each: switches have LIDs 1 to 3, end ports 4 to 6.
fn row() -> Topology {
    let mut fabric = Fabric::switches(3, 4);
    fabric.hosts_on(0..3, 1);
    fabric.link(0, 1);
    fabric.link(1, 2);
    fabric.build()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Tables of either engine with some entries overwritten: verification and oracle agree.
    #[test]
    fn verification_agrees_with_oracle(
        n in 1usize..12, extra in 0usize..16, hosts in 0usize..14, seed: u64,
        minhop: bool, corrupted in 0usize..4,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        let mut tables = tables(if minhop { "minhop" } else { "updn" }, &topo);
        let mut rng = Lcg(!seed);
        for _ in 0..corrupted {
            let s = rng.below(n);
            let port = [0, 0xFF, 1, 2, 3, 4, 5][rng.below(7)];
            corrupt(&mut tables, s, rng.below(usize::from(topo.top_lid().raw()) + 1) as u16, port);
        }
        let outcome = verify(&topo, &tables, &VlPlan::single());
        prop_assert_eq!(verdict(outcome.as_ref().map(|_| ())), check_tables(&topo, &tables, &VlPlan::single()));
    }

    /// A reported credit loop is real: for consecutive channels some LID uses one right after the
    /// other.
    #[test]
    fn reported_credit_loop_is_real(n in 3usize..12, extra in 4usize..16, seed: u64) {
        let topo = random(n, extra, 3 * n, seed).build();
        let tables = tables("minhop", &topo);
        let Err(VerifyError { cycle: Some(cycle), .. }) = verify(&topo, &tables, &VlPlan::single()) else {
            return Ok(());
        };
        for (i, &(s, p, vl)) in cycle.iter().enumerate() {
            let (next, out, _) = cycle[(i + 1) % cycle.len()];
            prop_assert_eq!(vl, 0);
            prop_assert_eq!(topo.neighbor(s, p).map(|x| x.0), Some(next));
            let used = topo.destinations().iter().any(|d| {
                tables[s.index()].get(d.lid) == p && tables[next.index()].get(d.lid) == out
            });
            prop_assert!(used);
        }
    }
}

/// Shortest paths in a ring of 4 or more form a credit loop as long as the ring.
#[test]
fn minhop_on_a_ring_has_a_credit_loop() {
    for n in 4..9 {
        let topo = ring(n, 2).build();
        let failure = verify(&topo, &tables("minhop", &topo), &VlPlan::single()).unwrap_err();
        assert_eq!(failure.cycle.as_ref().map(Vec::len), Some(n));
    }
}

/// The table of the middle switch drops LID 6.
#[test]
fn dropped_packet_is_rejected() {
    let topo = row();
    let mut tables = tables("updn", &topo);
    corrupt(&mut tables, 1, 6, 0xFF);
    let failure = verify(&topo, &tables, &VlPlan::single()).unwrap_err();
    assert_eq!((failure.unreachable.count, failure.loops.count), (2, 0));
    let first = &failure.unreachable.first[0];
    assert_eq!(
        first.path,
        [(SwitchIdx(0), PortNum(2)), (SwitchIdx(1), PortNum::DROP)]
    );
    assert_eq!(
        (first.from, first.lid, first.at),
        (SwitchIdx(0), Lid(6), SwitchIdx(1))
    );
    assert_eq!(
        failure.describe(&|s| format!("S{}", s.0)),
        "2 (switch, LID) pairs are unreachable; e.g. from S0 to LID 6: dropped at S1 (path: S0 port 2)"
    );
}

/// The middle switch forwards LID 6 to its own end port.
#[test]
fn packet_at_wrong_end_port_is_rejected() {
    let topo = row();
    let mut tables = tables("updn", &topo);
    corrupt(&mut tables, 1, 6, 1);
    let failure = verify(&topo, &tables, &VlPlan::single()).unwrap_err();
    assert!(
        failure
            .to_string()
            .ends_with("ends at switch 1 port 1 (path: switch 0 port 2)"),
        "{failure}"
    );
}

/// The switch of LID 6 delivers the packet to itself (port 0) instead of the end port.
#[test]
fn packet_delivered_to_owning_switch_is_rejected() {
    let topo = row();
    let mut tables = tables("updn", &topo);
    corrupt(&mut tables, 2, 6, 0);
    assert_eq!(
        verify(&topo, &tables, &VlPlan::single())
            .unwrap_err()
            .unreachable
            .count,
        3
    );
}

/// The middle switch sends LID 6 back where it came from.
#[test]
fn forwarding_loop_is_rejected() {
    let topo = row();
    let mut tables = tables("updn", &topo);
    corrupt(&mut tables, 1, 6, 2);
    let failure = verify(&topo, &tables, &VlPlan::single()).unwrap_err();
    assert_eq!((failure.unreachable.count, failure.loops.count), (0, 2));
    let path = "loop through switch 0 (path: switch 0 port 2, switch 1 port 2, switch 0 port 2)";
    assert!(failure.to_string().contains(path), "{failure}");
}

/// Fewer tables than switches are rejected without a panic.
#[test]
fn missing_table_is_rejected() {
    let topo = row();
    let mut tables = tables("updn", &topo);
    tables.pop();
    assert!(
        verify(&topo, &tables, &VlPlan::single())
            .unwrap_err()
            .unreachable
            .count
            > 0
    );
}

/// Spines without end ports that cannot reach each other by LID are allowed and counted. With an
/// end port each, they are rejected.
#[test]
fn only_switches_with_end_ports_must_reach_switches() {
    let fabric = two_level(3, 2, 2, 1);
    let topo = fabric.build();
    let mut t = tables("updn", &topo);
    let spines = topo.switches().filter(|&s| topo.end_ports(s).is_empty());
    let (a, b): (Vec<_>, Vec<_>) = spines.map(|s| (s.index(), topo.lid(s).raw())).unzip();
    corrupt(&mut t, a[0], b[1], 0xFF);
    assert_eq!(
        verify(&topo, &t, &VlPlan::single())
            .unwrap()
            .idle_unreachable,
        1
    );
    let topo = fabric.with_sharp().build();
    let mut t = tables("updn", &topo);
    corrupt(&mut t, a[0], b[1], 0xFF);
    assert_eq!(
        verify(&topo, &t, &VlPlan::single())
            .unwrap_err()
            .unreachable
            .count,
        1
    );
}

/// Figures of a fabric small enough to count by hand: 3 switches in a row with an end port each.
#[test]
fn proof_figures_match_hand_count() {
    let topo = row();
    let proof = verify(&topo, &tables("updn", &topo), &VlPlan::single()).unwrap();
    assert_eq!(proof.pairs, 18);
    assert_eq!(proof.hop_histogram, [0, 4, 2]);
    assert_eq!((proof.max_hops, proof.max_load, proof.channels), (2, 2, 4));
    assert!((proof.mean_load - 2.0).abs() < 1e-9);
    // From left to right and from right to left through the middle.
    assert_eq!(proof.dependencies, 2);
    assert_eq!((proof.vls_used, &proof.vl_channels[..]), (1, &[4][..]));
    assert!(proof.reversible);
}

/// `minhop` on a ring is rejected with the reason, then the fallback engine passes. An unknown
/// engine name is reported as well. Without a fallback nothing is selected.
#[test]
fn first_engine_that_passes_is_selected() {
    let topo = ring(6, 1).build();
    let selection = route_with(&["ftre", "minhop"], &RoutingRequest::new(&topo));
    let (routing, proof) = selection.chosen.unwrap();
    assert_eq!(routing.engine, "nue");
    assert!(proof.reversible);
    assert_eq!(verify(&topo, &routing.tables, &routing.vl_plan), Ok(proof));
    let none = route_with(&["minhop", "no_fallback"], &RoutingRequest::new(&topo));
    assert!(none.chosen.is_none());
    assert_eq!(none.rejected.len(), 1);
    assert_eq!(selection.rejected.len(), 2);
    let unknown = RouteError::UnknownEngine("ftre".to_owned());
    assert_eq!(selection.rejected[0].reason, unknown.into());
    assert!(matches!(&selection.rejected[1].reason, RejectReason::Verify(f) if f.cycle.is_some()));
    let tree = two_level(3, 1, 2, 1).build();
    let selection = route_with(&["minhop", "updn"], &RoutingRequest::new(&tree));
    assert_eq!(selection.chosen.map(|c| c.0.engine), Some("minhop"));
    assert!(selection.rejected.is_empty());
}
