//! Fat trees: detection of complete and degraded trees, rejection of other shapes, and routing by
//! `dmodc`, `ftree`, `dnup` and `updn`.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::common::*;
use crate::oracle::{Verdict, check_tables};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::structure::tree::{DetectedTree, TreeMismatch, tree};
use ferrosm_routing::{
    Diagnostic, Hints, PreviousRouting, Proof, RouteError, Routing, RoutingRequest, ShapeError,
    SwitchIdx, Tables, Topology, TreeConstraint, engine_by_name, verify,
};
use proptest::prelude::*;

fn detect_tree(topo: &Topology) -> DetectedTree {
    tree(topo, &Hints::default()).unwrap()
}

fn route(engine: &str, topo: &Topology) -> Result<Routing, RouteError> {
    route_with_hints(engine, topo, &Hints::default())
}

fn route_with_hints(engine: &str, topo: &Topology, hints: &Hints) -> Result<Routing, RouteError> {
    engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo).with_hints(hints))
}

fn verified(topo: &Topology, routing: &Routing) -> Proof {
    verify(topo, &routing.tables, &routing.vl_plan).unwrap_or_else(|e| panic!("{e}"))
}

/// A PGFT: `m[i]` children, `w[i]` parents, `p[i]` links from level i to level i + 1; hosts are
/// level 0 with `m[0]` on each leaf. Leaves come first, roots last.
fn pgft(m: &[usize], w: &[usize], p: &[usize]) -> Fabric {
    let levels = w.len() + 1;
    let low = |level: usize| w[..level].iter().product::<usize>();
    let high = |level: usize| m[level + 1..].iter().product::<usize>();
    let base: Vec<usize> = (0..=levels)
        .map(|level| (0..level).map(|l| low(l) * high(l)).sum())
        .collect();
    let mut f = Fabric::switches(base[levels], 250);
    for level in 0..levels - 1 {
        for h in 0..high(level + 1) {
            for child in 0..m[level + 1] {
                for parent in 0..w[level] {
                    for l in 0..low(level) {
                        let below = base[level] + (h * m[level + 1] + child) * low(level) + l;
                        let above = base[level + 1] + (h * w[level] + parent) * low(level) + l;
                        (0..p[level]).for_each(|_| f.link(below, above));
                    }
                }
            }
        }
    }
    f.hosts_on(0..high(0), m[0]);
    f
}

/// Adds an aggregation node on an extra last port of every switch.
fn sharp(mut fabric: Fabric) -> Fabric {
    for (s, ports) in fabric.ports.iter_mut().enumerate() {
        *ports += 1;
        fabric.hosts.push((s, *ports, 1));
    }
    fabric
}

fn without(mut fabric: Fabric, percent: usize, seed: u64) -> Fabric {
    let mut rng = Lcg(seed);
    for _ in 0..fabric.links.len() * percent / 100 {
        let reduced = fabric.without_link(rng.below(fabric.links.len()));
        if reduced.connected() {
            fabric = reduced;
        }
    }
    fabric
}

/// The highest number of flows on a link, over all shifts of the hosts in the order of leaves, and
/// over all pairs.
fn congestion(topo: &Topology, tables: &Tables) -> (usize, usize) {
    let tree = detect_tree(topo);
    let hosts: Vec<(SwitchIdx, Lid)> = tree
        .leaves
        .iter()
        .flat_map(|&s| topo.end_ports(s).iter().map(move |e| (s, *e)))
        .filter(|(s, e)| !tree.is_service(topo, *s, e.port))
        .map(|(s, e)| (s, e.lid))
        .collect();
    let mut entries = vec![0; topo.num_switches() * 256];
    let mut worst = 0;
    for shift in 1..hosts.len() {
        let mut flows = vec![0; entries.len()];
        for (i, &(from, _)) in hosts.iter().enumerate() {
            let (to, lid) = hosts[(i + shift) % hosts.len()];
            let mut at = from;
            while at != to {
                let port = tables[at.index()].get(lid);
                let link = at.index() * 256 + port.index();
                flows[link] += 1;
                entries[link] += 1;
                at = topo.neighbor(at, port).unwrap().0;
            }
        }
        worst = worst.max(flows.into_iter().max().unwrap());
    }
    (worst, entries.into_iter().max().unwrap())
}

/// Full trees of 2 to 4 levels, with parallel links, with fewer hosts than uplinks, with an
/// aggregation node in every switch: levels, roots and columns match the definition, shifts have no
/// congestion, and no link exceeds the lower bound.
#[test]
fn full_trees_are_detected_and_shifts_have_no_congestion() {
    for (m, w, p) in [
        (vec![4, 4], vec![4], vec![1]),
        (vec![6, 8], vec![3], vec![2]),
        (vec![4, 4, 8], vec![4, 4], vec![1, 1]),
        (vec![4, 3, 4], vec![2, 6], vec![2, 1]),
        (vec![2, 2, 2, 4], vec![2, 2, 2], vec![1, 1, 1]),
        (vec![3, 4, 4], vec![4, 4], vec![1, 1]),
        (vec![2, 5], vec![6], vec![1]),
    ] {
        let plain = pgft(&m, &w, &p);
        for fabric in [plain.clone(), sharp(plain)] {
            let topo = fabric.build();
            let tree = detect_tree(&topo);
            assert_eq!(tree.levels(), m.len());
            assert_eq!(tree.leaves.len(), m[1..].iter().product::<usize>());
            assert_eq!(tree.roots.len(), w.iter().product::<usize>());
            assert_eq!(
                tree.arity[..w.len()],
                w.iter().map(|&w| w as u32).collect::<Vec<_>>()
            );
            assert_eq!(
                tree.parallel_links[..p.len()],
                p.iter().map(|&p| p as u32).collect::<Vec<_>>()
            );
            let hosts = m.iter().product::<usize>();
            let bound = (m[0] * (hosts - m[0]))
                .div_ceil(w[0] * p[0])
                .max(hosts - m[0]);
            for engine in ["dmodc", "ftree", "dnup", "updn", "minhop"] {
                let routing = route(engine, &topo).unwrap();
                assert_eq!(
                    congestion(&topo, &routing.tables),
                    (1, bound),
                    "{engine} {m:?} {w:?} {p:?}"
                );
                if engine != "minhop" {
                    verified(&topo, &routing);
                    assert!(matches!(routing.trees, TreeConstraint::Ordered(_)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random PGFTs without up to a fifth of their links, with hosts and aggregation nodes on
    /// spines, unequal and empty leaves, and switches behind others: a detected tree is routed and
    /// passes verification and the oracle.
    #[test]
    fn degraded_trees_are_routed(
        hosts in 1usize..4, m in prop::collection::vec(2usize..5, 1..3), w in prop::collection::vec(1usize..4, 2),
        p in prop::collection::vec(1usize..3, 2), percent in 0usize..20, changes in 0usize..6, seed: u64,
    ) {
        let levels = m.len();
        let mut children = vec![hosts];
        children.extend(&m);
        let mut fabric = without(pgft(&children, &w[..levels], &p[..levels]), percent, seed);
        let mut rng = Lcg(seed);
        for _ in 0..changes {
            let at = rng.below(fabric.ports.len());
            match rng.below(4) {
                0 => fabric.host(at, 1 << rng.below(3)),
                1 => {
                    fabric.hosts.retain(|&(s, ..)| s != at);
                }
                2 => {
                    let more = Fabric::switches(fabric.ports.len() + 1, 250);
                    fabric.ports = more.ports;
                    fabric = with_one_more(fabric, at);
                }
                _ => {
                    let other = rng.below(fabric.ports.len());
                    fabric.link(at, other);
                }
            }
        }
        if changes % 2 == 1 {
            fabric = fabric.with_sharp();
        }
        let topo = fabric.build();
        for engine in ["dmodc", "ftree", "dnup", "updn"] {
            match route(engine, &topo) {
                Ok(routing) => {
                    prop_assert!(verify(&topo, &routing.tables, &routing.vl_plan).is_ok());
                    prop_assert_eq!(check_tables(&topo, &routing.tables, &routing.vl_plan), Verdict::Good);
                }
                Err(RouteError::Shape(_)) => prop_assert!(matches!(engine, "dmodc" | "ftree")),
                Err(other) => panic!("{engine}: {other}"),
            }
        }
    }
}

/// Adds a switch behind another one.
fn with_one_more(fabric: Fabric, at: usize) -> Fabric {
    let n = fabric.ports.len();
    let mut more = Fabric::switches(n, 250);
    for &((a, _), (b, _)) in &fabric.links {
        more.link(a, b);
    }
    for &(s, _, lids) in &fabric.hosts {
        more.host(s, lids);
    }
    more.link(at, n - 1);
    more.host(n - 1, 1);
    more
}

/// The levels stay the same without a fifth of the links, in trees whose switches have several
/// links each.
#[test]
fn tree_levels_survive_losses() {
    for seed in 1..6 {
        for percent in [1, 5, 20] {
            for fabric in [
                two_level(24, 12, 12, 1),
                three_level(6),
                three_level(6).with_sharp(),
            ] {
                let complete = detect_tree(&fabric.build());
                let reduced = without(fabric, percent, seed).build();
                let tree = detect_tree(&reduced);
                assert_eq!(tree.rank, complete.rank, "seed {seed}, {percent} %");
                assert_eq!(tree.leaves, complete.leaves, "seed {seed}, {percent} %");
            }
        }
    }
}

/// Load of degraded trees relative to the minimum, which is the traffic of the worst leaf over its
/// remaining links. At most 1.8 times that, where least-loaded ports give 2 to 4 times.
#[test]
fn degraded_trees_stay_balanced() {
    for (fabric, percent) in [
        (two_level(24, 12, 12, 1), 1),
        (two_level(24, 12, 12, 1), 10),
        (two_level(24, 12, 12, 1), 20),
        (three_level(6), 1),
        (three_level(6), 10),
    ] {
        for seed in 1..4 {
            let topo = without(fabric.clone(), percent, seed).build();
            let hosts: usize = topo.switches().map(|s| topo.end_ports(s).len()).sum();
            let min_load = |s: SwitchIdx| {
                let own_end_ports = topo.end_ports(s).len();
                (own_end_ports * (hosts - own_end_ports)).div_ceil(topo.links(s).len())
            };
            let bound = topo.switches().map(min_load).max().unwrap();
            for engine in ["dmodc", "updn"] {
                let routing = route(engine, &topo).unwrap();
                verified(&topo, &routing);
                let (_, load) = congestion(&topo, &routing.tables);
                println!("{engine} {percent} % seed {seed}: {load} of {bound}");
                assert!(
                    10 * load <= 18 * bound,
                    "{engine} {percent} % seed {seed}: {load} of {bound}"
                );
            }
        }
    }
}

/// One link of a full tree lost: shifts have at most two flows on a link, apart from diverted ones,
/// and `ftree` still routes.
#[test]
fn ftree_accepts_a_lost_link() {
    let fabric = three_level(4);
    for i in (0..fabric.links.len()).step_by(7) {
        let topo = fabric.without_link(i).build();
        let routing = route("ftree", &topo).unwrap();
        verified(&topo, &routing);
        assert!(congestion(&topo, &routing.tables).0 <= 3, "link {i}");
    }
}

/// Tori, rings, hypercubes, dragonflies and random graphs are rejected with the reason.
#[test]
fn non_trees_are_rejected() {
    for fabric in [
        ring(5, 2),
        torus(&[4, 4], 2),
        torus(&[4, 4, 4], 1).with_sharp(),
        hypercube(5, 2),
        dragonfly(9, 4, 2),
        random(40, 80, 160, 3),
    ] {
        let topo = fabric.build();
        for engine in ["dmodc", "ftree"] {
            let RouteError::Shape(mismatch) = route(engine, &topo).unwrap_err() else {
                panic!("another error");
            };
            assert!(
                matches!(mismatch, ShapeError::NotATree(TreeMismatch::Pairs { .. })),
                "{mismatch}"
            );
        }
        verified(&topo, &route("dnup", &topo).unwrap());
    }
}

/// Like OpenSM, `ftree` rejects links within a level and larger link groups than elsewhere, unless
/// roots are configured.
#[test]
fn ftree_rejects_impure_trees() {
    let mut same_level = two_level(4, 4, 4, 1);
    same_level.ports = vec![40; 8];
    let mut thicker = same_level.clone();
    same_level.link(4, 5);
    thicker.link(0, 4);
    let unequal = ShapeError::UnequalLinkGroups {
        low: 0,
        high: 1,
        links: 2,
        usual: 1,
    };
    for (fabric, mismatch) in [
        (same_level, ShapeError::LinksWithinLevel(1)),
        (thicker, unequal),
    ] {
        let topo = fabric.build();
        assert_eq!(route("ftree", &topo).unwrap_err(), mismatch.into());
        verified(&topo, &route("dmodc", &topo).unwrap());
        let hints = Hints {
            roots: (4..8).map(SwitchIdx).collect(),
            ..Hints::default()
        };
        let routing = route_with_hints("ftree", &topo, &hints).unwrap();
        verified(&topo, &routing);
    }
}

/// A list of compute ports that names no port of the fabric is ignored with a diagnostic; one that
/// names hosts on leaves numbers them separately.
#[test]
fn compute_and_io_ports_are_numbered_separately() {
    let topo = two_level(6, 4, 5, 1).build();
    let no_ports = Hints {
        compute_ports: Some(Vec::new()),
        ..Hints::default()
    };
    let routing = route_with_hints("ftree", &topo, &no_ports).unwrap();
    assert_eq!(routing.tables, route("ftree", &topo).unwrap().tables);
    assert!(
        routing
            .diagnostics
            .contains(&Diagnostic::UnusedPortList("compute"))
    );
    // The fifth host of every leaf is no compute port: the other four use different spines.
    let leaves: Vec<SwitchIdx> = (0..6).map(SwitchIdx).collect();
    let compute = leaves
        .iter()
        .flat_map(|&s| topo.end_ports(s)[..4].iter().map(|e| e.lid));
    let hints = Hints {
        compute_ports: Some(compute.collect()),
        ..Hints::default()
    };
    let routing = route_with_hints("ftree", &topo, &hints).unwrap();
    verified(&topo, &routing);
    for &leaf in &leaves[1..] {
        let ports: std::collections::BTreeSet<PortNum> = topo.end_ports(leaf)[..4]
            .iter()
            .map(|e| routing.tables[0].get(e.lid))
            .collect();
        assert_eq!(ports.len(), 4);
    }
}

/// Configured roots are on top, even if the graph suggests otherwise; several of them are still
/// connected.
#[test]
fn configured_roots_are_on_top() {
    let topo = ring(7, 2).build();
    let hints = Hints {
        roots: vec![SwitchIdx(2), SwitchIdx(5)],
        ..Hints::default()
    };
    let routing = route_with_hints("updn", &topo, &hints).unwrap();
    verified(&topo, &routing);
    assert_eq!(
        check_tables(&topo, &routing.tables, &routing.vl_plan),
        Verdict::Good
    );
    let order = routing.order.unwrap();
    assert_eq!(order[2], 0);
    let tree = tree(&topo, &hints).unwrap();
    assert_eq!(tree.roots, hints.roots);
    assert_eq!(
        (tree.rank[2], tree.rank[5]),
        (tree.rank[3] + 1, tree.rank[4] + 1)
    );
}

/// Balance hints: a port whose load is not counted attracts routes, ports are used in the
/// configured order, and all tables pass verification.
#[test]
fn balance_hints_are_applied() {
    let topo = two_level(3, 2, 4, 1).build();
    let uplinks = |routing: &Routing| {
        let lids = topo
            .destinations()
            .iter()
            .filter(|d| d.switch.0 == 1 && d.port != PortNum::ZERO);
        lids.map(|d| routing.tables[0].get(d.lid).raw())
            .collect::<Vec<u8>>()
    };
    let sorted_uplinks = |hints: &Hints| {
        let routing = route_with_hints("updn", &topo, hints).unwrap();
        verified(&topo, &routing);
        let mut used = uplinks(&routing);
        used.sort_unstable();
        used
    };
    let ordered = Hints {
        port_order: vec![(SwitchIdx(0), vec![PortNum(6), PortNum(5)])],
        ..Hints::default()
    };
    assert_eq!(sorted_uplinks(&ordered), [5, 5, 6, 6]);
    let first = Hints {
        routing_order: vec![topo.end_ports(SwitchIdx(1))[3].lid],
        ..ordered
    };
    assert_eq!(
        uplinks(&route_with_hints("updn", &topo, &first).unwrap())[3],
        6
    );
    let spines = [SwitchIdx(3), SwitchIdx(4)]
        .iter()
        .map(|&s| (s, PortNum(2)));
    let free = Hints {
        load_balance_ignored: spines
            .chain([(SwitchIdx(0), PortNum(5)), (SwitchIdx(0), PortNum(6))])
            .collect(),
        ..Hints::default()
    };
    assert_eq!(sorted_uplinks(&free), [5, 5, 5, 5]);
}

/// A ring of five with a link weight of six hops: `minhop` uses the other direction, for this
/// direction of the link only.
#[test]
fn hop_weights_lengthen_paths() {
    let topo = ring(5, 1).build();
    let port = |from: u32, to: u32| {
        let links = topo.links(SwitchIdx(from)).iter();
        links
            .filter(|l| l.peer.0 == to)
            .map(|l| l.port)
            .next()
            .unwrap()
    };
    let hints = Hints {
        hop_weights: vec![(SwitchIdx(0), port(0, 1), 6)],
        ..Hints::default()
    };
    let routing = route_with_hints("minhop", &topo, &hints).unwrap();
    let host = |s: u32| topo.end_ports(SwitchIdx(s))[0].lid;
    assert_eq!(routing.tables[0].get(host(1)), port(0, 4));
    assert_eq!(routing.tables[4].get(host(1)), port(4, 3));
    assert_eq!(routing.tables[1].get(host(0)), port(1, 0));
}

/// A lost link moves mostly the entries that used it, and restoring it restores the tables; also
/// for `dmodc` and `ftree`.
#[test]
fn losses_move_few_entries_and_restoring_reverts_them() {
    let fabric = three_level(4);
    let topo = fabric.build();
    for engine in ["dmodc", "ftree", "dnup"] {
        let before = route(engine, &topo).unwrap();
        let after = |topo: &Topology, before: &Routing| {
            let previous = PreviousRouting::from_tables_of(before);
            let request = RoutingRequest::new(topo).with_previous(&previous);
            engine_by_name(engine).unwrap().route(&request).unwrap()
        };
        let (mut moved, mut used) = (0, 0);
        for (i, &((a, pa), (b, pb))) in fabric.links.iter().enumerate().step_by(5) {
            let reduced = fabric.without_link(i).build();
            let during = after(&reduced, &before);
            verified(&reduced, &during);
            let entries = |x: &Tables, y: &Tables| -> usize {
                let pairs = x.iter().zip(y);
                pairs
                    .map(|(x, y)| {
                        x.entries()
                            .iter()
                            .zip(y.entries())
                            .filter(|(x, y)| x != y)
                            .count()
                    })
                    .sum()
            };
            moved += entries(&before.tables, &during.tables);
            let on = |s: usize, p: u8| {
                before.tables[s]
                    .entries()
                    .iter()
                    .filter(|&&e| e == p)
                    .count()
            };
            used += on(a, pa) + on(b, pb);
            assert_eq!(
                after(&topo, &during).tables,
                before.tables,
                "{engine} link {i}"
            );
        }
        assert!(
            2 * moved < 5 * used,
            "{engine}: {moved} moved, {used} used the links"
        );
    }
}

/// One and several workers give the same tables, for complete and degraded trees.
#[test]
fn tree_tables_are_independent_of_thread_count() {
    for fabric in [three_level(4).with_sharp(), without(three_level(6), 15, 4)] {
        let topo = fabric.build();
        for engine in ["dmodc", "ftree", "dnup", "updn", "minhop"] {
            let route_with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| route(engine, &topo).unwrap().tables)
            };
            let one = route_with(1);
            assert_eq!(one, route_with(2));
            assert_eq!(one, route_with(5));
        }
    }
}

/// Aggregation nodes on spines reach each other down and up, on VLs of their own that both
/// directions share; on one VL they all turn at one leaf. A lost link changes that for few.
#[test]
fn aggregation_node_pairs_turn_at_all_leaves() {
    let complete = three_level(4).with_sharp();
    for (fabric, percent) in [(complete.clone(), 50), (without(complete, 3, 5), 80)] {
        let topo = fabric.build();
        let single_vl = engine_by_name("dmodc")
            .unwrap()
            .route(&RoutingRequest::new(&topo).with_vls(1))
            .unwrap();
        assert!(single_vl.vl_plan.is_single());
        let single_vl_proof = verified(&topo, &single_vl);
        let routing = route("dmodc", &topo).unwrap();
        assert_eq!(routing.vl_plan.vls, 3);
        let proof = verified(&topo, &routing);
        assert!(proof.reversible);
        assert_eq!(
            check_tables(&topo, &routing.tables, &routing.vl_plan),
            Verdict::Good
        );
        println!("{} of {}", proof.max_load, single_vl_proof.max_load);
        assert!(100 * proof.max_load < percent * single_vl_proof.max_load);
    }
    // A two-level tree has few such pairs compared with the hosts.
    let sparse = two_level(12, 4, 12, 1).with_sharp().build();
    assert!(route("dmodc", &sparse).unwrap().vl_plan.is_single());
}

/// If links are missing, only shortest paths to the LIDs of spines go down and up. `minhop` passes
/// verification, and paths between end ports are shortest.
#[test]
fn minhop_routes_degraded_trees() {
    for (fabric, percent) in [(two_level(24, 12, 12, 1), 10), (three_level(4), 4)] {
        for seed in 1..4 {
            let topo = without(fabric.clone(), percent, seed).build();
            let routing = route("minhop", &topo).unwrap();
            verified(&topo, &routing);
            let (hops, min) = hops_of(&topo, &routing.tables);
            assert_eq!(hops, min, "{percent} % seed {seed}");
        }
    }
}

/// Links crossed between all pairs of end ports, and the minimum.
fn hops_of(topo: &Topology, tables: &Tables) -> (usize, usize) {
    let (mut sum, mut min) = (0, 0);
    for from in topo.switches().filter(|&s| !topo.end_ports(s).is_empty()) {
        let mut distance = vec![usize::MAX; topo.num_switches()];
        let mut queue = std::collections::VecDeque::from([from]);
        distance[from.index()] = 0;
        while let Some(at) = queue.pop_front() {
            for l in topo.links(at) {
                if distance[l.peer.index()] == usize::MAX {
                    distance[l.peer.index()] = distance[at.index()] + 1;
                    queue.push_back(l.peer);
                }
            }
        }
        for to in topo.switches() {
            for e in topo.end_ports(to) {
                min += distance[to.index()];
                let mut at = from;
                while at != to {
                    at = topo.neighbor(at, tables[at.index()].get(e.lid)).unwrap().0;
                    sum += 1;
                }
            }
        }
    }
    (sum, min)
}
