//! Work budgets: automatic selection always yields a verified routing, and an engine stops soon
//! after its limit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers")]

use crate::common::*;
use ferrosm_routing::select::RejectReason;
use ferrosm_routing::{
    CancelToken, PreviousRouting, RouteError, RoutingRequest, Selection, Topology, WorkBudget,
    engine_by_name, route_with, verify,
};

/// A mesh or torus without every 40th link.
fn damaged(sides: &[usize]) -> Fabric {
    let mut fabric = torus(sides, 2);
    for i in (0..fabric.links.len()).rev().step_by(40) {
        let reduced = fabric.without_link(i);
        if reduced.connected() {
            fabric = reduced;
        }
    }
    fabric
}

fn auto(topo: &Topology, budget: &WorkBudget) -> Selection {
    let request = RoutingRequest::new(topo).with_vls(8).with_budget(budget);
    route_with(&["auto", "no_fallback"], &request)
}

fn over_budget(selection: &Selection) -> Vec<&str> {
    let rejected = selection.rejected.iter();
    let over = rejected.filter(|r| r.reason == RejectReason::Route(RouteError::Budget));
    over.map(|r| r.engine.as_str()).collect()
}

#[test]
fn auto_selects_baseline_without_budget_and_reports_engines_over_budget() {
    let cases = [
        (random(60, 120, 200, 7), "updn"),
        (damaged(&[6, 6, 5]), "dor"),
    ];
    for (fabric, baseline) in cases {
        let topo = fabric.build();
        let selection = auto(&topo, &WorkBudget::limited(0));
        let (routing, proof) = selection.chosen.as_ref().unwrap();
        assert_eq!(routing.engine, baseline);
        assert!(proof.reversible);
        let over = over_budget(&selection);
        assert!(
            ["nue", "dfsssp"].iter().all(|e| over.contains(e)),
            "{over:?}"
        );
    }
}

#[test]
fn auto_selects_baseline_when_cancelled() {
    let topo = random(60, 120, 200, 7).build();
    let token = CancelToken::default();
    token.cancel();
    let selection = auto(&topo, &WorkBudget::unlimited().with_token(token));
    assert_eq!(selection.chosen.as_ref().unwrap().0.engine, "updn");
    assert_eq!(over_budget(&selection), ["nue", "dfsssp"]);
}

#[test]
fn sufficient_budget_selects_better_engine() {
    let topo = random(60, 120, 200, 7).build();
    let baseline = auto(&topo, &WorkBudget::limited(0)).chosen.unwrap().1;
    let (routing, proof) = auto(&topo, &WorkBudget::unlimited()).chosen.unwrap();
    assert_ne!(routing.engine, "updn");
    assert!(
        proof.max_load < baseline.max_load,
        "{} {}",
        proof.max_load,
        baseline.max_load
    );
}

/// After the loss of a link or switch, the engine of the installed tables (`pinned_engine`) is used
/// again, without a comparison of engines.
#[test]
fn engines_are_not_compared_after_a_loss() {
    let topo = random(60, 120, 200, 7).build();
    let (first, _) = auto(&topo, &WorkBudget::unlimited()).chosen.unwrap();
    for engine in ["updn", first.engine] {
        let previous = PreviousRouting {
            pinned_engine: Some(engine),
            ..PreviousRouting::from_tables_of(&first)
        };
        let budget = WorkBudget::unlimited();
        let request = RoutingRequest::new(&topo)
            .with_vls(8)
            .with_previous(&previous);
        let selection = route_with(&["auto", "no_fallback"], &request.with_budget(&budget));
        assert_eq!(selection.chosen.unwrap().0.engine, engine);
        assert!(selection.rejected.is_empty());
    }
    // If that engine exceeds the budget, the baseline is selected.
    let previous = PreviousRouting {
        pinned_engine: Some("nue"),
        ..PreviousRouting::none()
    };
    let budget = WorkBudget::limited(0);
    let request = RoutingRequest::new(&topo)
        .with_vls(8)
        .with_previous(&previous);
    let selection = route_with(&["auto", "no_fallback"], &request.with_budget(&budget));
    assert_eq!(selection.chosen.unwrap().0.engine, "updn");
}

/// A configured engine is not part of the automatic selection.
#[test]
fn configured_engine_has_no_budget() {
    let topo = random(60, 120, 200, 7).build();
    let budget = WorkBudget::limited(0);
    let request = RoutingRequest::new(&topo).with_vls(8).with_budget(&budget);
    let selection = route_with(&["nue"], &request);
    assert_eq!(selection.chosen.unwrap().0.engine, "nue");
}

/// Number of limits tried per engine.
const LIMIT_STEPS: u64 = 8;

/// Under any limit an engine either stops soon after it or returns verified tables; the same limit
/// gives the same result again.
#[test]
fn engines_stop_at_limit_or_return_verified_tables() {
    let fabrics = [
        ("random", random(24, 40, 60, 3)),
        ("mesh", damaged(&[4, 4, 3])),
        ("dragonfly", dragonfly(9, 4, 2)),
    ];
    for (name, fabric) in fabrics {
        let topo = fabric.build();
        for engine in ["updn", "nue", "dfsssp", "lash", "dor", "sssp", "minhop"] {
            let run = |limit: u64| {
                let budget = WorkBudget::limited(limit);
                let request = RoutingRequest::new(&topo).with_vls(8).with_budget(&budget);
                (
                    engine_by_name(engine).unwrap().route(&request),
                    budget.spent(),
                )
            };
            let (complete_run, needed) = run(u64::MAX - 1);
            if complete_run.is_err() {
                continue;
            }
            let passes_verification =
                complete_run.is_ok_and(|r| verify(&topo, &r.tables, &r.vl_plan).is_ok());
            let mut stopped = 0;
            for part in 0..LIMIT_STEPS {
                let limit = needed * part / LIMIT_STEPS;
                let (result, spent) = run(limit);
                // One step of the accounting is the work for a few LIDs or for one search.
                assert!(
                    spent <= limit + needed / 4 + 200_000,
                    "{name} {engine}: {spent} of {limit}"
                );
                match &result {
                    Ok(r) => assert_eq!(
                        verify(&topo, &r.tables, &r.vl_plan).is_ok(),
                        passes_verification,
                        "{name} {engine} with {limit} of {needed}"
                    ),
                    Err(error) => {
                        assert_eq!(*error, RouteError::Budget, "{name} {engine}");
                        stopped += 1;
                    }
                }
                let again = run(limit).0;
                assert_eq!(
                    again.map(|r| r.tables),
                    result.map(|r| r.tables),
                    "{name} {engine}"
                );
            }
            assert!(
                stopped > 0 || needed < 10_000,
                "{name} {engine} ignores its budget"
            );
        }
    }
}
