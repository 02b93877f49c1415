//! Output: topologies, reports, tables.
//!
//! Renderers are pure functions from a snapshot or a report to text; only [`print`](fn@print)
//! writes to standard output.
//!
//! | module | contents |
//! |---|---|
//! | [`ibnet`], [`json`], [`table`] | output formats |
//! | [`dump`] | files in OpenSM's formats |
//! | [`answers`], [`alarms`], [`changes`], [`keys`] | answers of the API; alarms; changes; keys |
//! | [`invariants`] | declared invariants |
//! | [`report`], [`plan`] | the summary of a sweep; a plan |
//! | [`state`] | persisted state |
//! | [`import`] | imported configuration of OpenSM |
//! | `proof`, `explain` | results of offline routing |
//! | [`log`] | log lines and events; `opensm_format` has OpenSM's line format, `event_callsite` those of the event table |
//! | [`progress`] | the progress bar |

pub mod alarms;
pub mod answers;
pub mod cabling;
pub mod capture;
pub mod changes;
pub mod dump;
mod event_callsite;
#[cfg(feature = "simulator")]
pub mod explain;
pub mod explained;
pub mod groups;
pub mod ibnet;
pub mod import;
pub mod invariants;
pub mod json;
pub mod keys;
pub mod log;
mod opensm_format;
pub mod plan;
pub mod progress;
#[cfg(feature = "simulator")]
pub mod proof;
pub mod report;
pub mod sa;
pub mod state;
pub mod table;
pub mod web;
pub mod what_if;

use std::io::{self, Write};

use crate::failure::Failure;

/// Writes to standard output. A closed pipe (`| head`) is not a failure.
///
/// # Errors
/// Standard output cannot be written, for example because of a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::runtime(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes to standard error. If it is closed, the exit status still reports the result.
pub fn print_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
