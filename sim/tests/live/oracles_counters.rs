//! Counters that cannot have come about are noticed.

use std::collections::BTreeSet;

use ferrosm_mad::ids::Lid;
use ferrosm_sim::fabric::PortCounter;
use ferrosm_sim::oracle::{CounterAllowance, CountersSnapshot, FabricSnapshot, judge_counters};
use ferrosm_sim::spec::PortAt;

use super::oracle_kinds::kind;
use super::oracle_plan::Plan;
use super::rig::Rig;

/// The kinds of violations that are made here.
pub(crate) const CAUGHT: [&str; 4] = [
    "ReceivedMoreThanSent",
    "UnexplainedLoss",
    "ErrorCounterRose",
    "Decreased",
];

/// A fabric that is up, with some packets sent from the manager to every node and back.
struct Run {
    plan: Plan,
    rig: Rig,
    before: CountersSnapshot,
}

impl Run {
    fn new(shape: &str) -> Self {
        let plan = Plan::new(shape);
        let rig = plan.apply();
        let before = CountersSnapshot::from(&rig.fabric);
        let mut run = Self { plan, rig, before };
        let lids: Vec<Lid> = run.plan.ports.values().map(|p| p.lid).collect();
        for lid in lids {
            assert!(run.rig.by_lid(lid).1.is_some(), "{lid}");
        }
        run
    }

    fn kinds(&self, allow: &CounterAllowance) -> BTreeSet<&'static str> {
        let after = CountersSnapshot::from(&self.rig.fabric);
        self.kinds_of(&self.before, &after, allow)
    }

    fn kinds_of(
        &self,
        before: &CountersSnapshot,
        after: &CountersSnapshot,
        allow: &CounterAllowance,
    ) -> BTreeSet<&'static str> {
        let state = FabricSnapshot::from(&self.rig.fabric);
        let verdict = judge_counters(&state, &self.plan.expect(), before, after, allow);
        verdict.violations.iter().map(kind).collect()
    }

    fn count(&mut self, at: PortAt, which: PortCounter, n: u64) {
        self.rig.fabric.add_errors(at, which, n);
    }
}

const NOTHING: CounterAllowance = CounterAllowance {
    may_rise: BTreeSet::new(),
    lost_per_link: 0,
};

#[test]
fn what_a_healthy_fabric_counts_is_plausible() {
    for shape in ["fat-tree:4", "ring:5", "torus:4,4"] {
        let run = Run::new(shape);
        assert_eq!(run.kinds(&NOTHING), BTreeSet::new(), "{shape}");
        // Since power-on too.
        let after = CountersSnapshot::from(&run.rig.fabric);
        let first = CountersSnapshot::default();
        assert_eq!(
            run.kinds_of(&first, &after, &NOTHING),
            BTreeSet::new(),
            "{shape}"
        );
        assert_eq!(
            run.kinds_of(&after, &run.before, &NOTHING),
            BTreeSet::from(["Decreased"]),
            "{shape}"
        );
    }
}

#[test]
fn packets_from_nowhere_are_noticed() {
    let mut run = Run::new("ring:5");
    let at = run.plan.trunk();
    run.count(at, PortCounter::RcvPkts, 1);
    assert_eq!(
        run.kinds(&NOTHING),
        BTreeSet::from(["ReceivedMoreThanSent"])
    );
    let mut run = Run::new("ring:5");
    run.count(at, PortCounter::RcvData, 72);
    assert_eq!(
        run.kinds(&NOTHING),
        BTreeSet::from(["ReceivedMoreThanSent"])
    );
}

#[test]
fn packets_that_vanish_on_a_cable_are_noticed_unless_a_counter_tells_of_them() {
    let mut run = Run::new("ring:5");
    let (at, peer) = (run.plan.trunk(), run.plan.peers[&run.plan.trunk()]);
    run.count(at, PortCounter::XmitPkts, 2);
    assert_eq!(run.kinds(&NOTHING), BTreeSet::from(["UnexplainedLoss"]));
    let lossy = CounterAllowance {
        lost_per_link: 2,
        ..NOTHING
    };
    assert_eq!(run.kinds(&lossy), BTreeSet::new());
    run.count(peer, PortCounter::RcvErrors, 2);
    assert_eq!(run.kinds(&NOTHING), BTreeSet::from(["ErrorCounterRose"]));
    let noisy = CounterAllowance {
        may_rise: BTreeSet::from([PortCounter::RcvErrors]),
        ..NOTHING
    };
    assert_eq!(run.kinds(&noisy), BTreeSet::new());
}

#[test]
fn every_counter_of_trouble_is_watched() {
    for which in [
        PortCounter::SymbolErrors,
        PortCounter::LinkErrorRecovery,
        PortCounter::LinkDowned,
        PortCounter::RcvErrors,
        PortCounter::RcvRemotePhysicalErrors,
        PortCounter::RcvSwitchRelayErrors,
        PortCounter::XmitDiscards,
        PortCounter::XmitConstraintErrors,
        PortCounter::RcvConstraintErrors,
        PortCounter::LocalLinkIntegrityErrors,
        PortCounter::ExcessiveBufferOverrunErrors,
        PortCounter::Vl15Dropped,
        PortCounter::Qp1Dropped,
    ] {
        let mut run = Run::new("ring:3");
        let at = run.plan.host(1);
        run.count(at, which, 1);
        assert_eq!(
            run.kinds(&NOTHING),
            BTreeSet::from(["ErrorCounterRose"]),
            "{}",
            which.name()
        );
    }
}

/// A wrong table shows in the counters of the switch that could not forward.
#[test]
fn a_packet_that_a_switch_cannot_forward_is_noticed() {
    let mut run = Run::new("ring:5");
    let (_, answer) = run.rig.by_lid(Lid(0x1000));
    assert!(answer.is_none());
    assert_eq!(run.kinds(&NOTHING), BTreeSet::from(["ErrorCounterRose"]));
}
