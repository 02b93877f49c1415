//! Guarantees of the reroute within the VL plan: it keeps routes that exist and the VLs of SLs in
//! use, whatever is lost or new, and the result passes verification.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::sync::Arc;

use crate::common::*;
use crate::oracle;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::multicast::{Member, SpanningForest};
use ferrosm_routing::{
    EarlierRun, PreviousRouting, Routing, RoutingRequest, SwitchIdx, Topology, TopologyBuilder,
    VlPlan, engine_by_name, route_within_vl_plan, verify,
};

const ENGINES: [&str; 7] = [
    "nue",
    "dfsssp",
    "lash",
    "torus-2QoS",
    "dor",
    "dragonfly",
    "diameter2",
];

fn fabrics() -> Vec<Fabric> {
    vec![
        torus(&[4, 4], 2),
        torus(&[5, 4], 1),
        torus(&[3, 3, 3], 1),
        dragonfly(5, 3, 2),
        random(14, 16, 30, 3),
        random(10, 20, 20, 8),
    ]
}

/// A routing on several VLs, if the engine finds one.
fn routed(engine: &str, topo: &Topology) -> Option<Routing> {
    let request = RoutingRequest::new(topo).with_vls(8);
    let engine = engine_by_name(engine).unwrap_or_else(|| panic!("no engine {engine}"));
    let routing = engine.route(&request).ok()?;
    verify(topo, &routing.tables, &routing.vl_plan).ok()?;
    (!routing.vl_plan.is_single()).then_some(routing)
}

fn assert_safe(topo: &Topology, after: &Routing, description: &str) {
    verify(topo, &after.tables, &after.vl_plan).unwrap_or_else(|e| panic!("{description}: {e}"));
    let verdict = oracle::check_tables(topo, &after.tables, &after.vl_plan);
    assert_eq!(verdict, oracle::Verdict::Good, "{description}");
    assert_trees_reach_all(topo, after, description);
}

/// A multicast group of all switches has one tree, unless no tree is free of deadlocks.
fn assert_trees_reach_all(topo: &Topology, routing: &Routing, description: &str) {
    let Ok(forest) = SpanningForest::new(topo, routing) else {
        return;
    };
    let member = |switch| Member {
        switch,
        port: PortNum::ZERO,
        receives: true,
    };
    let all: Vec<Member> = topo.switches().map(member).collect();
    let missing = forest.tree(&all, 0).unreachable;
    assert!(missing.is_empty(), "{description}: {missing:?}");
}

/// SLs that were in use have the same VL at the switches of both plans. `old`: the earlier index of
/// each switch.
fn assert_same_vls(
    topo: &Topology,
    (before, after): (&VlPlan, &VlPlan),
    old: impl Fn(SwitchIdx) -> Option<SwitchIdx>,
    description: &str,
) {
    let used = before.path_sl.used_sls();
    for s in topo.switches() {
        let Some(earlier) = old(s) else { continue };
        for link in topo.links(s) {
            for input in (0..=topo.num_ports(s)).map(PortNum) {
                for sl in (0..16).filter(|sl| used >> sl & 1 == 1) {
                    assert_eq!(
                        before.vl(earlier, input, link.port, sl),
                        after.vl(s, input, link.port, sl),
                        "{description}: SL {sl}"
                    );
                }
            }
        }
    }
}

/// Number of pairs of a switch and a LID whose entry changed although no part of their route was
/// lost.
fn moved_pairs(old: &Topology, new: &Topology, before: &Routing, after: &Routing) -> usize {
    let is_kept = |from, lid| {
        oracle::follow(old, &before.tables, from, lid).is_ok_and(|crossed| {
            let mut crossed = crossed.iter();
            crossed.all(|&(s, p)| new.neighbor(SwitchIdx(s), PortNum(p)).is_some())
        })
    };
    let pairs = new
        .switches()
        .flat_map(|s| new.destinations().iter().map(move |d| (s, d.lid)));
    pairs
        .filter(|&(s, lid)| {
            before.tables[s.index()].get(lid) != after.tables[s.index()].get(lid) && is_kept(s, lid)
        })
        .count()
}

/// Any lost link is rerouted without another VL plan. When it returns, nothing changes.
#[test]
fn lost_and_returned_links_are_rerouted_within_the_vl_plan() {
    let (mut cuts, mut moved) = (0, 0);
    for (number, fabric) in fabrics().into_iter().enumerate() {
        for engine in ENGINES {
            let old = Arc::new(fabric.build());
            let Some(before) = routed(engine, &old) else {
                continue;
            };
            let previous = PreviousRouting::from_routing(&old, &before);
            for link in (0..fabric.links.len()).step_by(4) {
                let reduced = fabric.without_link(link);
                if !reduced.connected() {
                    continue;
                }
                let description = format!("fabric {number} {engine} without link {link}");
                let new = Arc::new(reduced.build());
                let request = RoutingRequest::new(&new)
                    .with_previous(&previous)
                    .with_vls(8);
                let (after, _) = route_within_vl_plan(&request)
                    .unwrap_or_else(|| panic!("{description}: no routing"));
                assert_safe(&new, &after, &description);
                let plans = (&before.vl_plan, &after.vl_plan);
                assert_same_vls(&new, plans, Some, &description);
                cuts += 1;
                moved += usize::from(moved_pairs(&old, &new, &before, &after) > 0);
                let reduced = PreviousRouting::from_routing(&new, &after);
                let request = RoutingRequest::new(&old)
                    .with_previous(&reduced)
                    .with_vls(8);
                let (restored, _) = route_within_vl_plan(&request).unwrap();
                assert_eq!(restored.tables, after.tables, "{description}");
                assert_eq!(restored.vl_plan, after.vl_plan, "{description}");
            }
        }
    }
    assert!(cuts > 100, "{cuts} cuts");
    assert!(
        moved * 20 < cuts,
        "other routes moved after {moved} of {cuts} cuts"
    );
}

/// The fabric without one switch, and the former index of each switch.
fn without_switch(topo: &Topology, lost: usize) -> (Topology, Vec<SwitchIdx>) {
    let kept: Vec<SwitchIdx> = topo.switches().filter(|s| s.index() != lost).collect();
    let mut b = TopologyBuilder::new();
    for &s in &kept {
        b.switch(topo.num_ports(s), topo.lid(s));
    }
    let index = |s: SwitchIdx| {
        let at = kept.binary_search(&s).ok()?;
        Some(SwitchIdx(u32::try_from(at).unwrap()))
    };
    for &s in &kept {
        let here = index(s).unwrap();
        for link in topo.links(s) {
            if let Some(peer) = index(link.peer) {
                b.link((here, link.port), (peer, link.peer_port));
            }
        }
        for e in topo.end_ports(s) {
            b.end_port((here, e.port), e.lid, e.count);
        }
    }
    (b.build(), kept)
}

fn is_connected(topo: &Topology) -> bool {
    let mut found = vec![SwitchIdx(0)];
    let mut at = 0;
    while let Some(&s) = found.get(at) {
        at += 1;
        for link in topo.links(s) {
            if !found.contains(&link.peer) {
                found.push(link.peer);
            }
        }
    }
    found.len() == topo.num_switches()
}

/// A switch is lost, and returns: the other switches keep their entries for each other's LIDs.
#[test]
fn lost_and_new_switches_are_rerouted_within_the_vl_plan() {
    let mut lost_switches = 0;
    for (number, fabric) in fabrics().into_iter().enumerate() {
        for engine in ENGINES {
            let full = Arc::new(fabric.build());
            let Some(before) = routed(engine, &full) else {
                continue;
            };
            for lost in (0..full.num_switches()).step_by(5) {
                let description = format!("fabric {number} {engine} without switch {lost}");
                let (reduced, kept) = without_switch(&full, lost);
                if !is_connected(&reduced) {
                    continue;
                }
                let reduced = Arc::new(reduced);
                let run = PreviousRouting::from_routing(&full, &before)
                    .last_run
                    .unwrap();
                let mut previous = PreviousRouting::none();
                previous.earlier_run = Some(EarlierRun {
                    run,
                    switches: kept.iter().copied().map(Some).collect(),
                });
                let request = RoutingRequest::new(&reduced)
                    .with_previous(&previous)
                    .with_vls(8);
                let Some((after, _)) = route_within_vl_plan(&request) else {
                    continue;
                };
                lost_switches += 1;
                assert_safe(&reduced, &after, &description);
                let plans = (&before.vl_plan, &after.vl_plan);
                let old = |s: SwitchIdx| Some(kept[s.index()]);
                assert_same_vls(&reduced, plans, old, &description);
                let run = PreviousRouting::from_routing(&reduced, &after)
                    .last_run
                    .unwrap();
                let position = |s| kept.binary_search(&s).ok();
                let switches = full.switches().map(|s| {
                    let at = position(s)?;
                    Some(SwitchIdx(u32::try_from(at).unwrap()))
                });
                previous.earlier_run = Some(EarlierRun {
                    run,
                    switches: switches.collect(),
                });
                let request = RoutingRequest::new(&full)
                    .with_previous(&previous)
                    .with_vls(8);
                let (restored, _) = route_within_vl_plan(&request)
                    .unwrap_or_else(|| panic!("{description}: no routing with it"));
                assert_safe(&full, &restored, &description);
                for (at, s) in kept.iter().enumerate() {
                    for d in reduced.destinations() {
                        let (now, then) = (&restored.tables[s.index()], &after.tables[at]);
                        assert_eq!(now.get(d.lid), then.get(d.lid), "{description}");
                    }
                }
            }
        }
    }
    assert!(lost_switches > 20, "{lost_switches} lost switches");
}
