//! Recordings of runs in the simulated world: every MAD in order, with every byte, and between them every event of a manager.
//!
//! A run is recorded on its own thread, from [`record`] until its closure returns. Two recordings of one seed by different builds show
//! whether a change of the manager's structure changed its behaviour.

use std::cell::RefCell;
use std::fmt::Write;

use ferrosm_core::Event;
use ferrosm_mad::time::Instant;

thread_local! {
    static LINES: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `run`; the lines that were recorded meanwhile on this thread.
pub fn record(run: impl FnOnce()) -> String {
    LINES.set(Some(String::new()));
    run();
    LINES.take().unwrap_or_default()
}

/// Whether this thread records.
#[must_use]
pub fn is_on() -> bool {
    LINES.with_borrow(Option::is_some)
}

/// Adds a line, if this thread records.
pub fn line(line: impl FnOnce() -> String) {
    LINES.with_borrow_mut(|lines| {
        if let Some(lines) = lines {
            lines.push_str(&line());
            lines.push('\n');
        }
    });
}

/// Adds a line for what a manager tells its operator: `event TIME KIND: TEXT`. [`without_texts`] removes the text.
pub(crate) fn event(now: Instant, event: &Event) {
    line(|| {
        let mut text = format!("event {now:?} {}: ", kind(event));
        for part in event.to_string().lines() {
            let _ = write!(text, "{part} ");
        }
        text
    });
}

/// The same recording without the wording of events.
#[must_use]
pub fn without_texts(recording: &str) -> String {
    let mut kept = String::with_capacity(recording.len());
    for line in recording.lines() {
        let line = match line.split_once(": ") {
            Some((event, _)) if line.starts_with("event ") => event,
            _ => line,
        };
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// A name that stays when events get other types or texts.
const fn kind(event: &Event) -> &'static str {
    match event {
        Event::Phase(_) => "phase",
        Event::SweepDone(_) => "sweep-done",
        Event::NoLink(_) => "no-link",
        Event::Role { .. } => "role",
        Event::Trap { .. } => "trap",
        Event::RoutingFailed(_) => "routing-failed",
        Event::Noticed(_) => "noticed",
        Event::NotHandedOver(_) => "not-handed-over",
        Event::Alarm(_) => "alarm",
        Event::Stopped { .. } => "stopped",
        Event::Durability(_) => "durability",
        Event::Shortage(_) => "shortage",
        Event::NodeAdded(_) => "node-added",
        Event::NodeGone(_) => "node-gone",
        Event::LinkUp(..) => "link-up",
        Event::LinkDown(..) => "link-down",
    }
}
