//! Recordings of simulated runs: all MADs with their bytes and all changes of records, in order.
//!
//! [`record`] records what its closure does on the calling thread. Comparing the recordings of one
//! seed by two builds shows whether a refactoring changed the SM's behaviour.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_core::records::RecordChange;
use ferrosm_core::{RestoredState, SmConfig, SubnetManager};
use ferrosm_mad::time::Instant;
use ferrosm_recording::{RecordedManager, RecordingExtent, RecordingSink};

/// Begins each line of a record.
const RECORD: &str = "record ";

thread_local! {
    static LINES: RefCell<Option<String>> = const { RefCell::new(None) };
    static EXTENT: Cell<RecordingExtent> = const { Cell::new(RecordingExtent::Everything) };
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

/// [`record_managers`] of this extent.
pub fn record_managers_to(extent: RecordingExtent, run: impl FnOnce()) -> Vec<Vec<u8>> {
    EXTENT.set(extent);
    let all = record_managers(run);
    EXTENT.set(RecordingExtent::Everything);
    all
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
            let source = "a simulated world".to_owned();
            let extent = EXTENT.get();
            RecordedManager::record(cfg, restored, now, source, extent, sink)
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

/// Adds a line for each change of an SM's records, with all bytes.
pub(crate) fn records(now: Instant, changes: &[RecordChange]) {
    for change in changes {
        line(|| match change {
            RecordChange::Clear(kind) => format!("{RECORD}{now:?} clear {}", *kind as u8),
            RecordChange::Put(key, value) => {
                format!("{RECORD}{now:?} put {:02x?} {value:02x?}", key.bytes())
            }
            RecordChange::Remove(key) => format!("{RECORD}{now:?} remove {:02x?}", key.bytes()),
        });
    }
}

/// The digest of a recording: its number of lines, and the CRC-32 of its MADs and of its records.
#[must_use]
pub fn digest(recording: &str) -> String {
    let mut mads = crc32fast::Hasher::new();
    let mut records = crc32fast::Hasher::new();
    for line in recording.lines() {
        let hasher = if line.starts_with(RECORD) {
            &mut records
        } else {
            &mut mads
        };
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    let lines = recording.lines().count();
    format!("{lines} {:08x} {:08x}", mads.finalize(), records.finalize())
}
