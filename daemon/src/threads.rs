//! Threads that log in the span of the thread that started them.
//!
//! With several fabrics in one process, a span adds the fabric's name to log lines. A span belongs to a thread; [`start`] passes it on.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::{Span, error};

/// Starts a thread in the current span.
///
/// # Errors
/// The thread cannot be started.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let span = Span::current();
    Builder::new()
        .name(name.to_owned())
        .spawn(move || span.in_scope(work))
}

/// Joins a stopping thread, and logs its panic.
pub fn join(thread: &mut Option<JoinHandle<()>>, name: &str) {
    if let Some(thread) = thread.take()
        && thread.join().is_err()
    {
        error!(thread = name, "thread panicked");
    }
}
