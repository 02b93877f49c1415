//! What every engine that there is must keep, on graphs that nobody has thought of: 2 to 200 switches, any number of lanes,
//! cables and whole switches lost, switches without LIDs, LIDs in ranges.
//!
//! An engine either routes, and then the proof and a slow judge that shares nothing with it agree that it may be installed;
//! or it refuses with one of the reasons that engines may have. Nothing depends on the number of threads or on the order in
//! which switches were found. Engines that are registered later are tried as well.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::common::*;
use crate::oracle::{Verdict, judge};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{
    ENGINE_NAMES, Request, RouteError, Routing, SwitchIdx, Topology, TopologyBuilder,
    engine_by_name, verify,
};
use proptest::prelude::*;

/// Engines that route any connected graph, whatever its shape and however few the lanes.
const ANYTHING: [&str; 6] = ["updn", "dnup", "minhop", "sssp", "nue", "auto"];
/// Engines that promise nothing about credit loops: the proof decides.
const MAY_DEADLOCK: [&str; 3] = ["minhop", "sssp", "dor"];
/// Switches above which following every packet would take too long.
const JUDGED: usize = 40;

/// A graph with the numbers that its switches and cables have.
#[derive(Debug, Clone)]
struct Case {
    fabric: Fabric,
    /// Data VLs of each cable between switches.
    vls: Vec<u8>,
    /// Switches that have no LID.
    without_lid: Vec<bool>,
    /// Data VLs that an engine may use.
    lanes: u8,
}

impl Case {
    fn drawn(n: usize, extra: usize, hosts: usize, lanes: u8, seed: u64) -> Self {
        let mut dice = Lcg(seed);
        let fabric = random(n, extra, hosts, seed);
        // Half of all graphs have cables with fewer lanes than others.
        let narrow = dice.below(2) == 0;
        let vls = fabric.cables.iter().map(|_| {
            let few = narrow && dice.below(8) == 0;
            if few { 1 << dice.below(4) } else { 15 }
        });
        let vls = vls.map(|n: u8| n.min(15)).collect();
        let few = dice.below(4) == 0;
        Self {
            vls,
            without_lid: (0..n).map(|_| few && dice.below(6) == 0).collect(),
            fabric,
            lanes,
        }
    }

    /// Loses so many cables, and all cables of so many switches, wherever that leaves the rest in one piece.
    fn after_faults(mut self, cables: usize, switches: usize, seed: u64) -> Self {
        let mut dice = Lcg(!seed);
        for _ in 0..cables {
            if self.fabric.cables.is_empty() {
                break;
            }
            let lost = dice.below(self.fabric.cables.len());
            let mut less = self.clone();
            less.fabric.cables.remove(lost);
            less.vls.remove(lost);
            if less.fabric.connected() {
                self = less;
            }
        }
        for _ in 0..switches {
            let gone = dice.below(self.fabric.ports.len());
            let less = self.without_switch(gone);
            if less.fabric.ports.len() > 1 && less.fabric.connected() {
                self = less;
            }
        }
        self
    }

    fn without_switch(&self, gone: usize) -> Self {
        let moved = |s: usize| if s > gone { s - 1 } else { s };
        let mut less = self.clone();
        less.fabric.ports.remove(gone);
        less.without_lid.remove(gone);
        let kept: Vec<usize> = (0..self.fabric.cables.len())
            .filter(|&c| self.fabric.cables[c].0.0 != gone && self.fabric.cables[c].1.0 != gone)
            .collect();
        less.vls = kept.iter().map(|&c| self.vls[c]).collect();
        let cable = |c: usize| {
            let ((a, p), (b, q)) = self.fabric.cables[c];
            ((moved(a), p), (moved(b), q))
        };
        less.fabric.cables = kept.iter().map(|&c| cable(c)).collect();
        let hosts = self.fabric.hosts.iter().filter(|host| host.0 != gone);
        less.fabric.hosts = hosts.map(|&(s, p, lids)| (moved(s), p, lids)).collect();
        less
    }

    /// The graph with its switches in another order: switch `s` is found as number `(s + turn) % n`. LIDs stay.
    fn build(&self, turn: usize) -> Topology {
        let n = self.fabric.ports.len();
        let place = |s: usize| (s + turn) % n;
        let end = |(s, p): (usize, u8)| (SwitchIdx(place(s) as u32), PortNum(p));
        let mut b = TopologyBuilder::new();
        for at in 0..n {
            let s = (at + n - turn % n) % n;
            let lid = if self.without_lid[s] {
                Lid::NONE
            } else {
                Lid(s as u16 + 1)
            };
            b.switch(self.fabric.ports[s], lid);
        }
        for (&(x, y), &vls) in self.fabric.cables.iter().zip(&self.vls) {
            let (x, y) = if turn == 0 { (x, y) } else { (y, x) };
            b.link(end(x), end(y));
            b.vls(end(x), vls);
        }
        let mut lid = n as u16 + 1;
        for &(s, p, count) in &self.fabric.hosts {
            lid = lid.next_multiple_of(count);
            b.end_port(end((s, p)), Lid(lid), count);
            lid += count;
        }
        b.build()
    }
}

/// Sizes are small more often than large; seeds are printed by proptest where something fails.
fn cases(most: usize) -> impl Strategy<Value = Case> {
    let size = prop_oneof![3 => 2..=16usize, 2 => 17..=40usize, 1 => 41..=most.max(42)];
    (
        size,
        0usize..=100,
        0usize..=100,
        1u8..=15,
        any::<u64>(),
        0usize..6,
        0usize..3,
    )
        .prop_map(|(n, extra, hosts, lanes, seed, cables, switches)| {
            let (extra, hosts) = (n * extra / 40, n * hosts / 50);
            Case::drawn(n, extra, hosts, lanes, seed).after_faults(cables, switches, seed)
        })
}

fn route(engine: &str, topo: &Topology, lanes: u8) -> Result<Routing, RouteError> {
    engine_by_name(engine)
        .unwrap()
        .route(&Request::new(topo).with_vls(lanes))
}

/// A refusal that an operator can do something with, of a graph in one piece.
fn documented(engine: &str, error: &RouteError, lanes: u8) -> Result<(), String> {
    let fine = match error {
        RouteError::Shape(_) | RouteError::Hint(_) => {
            error.to_string().len() > 10 && !ANYTHING.contains(&engine)
        }
        RouteError::TooFewVls { needed, usable } => {
            *needed > usize::from(*usable) && *usable <= lanes && !ANYTHING.contains(&engine)
        }
        RouteError::Disconnected { .. }
        | RouteError::PathTooLong
        | RouteError::Budget
        | RouteError::UnknownEngine(_) => false,
    };
    if fine {
        Ok(())
    } else {
        Err(format!("{engine} refuses: {error}"))
    }
}

fn check(engine: &str, topo: &Topology, lanes: u8) -> Result<(), String> {
    let routing = match route(engine, topo, lanes) {
        Ok(routing) => routing,
        Err(error) => return documented(engine, &error, lanes),
    };
    if routing.vl_plan.vls > lanes.min(topo.common_vls()) || routing.vl_plan.vls == 0 {
        return Err(format!(
            "{engine} uses {} of {lanes} lanes",
            routing.vl_plan.vls
        ));
    }
    let proof = verify(topo, &routing.tables, &routing.vl_plan);
    let deadlocks = match &proof {
        Ok(_) => false,
        Err(failure) if failure.cycle.is_some() && MAY_DEADLOCK.contains(&engine) => true,
        Err(failure) => return Err(format!("{engine}: {failure}")),
    };
    if topo.num_switches() > JUDGED {
        return Ok(());
    }
    let expected = if deadlocks {
        Verdict::CreditLoop
    } else {
        Verdict::Good
    };
    match judge(topo, &routing.tables, &routing.vl_plan) {
        verdict if verdict == expected => Ok(()),
        verdict => Err(format!(
            "{engine}: the proof says {:?}, the judge {verdict:?}",
            proof.map(|_| ())
        )),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any connected graph: routed, and then the proof and the judge agree that it is sound; or refused for a reason.
    #[test]
    fn every_engine_routes_soundly_or_says_why_not(case in cases(200)) {
        let topo = case.build(0);
        for engine in ENGINE_NAMES {
            if let Err(what) = check(engine, &topo, case.lanes) {
                return Err(TestCaseError::fail(what));
            }
        }
    }

    /// The same switches found in another order: the same table in every switch, the same SL for every path, or the same
    /// kind of refusal.
    #[test]
    fn no_engine_depends_on_the_order_of_discovery(case in cases(60), turn in 1usize..40) {
        let (here, there) = (case.build(0), case.build(turn));
        let n = here.num_switches();
        let moved = |s: usize| (s + turn) % n;
        for engine in ENGINE_NAMES {
            match (route(engine, &here, case.lanes), route(engine, &there, case.lanes)) {
                (Ok(x), Ok(y)) => {
                    for s in 0..n {
                        prop_assert_eq!(&x.tables[s], &y.tables[moved(s)], "{}: table of switch {}", engine, s);
                        for (d, e) in here.destinations().iter().map(|d| {
                            (d, there.destinations().iter().find(|e| e.lid == d.lid).unwrap())
                        }) {
                            let (a, b) = (SwitchIdx(s as u32), SwitchIdx(moved(s) as u32));
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

    /// One worker, two or five: the same tables and lanes, or the same refusal.
    #[test]
    fn no_engine_depends_on_the_number_of_threads(case in cases(120)) {
        let topo = case.build(0);
        for engine in ENGINE_NAMES {
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| route(engine, &topo, case.lanes).map(|r| (r.tables, r.vl_plan, r.order, r.trees)))
            };
            let one = with(1);
            prop_assert_eq!(&one, &with(2), "{}", engine);
            prop_assert_eq!(&one, &with(5), "{}", engine);
        }
    }

    /// Graphs in several pieces: every engine says so, and how many there are.
    #[test]
    fn islands_are_refused_by_every_engine(n in 2usize..12, m in 1usize..12, seed: u64) {
        let (one, other) = (random(n, n, n, seed), random(m, m, m, !seed));
        let mut both = one;
        let moved = |(s, p): (usize, u8)| (s + n, p);
        both.ports.extend(&other.ports);
        both.cables.extend(other.cables.iter().map(|&(x, y)| (moved(x), moved(y))));
        both.hosts.extend(other.hosts.iter().map(|&(s, p, lids)| (s + n, p, lids)));
        let topo = both.build();
        for engine in ENGINE_NAMES {
            prop_assert_eq!(route(engine, &topo, 8).err(), Some(RouteError::Disconnected { components: 2 }), "{}", engine);
        }
    }
}

/// Shapes that engines are made for, with all faults that leave them in one piece: whatever an engine answers is sound or a
/// documented refusal.
#[test]
fn regular_shapes_with_faults_are_routed_soundly_or_refused() {
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
            let (n, cables) = (fabric.ports.len(), fabric.cables.len());
            let whole = Case {
                vls: vec![15; cables],
                without_lid: vec![false; n],
                fabric: fabric.clone(),
                lanes: 8,
            };
            let topo = whole.after_faults(faults, 0, seed).build(0);
            for engine in ENGINE_NAMES {
                for lanes in [1, 2, 8] {
                    check(engine, &topo, lanes)
                        .unwrap_or_else(|what| panic!("{name}, {faults} faults: {what}"));
                }
            }
        }
    }
}
