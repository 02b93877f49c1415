//! Threads of this crate: they log in the span of the code that started them, which names the fabric. They decide nothing.

use core::future::Future;
use std::io;
use std::thread::{Builder, JoinHandle};

use tokio::sync::watch;
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

/// Whether a [`Worker`] is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not yet.
    No,
    /// With goodbyes.
    Graceful,
    /// As a crash would.
    AtOnce,
}

/// The thread of a node, with a runtime of its own. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    stop: watch::Sender<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts it. What runs there is to end soon after [`stopped`] returns.
    ///
    /// # Errors
    /// The system has no thread or no runtime.
    pub(crate) fn start<F: Future<Output = ()>>(
        work: impl FnOnce(watch::Receiver<Stop>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = watch::channel(Stop::No);
        let thread = spawn("replication", move || {
            runtime.block_on(work(stopped));
            // Nothing waits for a disk or a name server that hangs.
            runtime.shutdown_background();
        })?;
        let thread = Some(thread);
        Ok(Self { stop, thread })
    }

    /// Ends it, and waits until it has ended. A panic is logged.
    pub(crate) fn end(&mut self, how: Stop) {
        self.stop.send_replace(how);
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("replication thread panicked");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end(Stop::Graceful);
    }
}

/// Waits until the thread is to end; how.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Stop>) -> Stop {
    let how = stop.wait_for(|how| *how != Stop::No).await;
    // An error says that whoever could stop it is gone.
    how.map_or(Stop::AtOnce, |how| *how)
}
