//! Threads that log in the span of the thread that started them.
//!
//! Where one process serves several fabrics, lines of the log carry the fabric's name by a span. A span belongs to a thread;
//! [`start`] takes it along, and [`join`] waits for the end. Nothing else is decided here.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::{Span, error};

/// Starts a thread in the span of this one.
///
/// # Errors
/// The system has no thread left.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let span = Span::current();
    Builder::new()
        .name(name.to_owned())
        .spawn(move || span.in_scope(work))
}

/// Waits for a thread that was asked to stop, and logs a panic of it.
pub fn join(thread: &mut Option<JoinHandle<()>>, what: &str) {
    if let Some(thread) = thread.take()
        && thread.join().is_err()
    {
        error!(thread = what, "thread panicked");
    }
}
