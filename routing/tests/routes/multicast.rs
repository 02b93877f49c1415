//! Guarantees of multicast trees: they connect exactly the members, and any number of them is free
//! of credit loops together with the routes.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::*;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::multicast::{Member, MulticastTree, SpanningForest};
use ferrosm_routing::{
    ENGINE_NAMES, PortSet, Routing, RoutingRequest, SwitchIdx, Topology, TreeConstraint,
    engine_by_name, verify,
};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;
use proptest::prelude::*;

fn verified(engine: &str, topo: &Topology) -> Option<Routing> {
    let engine = engine_by_name(engine).unwrap();
    let routing = engine.route(&RoutingRequest::new(topo)).ok()?;
    verify(topo, &routing.tables, &routing.vl_plan).ok()?;
    Some(routing)
}

/// Some end ports and switches.
fn some_members(topo: &Topology, rng: &mut Lcg) -> Vec<Member> {
    let mut receives_by_port: BTreeMap<(SwitchIdx, PortNum), bool> = BTreeMap::new();
    for _ in 0..1 + rng.below(8) {
        let switch = SwitchIdx(rng.below(topo.num_switches()) as u32);
        let end_ports = topo.end_ports(switch);
        let port = if end_ports.is_empty() {
            PortNum::ZERO
        } else {
            end_ports[rng.below(end_ports.len())].port
        };
        receives_by_port.insert((switch, port), rng.below(4) > 0);
    }
    let member = |((switch, port), receives)| Member {
        switch,
        port,
        receives,
    };
    receives_by_port.into_iter().map(member).collect()
}

/// Checks that the ports form a tree that reaches all members and ends at switches of members only.
fn assert_is_tree_of(topo: &Topology, tree: &MulticastTree, members: &[Member]) {
    let ports: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
    let mut links = 0;
    let mut joined = petgraph::unionfind::UnionFind::<usize>::new(topo.num_switches());
    for (&s, set) in &ports {
        let mut own_links = 0;
        for port in set.iter() {
            if let Some((peer, peer_port)) = topo.neighbor(s, port) {
                assert!(ports[&peer].contains(peer_port), "a link with one end");
                own_links += 1;
                if (s, port) < (peer, peer_port) {
                    links += 1;
                    assert!(joined.union(s.index(), peer.index()), "a loop");
                }
            } else {
                assert!(
                    members
                        .iter()
                        .any(|m| (m.switch, m.port, m.receives) == (s, port, true))
                );
            }
        }
        let has_members = members.iter().any(|m| m.switch == s);
        assert!(has_members || own_links > 1, "a dead end without members");
    }
    assert_eq!(links, tree.num_links());
    assert!(tree.unreachable.is_empty());
    for m in members {
        assert!(ports.contains_key(&m.switch));
        assert_eq!(tree.ports_of(m.switch).contains(m.port), m.receives);
        assert!(
            joined.equiv(members[0].switch.index(), m.switch.index()),
            "in two parts"
        );
    }
}

type Node = (u32, u8, u8);

/// All dependencies of the routes on their VLs, packet by packet.
fn unicast_dependencies(topo: &Topology, routing: &Routing) -> DiGraphMap<Node, ()> {
    let mut dependencies = DiGraphMap::new();
    for d in topo.destinations() {
        for from in topo.switches() {
            let end_ports = topo.end_ports(from);
            if d.port == PortNum::ZERO && end_ports.is_empty() {
                continue;
            }
            let sl = routing.vl_plan.sl(from, d);
            for input in std::iter::once(PortNum::ZERO).chain(end_ports.iter().map(|e| e.port)) {
                let (mut at, mut input, mut before) = (from, input, None);
                while at != d.switch {
                    let port = routing.tables[at.index()].get(d.lid);
                    let vl = routing.vl_plan.vl(at, input, port, sl);
                    let node = (at.0, port.raw(), vl);
                    if let Some(before) = before.replace(node) {
                        dependencies.add_edge(before, node, ());
                    }
                    (at, input) = topo.neighbor(at, port).unwrap();
                }
            }
        }
    }
    dependencies
}

/// All dependencies of packets on a tree, which arrive on any port and leave on all others.
fn add_multicast_dependencies(
    topo: &Topology,
    routing: &Routing,
    tree: &MulticastTree,
    sl: u8,
    dependencies: &mut DiGraphMap<Node, ()>,
) {
    for (s, set) in tree.ports() {
        for input in set.iter() {
            let Some((u, peer_port)) = topo.neighbor(s, input) else {
                continue;
            };
            let inner = tree.ports_of(u).iter().filter(|&p| p != peer_port);
            let outer = topo
                .end_ports(u)
                .iter()
                .map(|e| e.port)
                .chain([PortNum::ZERO]);
            let vls: BTreeSet<u8> = inner
                .chain(outer)
                .map(|from| routing.vl_plan.vl(u, from, peer_port, sl))
                .collect();
            for out in set
                .iter()
                .filter(|&o| o != input && topo.neighbor(s, o).is_some())
            {
                for &vl in &vls {
                    let next_vl = routing.vl_plan.vl(s, input, out, sl);
                    dependencies.add_edge(
                        (u.0, peer_port.raw(), vl),
                        (s.0, out.raw(), next_vl),
                        (),
                    );
                }
            }
        }
    }
}

/// Ten groups with members that join and leave: valid trees at every step, and deadlock-free
/// together at the end.
fn groups_are_safe(engine: &str, topo: &Topology, seed: u64) -> bool {
    let Some(routing) = verified(engine, topo) else {
        return false;
    };
    let Ok(forest) = SpanningForest::new(topo, &routing) else {
        assert_eq!(
            routing.trees,
            TreeConstraint::Search,
            "{engine}: tree constraint without trees"
        );
        return false;
    };
    let mut rng = Lcg(seed);
    let mut dependencies = unicast_dependencies(topo, &routing);
    for group in 0..10 {
        let mut members = some_members(topo, &mut rng);
        let mut tree = forest.tree(&members, group);
        assert_is_tree_of(topo, &tree, &members);
        add_multicast_dependencies(topo, &routing, &tree, forest.sl, &mut dependencies);
        for _ in 0..4 {
            if members.len() > 1 && rng.below(2) == 0 {
                let removed = members.swap_remove(rng.below(members.len()));
                forest.leave(&mut tree, removed.switch, removed.port);
            } else {
                let joining = some_members(topo, &mut rng)[0];
                members.retain(|m| (m.switch, m.port) != (joining.switch, joining.port));
                members.push(joining);
                let before = tree.clone();
                forest.join(&mut tree, &joining, group);
                for (s, ports) in before.ports() {
                    let is_unchanged = ports.iter().all(|p| {
                        tree.ports_of(s).contains(p) || (s, p) == (joining.switch, joining.port)
                    });
                    assert!(is_unchanged, "an existing branch changed");
                }
            }
            assert_is_tree_of(topo, &tree, &members);
            add_multicast_dependencies(topo, &routing, &tree, forest.sl, &mut dependencies);
        }
    }
    assert!(
        toposort(&dependencies, None).is_ok(),
        "{engine}: a credit loop"
    );
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any connected graph, every engine whose routes pass verification.
    #[test]
    fn any_groups_are_deadlock_free_with_the_routes(
        n in 1usize..14, extra in 0usize..20, hosts in 0usize..20, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        for engine in ENGINE_NAMES {
            let done = groups_are_safe(engine, &topo, seed);
            prop_assert!(done || *engine != "updn");
        }
    }
}

/// Trees and tori, every engine; on trees every verified routing has a compatible multicast tree.
#[test]
fn groups_on_regular_fabrics_are_deadlock_free() {
    for (fabric, must_verify) in [
        (two_level(4, 2, 2, 1), true),
        (three_level(2), true),
        (two_level(4, 3, 2, 2).with_sharp(), false),
        (torus(&[3, 3], 1), false),
        (ring(5, 1), false),
    ] {
        let topo = fabric.build();
        for engine in ENGINE_NAMES {
            let done = groups_are_safe(engine, &topo, 9);
            assert!(
                done || !must_verify || verified(engine, &topo).is_none(),
                "{engine}"
            );
        }
    }
}

/// Members on three leaves of a two-level tree: one spine is the root, a different one for each
/// group.
#[test]
fn tree_roots_are_central_and_alternate() {
    let topo = two_level(6, 3, 3, 1).build();
    let routing = verified("updn", &topo).unwrap();
    let forest = SpanningForest::new(&topo, &routing).unwrap();
    let on = |s: u32, p: u8| Member {
        switch: SwitchIdx(s),
        port: PortNum(p),
        receives: true,
    };
    let members = [on(1, 1), on(4, 2), on(5, 1)];
    let roots: BTreeSet<SwitchIdx> = (0..3)
        .map(|group| {
            let tree = forest.tree(&members, group);
            assert_eq!(tree.num_links(), 3);
            tree.root().unwrap()
        })
        .collect();
    assert_eq!(roots.len(), 3);
}

/// One switch: no links, the ports of its members. One member, a send-only member, an invalid
/// member.
#[test]
fn small_groups_and_invalid_members_are_handled() {
    let topo = three_level(2).build();
    let routing = verified("updn", &topo).unwrap();
    let forest = SpanningForest::new(&topo, &routing).unwrap();
    let on = |s: u32, p: u8, receives| Member {
        switch: SwitchIdx(s),
        port: PortNum(p),
        receives,
    };
    let tree = forest.tree(&[on(2, 1, true), on(2, 2, true)], 7);
    assert_eq!(
        (tree.num_links(), tree.ports_of(SwitchIdx(2)).len()),
        (0, 2)
    );
    assert_eq!(forest.tree(&[on(3, 1, true)], 7).ports().count(), 1);
    let sender = forest.tree(&[on(0, 1, true), on(7, 1, false)], 7);
    assert!(sender.num_links() > 0 && !sender.ports_of(SwitchIdx(7)).contains(PortNum(1)));
    let lost = forest.tree(&[on(0, 1, true), on(999, 1, true), on(1, 200, true)], 7);
    assert_eq!((lost.unreachable.len(), lost.num_links()), (2, 0));
    assert_eq!(forest.tree(&[], 7).ports().count(), 0);
    // The second member leaves again: only the first remains, then none.
    let mut tree = sender;
    forest.leave(&mut tree, SwitchIdx(7), PortNum(1));
    assert_eq!(tree.ports().count(), 1);
    forest.leave(&mut tree, SwitchIdx(0), PortNum(1));
    assert_eq!(tree.ports().count(), 0);
}
