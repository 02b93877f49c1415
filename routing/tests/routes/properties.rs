//! Properties of every engine on random graphs: 2 to 200 switches, any number of VLs, links and
//! whole switches lost, switches without LIDs, LID ranges.
//!
//! An engine either returns a routing on which verification and oracle agree, or rejects the graph
//! with a documented reason. Results do not depend on the number of threads or on the order of
//! discovery. Engines added later are covered automatically.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::common::*;
use crate::oracle::{Verdict, check_tables};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{
    ENGINE_NAMES, RouteError, Routing, RoutingRequest, SwitchIdx, Topology, TopologyBuilder,
    engine_by_name, verify,
};
use proptest::prelude::*;

/// Engines that route any connected graph on any number of VLs.
const UNIVERSAL_ENGINES: [&str; 6] = ["updn", "dnup", "minhop", "sssp", "nue", "auto"];
/// Engines that do not prevent credit loops; verification decides.
const MAY_DEADLOCK: [&str; 3] = ["minhop", "sssp", "dor"];
/// Maximum number of switches for the oracle.
const ORACLE_SWITCHES_MAX: usize = 40;

/// A graph with random LIDs and VLs.
#[derive(Debug, Clone)]
struct Case {
    fabric: Fabric,
    /// Data VLs of each link between switches.
    vls: Vec<u8>,
    /// Switches without a LID.
    without_lid: Vec<bool>,
    /// Data VLs that an engine may use.
    usable_vls: u8,
}

impl Case {
    fn random(n: usize, extra: usize, hosts: usize, usable_vls: u8, seed: u64) -> Self {
        let mut rng = Lcg(seed);
        let fabric = random(n, extra, hosts, seed);
        // Half of all graphs have links with fewer VLs than others.
        let narrow = rng.below(2) == 0;
        let vls = fabric.links.iter().map(|_| {
            let has_few_vls = narrow && rng.below(8) == 0;
            if has_few_vls { 1 << rng.below(4) } else { 15 }
        });
        let vls = vls.map(|n: u8| n.min(15)).collect();
        let has_few_hosts = rng.below(4) == 0;
        Self {
            vls,
            without_lid: (0..n).map(|_| has_few_hosts && rng.below(6) == 0).collect(),
            fabric,
            usable_vls,
        }
    }

    /// Removes this number of links, and all links of this number of switches, where the rest stays
    /// connected.
    fn after_faults(mut self, links: usize, switches: usize, seed: u64) -> Self {
        let mut rng = Lcg(!seed);
        for _ in 0..links {
            if self.fabric.links.is_empty() {
                break;
            }
            let lost = rng.below(self.fabric.links.len());
            let mut reduced = self.clone();
            reduced.fabric.links.remove(lost);
            reduced.vls.remove(lost);
            if reduced.fabric.connected() {
                self = reduced;
            }
        }
        for _ in 0..switches {
            let removed = rng.below(self.fabric.ports.len());
            let reduced = self.without_switch(removed);
            if reduced.fabric.ports.len() > 1 && reduced.fabric.connected() {
                self = reduced;
            }
        }
        self
    }

    fn without_switch(&self, removed: usize) -> Self {
        let renumbered_index = |s: usize| if s > removed { s - 1 } else { s };
        let mut reduced = self.clone();
        reduced.fabric.ports.remove(removed);
        reduced.without_lid.remove(removed);
        let kept: Vec<usize> = (0..self.fabric.links.len())
            .filter(|&c| self.fabric.links[c].0.0 != removed && self.fabric.links[c].1.0 != removed)
            .collect();
        reduced.vls = kept.iter().map(|&c| self.vls[c]).collect();
        let link = |c: usize| {
            let ((a, p), (b, q)) = self.fabric.links[c];
            ((renumbered_index(a), p), (renumbered_index(b), q))
        };
        reduced.fabric.links = kept.iter().map(|&c| link(c)).collect();
        let hosts = self.fabric.hosts.iter().filter(|host| host.0 != removed);
        reduced.fabric.hosts = hosts
            .map(|&(s, p, lids)| (renumbered_index(s), p, lids))
            .collect();
        reduced
    }

    /// The graph in another order of discovery: switch `s` becomes number `(s + shift) % n`. LIDs
    /// are unchanged.
    fn build(&self, shift: usize) -> Topology {
        let n = self.fabric.ports.len();
        let renumber = |s: usize| (s + shift) % n;
        let port_at = |(s, p): (usize, u8)| (SwitchIdx(renumber(s) as u32), PortNum(p));
        let mut b = TopologyBuilder::new();
        for at in 0..n {
            let s = (at + n - shift % n) % n;
            let lid = if self.without_lid[s] {
                Lid::NONE
            } else {
                Lid(s as u16 + 1)
            };
            b.switch(self.fabric.ports[s], lid);
        }
        for (&(x, y), &vls) in self.fabric.links.iter().zip(&self.vls) {
            let (x, y) = if shift == 0 { (x, y) } else { (y, x) };
            b.link(port_at(x), port_at(y));
            b.vls(port_at(x), vls);
        }
        let mut lid = n as u16 + 1;
        for &(s, p, count) in &self.fabric.hosts {
            lid = lid.next_multiple_of(count);
            b.end_port(port_at((s, p)), Lid(lid), count);
            lid += count;
        }
        b.build()
    }
}

/// Small sizes are more frequent; proptest prints the seed of a failure.
fn cases(max: usize) -> impl Strategy<Value = Case> {
    let size = prop_oneof![3 => 2..=16usize, 2 => 17..=40usize, 1 => 41..=max.max(42)];
    (
        size,
        0usize..=100,
        0usize..=100,
        1u8..=15,
        any::<u64>(),
        0usize..6,
        0usize..3,
    )
        .prop_map(|(n, extra, hosts, usable_vls, seed, links, switches)| {
            let (extra, hosts) = (n * extra / 40, n * hosts / 50);
            Case::random(n, extra, hosts, usable_vls, seed).after_faults(links, switches, seed)
        })
}

fn route(engine: &str, topo: &Topology, usable_vls: u8) -> Result<Routing, RouteError> {
    engine_by_name(engine)
        .unwrap()
        .route(&RoutingRequest::new(topo).with_vls(usable_vls))
}

/// Checks that the rejection of a connected graph is documented and useful for the operator.
fn check_rejection(engine: &str, error: &RouteError, usable_vls: u8) -> Result<(), String> {
    let is_documented = match error {
        RouteError::Shape(_) | RouteError::Hint(_) => {
            error.to_string().len() > 10 && !UNIVERSAL_ENGINES.contains(&engine)
        }
        RouteError::TooFewVls { needed, usable } => {
            *needed > usize::from(*usable)
                && *usable <= usable_vls
                && !UNIVERSAL_ENGINES.contains(&engine)
        }
        RouteError::Disconnected { .. }
        | RouteError::PathTooLong
        | RouteError::Budget
        | RouteError::UnknownEngine(_) => false,
    };
    if is_documented {
        Ok(())
    } else {
        Err(format!("{engine} rejects the graph: {error}"))
    }
}

fn check(engine: &str, topo: &Topology, usable_vls: u8) -> Result<(), String> {
    let routing = match route(engine, topo, usable_vls) {
        Ok(routing) => routing,
        Err(error) => return check_rejection(engine, &error, usable_vls),
    };
    if routing.vl_plan.vls > usable_vls.min(topo.common_vls()) || routing.vl_plan.vls == 0 {
        return Err(format!(
            "{engine} uses {} of {usable_vls} VLs",
            routing.vl_plan.vls
        ));
    }
    let proof = verify(topo, &routing.tables, &routing.vl_plan);
    let deadlocks = match &proof {
        Ok(_) => false,
        Err(failure) if failure.cycle.is_some() && MAY_DEADLOCK.contains(&engine) => true,
        Err(failure) => return Err(format!("{engine}: {failure}")),
    };
    if topo.num_switches() > ORACLE_SWITCHES_MAX {
        return Ok(());
    }
    let expected = if deadlocks {
        Verdict::CreditLoop
    } else {
        Verdict::Good
    };
    match check_tables(topo, &routing.tables, &routing.vl_plan) {
        verdict if verdict == expected => Ok(()),
        verdict => Err(format!(
            "{engine}: verification: {:?}, oracle: {verdict:?}",
            proof.map(|_| ())
        )),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any connected graph: routed with verification and oracle in agreement, or rejected with a
    /// documented reason.
    #[test]
    fn every_engine_routes_correctly_or_reports_reason(case in cases(200)) {
        let topo = case.build(0);
        for engine in ENGINE_NAMES {
            if let Err(error) = check(engine, &topo, case.usable_vls) {
                return Err(TestCaseError::fail(error));
            }
        }
    }

    /// Another order of discovery: the same table in every switch, the same SL for every path, or
    /// the same kind of error.
    #[test]
    fn engines_are_independent_of_discovery_order(case in cases(60), shift in 1usize..40) {
        let (original, renumbered) = (case.build(0), case.build(shift));
        let n = original.num_switches();
        let renumbered_index = |s: usize| (s + shift) % n;
        for engine in ENGINE_NAMES {
            match (route(engine, &original, case.usable_vls), route(engine, &renumbered, case.usable_vls)) {
                (Ok(x), Ok(y)) => {
                    for s in 0..n {
                        prop_assert_eq!(&x.tables[s], &y.tables[renumbered_index(s)], "{}: table of switch {}", engine, s);
                        for (d, e) in original.destinations().iter().map(|d| {
                            (d, renumbered.destinations().iter().find(|e| e.lid == d.lid).unwrap())
                        }) {
                            let (a, b) = (SwitchIdx(s as u32), SwitchIdx(renumbered_index(s) as u32));
                            prop_assert_eq!(x.vl_plan.sl(a, d), y.vl_plan.sl(b, e), "{}: an SL", engine);
                        }
                    }
                }
                (Err(x), Err(y)) => {
                    prop_assert_eq!(std::mem::discriminant(&x), std::mem::discriminant(&y), "{}: {} / {}", engine, x, y);
                }
                (x, y) => prop_assert!(false, "{}: {:?} / {:?}", engine, x.map(|_| ()), y.map(|_| ())),
            }
        }
    }

    /// One, two and five workers: the same tables and SLs, or the same error.
    #[test]
    fn engines_are_independent_of_thread_count(case in cases(120)) {
        let topo = case.build(0);
        for engine in ENGINE_NAMES {
            let route_with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| route(engine, &topo, case.usable_vls).map(|r| (r.tables, r.vl_plan, r.order, r.trees)))
            };
            let one = route_with(1);
            prop_assert_eq!(&one, &route_with(2), "{}", engine);
            prop_assert_eq!(&one, &route_with(5), "{}", engine);
        }
    }

    /// Partitioned graphs: every engine reports the number of components.
    #[test]
    fn every_engine_rejects_partitioned_graphs(n in 2usize..12, m in 1usize..12, seed: u64) {
        let (one, other) = (random(n, n, n, seed), random(m, m, m, !seed));
        let mut both = one;
        let shifted = |(s, p): (usize, u8)| (s + n, p);
        both.ports.extend(&other.ports);
        both.links.extend(other.links.iter().map(|&(x, y)| (shifted(x), shifted(y))));
        both.hosts.extend(other.hosts.iter().map(|&(s, p, lids)| (s + n, p, lids)));
        let topo = both.build();
        for engine in ENGINE_NAMES {
            prop_assert_eq!(route(engine, &topo, 8).err(), Some(RouteError::Disconnected { components: 2 }), "{}", engine);
        }
    }
}

/// Shapes that engines are made for, with any faults that leave them connected: the result is
/// correct or a documented rejection.
#[test]
fn regular_shapes_with_faults_are_routed_correctly_or_rejected() {
    let shapes = [
        ("ring", ring(9, 2)),
        ("grid", torus(&[4, 4], 2)),
        ("box", torus(&[3, 4, 3], 1)),
        ("tree of two levels", two_level(6, 3, 3, 2)),
        ("tree of three levels", three_level(3)),
        (
            "tree with end ports on every switch",
            three_level(2).with_sharp(),
        ),
        ("hypercube", hypercube(4, 1)),
        ("dragonfly", dragonfly(5, 3, 2)),
    ];
    for (name, fabric) in shapes {
        for (seed, faults) in [(1, 0), (2, 1), (3, 3), (4, 8)] {
            let (n, links) = (fabric.ports.len(), fabric.links.len());
            let complete = Case {
                vls: vec![15; links],
                without_lid: vec![false; n],
                fabric: fabric.clone(),
                usable_vls: 8,
            };
            let topo = complete.after_faults(faults, 0, seed).build(0);
            for engine in ENGINE_NAMES {
                for usable_vls in [1, 2, 8] {
                    check(engine, &topo, usable_vls)
                        .unwrap_or_else(|error| panic!("{name}, {faults} faults: {error}"));
                }
            }
        }
    }
}
