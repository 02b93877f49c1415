//! Verification of multicast trees: invalid trees are rejected, and credit loops with unicast
//! routes or other trees are found, in agreement with an oracle that follows every copy of every
//! packet.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::common::*;
use crate::oracle;
use crate::oracle::VirtualChannel;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::verify::{TreeFault, TreePorts, verify_with_trees};
use ferrosm_routing::{
    PathSl, PortSet, RoutingRequest, SlToVl, SlToVlMaps, SwitchIdx, Tables, Topology, VlPlan,
    engine_by_name, verify,
};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;
use proptest::prelude::*;

fn tables(engine: &str, topo: &Topology) -> Tables {
    let engine = engine_by_name(engine).unwrap();
    engine.route(&RoutingRequest::new(topo)).unwrap().tables
}

/// A random spanning tree of a connected graph, reduced to what connects its members.
fn random_tree(topo: &Topology, rng: &mut Lcg, sl: u8) -> TreePorts {
    let n = topo.num_switches();
    let mut sets = vec![PortSet::new(); n];
    let mut reached = vec![false; n];
    reached[rng.below(n)] = true;
    for _ in 1..n {
        let mut ports: Vec<_> = topo
            .switches()
            .filter(|s| reached[s.index()])
            .flat_map(|s| topo.links(s).iter().map(move |l| (s, *l)))
            .filter(|(_, l)| !reached[l.peer.index()])
            .collect();
        let (s, l) = ports.swap_remove(rng.below(ports.len()));
        reached[l.peer.index()] = true;
        sets[s.index()].insert(l.port);
        sets[l.peer.index()].insert(l.peer_port);
    }
    for s in topo.switches() {
        for e in topo.end_ports(s) {
            if rng.below(2) == 0 {
                sets[s.index()].insert(e.port);
            }
        }
        if rng.below(4) == 0 {
            sets[s.index()].insert(PortNum::ZERO);
        }
    }
    // Some branches without members stay; no packet enters the tree there.
    for _ in 0..rng.below(2 * n) {
        let s = SwitchIdx(rng.below(n) as u32);
        let mut ports = sets[s.index()].iter();
        if let (Some(port), None) = (ports.next(), ports.next())
            && let Some((peer, peer_port)) = topo.neighbor(s, port)
        {
            sets[s.index()].remove(port);
            sets[peer.index()].remove(peer_port);
        }
    }
    let ports = topo.switches().zip(sets);
    TreePorts {
        sl,
        ports: ports.filter(|(_, set)| !set.is_empty()).collect(),
    }
}

/// Adds the dependencies of the copies of a packet, hop by hop from its input port.
fn follow(
    topo: &Topology,
    vl_plan: &VlPlan,
    tree: &TreePorts,
    at: SwitchIdx,
    input: PortNum,
    before: Option<VirtualChannel>,
    dependencies: &mut DiGraphMap<VirtualChannel, ()>,
) {
    let set = tree.ports.iter().find(|p| p.0 == at).unwrap().1;
    for output in set.iter().filter(|&p| p != input) {
        let Some((next, port)) = topo.neighbor(at, output) else {
            continue;
        };
        let channel = (at.0, output.raw(), vl_plan.vl(at, input, output, tree.sl));
        if let Some(before) = before {
            dependencies.add_edge(before, channel, ());
        }
        follow(topo, vl_plan, tree, next, port, Some(channel), dependencies);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Random fabrics, tables of either engine, up to three random trees on two VLs: verification
    /// and oracle agree.
    #[test]
    fn trees_and_routes_are_verified_together(
        n in 1usize..9, extra in 0usize..10, hosts in 0usize..12, seed: u64, minhop: bool, count in 0usize..4,
        by_ports: bool,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        let mut rng = Lcg(!seed);
        let tables = tables(if minhop { "minhop" } else { "updn" }, &topo);
        let maps = topo.switches().map(|s| {
            let ports = topo.num_ports(s);
            let mut maps = SlToVlMaps::uniform(ports, std::array::from_fn(|sl| (sl % 2) as u8));
            for _ in 0..rng.below(20) {
                let (input, output) = (rng.below(8) as u8, rng.below(8) as u8);
                let map = std::array::from_fn(|_| rng.below(2) as u8);
                maps.set(PortNum(input % ports), PortNum(output % ports), map);
            }
            maps
        });
        let maps = maps.collect();
        let vl_plan = VlPlan {
            sl_to_vl: if by_ports { SlToVl::PerPorts(maps) } else { SlToVl::Modulo },
            ..VlPlan::modulo(2, PathSl::Uniform(0))
        };
        let trees: Vec<TreePorts> = (0..count)
            .map(|_| {
                let sl = rng.below(2) as u8;
                random_tree(&topo, &mut rng, sl)
            })
            .collect();
        let mut dependencies = oracle::dependencies(&topo, &tables, &vl_plan);
        let of_tables = dependencies.edge_count() as u64;
        for tree in &trees {
            for (s, set) in &tree.ports {
                for input in set.iter().filter(|&p| topo.neighbor(*s, p).is_none()) {
                    follow(&topo, &vl_plan, tree, *s, input, None, &mut dependencies);
                }
            }
        }
        let safe = toposort(&dependencies, None).is_ok();
        match verify_with_trees(&topo, &tables, &vl_plan, &trees) {
            Ok(proof) => {
                prop_assert!(safe);
                prop_assert_eq!(proof.dependencies, of_tables);
            }
            Err(failure) => {
                prop_assert!(!safe, "{}", failure);
                prop_assert!(failure.cycle.is_some());
            }
        }
    }
}

/// Ports of a tree, as (switch, ports).
fn tree(ports: &[(u32, &[u8])]) -> TreePorts {
    let set = |&(s, ports): &(u32, &[u8])| {
        let ports = ports.iter().map(|&p| PortNum(p));
        (SwitchIdx(s), ports.collect())
    };
    TreePorts {
        sl: 0,
        ports: ports.iter().map(set).collect(),
    }
}

/// Four switches in a ring: port 1 is the end port; switch 0 has ports 2 (to 1) and 3 (to 3),
/// switch 1 ports 2 (to 0) and 3 (to 2), switch 2 ports 2 (to 1) and 3 (to 3), switch 3 ports 2 (to
/// 2) and 3 (to 0).
#[test]
fn invalid_trees_are_rejected() {
    let topo = ring(4, 1).build();
    assert_eq!(
        topo.neighbor(SwitchIdx(3), PortNum(3)),
        Some((SwitchIdx(0), PortNum(3)))
    );
    let t = tables("updn", &topo);
    let fault = |tree: TreePorts, vl_plan: &VlPlan| {
        let complete = self::tree(&[(0, &[1, 2]), (1, &[1, 2])]);
        let failure = verify_with_trees(&topo, &t, vl_plan, &[complete, tree]).unwrap_err();
        let broken = failure.tree.unwrap();
        assert_eq!(broken.tree, 1);
        broken.fault
    };
    let one = VlPlan::single();
    let (at, port) = (SwitchIdx(0), PortNum(2));
    // The other end is not in the tree, or not with that port.
    assert_eq!(
        fault(tree(&[(0, &[1, 2])]), &one),
        TreeFault::DanglingPort { at, port }
    );
    assert_eq!(
        fault(tree(&[(0, &[1, 2]), (1, &[1])]), &one),
        TreeFault::DanglingPort { at, port }
    );
    let dangling = TreeFault::DanglingPort {
        at,
        port: PortNum(9),
    };
    assert_eq!(fault(tree(&[(0, &[1, 9])]), &one), dangling);
    let cyclic = tree(&[(0, &[1, 2, 3]), (1, &[2, 3]), (2, &[2, 3]), (3, &[2, 3])]);
    assert!(matches!(fault(cyclic, &one), TreeFault::Cycle { .. }));
    let disconnected = tree(&[(0, &[1, 2]), (1, &[1, 2]), (3, &[0])]);
    assert_eq!(
        fault(disconnected, &one),
        TreeFault::Disconnected { at: SwitchIdx(3) }
    );
    let behind = tree(&[(0, &[1, 2]), (1, &[1, 2]), (2, &[3]), (3, &[1, 2])]);
    assert_eq!(
        fault(behind, &one),
        TreeFault::Disconnected { at: SwitchIdx(3) }
    );
    let sl = TreePorts {
        sl: 16,
        ..tree(&[(0, &[1, 2]), (1, &[1, 2])])
    };
    assert!(matches!(fault(sl, &one), TreeFault::NoVl { sl: 16, .. }));
    let empty = tree(&[(0, &[2]), (1, &[2])]);
    assert!(verify_with_trees(&topo, &t, &one, &[empty]).is_ok());
}

/// Up/down leaves one turn of a ring unused. A tree with this turn closes a credit loop, except on
/// another VL.
#[test]
fn tree_with_forbidden_turn_needs_its_own_vl() {
    let topo = ring(4, 1).build();
    let t = tables("updn", &topo);
    assert!(verify(&topo, &t, &VlPlan::single()).is_ok());
    // All four chains of three links: some of them use the turn.
    let chain = |gap: u32, sl: u8| {
        let ports = (0..4).map(|s| {
            let mut set: PortSet = [1, 2, 3].map(PortNum).into_iter().collect();
            for port in [2, 3].map(PortNum) {
                let (peer, _) = topo.neighbor(SwitchIdx(s), port).unwrap();
                let link = if (s + 1) % 4 == peer.0 { s } else { peer.0 };
                if link == gap {
                    set.remove(port);
                }
            }
            (SwitchIdx(s), set)
        });
        TreePorts {
            sl,
            ports: ports.collect(),
        }
    };
    let vl_plan = VlPlan::modulo(2, PathSl::Uniform(0));
    let safe = |sl| {
        (0..4)
            .map(|gap| verify_with_trees(&topo, &t, &vl_plan, &[chain(gap, sl)]).is_ok())
            .collect::<Vec<_>>()
    };
    let on_vl_0 = safe(0);
    assert!(on_vl_0.contains(&false) && on_vl_0.contains(&true));
    assert_eq!(safe(1), [true; 4]);
    // Two chains on the other VL that omit different links form a credit loop.
    assert!(verify_with_trees(&topo, &t, &vl_plan, &[chain(0, 1), chain(2, 1)]).is_err());
}
