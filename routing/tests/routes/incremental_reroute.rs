//! Guarantees of incremental reroute: only routes over lost links change, all other entries stay
//! the same, and the result passes verification.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::oracle;
use std::sync::Arc;

use crate::common::*;
use crate::grids::product;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::structure::grid::DimKind::{Full, Ring};
use ferrosm_routing::update::reroute::{RerouteLimits, reroute, reroute_within};
use ferrosm_routing::update::transition::{self, Transition, plan};
use ferrosm_routing::verify::{TreePorts, verify_with_trees};
use ferrosm_routing::{
    ENGINE_NAMES, PortSet, PreviousRouting, RerouteCache, Routing, RoutingRequest, SwitchIdx,
    Topology, TopologyBuilder, TreeConstraint, VerifiedRun, engine_by_name, reroute_installed,
    route_with, route_within_vl_plan, verify,
};
use proptest::prelude::*;

/// Routes, if the engine supports the fabric and its tables pass verification.
fn verified(engine: &str, topo: &Topology) -> Option<Routing> {
    let routing = engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo))
        .ok()?;
    verify(topo, &routing.tables, &routing.vl_plan).ok()?;
    Some(routing)
}

/// Any loss of balance and any number of moves is allowed.
const ANY: RerouteLimits = RerouteLimits {
    max_load_growth: f64::INFINITY,
    max_changed_share: 1.0,
    always_allowed_entries: 0,
};

/// Whether the old path from a switch to a LID still exists.
fn path_exists(
    old: &Topology,
    new: &Topology,
    routing: &Routing,
    from: SwitchIdx,
    lid: Lid,
) -> bool {
    oracle::follow(old, &routing.tables, from, lid).is_ok_and(|crossed| {
        crossed
            .iter()
            .all(|&(s, p)| new.neighbor(SwitchIdx(s), PortNum(p)).is_some())
    })
}

/// Entries that changed although their path still exists; `None` if unchanged tables were copied.
fn needlessly_moved_entries(
    old: &Topology,
    new: &Topology,
    before: &Routing,
    after: &Routing,
) -> Option<usize> {
    let mut count = 0;
    for s in new.switches() {
        let (old_lft, new_lft) = (&before.tables[s.index()], &after.tables[s.index()]);
        if old_lft == new_lft && !Arc::ptr_eq(old_lft, new_lft) {
            return None;
        }
        for d in new.destinations() {
            let known = old.destinations().contains(d);
            count += usize::from(
                known
                    && old_lft.get(d.lid) != new_lft.get(d.lid)
                    && path_exists(old, new, before, s, d.lid),
            );
        }
    }
    Some(count)
}

/// Removes some links without partitioning the fabric.
fn lose(fabric: &Fabric, how_many: usize, rng: &mut Lcg) -> Fabric {
    let mut reduced = fabric.clone();
    for _ in 0..how_many {
        if reduced.links.is_empty() {
            break;
        }
        let candidate = reduced.without_link(rng.below(reduced.links.len()));
        if candidate.connected() {
            reduced = candidate;
        }
    }
    reduced
}

/// Reroutes and checks all guarantees. Returns whether there was an incremental reroute.
fn check(engine: &str, fabric: &Fabric, reduced: &Fabric) -> Option<bool> {
    let (old, new) = (Arc::new(fabric.build()), reduced.build());
    let before = verified(engine, &old)?;
    let with_cache = PreviousRouting::from_routing(&old, &before);
    with_cache.last_run.as_ref().unwrap().prepare();
    let without_cache = PreviousRouting::from_routing(&old, &before);
    let mut rerouted = false;
    // From the cached state of the run, and from the run alone.
    for previous in [&with_cache, &without_cache] {
        let request = RoutingRequest::new(&new).with_previous(previous);
        if let Some(after) = reroute_within(&request, &ANY) {
            check_guarantees(engine, (&old, &before), (&new, &after));
            rerouted = true;
        }
    }
    Some(rerouted)
}

fn check_guarantees(
    engine: &str,
    (old, before): (&Topology, &Routing),
    (new, after): (&Topology, &Routing),
) {
    assert_eq!(after.engine, before.engine);
    verify(new, &after.tables, &after.vl_plan).unwrap_or_else(|e| panic!("{engine}: {e}"));
    assert_eq!(
        oracle::check_tables(new, &after.tables, &after.vl_plan),
        oracle::Verdict::Good
    );
    assert_eq!(
        needlessly_moved_entries(old, new, before, after),
        Some(0),
        "{engine}"
    );
}

/// Loses one link after the other, as the subnet manager does; each reroute starts from the cached
/// state of the last. The reported figures equal those of a full verification, multicast trees
/// within the constraint are deadlock-free, and transition plans do not depend on cached state.
/// Returns the number of incremental reroutes.
fn lose_links_one_by_one(engine: &str, complete: &Fabric, losses: usize, seed: u64) -> usize {
    let mut fabric = complete.clone();
    let mut rng = Lcg(seed);
    let topo = Arc::new(fabric.build());
    let Some(routing) = verified(engine, &topo) else {
        return 0;
    };
    let mut previous = PreviousRouting::from_routing(&topo, &routing);
    let mut rerouted = 0;
    for _ in 0..losses {
        let last = previous.last_run.clone().unwrap();
        if rng.below(3) > 0 {
            last.prepare();
        }
        let reduced = lose(&fabric, 1, &mut rng);
        let next = Arc::new(reduced.build());
        let request = RoutingRequest::new(&next).with_previous(&previous);
        let selection = route_with(&[engine, "updn"], &request);
        let (routing, proof) = selection.chosen.unwrap();
        assert_eq!(
            Ok(&proof),
            verify(&next, &routing.tables, &routing.vl_plan).as_ref()
        );
        assert_eq!(
            oracle::check_tables(&next, &routing.tables, &routing.vl_plan),
            oracle::Verdict::Good
        );
        trees_are_safe(&next, &routing, &mut rng);
        let plan = |cache: &RerouteCache| {
            transition::plan_with(
                &next,
                &previous.lfts,
                &routing.tables,
                &routing.vl_plan,
                cache,
            )
        };
        assert_eq!(plan(&selection.cache), plan(&RerouteCache::new()));
        rerouted += usize::from(selection.rerouted);
        let run = VerifiedRun {
            topo: Arc::clone(&next),
            routing: routing.clone(),
            baseline_max_load: last.baseline_max_load,
            cache: selection.cache,
        };
        previous = PreviousRouting::from_routing(&next, &routing);
        previous.last_run = Some(Arc::new(run));
        fabric = reduced;
    }
    rerouted
}

/// Checks that a tree of some end ports, within the constraint, is deadlock-free together with the
/// routes.
fn trees_are_safe(topo: &Topology, routing: &Routing, rng: &mut Lcg) {
    let TreeConstraint::Within { up, sl } = &routing.trees else {
        return;
    };
    let mut ports: Vec<(SwitchIdx, PortSet)> =
        topo.switches().map(|s| (s, PortSet::new())).collect();
    for (s, port) in topo.switches().zip(up) {
        if let Some((peer, peer_port)) = port.and_then(|p| topo.neighbor(s, p)) {
            ports[s.index()].1.insert(port.unwrap());
            ports[peer.index()].1.insert(peer_port);
        }
        for end_port in topo.end_ports(s) {
            if rng.below(2) == 0 {
                ports[s.index()].1.insert(end_port.port);
            }
        }
    }
    ports.retain(|(_, set)| set.iter().next().is_some());
    let tree = TreePorts { sl: *sl, ports };
    let proof = verify_with_trees(topo, &routing.tables, &routing.vl_plan, &[tree]);
    // Members on a switch without any link cannot be connected.
    if let Err(failure) = proof {
        assert_eq!(failure.cycle, None, "{failure}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reroutes_continue_from_cached_state(
        n in 2usize..14, extra in 0usize..24, hosts in 1usize..16, engine in 0..ENGINE_NAMES.len(), seed: u64,
    ) {
        lose_links_one_by_one(ENGINE_NAMES[engine], &random(n, extra, hosts, seed), 6, !seed);
    }
}

/// Most losses are handled by incremental reroute, with one VL and with several.
#[test]
fn reroutes_one_lost_link_after_another() {
    for (fabric, engines) in [
        (torus(&[4, 4], 2), &["dfsssp", "lash", "nue", "dor"][..]),
        (ring(7, 2), &["dfsssp", "lash", "nue"]),
        (
            three_level(3),
            &["dmodc", "updn", "minhop", "sssp", "dfsssp", "nue"],
        ),
        (dragonfly(5, 4, 2), &["dfsssp", "nue"]),
    ] {
        let rerouted: Vec<usize> = engines
            .iter()
            .map(|e| lose_links_one_by_one(e, &fabric, 6, 11))
            .collect();
        assert!(
            rerouted.iter().sum::<usize>() > 2 * engines.len(),
            "{engines:?}: {rerouted:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any connected multigraph, one to four links lost, every engine that supports it: the result
    /// passes verification and no entry moves without need. Up/down nearly always reroutes
    /// incrementally.
    #[test]
    fn lost_links_move_only_routes_over_them(
        n in 2usize..16, extra in 0usize..30, hosts in 0usize..20, lost in 1usize..5, seed: u64,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let reduced = lose(&fabric, lost, &mut Lcg(seed ^ 1));
        for engine in ENGINE_NAMES {
            check(engine, &fabric, &reduced);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Trees with up to three links lost.
    #[test]
    fn reroutes_trees_with_lost_links(seed: u64, lost in 1usize..4, sharp: bool) {
        let fabric = if sharp { three_level(3).with_sharp() } else { three_level(3) };
        let reduced = lose(&fabric, lost, &mut Lcg(seed));
        for engine in ENGINE_NAMES {
            check(engine, &fabric, &reduced);
        }
    }
}

/// Nearly all losses of a single redundant link are handled by incremental reroute.
#[test]
fn reroutes_nearly_every_single_loss() {
    for (fabric, engines) in [
        (three_level(4), &["updn", "minhop"][..]),
        (two_level(12, 6, 6, 1).with_sharp(), &["updn", "minhop"]),
        (two_level(6, 3, 4, 2), &["updn", "minhop"]),
        (torus(&[4, 4], 2), &["updn"]),
        (hypercube(4, 1), &["updn"]),
        (random(24, 30, 48, 7), &["updn"]),
    ] {
        for engine in engines {
            let (mut tried, mut done) = (0, 0);
            for i in (0..fabric.links.len()).step_by(1 + fabric.links.len() / 40) {
                let reduced = fabric.without_link(i);
                if verified(engine, &reduced.build()).is_some() {
                    tried += 1;
                    done += usize::from(check(engine, &fabric, &reduced) == Some(true));
                }
            }
            println!("{engine}: {done} of {tried}");
            assert!(done * 100 >= tried * 90, "{engine}: {done} of {tried}");
        }
    }
}

/// A leaf of a full tree loses a link: paths between end ports stay as short, the load of a channel
/// grows by at most the routes to one LID, and the default limits admit it.
#[test]
fn rerouted_tree_stays_short_and_balanced() {
    let fabric = three_level(4);
    let old = Arc::new(fabric.build());
    for engine in ["updn", "minhop"] {
        let before = verified(engine, &old).unwrap();
        let max = verify(&old, &before.tables, &before.vl_plan)
            .unwrap()
            .max_load;
        for i in (0..fabric.links.len()).step_by(7) {
            let new = fabric.without_link(i).build();
            let previous = PreviousRouting::from_routing(&old, &before);
            let Some(after) = reroute(&RoutingRequest::new(&new).with_previous(&previous)) else {
                continue;
            };
            assert_eq!(
                oracle::detours(&new, &after.tables),
                0,
                "{engine}: link {i}"
            );
            let proof = verify(&new, &after.tables, &after.vl_plan).unwrap();
            assert!(
                proof.max_load <= 2 * max,
                "{engine}: link {i}: {}",
                proof.max_load
            );
        }
    }
}

/// Links are lost one after the other, each reroute starting from the last, until a tenth is lost.
#[test]
fn reroutes_start_from_rerouted_tables() {
    for (fabric, engine) in [(three_level(3), "updn"), (torus(&[4, 4], 2), "updn")] {
        let mut rng = Lcg(11);
        let mut current = fabric.clone();
        let mut topo = Arc::new(current.build());
        let mut routing = verified(engine, &topo).unwrap();
        let mut rerouted = 0;
        for _ in 0..fabric.links.len() / 10 {
            let reduced = lose(&current, 1, &mut rng);
            let next = Arc::new(reduced.build());
            let previous = PreviousRouting::from_routing(&topo, &routing);
            let after = reroute_within(&RoutingRequest::new(&next).with_previous(&previous), &ANY);
            rerouted += usize::from(after.is_some());
            routing = after.unwrap_or_else(|| verified(engine, &next).unwrap());
            verify(&next, &routing.tables, &routing.vl_plan).unwrap_or_else(|e| panic!("{e}"));
            (current, topo) = (reduced, next);
        }
        assert!(rerouted > 0);
    }
}

/// Unchanged fabric: the same allocations. A restored link: no incremental reroute, the engine
/// runs.
#[test]
fn changes_other_than_losses_are_not_rerouted() {
    let fabric = three_level(3);
    let (full, reduced) = (
        Arc::new(fabric.build()),
        Arc::new(fabric.without_link(40).build()),
    );
    let before = verified("updn", &full).unwrap();
    let same = reroute(
        &RoutingRequest::new(&full).with_previous(&PreviousRouting::from_routing(&full, &before)),
    )
    .unwrap();
    assert!(
        same.tables
            .iter()
            .zip(&before.tables)
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    let of_reduced = verified("updn", &reduced).unwrap();
    assert!(
        reroute(
            &RoutingRequest::new(&full)
                .with_previous(&PreviousRouting::from_routing(&reduced, &of_reduced))
        )
        .is_none()
    );
    assert!(
        reroute(
            &RoutingRequest::new(&full).with_previous(&PreviousRouting::from_tables_of(&before))
        )
        .is_none()
    );
    assert!(reroute(&RoutingRequest::new(&full)).is_none());
}

/// A fabric with these end ports: (switch, port, LID).
fn with_end_ports(fabric: &Fabric, end_ports: &[(usize, u8, u16)]) -> Topology {
    let mut b = TopologyBuilder::new();
    for (i, &ports) in fabric.ports.iter().enumerate() {
        b.switch(ports, Lid(i as u16 + 1));
    }
    let at = |s: usize, p: u8| (SwitchIdx(s as u32), PortNum(p));
    for &((s, p), (t, q)) in &fabric.links {
        b.link(at(s, p), at(t, q));
    }
    for &(s, p, lid) in end_ports {
        b.end_port(at(s, p), Lid(lid), 1);
    }
    b.build()
}

/// End ports are removed, added and moved, with and without a lost link: the result passes
/// verification, removed LIDs are dropped in every table, and no other entry moves.
#[test]
fn end_ports_are_added_and_removed() {
    let fabric = three_level(3);
    let all: Vec<(usize, u8, u16)> = (0u16..)
        .zip(&fabric.hosts)
        .map(|(i, &(s, p, _))| (s, p, 100 + i))
        .collect();
    let mut moved = all.clone();
    let location = (moved[3].0, moved[3].1);
    (moved[3].0, moved[3].1) = (moved[50].0, moved[50].1);
    (moved[50].0, moved[50].1) = location;
    for engine in ["updn", "minhop"] {
        let mut rerouted = 0;
        for link in [None, Some(30), Some(60)] {
            let linked = link.map_or_else(|| fabric.clone(), |c| fabric.without_link(c));
            for (from, to) in [
                (&all[..], &all[1..]),
                (&all[..], &all[..53]),
                (&all[1..], &all[..]),
                (&all[..53], &all[..]),
                (&all[3..], &all[..50]),
                (&all[..], &moved[..]),
            ] {
                let old = Arc::new(with_end_ports(&fabric, from));
                let new = with_end_ports(&linked, to);
                let before = verified(engine, &old).unwrap();
                let previous = PreviousRouting::from_routing(&old, &before);
                let after =
                    reroute_within(&RoutingRequest::new(&new).with_previous(&previous), &ANY);
                // A lost link may disconnect the order of switches; without a loss a reroute always
                // exists.
                let Some(after) = after else {
                    assert!(link.is_some(), "{engine}");
                    continue;
                };
                rerouted += 1;
                verify(&new, &after.tables, &after.vl_plan)
                    .unwrap_or_else(|e| panic!("{engine}: {e}"));
                assert_eq!(
                    needlessly_moved_entries(&old, &new, &before, &after),
                    Some(0)
                );
                for (_, _, lid) in all.iter().filter(|e| !to.contains(e)) {
                    let drops = after
                        .tables
                        .iter()
                        .all(|t| t.get(Lid(*lid)) == PortNum::DROP);
                    assert!(drops || to.iter().any(|t| t.2 == *lid));
                }
            }
        }
        assert!(rerouted >= 6, "{engine}: {rerouted}");
    }
}

/// The order of the switches keeps exactly one root.
#[test]
fn switch_order_keeps_one_root() {
    for fabric in [three_level(3), random(20, 25, 30, 3), torus(&[4, 4], 1)] {
        let old = Arc::new(fabric.build());
        let before = verified("updn", &old).unwrap();
        for i in 0..fabric.links.len() {
            let reduced = fabric.without_link(i);
            if !reduced.connected() {
                continue;
            }
            let new = reduced.build();
            let previous = PreviousRouting::from_routing(&old, &before);
            let Some(after) =
                reroute_within(&RoutingRequest::new(&new).with_previous(&previous), &ANY)
            else {
                continue;
            };
            let TreeConstraint::Ordered(order) = after.trees else {
                panic!("no switch order");
            };
            let tops = new.switches().filter(|&s| {
                let mut peers = new.links(s).iter().map(|l| l.peer);
                !peers.any(|p| order[p.index()] < order[s.index()])
            });
            assert_eq!(tops.count(), 1);
        }
    }
}

/// One and five workers give the same result.
#[test]
fn reroutes_are_independent_of_thread_count() {
    let fabric = three_level(4);
    let old = Arc::new(fabric.build());
    for engine in ["updn", "minhop"] {
        let before = verified(engine, &old).unwrap();
        let previous = PreviousRouting::from_routing(&old, &before);
        for link in [0, 100, 200] {
            let new = fabric.without_link(link).build();
            let tables_with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| {
                    reroute(&RoutingRequest::new(&new).with_previous(&previous)).map(|r| r.tables)
                })
            };
            assert_eq!(tables_with(1), tables_with(5));
        }
    }
}

/// A torus or HyperX loses a link, and the link returns: each time the VL plan stays. If the update
/// to the complete grid would drop packets, `route_within_vl_plan` preserves the routing.
#[test]
fn tori_keep_their_vl_plan_while_a_link_flaps() {
    for shape in [
        &[(Ring, 8), (Ring, 8)][..],
        &[(Ring, 6), (Ring, 5), (Ring, 6)],
        &[(Ring, 5), (Ring, 5)],
        &[(Full, 6), (Full, 6)],
    ] {
        let fabric = product(shape, 2, 1, 3);
        let whole = Arc::new(fabric.build());
        let request = RoutingRequest::new(&whole).with_vls(8);
        let (before, proof) = route_with(&["auto"], &request).chosen.unwrap();
        let mut previous = PreviousRouting::from_routing(&whole, &before);
        previous.last_run = Some(Arc::new(VerifiedRun {
            topo: Arc::clone(&whole),
            routing: before.clone(),
            baseline_max_load: proof.max_load,
            cache: RerouteCache::new(),
        }));
        for link in (0..fabric.links.len()).step_by(fabric.links.len() / 7) {
            let reduced = Arc::new(fabric.without_link(link).build());
            let request = RoutingRequest::new(&reduced)
                .with_vls(8)
                .with_previous(&previous);
            let (rerouted, _) = reroute_installed(&request)
                .and_then(|selection| selection.chosen)
                .or_else(|| route_within_vl_plan(&request))
                .unwrap();
            assert_eq!(rerouted.vl_plan, before.vl_plan, "{shape:?} {link}");
            let previous = PreviousRouting::from_routing(&reduced, &rerouted);
            let request = RoutingRequest::new(&whole)
                .with_vls(8)
                .with_previous(&previous);
            let (restored, _) = route_with(&["auto"], &request).chosen.unwrap();
            assert_eq!(restored.vl_plan, before.vl_plan, "{shape:?} {link}");
            if drains(&whole, &rerouted, &restored) {
                let (kept, _) = route_within_vl_plan(&request).unwrap();
                assert_eq!(kept.tables, rerouted.tables, "{shape:?} {link}");
            }
        }
    }
}

/// Whether the update from one routing to another drops packets.
fn drains(topo: &Topology, from: &Routing, to: &Routing) -> bool {
    let installed: Vec<_> = from.tables.iter().cloned().map(Some).collect();
    let plan = plan(topo, &installed, &to.tables, &to.vl_plan);
    matches!(plan, Transition::Drain { .. })
}
