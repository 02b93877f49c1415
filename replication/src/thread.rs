//! Threads of this crate: they log in the span of the code that started them, which names the fabric. They decide nothing.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::Span;

/// Starts a thread in the span of this one.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let span = Span::current();
    Builder::new()
        .name(name.to_owned())
        .spawn(move || span.in_scope(work))
}

/// Waits for the end of a thread, once. A panic is logged.
pub(crate) fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(Err(_)) = thread.take().map(JoinHandle::join) {
        tracing::error!("replication thread panicked");
    }
}
