//! The last sweeps: what each was for, what it found and what it wrote.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ferrosm_api::explain::{PhaseTime, SmpsOfAttribute, SweepExplanation};
use ferrosm_core::{Event, SweepReport};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::attr::id;

use super::changes::of_event::{describe, effect, notice};
use super::commands::CommandLog;
use super::rfc3339;

/// Sweeps that the service remembers.
const REMEMBERED: usize = 256;
/// Most causes of a sweep.
const CAUSES_MAX: usize = 8;
/// Most changes and most problems that a sweep lists.
const FINDINGS_MAX: usize = 100;

/// The last sweeps. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SweepLog {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The newest last.
    sweeps: VecDeque<Arc<SweepExplanation>>,
    /// What the SM noticed since the last sweep.
    causes: Vec<String>,
    /// What it reported since the last sweep.
    found: Vec<String>,
}

impl SweepLog {
    /// The SM reported an event.
    pub fn on_event(&self, event: &Event, commands: &CommandLog) {
        let mut inner = self.lock();
        if let Event::SweepCompleted(report) = event {
            let mut causes = commands.in_progress();
            causes.append(&mut inner.causes);
            causes.truncate(CAUSES_MAX);
            let found = core::mem::take(&mut inner.found);
            let sweep = explanation(report, causes, found);
            if inner.sweeps.len() == REMEMBERED {
                inner.sweeps.pop_front();
            }
            inner.sweeps.push_back(Arc::new(sweep));
            return;
        }
        if let Some(cause) = role_change(event).or_else(|| notice(event))
            && inner.causes.len() < CAUSES_MAX
            && !inner.causes.contains(&cause)
        {
            inner.causes.push(cause);
        } else if let Some(described) = describe(event)
            && inner.found.len() < FINDINGS_MAX
        {
            inner.found.push(described.what);
        }
    }

    /// The sweep with a number, or the last one.
    pub(super) fn get(&self, number: Option<u32>) -> Option<Arc<SweepExplanation>> {
        let inner = self.lock();
        let mut newest_first = inner.sweeps.iter().rev();
        newest_first
            .find(|sweep| number.is_none_or(|number| sweep.number == number))
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new master sweeps the fabric.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other events are no reasons for a first sweep"
)]
fn role_change(event: &Event) -> Option<String> {
    match event {
        Event::RoleChanged {
            state: SmState::Master,
            why,
        } => Some(format!("this SM became master: {why}")),
        _ => None,
    }
}

fn explanation(report: &SweepReport, causes: Vec<String>, found: Vec<String>) -> SweepExplanation {
    let mut attributes: Vec<SmpsOfAttribute> = report
        .smps
        .iter()
        .map(|(attr, count)| SmpsOfAttribute {
            attribute: id::name(*attr).map_or_else(|| attr.to_string(), str::to_owned),
            gets: count.gets,
            sets: count.sets,
            timeouts: count.timeouts,
        })
        .collect();
    attributes.sort_by_key(|smps| core::cmp::Reverse(smps.gets + smps.sets));
    let micros = |took: core::time::Duration| u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    SweepExplanation {
        number: report.number,
        kind: report.kind.name().to_owned(),
        ended_at: rfc3339(SystemTime::now()),
        took_us: micros(report.took),
        causes,
        found,
        wrote: effect(report),
        smps: report.smps_sent(),
        timeouts: report.smps.values().map(|count| count.timeouts).sum(),
        attributes,
        phases: report
            .phases
            .iter()
            .map(|(phase, took)| PhaseTime {
                phase: phase.to_string(),
                took_us: micros(*took),
            })
            .collect(),
        problems: report
            .problems
            .iter()
            .take(FINDINGS_MAX)
            .map(ToString::to_string)
            .collect(),
        num_problems: report.problems.len(),
        messages: report
            .routing_messages
            .iter()
            .take(FINDINGS_MAX)
            .map(ToString::to_string)
            .collect(),
    }
}
