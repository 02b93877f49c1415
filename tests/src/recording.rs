//! Recordings of simulated runs: all MADs with their bytes and all events of the SMs, in order.
//!
//! [`record`] records what its closure does on the calling thread. Comparing the recordings of one
//! seed by two builds shows whether a refactoring changed the SM's behaviour.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_core::{Event, RestoredState, SmConfig, SubnetManager};
use ferrosm_mad::time::Instant;
use ferrosm_recording::{RecordedManager, RecordingSink};

thread_local! {
    static LINES: RefCell<Option<String>> = const { RefCell::new(None) };
    static MANAGERS: RefCell<Option<Vec<ManagerRecording>>> = const { RefCell::new(None) };
}

/// A recording in the format of `ferrosm replay`.
#[derive(Debug, Clone, Default)]
struct ManagerRecording(Arc<Mutex<Vec<u8>>>);

impl ManagerRecording {
    fn with<T>(&self, f: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RecordingSink for ManagerRecording {
    fn append(&mut self, mut bytes: Vec<u8>) {
        self.with(|all| all.append(&mut bytes));
    }
}

/// Runs `run`, and returns the recordings of all SMs that it starts on this thread, in order. They
/// are complete if `run` does not panic.
pub fn record_managers(run: impl FnOnce()) -> Vec<Vec<u8>> {
    MANAGERS.set(Some(Vec::new()));
    run();
    let all = MANAGERS.take().unwrap_or_default();
    all.iter().map(|r| r.with(core::mem::take)).collect()
}

/// Creates an SM, and records it within [`record_managers`].
pub(crate) fn manager(cfg: SmConfig, restored: RestoredState, now: Instant) -> RecordedManager {
    let sink = MANAGERS.with_borrow_mut(|all| {
        let all = all.as_mut()?;
        let sink = ManagerRecording::default();
        all.push(sink.clone());
        Some(Box::new(sink))
    });
    match sink {
        Some(sink) => {
            RecordedManager::record(cfg, restored, now, "a simulated world".to_owned(), sink)
        }
        None => SubnetManager::new(cfg, restored, now).into(),
    }
}

/// Runs `run`, and returns the lines that it records on this thread.
pub fn record(run: impl FnOnce()) -> String {
    LINES.set(Some(String::new()));
    run();
    LINES.take().unwrap_or_default()
}

/// Whether this thread is recording.
#[must_use]
pub fn is_on() -> bool {
    LINES.with_borrow(Option::is_some)
}

/// Adds a line if this thread is recording.
pub fn line(line: impl FnOnce() -> String) {
    LINES.with_borrow_mut(|lines| {
        if let Some(lines) = lines {
            lines.push_str(&line());
            lines.push('\n');
        }
    });
}

/// Adds a line for an event of an SM: `event TIME KIND: TEXT`. [`without_texts`] removes the text.
pub(crate) fn event(now: Instant, event: &Event) {
    line(|| {
        let mut text = format!("event {now:?} {}: ", kind(event));
        for part in event.to_string().lines() {
            let _ = write!(text, "{part} ");
        }
        text
    });
}

/// The recording without the texts of events.
#[must_use]
pub fn without_texts(recording: &str) -> String {
    let mut result = String::with_capacity(recording.len());
    for line in recording.lines() {
        let line = match line.split_once(": ") {
            Some((event, _)) if line.starts_with("event ") => event,
            _ => line,
        };
        result.push_str(line);
        result.push('\n');
    }
    result
}

/// A stable name for the kind of an event. It must not change when event types or texts do.
const fn kind(event: &Event) -> &'static str {
    match event {
        Event::PhaseStarted(_) => "phase",
        Event::SweepCompleted(_) => "sweep-done",
        Event::ProblemFound(_) => "problem-found",
        Event::LocalPortUnusable(_) => "no-link",
        Event::LocalPortUsable(_) => "link-usable",
        Event::RoleChanged { .. } => "role",
        Event::TrapReceived { .. } => "trap",
        Event::RoutingFailed(_) => "routing-failed",
        Event::Observation(_) => "noticed",
        Event::HandoverFailed(_) => "not-handed-over",
        Event::Alarm(_) => "alarm",
        Event::Stopped { .. } => "stopped",
        Event::Durability(_) => "durability",
        Event::MlidsExhausted(_) => "shortage",
        Event::RequestRefused(_) => "request-refused",
        Event::FurtherRequestsRefused(_) => "requests-refused",
        Event::PartitionMembersAbsent(_) => "members-absent",
        Event::NodeAdded(..) => "node-added",
        Event::NodeRemoved(..) => "node-gone",
        Event::SwitchRestarted(_) => "switch-restarted",
        Event::LinkUp(..) => "link-up",
        Event::LinkDown(..) => "link-down",
        Event::LinkDegraded(_) => "link-degraded",
        Event::LinkRestored(_) => "link-restored",
        Event::FurtherLinksDegraded(_) => "links-degraded",
    }
}
