//! What is shown: topologies, reports, tables, pictures.
//!
//! Renderers are pure functions from a [`FabricView`](ferrosm_opensm_compat::view::FabricView) or a report to text; only [`print`](fn@print) touches standard output.
//!
//! | module | what it holds |
//! |---|---|
//! | `view` | the view of a fabric file |
//! | [`ibnet`], [`json`], [`dot`], [`svg`], [`table`] | its forms |
//! | [`report`] | the summary of a sweep |
//! | [`state`] | what is kept over restarts |
//! | `proof`, `explain` | the result of offline routing, and why it is so |
//! | [`log`] | log lines and events |
//! | [`progress`] | the progress bar |

pub mod dot;
#[cfg(feature = "simulator")]
pub mod explain;
pub mod ibnet;
pub mod json;
pub mod log;
pub mod progress;
#[cfg(feature = "simulator")]
pub mod proof;
pub mod report;
pub mod state;
pub mod svg;
pub mod table;
#[cfg(feature = "simulator")]
pub mod view;

use std::io::{self, Write};

use crate::failure::Failure;

/// Writes to standard output. A reader that went away (`| head`) is no failure.
///
/// # Errors
/// If standard output cannot be written for another reason, such as a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::job(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}
