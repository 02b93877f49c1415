//! Problems that last: those of the last full sweep, and those found since.
//!
//! A local sweep reports some kinds of problems for the whole fabric, others only for the devices
//! that it read. What it does not report is solved in the first case. In the second case it is
//! solved by the next full sweep; that a device does not respond also if it was not reported for a
//! while or has left the subnet, and that a port is not Active when it is.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::SystemTime;

use ferrosm_core::SweepReport;
use ferrosm_core::report::{Problem, ProblemKind};
use ferrosm_fabric::location::{Location, PortName};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{PortInfo, PortState};

/// Most problems. Further ones are in the report of their sweep only.
const PROBLEMS_MAX: usize = 16_384;

/// The problems that last.
#[derive(Debug, Clone, Default)]
pub struct StandingProblems(BTreeMap<ProblemId, StandingProblem>);

/// Location and kind.
type ProblemId = (String, &'static str);

/// A problem that lasts.
#[derive(Debug, Clone)]
pub(super) struct StandingProblem {
    pub(super) problem: Problem,
    /// When it was found.
    pub(super) since: SystemTime,
    /// When it was reported last.
    reported: SystemTime,
}

/// When a problem that a sweep does not report is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SolvedBy {
    /// At once: every sweep reports it.
    Sweep,
    /// If it is not reported for a while, when its device leaves the subnet, or by a full sweep.
    Quiet,
    /// When its port is Active or has left the subnet, or by a full sweep.
    ActivePort,
    /// By a full sweep only.
    FullSweep,
    /// The sweep that reports it also corrects it.
    Itself,
}

impl StandingProblems {
    pub(super) fn iter(&self) -> impl Iterator<Item = &StandingProblem> {
        self.0.values()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A sweep is complete.
    pub(super) fn on_sweep(&mut self, report: &SweepReport, snapshot: &Snapshot, now: SystemTime) {
        for problem in &report.problems {
            self.on_found(problem, now);
        }
        // After a failure, what the rest of the sweep would have found is not known.
        if report.failed {
            return;
        }
        let is_local = report.is_local();
        self.0.retain(|_, standing| {
            let is_reported = standing.reported == now;
            let lasts = match solved(&standing.problem.kind) {
                SolvedBy::Sweep | SolvedBy::Itself => false,
                SolvedBy::Quiet => !has_left(&standing.problem.location, snapshot),
                SolvedBy::FullSweep => true,
                SolvedBy::ActivePort => is_inactive(&standing.problem.location, snapshot),
            };
            is_reported || (is_local && lasts)
        });
    }

    /// A problem was found.
    pub(super) fn on_found(&mut self, problem: &Problem, now: SystemTime) {
        if solved(&problem.kind) == SolvedBy::Itself {
            return;
        }
        let id = (problem.location.to_string(), problem.kind.name());
        if let Some(standing) = self.0.get_mut(&id) {
            standing.problem = problem.clone();
            standing.reported = now;
        } else if self.0.len() < PROBLEMS_MAX {
            let standing = StandingProblem {
                problem: problem.clone(),
                since: now,
                reported: now,
            };
            self.0.insert(id, standing);
        }
    }

    /// Whether [`Self::remove_quiet`] would remove a problem.
    pub(super) fn has_quiet(&self, limit: Duration, now: SystemTime) -> bool {
        self.iter().any(|standing| standing.is_quiet(limit, now))
    }

    /// Removes problems of devices that the SM reads again and again, if they were not reported for
    /// this time.
    pub(super) fn remove_quiet(&mut self, limit: Duration, now: SystemTime) {
        self.0.retain(|_, standing| !standing.is_quiet(limit, now));
    }
}

impl StandingProblem {
    fn is_quiet(&self, limit: Duration, now: SystemTime) -> bool {
        let quiet_for = now.duration_since(self.reported).unwrap_or_default();
        solved(&self.problem.kind) == SolvedBy::Quiet && quiet_for >= limit
    }
}

/// Whether the device of a location is known and not in the subnet.
fn has_left(location: &Location, snapshot: &Snapshot) -> bool {
    let Location::Port(PortName {
        node: Some(node), ..
    }) = location
    else {
        return false;
    };
    snapshot.by_node_guid(node.guid).is_none()
}

/// Whether a port is in the subnet and not Active.
fn is_inactive(location: &Location, snapshot: &Snapshot) -> bool {
    let Location::Port(name) = location else {
        return false;
    };
    let slot = name.node.and_then(|node| snapshot.by_node_guid(node.guid));
    let at = slot.and_then(|slot| snapshot.port_by_num(slot, name.port));
    let port = at.map(|at| snapshot.port(at));
    port.is_some_and(|port| {
        !port.has_port_info || PortInfo::port_state.read(&port.raw) != PortState::Active
    })
}

const fn solved(kind: &ProblemKind) -> SolvedBy {
    match kind {
        ProblemKind::Excluded(..)
        | ProblemKind::TableKept { .. }
        | ProblemKind::NotReached
        | ProblemKind::EngineNotUsed { .. }
        | ProblemKind::MembersLeftOut { .. }
        | ProblemKind::MulticastDisabled
        | ProblemKind::ForeignSettingsKept(_)
        | ProblemKind::DrainedLinkUsed
        | ProblemKind::CannotJoinBroadcastGroup(..) => SolvedBy::Sweep,
        // Light sweeps and retries ask the device again, and report the problem again.
        ProblemKind::NoResponse { .. }
        | ProblemKind::MKeyRejected
        | ProblemKind::SetRejected { .. } => SolvedBy::Quiet,
        ProblemKind::NotActive(_) | ProblemKind::LinkNotRouted(_) => SolvedBy::ActivePort,
        ProblemKind::NoLid
        | ProblemKind::Loopback
        | ProblemKind::LinkToOtherSubnet { .. }
        | ProblemKind::NoLinearTable
        | ProblemKind::LftTooSmall { .. }
        | ProblemKind::MftTooSmall { .. }
        | ProblemKind::PKeyTableFull { .. }
        | ProblemKind::PKeysNotEnforced { .. } => SolvedBy::FullSweep,
        ProblemKind::SetNormalized { .. }
        | ProblemKind::LidConflict(_)
        | ProblemKind::LinkMismatch
        | ProblemKind::LinkBounced
        | ProblemKind::LftTopTooHigh { .. } => SolvedBy::Itself,
    }
}

/// Whether a problem ends with the sweep that reports it.
pub(super) const fn is_corrected(kind: &ProblemKind) -> bool {
    matches!(solved(kind), SolvedBy::Itself)
}

#[cfg(test)]
mod tests {
    use ferrosm_core::report::SweepKind;
    use ferrosm_fabric::location::{Location, NodeName};
    use ferrosm_mad::attr::{NodeDescription, id};
    use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};

    use super::*;

    fn problem(lid: u16, kind: ProblemKind) -> Problem {
        Problem {
            location: Location::Lid(Lid(lid)),
            kind,
        }
    }

    fn report(kind: SweepKind, problems: Vec<Problem>) -> SweepReport {
        SweepReport {
            kind,
            problems,
            ..SweepReport::default()
        }
    }

    fn kinds(standing: &StandingProblems) -> Vec<&'static str> {
        let kinds = standing.iter().map(|s| s.problem.kind.name());
        kinds.collect()
    }

    /// That a switch did not respond is no news after it has left the subnet.
    #[test]
    fn silence_ends_with_the_device() {
        let silent = Problem {
            location: Location::Port(PortName {
                node: Some(NodeName {
                    description: NodeDescription::default(),
                    guid: NodeGuid(7),
                }),
                port: PortNum::ZERO,
            }),
            kind: ProblemKind::NoResponse {
                attr: id::SWITCH_INFO,
            },
        };
        let mut standing = StandingProblems::default();
        standing.on_found(&silent, SystemTime::UNIX_EPOCH);
        assert_eq!(kinds(&standing), ["no-response"]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let next = report(SweepKind::Local, Vec::new());
        standing.on_sweep(&next, &Snapshot::default(), now);
        assert!(kinds(&standing).is_empty());
    }

    /// A local sweep of other devices does not solve what it did not look at.
    #[test]
    fn problems_outlive_local_sweeps_of_other_devices() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let at = |s: u64| start + Duration::from_secs(s);
        let silent = || {
            let attr = id::SWITCH_INFO;
            problem(1, ProblemKind::NoResponse { attr })
        };
        let full_table = || {
            let kind = ProblemKind::PKeyTableFull {
                count: 1,
                capacity: 32,
            };
            problem(2, kind)
        };
        let engine = || {
            let kind = ProblemKind::EngineNotUsed {
                configured: "ftree".to_owned(),
                used: "updn",
                reason: None,
            };
            problem(3, kind)
        };
        let corrected = problem(4, ProblemKind::LinkMismatch);
        let inactive = problem(5, ProblemKind::NotActive(PortState::Initialize));
        let snapshot = Snapshot::default();
        let limit = Duration::from_secs(60);
        let mut standing = StandingProblems::default();
        let found = vec![silent(), full_table(), engine(), corrected, inactive];
        standing.on_sweep(&report(SweepKind::Full, found), &snapshot, at(0));
        assert_eq!(
            kinds(&standing),
            [
                "no-response",
                "p-key-table-full",
                "engine-not-used",
                "not-active"
            ]
        );
        standing.on_sweep(&report(SweepKind::Local, Vec::new()), &snapshot, at(1));
        assert_eq!(kinds(&standing), ["no-response", "p-key-table-full"]);
        // Reported again: the time begins anew, and the problem is as old as before.
        standing.on_found(&silent(), at(50));
        assert!(!standing.has_quiet(limit, at(109)));
        assert_eq!(standing.iter().next().unwrap().since, at(0));
        assert!(standing.has_quiet(limit, at(110)));
        standing.remove_quiet(limit, at(110));
        assert_eq!(kinds(&standing), ["p-key-table-full"]);
        let failed = SweepReport {
            failed: true,
            ..report(SweepKind::Full, Vec::new())
        };
        standing.on_sweep(&failed, &snapshot, at(111));
        assert_eq!(kinds(&standing), ["p-key-table-full"]);
        standing.on_sweep(&report(SweepKind::Full, Vec::new()), &snapshot, at(112));
        assert!(kinds(&standing).is_empty());
    }
}
