//! What of the events of a subnet manager is news: nothing is reported twice.

use ferrosm_mad::attr::SmState;
use ferrosm_routing::Diagnostic;

use super::{Event, LocalSweepReasons, Severity};
use crate::report::routing_message::RoutingMessage;
use crate::report::{Problem, ProblemKind, SweepReport};

/// Most problems of a sweep that are reported one by one.
pub const PROBLEMS_MAX: usize = 20;

/// What was reported about the last sweep.
#[derive(Debug, Default)]
pub struct News {
    /// Its problems, and those found since.
    problems: Vec<Problem>,
    /// The problems of the last full sweep.
    full: Vec<Problem>,
    /// Its messages about the routing.
    messages: Vec<RoutingMessage>,
    /// Whether its routing had paths with different SLs.
    had_several_sls: bool,
    /// Why the last light sweep requested a local sweep, if no full sweep has run since.
    reasons: Option<LocalSweepReasons>,
    /// This SM is master, and the last sweep left no problem.
    is_up: bool,
    /// The next local sweep has the same reasons as the last one, and none is a new change.
    is_repeated: bool,
}

/// Receives events with their severities.
type Report<'a> = &'a mut dyn FnMut(&Event, Severity);

impl News {
    /// Reports an event of a subnet manager: a sweep is followed by what it found. What repeats the
    /// last sweep has severity [`Severity::Debug`].
    pub fn report(&mut self, event: &Event, to: Report<'_>) {
        let mut severity = event.row().severity;
        if let Event::SweepCompleted(report) = event {
            return self.report_sweep(event, report, to);
        } else if let Event::ProblemFound(problem) = event {
            self.problems.push(problem.clone());
        } else if let Event::ChangesFound(reasons) = event {
            let is_new_change = reasons.changed_switches > 0 || reasons.outdated_routes;
            self.is_repeated = !is_new_change && self.reasons == Some(*reasons);
            self.reasons = Some(*reasons);
            if self.is_repeated {
                severity = Severity::Debug;
            }
        } else if let Event::RoleChanged { state, .. } = event {
            self.is_up &= *state == SmState::Master;
        }
        to(event, severity);
    }

    /// A local sweep reports only problems that are new.
    fn report_sweep(&mut self, event: &Event, r: &SweepReport, to: Report<'_>) {
        let is_repeated = core::mem::take(&mut self.is_repeated) && self.is_unchanged(r);
        to(
            event,
            if is_repeated {
                Severity::Debug
            } else {
                Severity::Info
            },
        );
        let mut add = |event: Event| to(&event, event.row().severity);
        self.report_messages(r, &mut add);
        if r.has_several_sls && !self.had_several_sls {
            add(Event::SeveralSlsUsed(r.engine));
        }
        self.had_several_sls = r.has_several_sls;
        report_details(r, &mut add);
        let known = if r.is_local() {
            &self.problems[..]
        } else {
            &[]
        };
        report_problems(&r.problems, known, &mut add);
        if !r.is_local() {
            // After a failure, what the rest of the sweep would have found is not known.
            if !r.failed {
                report_solved(&self.full, &r.problems, &mut add);
            }
            self.full.clone_from(&r.problems);
            self.reasons = None;
        }
        self.problems.clone_from(&r.problems);
        self.messages.clone_from(&r.routing_messages);
        // A local sweep reports the problems of its own scope only.
        let is_fabric_sound = !self.full.iter().any(|p| p.kind.is_severe());
        let is_up = r.role == SmState::Master && r.is_clean() && is_fabric_sound;
        if is_up && !self.is_up {
            add(Event::SubnetUp(r.switches, r.cas));
        }
        self.is_up = is_up;
    }

    /// Whether a local sweep found and changed nothing.
    fn is_unchanged(&self, r: &SweepReport) -> bool {
        let is_known = |p: &Problem| is_known(p, &self.problems);
        let has_same_problems =
            r.problems.len() == self.problems.len() && r.problems.iter().all(is_known);
        let has_writes = r.lids_changed > 0 || r.lft_blocks_written > 0;
        r.is_local() && has_same_problems && !has_writes && !r.has_new_routes && !r.failed
    }

    /// Reports the messages about new routes. Decisions that are unchanged since the last sweep are
    /// not repeated.
    fn report_messages(&self, r: &SweepReport, add: &mut impl FnMut(Event)) {
        // Without new routes, the report repeats the messages about those in force.
        let is_write_failure = |message: &RoutingMessage| {
            matches!(
                message,
                RoutingMessage::LftsNotWritten { .. } | RoutingMessage::MftsNotWritten
            )
        };
        let is_decision = |message: &RoutingMessage| {
            matches!(message, RoutingMessage::Engine(diagnostic)
                if !matches!(diagnostic.message, Diagnostic::Rerouted(_)))
        };
        let is_current = |message: &&RoutingMessage| {
            let is_repeated = is_decision(message) && self.messages.contains(message);
            is_write_failure(message) || ((r.has_new_routes || r.failed) && !is_repeated)
        };
        for message in r.routing_messages.iter().filter(is_current) {
            add(Event::RoutingReported(r.engine, message.clone()));
        }
    }
}

/// Reports a nearly full P_Key table, and counts and times of a sweep.
fn report_details(r: &SweepReport, add: &mut impl FnMut(Event)) {
    let table = r.fullest_pkey_table.as_ref();
    if let Some(table) = table.filter(|table| table.free() < usize::from(table.capacity / 4)) {
        add(Event::PKeyTableNearlyFull(table.clone()));
    }
    for (attr, count) in &r.smps {
        add(Event::SmpsCounted(*attr, *count));
    }
    for (phase, took) in &r.phases {
        add(Event::PhaseCompleted(*phase, *took));
    }
}

/// Reports problems that are not known.
pub fn report_problems(problems: &[Problem], known: &[Problem], add: &mut impl FnMut(Event)) {
    let new = problems.iter().filter(|p| !is_known(p, known));
    let (listed, suppressed) = first_problems(new);
    for problem in listed {
        add(Event::ProblemReported(problem.clone()));
    }
    if suppressed > 0 {
        add(Event::FurtherProblemsReported(suppressed));
    }
}

/// Reports the problems of the last full sweep that this one did not find.
fn report_solved(before: &[Problem], now: &[Problem], add: &mut impl FnMut(Event)) {
    let mut solved = before.iter().filter(|p| !is_known(p, now));
    for problem in solved.by_ref().take(PROBLEMS_MAX) {
        add(Event::ProblemSolved(problem.clone()));
    }
    let suppressed = solved.count();
    if suppressed > 0 {
        add(Event::FurtherProblemsSolved(suppressed));
    }
}

/// Problems, then notes: at most [`PROBLEMS_MAX`], and the number of the others.
#[must_use]
pub fn first_problems<'a>(
    problems: impl IntoIterator<Item = &'a Problem>,
) -> (Vec<&'a Problem>, usize) {
    let mut sorted: Vec<_> = problems.into_iter().collect();
    sorted.sort_by_key(|p| !p.kind.is_severe());
    let suppressed = sorted.len().saturating_sub(PROBLEMS_MAX);
    sorted.truncate(PROBLEMS_MAX);
    (sorted, suppressed)
}

/// Whether a problem is one of `known`. A device that does not respond is one problem, whichever
/// request it did not answer.
fn is_known(problem: &Problem, known: &[Problem]) -> bool {
    let is_unanswered = |p: &Problem| matches!(p.kind, ProblemKind::NoResponse { .. });
    known.iter().any(|k| {
        let is_same_device =
            k.location == problem.location && is_unanswered(k) && is_unanswered(problem);
        is_same_device || k == problem
    })
}

#[cfg(test)]
mod tests {
    use ferrosm_fabric::location::Location;
    use ferrosm_mad::attr::id;
    use ferrosm_mad::ids::Lid;

    use super::*;

    #[test]
    fn device_without_response_is_known_for_any_request() {
        let problem = |lid, kind| Problem {
            location: Location::Lid(Lid(lid)),
            kind,
        };
        let silent = |attr| ProblemKind::NoResponse { attr };
        let known = [problem(1, silent(id::SWITCH_INFO))];
        assert!(is_known(&problem(1, silent(id::PORT_INFO)), &known));
        assert!(!is_known(&problem(2, silent(id::PORT_INFO)), &known));
        assert!(!is_known(&problem(1, ProblemKind::NoLid), &known));
    }
}
