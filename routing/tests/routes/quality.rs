//! Quality figures of a routing: counted by hand on small fabrics, by brute force on random ones,
//! and compared with known results for full trees.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{distances, follow};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::quality::{Effort, Quality, ShiftCongestion, measure, shifts};
use ferrosm_routing::{
    DegradedLink, Lft, PathSl, RoutingRequest, SwitchIdx, Tables, Topology, TopologyBuilder,
    VlPlan, engine_by_name, verify,
};
use proptest::prelude::*;

fn route(engine: &str, topo: &Topology) -> Tables {
    let engine = engine_by_name(engine).unwrap();
    engine.route(&RoutingRequest::new(topo)).unwrap().tables
}

fn quick(topo: &Topology, tables: &Tables) -> Quality {
    measure(topo, tables, &VlPlan::single(), &Effort::quick())
}

/// Three switches in a row, with two links between the first two; one of these runs at a quarter of
/// the highest rate of both switches. The link to the third switch is as slow, but that switch
/// supports no higher rate.
#[test]
fn degraded_links_are_detected_and_weigh_more() {
    let mut b = TopologyBuilder::new();
    let [fast, other_fast, slow] = [1, 2, 3].map(|lid| b.switch(6, Lid(lid)));
    let p = PortNum;
    b.link((fast, p(1)), (other_fast, p(1)));
    b.link((fast, p(2)), (other_fast, p(2)));
    b.link((other_fast, p(3)), (slow, p(1)));
    for (s, lid) in [(fast, 4), (other_fast, 5), (slow, 6)] {
        b.end_port((s, p(6)), Lid(lid), 1);
        b.rate((s, p(6)), if s == slow { 50_000 } else { 200_000 });
    }
    b.rate((fast, p(1)), 200_000);
    b.rate((other_fast, p(2)), 200_000);
    // The lower of two rates counts, 0 means unknown, and invalid ports are ignored.
    b.rate((fast, p(2)), 50_000);
    b.rate((fast, p(2)), 0);
    b.rate((fast, p(7)), 1);
    let unknown = measured_by_updn(&b);
    b.rate((slow, p(1)), 50_000);
    let topo = b.build();
    assert_eq!(topo.rate(fast, p(1)), Some(200_000));
    assert_eq!(topo.rate(other_fast, p(2)), Some(50_000));
    assert_eq!(topo.rate(fast, p(3)), None);
    assert_eq!(topo.rate(fast, p(9)), None);
    let degraded = DegradedLink {
        a: (fast, p(2)),
        b: (other_fast, p(2)),
        mbps: 50_000,
        supported_mbps: 200_000,
    };
    assert_eq!(topo.degraded_links(), [degraded]);
    let tables = route("updn", &topo);
    let q = quick(&topo, &tables);
    assert_eq!(
        unknown,
        (q.max_load, None),
        "the rate of one link is unknown"
    );
    // Two routes in each direction over the link to the third switch, four times slower than the
    // fastest.
    assert_eq!((q.max_load, q.max_load_by_rate), (2, Some(8.0)));
}

/// The highest number of routes over a link, unweighted and weighted by rate.
fn measured_by_updn(b: &TopologyBuilder) -> (u64, Option<f64>) {
    let topo = b.clone().build();
    let tables = route("updn", &topo);
    let q = quick(&topo, &tables);
    (q.max_load, q.max_load_by_rate)
}

/// Two switches with two end ports each and one link: LIDs 3 and 4 on the first, 5 and 6 on the
/// second.
#[test]
fn figures_of_one_link_match_hand_count() {
    let mut fabric = Fabric::switches(2, 4);
    fabric.hosts_on(0..2, 2);
    fabric.link(0, 1);
    let topo = fabric.build();
    let tables = route("updn", &topo);
    let q = quick(&topo, &tables);
    assert_eq!((q.hosts, q.channels, q.pairs), (4, 2, 12));
    assert_eq!((q.max_load, q.mean_load, q.max_load_bound), (4, 4.0, 4.0));
    assert_eq!(q.hop_histogram, [4, 8]);
    assert_eq!((q.max_hops(), q.mean_hops()), (1, 8.0 / 12.0));
    assert_eq!(q.all_to_all, 2);
    assert_eq!(q.sl_pairs, [12]);
    let expected_shift = ShiftCongestion {
        stages: 3,
        worst: 2,
        worst_distance: 2,
        mean: 4.0 / 3.0,
    };
    assert_eq!((q.shift, q.shift_by_leaf), (expected_shift, expected_shift));
    // Worst case: two flows share the link in one direction, with half its bandwidth each; best
    // case: no flows share a link.
    let b = q.bisection.unwrap();
    assert_eq!((b.min, b.max), (0.5, 1.0));
    assert!(b.mean > 0.5 && b.mean < 1.0);
    // Alternating between the switches: in a shift by one or three, all flows cross the link.
    let order = [3, 5, 4, 6].map(Lid);
    let s = shifts(&topo, &tables, &order, &Effort::default());
    assert_eq!((s.worst, s.worst_distance, s.mean), (2, 1, 4.0 / 3.0));
}

/// A fabric without pairs does not panic.
#[test]
fn fabric_without_pairs_has_figures() {
    for hosts in 0..2 {
        let mut fabric = ring(3, 0);
        fabric.ports.fill(4);
        fabric.hosts_on(0..hosts, 1);
        let topo = fabric.build();
        let q = quick(&topo, &route("updn", &topo));
        assert_eq!(
            (q.hosts, q.pairs, q.max_load, q.all_to_all),
            (hosts, 0, 0, 0)
        );
        assert_eq!((q.bisection, q.shift.stages), (None, 0));
        assert_eq!(q.mean_hops(), 0.0);
    }
    let q = quick(&Fabric::default().build(), &Tables::new());
    assert_eq!(q.hosts, 0);
}

/// A full tree of `leaves` leaves with `width` end ports each and `width` spines.
struct Clos {
    leaves: usize,
    topo: Topology,
}

impl Clos {
    fn new(leaves: usize, width: usize) -> Self {
        let topo = two_level(leaves, width, width, 1).build();
        Self { leaves, topo }
    }

    /// Tables; `spine(from leaf, to leaf, index of the end port)` is the spine of the route.
    fn tables(&self, mut spine: impl FnMut(usize, usize, usize) -> usize) -> Tables {
        let uplinks = |from: SwitchIdx| {
            let links = self.topo.links(from);
            links.iter().map(|l| l.port).collect::<Vec<PortNum>>()
        };
        let tables = self.topo.switches().map(|s| {
            let mut lft = Lft::drop_all(self.topo.top_lid());
            let ports = uplinks(s);
            for d in self.topo.destinations() {
                let (to, index) = (d.switch.index(), d.port.index().saturating_sub(1));
                let port = if d.switch == s {
                    d.port
                } else if s.index() < self.leaves && to < self.leaves {
                    ports[spine(s.index(), to, index)]
                } else if to < self.leaves {
                    ports[to]
                } else if s.index() < self.leaves {
                    ports[to - self.leaves]
                } else {
                    ports[0]
                };
                lft.set(d.lid, port);
            }
            Arc::new(lft)
        });
        tables.collect()
    }
}

/// Each end port has its own spine among those of its leaf: no shift has congestion, as ibmgtsim's
/// FatTree test requires. Upwards, flows of a leaf share a channel only if their destinations have
/// the same spine; downwards, a channel carries flows to one end port.
#[test]
fn closed_form_on_full_tree_has_no_shift_congestion() {
    for (leaves, width) in [(4, 4), (6, 3), (12, 6), (5, 7)] {
        let clos = Clos::new(leaves, width);
        let tables = clos.tables(|_, _, index| index);
        assert!(verify(&clos.topo, &tables, &VlPlan::single()).is_ok());
        let q = quick(&clos.topo, &tables);
        assert_eq!((q.shift.worst, q.shift_by_leaf.worst), (1, 1));
        assert_eq!(q.shift.stages, (leaves * width - 1).min(100));
        assert_eq!(q.all_to_all, width.min(leaves - 1) as u64);
        assert_eq!(q.max_load as f64, q.max_load_bound, "perfectly balanced");
        // All through one spine.
        let single_spine = clos.tables(|_, _, _| 0);
        let q = quick(&clos.topo, &single_spine);
        assert_eq!(q.shift.worst as usize, width);
        assert_eq!(q.max_load as f64, q.max_load_bound * width as f64);
        let end_ports = leaves * width;
        assert_eq!(q.all_to_all as usize, width.min(end_ports - width));
    }
}

/// 512 end ports, 32 leaves, non-blocking: static routing of random pairs reached 38 % of the
/// bandwidth in measurements (Geoffray and Hoefler 2008), which include head-of-line blocking.
/// Counting flows alone gives half for random spines; a single spine gives 1/16 plus traffic within
/// a leaf.
#[test]
fn static_routing_on_full_tree_has_less_than_full_bisection() {
    let clos = Clos::new(32, 16);
    let effort = Effort {
        bisections: 20,
        permutations: 20,
        shifts_max: 20,
        seed: 3,
    };
    let measure = |tables: &Tables| measure(&clos.topo, tables, &VlPlan::single(), &effort);
    let mut rng = Lcg(11);
    let random = measure(&clos.tables(|_, _, _| rng.below(16)));
    let closed_form = measure(&clos.tables(|_, _, index| index));
    let single_spine = measure(&clos.tables(|_, _, _| 0));
    for (q, one_way, both_ways) in [
        (&random, 0.6..0.75, 0.45..0.55),
        (&closed_form, 0.7..0.9, 0.55..0.75),
        (&single_spine, 0.1..0.2, 0.05..0.12),
    ] {
        assert!(one_way.contains(&q.bisection.unwrap().mean), "{q}");
        assert!(both_ways.contains(&q.exchange.unwrap().mean), "{q}");
    }
    assert!(closed_form.random_permutation <= random.random_permutation);
    assert!(closed_form.shift.worst == 1 && random.shift.worst > 2);
    assert!(single_spine.random_permutation >= 14);
}

/// The same figures on 1, 2 and 5 threads; another seed gives other samples.
#[test]
fn figures_are_independent_of_thread_count() {
    let topo = random(12, 20, 40, 9).build();
    let tables = route("updn", &topo);
    let measure_with = |threads, seed| {
        let effort = Effort {
            seed,
            shifts_max: 10,
            ..Effort::quick()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| measure(&topo, &tables, &VlPlan::single(), &effort))
    };
    let one_thread = measure_with(1, 4);
    assert_eq!(one_thread, measure_with(2, 4));
    assert_eq!(one_thread, measure_with(5, 4));
    assert_eq!(one_thread.shift.stages, 10);
    assert_ne!(one_thread.bisection, measure_with(1, 5).bisection);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random fabrics with LMC, up/down: loads, hops, all-to-all congestion, shifts and SLs equal
    /// those of following every pair of base LIDs.
    #[test]
    fn figures_match_brute_force(
        n in 1usize..9, extra in 0usize..10, hosts in 0usize..16, seed: u64,
    ) {
        let topo = random(n, extra, hosts, seed).build();
        let tables = route("updn", &topo);
        let sls = |from: usize| (0..n).map(|to| (from.min(to) % 3) as u8).collect();
        let vl_plan = VlPlan::modulo(3, PathSl::BySwitches((0..n).map(sls).collect()));
        let effort = Effort { shifts_max: 1000, ..Effort::quick() };
        let q = measure(&topo, &tables, &vl_plan, &effort);
        let mut end_ports: Vec<(Lid, SwitchIdx)> = topo
            .switches()
            .flat_map(|s| topo.end_ports(s).iter().map(move |e| (e.lid, s)))
            .collect();
        end_ports.sort_unstable();
        let mut through: BTreeMap<(u32, u8), Vec<(Lid, Lid)>> = BTreeMap::new();
        let (mut hops, mut shortest, mut by_sl) = (BTreeMap::new(), 0u64, [0u64; 3]);
        let distance = distances(&topo);
        for &(a, from) in &end_ports {
            for &(b, to) in end_ports.iter().filter(|e| e.0 != a) {
                let path = follow(&topo, &tables, from, b).unwrap();
                *hops.entry(path.len()).or_insert(0u64) += 1;
                shortest += u64::from(distance[from.index()][to.index()]);
                by_sl[from.index().min(to.index()) % 3] += 1;
                path.into_iter().for_each(|c| through.entry(c).or_default().push((a, b)));
            }
        }
        prop_assert_eq!(q.hosts, end_ports.len());
        for (h, &count) in q.hop_histogram.iter().enumerate() {
            prop_assert_eq!(count, hops.get(&h).copied().unwrap_or(0));
        }
        prop_assert_eq!(q.pairs, hops.values().sum::<u64>());
        prop_assert_eq!(q.max_load, through.values().map(Vec::len).max().unwrap_or(0) as u64);
        let total: usize = through.values().map(Vec::len).sum();
        let channels = topo.num_channels().max(1) as f64;
        prop_assert!((q.mean_load - total as f64 / channels).abs() < 1e-9);
        prop_assert!((q.max_load_bound - shortest as f64 / channels).abs() < 1e-9);
        let lesser_end_count = |pairs: &Vec<(Lid, Lid)>| {
            let distinct = |end: fn(&(Lid, Lid)) -> Lid| pairs.iter().map(end).collect::<BTreeSet<_>>().len();
            distinct(|p| p.0).min(distinct(|p| p.1))
        };
        prop_assert_eq!(q.all_to_all, through.values().map(lesser_end_count).max().unwrap_or(0) as u64);
        for (sl, &pairs) in by_sl.iter().enumerate() {
            prop_assert_eq!(q.sl_pairs.get(sl).copied().unwrap_or(0), pairs);
        }
        let stage = |distance: usize| {
            let mut flows: BTreeMap<(u32, u8), u32> = BTreeMap::new();
            for (i, &(_, from)) in end_ports.iter().enumerate() {
                let to = end_ports[(i + distance) % end_ports.len()].0;
                for c in follow(&topo, &tables, from, to).unwrap() {
                    *flows.entry(c).or_default() += 1;
                }
            }
            flows.values().copied().max().unwrap_or(0)
        };
        let stages: Vec<u32> = (1..end_ports.len()).map(stage).collect();
        prop_assert_eq!(q.shift.stages, stages.len());
        prop_assert_eq!(q.shift.worst, stages.iter().copied().max().unwrap_or(0));
        let sum: u32 = stages.iter().sum();
        prop_assert!((q.shift.mean * stages.len() as f64 - f64::from(sum)).abs() < 1e-6);
    }
}
