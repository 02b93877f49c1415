//! Threads of this crate.

use core::future::Future;
use std::io;
use std::thread::{Builder, JoinHandle};

use tokio::sync::watch;

/// Whether a [`Worker`] is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// Yes, and peers are notified.
    Graceful,
    /// Yes, without notifying peers.
    Immediate,
}

/// The thread of a node, with its own runtime. Stops when dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    stop: watch::Sender<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. Its future must return soon after [`stopped`] does.
    ///
    /// # Errors
    /// The system cannot create a thread or a runtime.
    pub(crate) fn start<F: Future<Output = ()>>(
        work: impl FnOnce(watch::Receiver<Stop>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = watch::channel(Stop::No);
        let thread = Builder::new()
            .name("replication".to_owned())
            .spawn(move || {
                runtime.block_on(work(stopped));
                // Do not wait for a hanging disk or name server.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Stops the thread and waits for its end. A panic is logged.
    pub(crate) fn stop(&mut self, mode: Stop) {
        self.stop.send_replace(mode);
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("replication thread panicked");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop(Stop::Graceful);
    }
}

/// Waits until the thread is to stop. Returns how.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Stop>) -> Stop {
    let mode = stop.wait_for(|mode| *mode != Stop::No).await;
    // The sender was dropped, so no stop can be requested any more.
    mode.map_or(Stop::Immediate, |mode| *mode)
}
