//! Named threads.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::error;

/// Starts a thread.
///
/// # Errors
/// The thread cannot be started.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Joins a stopping thread, and logs its panic.
pub fn join(thread: &mut Option<JoinHandle<()>>, name: &str) {
    if let Some(thread) = thread.take()
        && thread.join().is_err()
    {
        error!(thread = name, "thread panicked");
    }
}
