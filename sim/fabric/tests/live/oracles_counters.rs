//! Inconsistent counters are reported.

use std::collections::BTreeSet;

use ferrosm_mad::ids::Lid;
use ferrosm_sim::fabric::PortCounter;
use ferrosm_sim::oracle::{CounterAllowance, CountersSnapshot, FabricSnapshot, judge_counters};
use ferrosm_sim::spec::PortAt;

use super::oracle_kinds::kind;
use super::oracle_plan::Plan;
use super::rig::Rig;

/// Kinds of violation in these tests.
pub(crate) const KINDS_TESTED: [&str; 4] = [
    "ReceivedMoreThanSent",
    "UnexplainedLoss",
    "ErrorCounterRose",
    "Decreased",
];

/// A configured fabric, with packets from the SM to every node and back.
struct CountedFabric {
    plan: Plan,
    rig: Rig,
    before: CountersSnapshot,
}

impl CountedFabric {
    fn new(shape: &str) -> Self {
        let plan = Plan::new(shape);
        let rig = plan.apply();
        let before = CountersSnapshot::from(&rig.fabric);
        let mut counted = Self { plan, rig, before };
        let lids: Vec<Lid> = counted.plan.ports.values().map(|p| p.lid).collect();
        for lid in lids {
            assert!(counted.rig.by_lid(lid).1.is_some(), "{lid}");
        }
        counted
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

    /// Adds to a counter.
    fn add(&mut self, at: PortAt, which: PortCounter, n: u64) {
        self.rig.fabric.add_errors(at, which, n);
    }
}

const NO_FAULTS: CounterAllowance = CounterAllowance {
    may_rise: BTreeSet::new(),
    lost_per_link: 0,
};

#[test]
fn counters_without_faults_are_consistent() {
    for shape in ["fat-tree:4", "ring:5", "torus:4,4"] {
        let counted = CountedFabric::new(shape);
        assert_eq!(counted.kinds(&NO_FAULTS), BTreeSet::new(), "{shape}");
        // The counts since power-on are consistent as well.
        let after = CountersSnapshot::from(&counted.rig.fabric);
        let first = CountersSnapshot::default();
        assert_eq!(
            counted.kinds_of(&first, &after, &NO_FAULTS),
            BTreeSet::new(),
            "{shape}"
        );
        assert_eq!(
            counted.kinds_of(&after, &counted.before, &NO_FAULTS),
            BTreeSet::from(["Decreased"]),
            "{shape}"
        );
    }
}

#[test]
fn excess_received_packets_are_reported() {
    let mut counted = CountedFabric::new("ring:5");
    let at = counted.plan.trunk();
    counted.add(at, PortCounter::RcvPkts, 1);
    assert_eq!(
        counted.kinds(&NO_FAULTS),
        BTreeSet::from(["ReceivedMoreThanSent"])
    );
    let mut counted = CountedFabric::new("ring:5");
    counted.add(at, PortCounter::RcvData, 72);
    assert_eq!(
        counted.kinds(&NO_FAULTS),
        BTreeSet::from(["ReceivedMoreThanSent"])
    );
}

#[test]
fn lost_packets_are_reported_unless_an_error_counter_accounts_for_them() {
    let mut counted = CountedFabric::new("ring:5");
    let (at, peer) = (
        counted.plan.trunk(),
        counted.plan.peers[&counted.plan.trunk()],
    );
    counted.add(at, PortCounter::XmitPkts, 2);
    assert_eq!(
        counted.kinds(&NO_FAULTS),
        BTreeSet::from(["UnexplainedLoss"])
    );
    let lossy = CounterAllowance {
        lost_per_link: 2,
        ..NO_FAULTS
    };
    assert_eq!(counted.kinds(&lossy), BTreeSet::new());
    counted.add(peer, PortCounter::RcvErrors, 2);
    assert_eq!(
        counted.kinds(&NO_FAULTS),
        BTreeSet::from(["ErrorCounterRose"])
    );
    let with_errors = CounterAllowance {
        may_rise: BTreeSet::from([PortCounter::RcvErrors]),
        ..NO_FAULTS
    };
    assert_eq!(counted.kinds(&with_errors), BTreeSet::new());
}

#[test]
fn every_error_counter_is_checked() {
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
        let mut counted = CountedFabric::new("ring:3");
        let at = counted.plan.host(1);
        counted.add(at, which, 1);
        assert_eq!(
            counted.kinds(&NO_FAULTS),
            BTreeSet::from(["ErrorCounterRose"]),
            "{}",
            which.name()
        );
    }
}

/// A switch without an LFT entry counts the packet that it drops.
#[test]
fn dropped_packets_of_a_switch_are_reported() {
    let mut counted = CountedFabric::new("ring:5");
    let (_, reply) = counted.rig.by_lid(Lid(0x1000));
    assert!(reply.is_none());
    assert_eq!(
        counted.kinds(&NO_FAULTS),
        BTreeSet::from(["ErrorCounterRose"])
    );
}
