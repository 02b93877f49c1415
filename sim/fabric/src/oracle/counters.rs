//! Port counters: packets sent on a link are received or counted as errors, and error counters do
//! not rise without faults.
//!
//! The check compares two snapshots of a fabric without packets in flight: a packet in flight is
//! counted at the sender only.

use std::collections::{BTreeMap, BTreeSet};

use super::Verdict;
use super::expectations::Expectations;
use super::scope::Scope;
use super::state::FabricSnapshot;
use super::violation::{CounterFault, Violation};
use crate::fabric::{Fabric, PortCounter, PortCounters};
use crate::spec::PortAt;

/// Counters of all ports at one time; a missing port has counted nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountersSnapshot {
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

/// Faults expected between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CounterAllowance {
    /// Error counters that may rise.
    pub may_rise: BTreeSet<PortCounter>,
    /// Packets that each direction of a link may lose without an error.
    pub lost_per_link: u64,
}

/// Counters that must not rise on a fabric without faults.
const ERROR_COUNTERS: [(PortCounter, &str); 13] = [
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

/// Receive error counters that account for packets sent but not received.
const LOSS_COUNTERS: [PortCounter; 3] = [
    PortCounter::RcvErrors,
    PortCounter::RcvRemotePhysicalErrors,
    PortCounter::Vl15Dropped,
];

/// Packet and data counters.
const TRAFFIC_COUNTERS: [(PortCounter, &str); 4] = [
    (PortCounter::XmitPkts, "PortXmitPkts"),
    (PortCounter::RcvPkts, "PortRcvPkts"),
    (PortCounter::XmitData, "PortXmitData"),
    (PortCounter::RcvData, "PortRcvData"),
];

/// Checks the changes of the reachable ports' counters between two snapshots.
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
    let mut check = CounterCheck {
        scope: &scope,
        before,
        after,
        allow,
        faults: Vec::new(),
    };
    for (a, b) in &scope.links {
        check.check_port(*a);
        if a != b {
            check.check_port(*b);
            check.check_direction(*b, *a);
        }
        check.check_direction(*a, *b);
    }
    let faults = check.faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
    verdict
}

struct CounterCheck<'a, 's> {
    scope: &'a Scope<'s>,
    before: &'a CountersSnapshot,
    after: &'a CountersSnapshot,
    allow: &'a CounterAllowance,
    faults: Vec<CounterFault>,
}

impl CounterCheck<'_, '_> {
    fn name(&self, at: PortAt) -> String {
        self.scope.state.name(at)
    }

    /// Increase of a counter; 0 if it decreased, which is reported separately.
    fn increase(&self, at: PortAt, which: PortCounter) -> u64 {
        let before = self.before.get(at, which);
        let after = self.after.get(at, which);
        after.saturating_sub(before)
    }

    fn check_port(&mut self, at: PortAt) {
        for (which, counter) in TRAFFIC_COUNTERS.into_iter().chain(ERROR_COUNTERS) {
            let before = self.before.get(at, which);
            let after = self.after.get(at, which);
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
        for (which, counter) in ERROR_COUNTERS {
            let by = self.increase(at, which);
            if by > 0 && !self.allow.may_rise.contains(&which) {
                let port = self.name(at);
                self.faults
                    .push(CounterFault::ErrorCounterRose { port, counter, by });
            }
        }
    }

    /// Compares both ends of one direction of a link.
    fn check_direction(&mut self, from: PortAt, to: PortAt) {
        let decreased = |at: PortAt| {
            let mut all = TRAFFIC_COUNTERS.iter();
            all.any(|(c, _)| self.after.get(at, *c) < self.before.get(at, *c))
        };
        if decreased(from) || decreased(to) {
            return;
        }
        for (description, sent, received) in [
            ("packets", PortCounter::XmitPkts, PortCounter::RcvPkts),
            ("words", PortCounter::XmitData, PortCounter::RcvData),
        ] {
            let sent = self.increase(from, sent);
            let received = self.increase(to, received);
            if received > sent {
                let from = self.name(from);
                let to = self.name(to);
                self.faults.push(CounterFault::ReceivedMoreThanSent {
                    to,
                    from,
                    description,
                    received,
                    sent,
                });
                return;
            }
        }
        let sent = self.increase(from, PortCounter::XmitPkts);
        let received = self.increase(to, PortCounter::RcvPkts);
        let explained = LOSS_COUNTERS
            .iter()
            .map(|c| self.increase(to, *c))
            .sum::<u64>();
        if sent - received > explained.saturating_add(self.allow.lost_per_link) {
            let from = self.name(from);
            let to = self.name(to);
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
