//! Guarantees of a transition plan from old to new tables: in any order of writes that it allows,
//! no packet loops and no credit loop forms.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::update::transition::{Conflict, Transition, plan, plan_with};
use ferrosm_routing::{
    ENGINE_NAMES, Lft, RerouteCache, RoutingRequest, SwitchIdx, Tables, Topology, VerifiedRun,
    VlPlan, changed_blocks, engine_by_name, verify,
};
use proptest::prelude::*;

/// Tables in which all packets follow one random spanning tree: no loop, no credit loop, and little
/// in common with other tables.
fn tree_tables(topo: &Topology, seed: u64) -> Tables {
    let mut rng = Lcg(seed);
    let n = topo.num_switches();
    let mut up: Vec<Option<PortNum>> = vec![None; n];
    let mut in_tree = vec![rng.below(n)];
    while in_tree.len() < n {
        let s = SwitchIdx(in_tree[rng.below(in_tree.len())] as u32);
        let links = topo.links(s);
        let link = links[rng.below(links.len())];
        if !in_tree.contains(&link.peer.index()) {
            up[link.peer.index()] = Some(link.peer_port);
            in_tree.push(link.peer.index());
        }
    }
    let mut tables: Vec<Lft> = vec![Lft::drop_all(topo.top_lid()); n];
    for d in topo.destinations() {
        for s in topo.switches() {
            if let Some(port) = up[s.index()] {
                tables[s.index()].set(d.lid, port);
            }
        }
        // Down to the destination: from each ancestor to its child on the path.
        tables[d.switch.index()].set(d.lid, d.port);
        let mut at = d.switch;
        while let Some(port) = up[at.index()] {
            let (parent, parent_port) = topo.neighbor(at, port).unwrap();
            tables[parent.index()].set(d.lid, parent_port);
            at = parent;
        }
    }
    tables.into_iter().map(Arc::new).collect()
}

/// Tables of some kind, verified on one VL.
fn some_tables(topo: &Topology, kind: usize, seed: u64) -> Tables {
    let engine = ["updn", "minhop", "tree"][kind];
    if let Some(engine) = engine_by_name(engine) {
        let tables = engine.route(&RoutingRequest::new(topo)).unwrap().tables;
        if verify(topo, &tables, &VlPlan::single()).is_ok() {
            return tables;
        }
    }
    tree_tables(topo, seed)
}

/// Writes blocks in random order; returns the first loop or credit loop of an intermediate state.
fn write(
    topo: &Topology,
    state: &mut Tables,
    to: &Tables,
    mut blocks: Vec<(usize, u16)>,
    rng: &mut Lcg,
) -> Option<Verdict> {
    while !blocks.is_empty() {
        let (s, block) = blocks.swap_remove(rng.below(blocks.len()));
        write_block(&mut state[s], &to[s], block);
        let verdict = check_tables(topo, state, &VlPlan::single());
        if matches!(verdict, Verdict::Loops | Verdict::CreditLoop) {
            return Some(verdict);
        }
    }
    None
}

fn differing(state: &Tables, to: &Tables) -> Vec<(usize, u16)> {
    let blocks = |(s, lft): (usize, &Arc<Lft>)| {
        changed_blocks(Some(&state[s]), lft)
            .map(|b| (s, b))
            .collect::<Vec<_>>()
    };
    to.iter().enumerate().flat_map(blocks).collect()
}

/// Follows a plan, with random orders within its stages.
fn follow(topo: &Topology, old: &Tables, new: &Tables, plan: &Transition, seed: u64) {
    let mut rng = Lcg(seed);
    let mut state = old.clone();
    match plan {
        Transition::AnyOrder => {
            let blocks = differing(&state, new);
            assert_eq!(write(topo, &mut state, new, blocks, &mut rng), None);
        }
        Transition::Stages(stages) => {
            for stage in stages {
                let blocks = stage.iter().map(|&(s, b)| (s.index(), b)).collect();
                assert_eq!(write(topo, &mut state, new, blocks, &mut rng), None);
            }
            let remaining = differing(&state, new);
            assert_eq!(write(topo, &mut state, new, remaining, &mut rng), None);
        }
        Transition::Drain { first, .. } => {
            for to in [first, new] {
                let blocks = differing(&state, to);
                assert_eq!(write(topo, &mut state, to, blocks, &mut rng), None);
            }
        }
    }
    assert!(differing(&state, new).is_empty());
}

fn known(tables: &Tables) -> Vec<Option<Arc<Lft>>> {
    tables.iter().cloned().map(Some).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any two verified sets of tables on any graph: the plan is safe in three random orders.
    #[test]
    fn plans_are_safe_in_every_allowed_order(
        n in 2usize..10, extra in 0usize..14, hosts in 1usize..12, seed: u64,
        from in 0usize..3, to in 0usize..3,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        let old = some_tables(&topo, from, seed ^ 1);
        let new = some_tables(&topo, to, seed ^ 2);
        let plan = plan(&topo, &known(&old), &new, &VlPlan::single());
        for order in 0..3 {
            follow(&topo, &old, &new, &plan, seed ^ order);
        }
    }

    /// Rings, where nearly every other order is unsafe.
    #[test]
    fn plans_are_safe_on_rings(n in 3usize..9, seed: u64) {
        let topo = ring(n, 1).build();
        let (old, new) = (tree_tables(&topo, seed), tree_tables(&topo, seed ^ 5));
        let plan = plan(&topo, &known(&old), &new, &VlPlan::single());
        for order in 0..3 {
            follow(&topo, &old, &new, &plan, seed ^ order);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A few old entries differ from verified ones; engines with one VL and with several. No new
    /// entry may use a drained link. Plans with and without the cached verification are equal.
    #[test]
    fn cached_state_changes_no_plan(
        n in 2usize..10, extra in 0usize..14, hosts in 1usize..12, seed: u64, differing in 1usize..6,
        engine in 0..ENGINE_NAMES.len(), drained: Option<prop::sample::Index>,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let whole = fabric.build();
        let reduced = drained.map(|link| fabric.without_link(link.index(fabric.links.len())));
        let routed = reduced.filter(Fabric::connected).unwrap_or_else(|| fabric.clone());
        let topo = Arc::new(routed.build());
        let engine = engine_by_name(ENGINE_NAMES[engine]).unwrap();
        let Ok(routing) = engine.route(&RoutingRequest::new(&topo)) else {
            return Ok(());
        };
        let mut old = known(&routing.tables);
        let mut rng = Lcg(!seed);
        for _ in 0..differing {
            let s = rng.below(n);
            let d = topo.destinations()[rng.below(topo.destinations().len())];
            let ports = usize::from(topo.num_ports(SwitchIdx(s as u32)));
            let mut lft = Lft::clone(old[s].as_ref().unwrap());
            lft.set(d.lid, PortNum(rng.below(ports + 1) as u8));
            old[s] = Some(Arc::new(lft));
        }
        let run = VerifiedRun {
            topo: Arc::clone(&topo),
            routing: routing.clone(),
            baseline_max_load: 0,
            cache: RerouteCache::new(),
        };
        run.prepare();
        let (new, vl_plan) = (&routing.tables, &routing.vl_plan);
        prop_assert_eq!(
            plan_with(&whole, &old, new, vl_plan, &run.cache),
            plan(&whole, &old, new, vl_plan)
        );
    }
}

/// The new paths of LIDs that are drained because of loops do not conflict with paths of other LIDs
/// that consist of old and new entries.
#[test]
fn drained_lids_do_not_conflict_with_others() {
    let seed = 8_097_822_574_812_995_251;
    let topo = random(6, 8, 11, seed).build();
    let (old, new) = (
        some_tables(&topo, 2, seed ^ 1),
        some_tables(&topo, 0, seed ^ 2),
    );
    let plan = plan(&topo, &known(&old), &new, &VlPlan::single());
    for order in 0..64 {
        follow(&topo, &old, &new, &plan, order);
    }
}

/// All three kinds of plans occur, and drains name their reason.
#[test]
fn every_kind_of_plan_occurs() {
    let (mut any, mut stages, mut drains, mut credit_loops) = (0, 0, 0, 0);
    for seed in 0..60 {
        let topo = if seed % 2 == 0 {
            ring(4 + seed as usize % 4, 1)
        } else {
            random(6, 4, 6, seed)
        };
        let topo = topo.build();
        let (old, new) = (tree_tables(&topo, seed), tree_tables(&topo, seed + 100));
        match plan(&topo, &known(&old), &new, &VlPlan::single()) {
            Transition::AnyOrder => any += 1,
            Transition::Stages(_) => stages += 1,
            Transition::Drain { conflict, .. } => {
                drains += 1;
                credit_loops += usize::from(matches!(conflict, Conflict::CreditLoop(_)));
            }
        }
    }
    println!(
        "{any} in any order, {stages} in stages, {drains} drained ({credit_loops} for credit loops)"
    );
    assert!(any > 0 && stages > 0 && drains > 0);
}

/// No order is required if nothing changed or nothing is known.
#[test]
fn unchanged_tables_need_no_order() {
    let topo = three_level(2).build();
    let tables = some_tables(&topo, 0, 0);
    let vl_plan = VlPlan::single();
    assert_eq!(
        plan(&topo, &known(&tables), &tables, &vl_plan),
        Transition::AnyOrder
    );
    assert_eq!(plan(&topo, &[], &tables, &vl_plan), Transition::AnyOrder);
}
