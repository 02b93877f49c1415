//! Could the port counters have come about: what goes into a cable comes out of it, or a counter
//! says why not, and no counter of trouble moves where there is none.
//!
//! Two moments are compared, both of them quiet: a packet under way is in the one end's counters
//! and not yet in the other's.

use std::collections::{BTreeMap, BTreeSet};

use super::Verdict;
use super::expect::Expectations;
use super::scope::Scope;
use super::state::FabricSnapshot;
use super::violation::{CounterFault, Violation};
use crate::fabric::{Fabric, PortCounter, PortCounters};
use crate::spec::PortAt;

/// The counters of all ports at one moment; a port that is missing has counted nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountersSnapshot {
    /// By port.
    pub ports: BTreeMap<PortAt, PortCounters>,
}

impl From<&Fabric> for CountersSnapshot {
    fn from(fabric: &Fabric) -> Self {
        let ports = (0..fabric.num_nodes()).flat_map(|node| fabric.external_ports(node));
        Self {
            ports: ports.map(|at| (at, fabric.port_counters(at))).collect(),
        }
    }
}

impl CountersSnapshot {
    fn get(&self, at: PortAt, which: PortCounter) -> u64 {
        self.ports.get(&at).map_or(0, |c| c.get(which))
    }
}

/// Trouble that was to be expected between the two moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CounterAllowance {
    /// Counters that may have moved.
    pub moved: BTreeSet<PortCounter>,
    /// Packets that each direction of a cable may have lost without a trace.
    pub lost_per_link: u64,
}

/// What must not move on a healthy fabric.
const TROUBLE: [(PortCounter, &str); 13] = [
    (PortCounter::SymbolErrors, "SymbolErrorCounter"),
    (PortCounter::LinkErrorRecovery, "LinkErrorRecoveryCounter"),
    (PortCounter::LinkDowned, "LinkDownedCounter"),
    (PortCounter::RcvErrors, "PortRcvErrors"),
    (
        PortCounter::RcvRemotePhysicalErrors,
        "PortRcvRemotePhysicalErrors",
    ),
    (
        PortCounter::RcvSwitchRelayErrors,
        "PortRcvSwitchRelayErrors",
    ),
    (PortCounter::XmitDiscards, "PortXmitDiscards"),
    (
        PortCounter::XmitConstraintErrors,
        "PortXmitConstraintErrors",
    ),
    (PortCounter::RcvConstraintErrors, "PortRcvConstraintErrors"),
    (
        PortCounter::LocalLinkIntegrityErrors,
        "LocalLinkIntegrityErrors",
    ),
    (
        PortCounter::ExcessiveBufferOverrunErrors,
        "ExcessiveBufferOverrunErrors",
    ),
    (PortCounter::Vl15Dropped, "VL15Dropped"),
    (PortCounter::Qp1Dropped, "QP1Dropped"),
];

/// Errors of a receiver that account for a packet which was sent and did not arrive.
const EXPLAINS: [PortCounter; 3] = [
    PortCounter::RcvErrors,
    PortCounter::RcvRemotePhysicalErrors,
    PortCounter::Vl15Dropped,
];

/// What only grows.
const TRAFFIC: [(PortCounter, &str); 4] = [
    (PortCounter::XmitPkts, "PortXmitPkts"),
    (PortCounter::RcvPkts, "PortRcvPkts"),
    (PortCounter::XmitData, "PortXmitData"),
    (PortCounter::RcvData, "PortRcvData"),
];

/// Judges how the counters of all ports in reach moved from one moment to another.
#[must_use]
pub fn judge_counters(
    state: &FabricSnapshot,
    expect: &Expectations,
    before: &CountersSnapshot,
    after: &CountersSnapshot,
    allow: &CounterAllowance,
) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(scope) = Scope::new(state, expect) else {
        let PortAt { node, port } = expect.sm;
        verdict
            .violations
            .push(Violation::NoSuchPort { node, port });
        return verdict;
    };
    (verdict.switches, verdict.end_ports) = (scope.switches.len(), scope.end_ports.len());
    verdict.links = scope.links.len();
    let mut judge = Judge {
        scope: &scope,
        before,
        after,
        allow,
        faults: Vec::new(),
    };
    for (a, b) in &scope.links {
        judge.port(*a);
        if a != b {
            judge.port(*b);
            judge.cable(*b, *a);
        }
        judge.cable(*a, *b);
    }
    let faults = judge.faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
    verdict
}

struct Judge<'a, 's> {
    scope: &'a Scope<'s>,
    before: &'a CountersSnapshot,
    after: &'a CountersSnapshot,
    allow: &'a CounterAllowance,
    faults: Vec<CounterFault>,
}

impl Judge<'_, '_> {
    fn name(&self, at: PortAt) -> String {
        self.scope.state.name(at)
    }

    /// By how much a counter rose; a counter that went back is told elsewhere.
    fn rise(&self, at: PortAt, which: PortCounter) -> u64 {
        let (before, after) = (self.before.get(at, which), self.after.get(at, which));
        after.saturating_sub(before)
    }

    fn port(&mut self, at: PortAt) {
        for (which, counter) in TRAFFIC.into_iter().chain(TROUBLE) {
            let (before, after) = (self.before.get(at, which), self.after.get(at, which));
            if after < before {
                let port = self.name(at);
                self.faults.push(CounterFault::Decreased {
                    port,
                    counter,
                    before,
                    after,
                });
            }
        }
        for (which, counter) in TROUBLE {
            let by = self.rise(at, which);
            if by > 0 && !self.allow.moved.contains(&which) {
                let port = self.name(at);
                self.faults
                    .push(CounterFault::ErrorCounterRose { port, counter, by });
            }
        }
    }

    /// One direction of a cable.
    fn cable(&mut self, from: PortAt, to: PortAt) {
        let went_back = |at: PortAt| {
            let mut all = TRAFFIC.iter();
            all.any(|(c, _)| self.after.get(at, *c) < self.before.get(at, *c))
        };
        if went_back(from) || went_back(to) {
            return;
        }
        for (what, sent, received) in [
            ("packets", PortCounter::XmitPkts, PortCounter::RcvPkts),
            ("words", PortCounter::XmitData, PortCounter::RcvData),
        ] {
            let (sent, received) = (self.rise(from, sent), self.rise(to, received));
            if received > sent {
                let (from, to) = (self.name(from), self.name(to));
                self.faults.push(CounterFault::ReceivedMoreThanSent {
                    to,
                    from,
                    what,
                    received,
                    sent,
                });
                return;
            }
        }
        let sent = self.rise(from, PortCounter::XmitPkts);
        let received = self.rise(to, PortCounter::RcvPkts);
        let explained = EXPLAINS.iter().map(|c| self.rise(to, *c)).sum::<u64>();
        if sent - received > explained.saturating_add(self.allow.lost_per_link) {
            let (from, to) = (self.name(from), self.name(to));
            self.faults.push(CounterFault::UnexplainedLoss {
                from,
                to,
                sent,
                received,
                explained,
            });
        }
    }
}
