//! How the fabric differs from what operators declared about it.
//!
//! A comparison runs on a thread of its own after each sweep and each change of what was declared.
//! One runs at a time; what changes meanwhile is compared next.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::SystemTime;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::cabling::CablingReport;
use ferrosm_api::invariant::{InvariantState, InvariantStatus, Invariants};
use ferrosm_core::config::partitions::Partitions;
use ferrosm_mad::attr::SmState;
use tracing::{info, warn};

use super::intent::{ComparedIntent, Intent};
use super::published::{FabricState, Published, State};
use crate::cabling::compare::compare;
use crate::cabling::fabric::CabledFabric;
use crate::invariants::Invariant;
use crate::invariants::check::{CheckedFabric, CheckedRoutes, check, newly_violated, unchecked};

/// Most violations that a message describes.
const VIOLATIONS_NAMED: usize = 5;

/// What a comparison depends on.
#[derive(Debug)]
struct Basis {
    /// Time of the snapshot.
    at: SystemTime,
    partitions: Weak<Partitions>,
    intent: Weak<Intent>,
}

impl Basis {
    fn of(state: &State, fabric: &FabricState) -> Self {
        Self {
            at: fabric.at,
            partitions: Arc::downgrade(&state.partitions),
            intent: Arc::downgrade(&state.intent),
        }
    }

    fn is_equal(&self, other: &Self) -> bool {
        self.at == other.at
            && Weak::ptr_eq(&self.partitions, &other.partitions)
            && Weak::ptr_eq(&self.intent, &other.intent)
    }
}

/// Starts comparisons.
#[derive(Debug, Default)]
pub(super) struct IntentComparer {
    /// What was compared last.
    compared: Option<Basis>,
    is_running: Arc<AtomicBool>,
}

impl IntentComparer {
    /// Compares a state on a thread of its own, if what matters has changed.
    pub(super) fn follow(&mut self, state: &Arc<State>, published: &Published) {
        if state.intent.is_empty() {
            if *state.compared_intent != ComparedIntent::default() {
                published.intent_compared(ComparedIntent::default());
            }
            self.compared = None;
            return;
        }
        let fabric = state.fabric.as_ref();
        let complete = fabric.filter(|f| state.role == SmState::Master && f.report.is_some());
        let Some(fabric) = complete else {
            self.compared = None;
            return;
        };
        let basis = Basis::of(state, fabric);
        let is_known = self.compared.as_ref().is_some_and(|c| c.is_equal(&basis));
        if is_known || self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let state = Arc::clone(state);
        let published = published.clone();
        let is_running = Arc::clone(&self.is_running);
        let spawned = thread::Builder::new()
            .name("intent".to_owned())
            .spawn(move || {
                // Also if the comparison panics.
                let _running = EndOnDrop(is_running);
                let compared = compare_intent(&state);
                log_changes(&state.compared_intent, &compared);
                published.intent_compared(compared);
            });
        match spawned {
            Ok(_) => self.compared = Some(basis),
            // It is tried again in a moment.
            Err(_) => self.is_running.store(false, Ordering::Release),
        }
    }
}

struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn compare_intent(state: &State) -> ComparedIntent {
    let Some(fabric) = &state.fabric else {
        return ComparedIntent::default();
    };
    let intent = &state.intent;
    let mut compared = ComparedIntent {
        invariants: check(&intent.invariants, checked(fabric, &state.partitions)),
        ..ComparedIntent::default()
    };
    if let Some(plan) = &intent.cabling {
        match compare(plan, &CabledFabric::of_snapshot(&fabric.snapshot)) {
            Ok(CablingReport { findings, .. }) => compared.cabling = findings,
            Err(error) => compared.cabling_error = Some(error.to_string()),
        }
    }
    compared
}

/// Those of some invariants that would be violated with these partitions, on the routes as they
/// are, and are not violated now. None if the fabric is not known.
pub(crate) fn violations(
    state: &State,
    invariants: &[Invariant],
    partitions: &Partitions,
) -> Vec<InvariantStatus> {
    let Some(fabric) = &state.fabric else {
        return Vec::new();
    };
    let after = check(invariants, checked(fabric, partitions));
    let before = check(&state.intent.invariants, checked(fabric, &state.partitions));
    newly_violated(&before, after)
}

/// Refuses a change that would violate invariants.
pub(crate) fn refuse(violations: &[InvariantStatus]) -> Result<(), ApiError> {
    let described: Vec<String> = violations
        .iter()
        .take(VIOLATIONS_NAMED)
        .map(|status| format!("{} ({}): {}", status.name, status.rule, status.text))
        .collect();
    let more = match violations.len().saturating_sub(VIOLATIONS_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    match described.is_empty() {
        true => Ok(()),
        false => Err(ApiError::new(
            ErrorKind::Conflict,
            format!("it would violate invariant {}{more}", described.join("; ")),
            "Nothing was changed. `--dry-run` shows what it would do; `--accept invariant` does it nevertheless.",
        )),
    }
}

/// The published fabric with its routes in force and these partitions.
fn checked<'a>(fabric: &'a FabricState, partitions: &'a Partitions) -> CheckedFabric<'a> {
    CheckedFabric {
        snapshot: &fabric.snapshot,
        partitions,
        routes: fabric.basis.as_deref().map(CheckedRoutes::in_force),
    }
}

fn log_changes(before: &ComparedIntent, after: &ComparedIntent) {
    let old_state = |name: &str| {
        let mut old = before.invariants.iter();
        old.find(|old| old.name == name).map(|old| old.state)
    };
    for status in &after.invariants {
        let invariant = &status.name;
        let old = old_state(invariant);
        match status.state {
            InvariantState::Violated if old != Some(InvariantState::Violated) => {
                warn!(
                    invariant,
                    rule = status.rule,
                    example = status.text,
                    "invariant violated"
                );
            }
            InvariantState::Ok if old == Some(InvariantState::Violated) => {
                info!(invariant, "invariant holds again");
            }
            InvariantState::Ok | InvariantState::Violated | InvariantState::Unknown => {}
        }
    }
    if before.cabling.len() != after.cabling.len() {
        let findings = after.cabling.len();
        match findings {
            0 => info!("cables as planned"),
            findings => warn!(findings, "cables not as planned"),
        }
    }
    if let Some(error) = &after.cabling_error
        && before.cabling_error.as_ref() != Some(error)
    {
        warn!(error, "cannot compare cables with their plan");
    }
}

/// The declared invariants, and whether they hold.
pub(super) fn invariants(state: &State) -> Invariants {
    let known = &state.compared_intent.invariants;
    let is_master = state.role == SmState::Master;
    let status = |invariant: &Invariant| {
        let unknown = unchecked(invariant);
        let is_same =
            |status: &&InvariantStatus| status.name == unknown.name && status.rule == unknown.rule;
        let found = known.iter().filter(|_| is_master).find(is_same);
        match found {
            Some(status) => status.clone(),
            None if is_master => unknown,
            None => InvariantStatus {
                text: "only the master checks it".to_owned(),
                ..unknown
            },
        }
    };
    Invariants {
        items: state.intent.invariants.iter().map(status).collect(),
    }
}
