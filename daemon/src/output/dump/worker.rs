//! The dump worker: a thread that writes dumps, so that a slow disk never delays a sweep.
//!
//! A service owns a [`DumpWorker`]. One dump is written at a time and one is pending: the dump of a
//! later sweep replaces the pending one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_fabric::snapshot::Snapshot;
use tracing::{error, info};

use super::Extent;

/// A snapshot and the directory to write its dumps to.
type DumpJob = (Snapshot, PathBuf);

/// State of the worker thread.
#[derive(Default)]
enum State {
    /// No thread runs.
    #[default]
    Idle,
    /// A thread writes; with the pending job.
    Busy(Option<DumpJob>),
}

/// Writes dumps, one job at a time.
#[derive(Clone, Default)]
pub struct DumpWorker(Arc<Mutex<State>>);

impl DumpWorker {
    /// Queues a job, in place of a pending one. Needs a tokio runtime.
    pub fn write(&self, snapshot: Snapshot, dir: PathBuf) {
        if let Some(job) = self.accept((snapshot, dir)) {
            let worker = self.clone();
            tokio::task::spawn_blocking(move || worker.run(job, write));
        }
    }

    /// Queues the job; returns it if there is no thread to run it.
    fn accept(&self, job: DumpJob) -> Option<DumpJob> {
        let mut state = self.state();
        if let State::Busy(next) = &mut *state {
            *next = Some(job);
            return None;
        }
        *state = State::Busy(None);
        Some(job)
    }

    fn run(&self, first: DumpJob, write: impl Fn(&Snapshot, &Path)) {
        let mut job = Some(first);
        while let Some((snapshot, dir)) = job {
            write(&snapshot, &dir);
            let mut state = self.state();
            job = match &mut *state {
                State::Busy(next) => next.take(),
                State::Idle => None,
            };
            if job.is_none() {
                *state = State::Idle;
            }
        }
    }

    /// The code under the lock does not panic, so the value is consistent.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes dumps of bounded size, and logs failures.
fn write(snapshot: &Snapshot, dir: &Path) {
    match super::write(snapshot, dir, Extent::Bounded) {
        Ok(skipped) => {
            for file in skipped {
                info!(file, "dump file too large; skipped");
            }
        }
        Err(e) => error!(error = e.to_log_line(), "cannot write dump"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn job(name: &str) -> DumpJob {
        (Snapshot::default(), PathBuf::from(name))
    }

    #[test]
    fn last_sweep_is_written_if_the_disk_is_slow() {
        let worker = DumpWorker::default();
        let written = RefCell::new(Vec::new());
        let first = worker.accept(job("first")).expect("idle");
        worker.run(first, |_, dir| {
            let name = dir.display().to_string();
            if name == "first" {
                // Two sweeps complete meanwhile.
                assert!(worker.accept(job("second")).is_none());
                assert!(worker.accept(job("third")).is_none());
            }
            written.borrow_mut().push(name);
        });
        assert_eq!(*written.borrow(), ["first", "third"]);
        assert!(worker.accept(job("fourth")).is_some(), "idle");
    }
}
