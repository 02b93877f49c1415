//! Requests of clients that concern the configuration, and what its keeper publishes.

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use ferrosm_api::answer::ApiError;
use ferrosm_api::config::{ConfigChange, ConfigHistory, NewConfiguration};
use ferrosm_core::CommandId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Most requests that wait for the keeper.
const REQUESTS_MAX: usize = 4;

/// What a client wants.
#[derive(Debug)]
pub enum ConfigAction {
    /// Put a new configuration in force.
    Apply(NewConfiguration),
    /// Put a revision in force. Ends a trial.
    Rollback(u64),
    /// Keep the revision that is tried.
    Confirm(u64),
}

/// How to do it.
#[derive(Debug, Clone, Default)]
pub struct ConfigOptions {
    /// Only say what would change.
    pub is_dry_run: bool,
    /// Try it for this time.
    pub confirm_within: Option<Duration>,
    /// Replace files that were changed by hand.
    pub replaces_edited: bool,
    /// Invariants may be violated.
    pub accepts_violations: bool,
    pub by: String,
    pub reason: Option<String>,
}

/// The result of a request.
pub type ConfigResult = Result<ConfigChange, ApiError>;

/// A request to the keeper.
#[derive(Debug)]
pub struct ConfigRequest {
    /// Number of the command; `None` for a dry run.
    pub id: Option<CommandId>,
    pub action: ConfigAction,
    pub options: ConfigOptions,
    pub result: oneshot::Sender<ConfigResult>,
    /// Its place among the requests that wait.
    pub place: OwnedSemaphorePermit,
}

/// What the keeper has to do.
#[derive(Debug)]
pub enum ConfigJob {
    Request(Box<ConfigRequest>),
    /// Read the files again.
    Reload,
}

/// The keeper of the configuration, as the API sees it. Clones share it.
#[derive(Debug, Clone)]
pub struct ConfigDesk {
    inner: Arc<Mutex<DeskState>>,
    places: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct DeskState {
    /// `None` while no keeper runs.
    jobs: Option<mpsc::Sender<ConfigJob>>,
    /// A reload waits for the keeper. Further ones would do the same.
    awaits_reload: bool,
    history: Arc<ConfigHistory>,
}

impl Default for ConfigDesk {
    fn default() -> Self {
        Self {
            inner: Arc::default(),
            places: Arc::new(Semaphore::new(REQUESTS_MAX)),
        }
    }
}

impl ConfigDesk {
    /// Requests are accepted from now on, by the receiver of the jobs.
    pub fn accept(&self, jobs: mpsc::Sender<ConfigJob>) {
        self.lock().jobs = Some(jobs);
    }

    /// Requests are no longer accepted.
    pub fn refuse(&self) {
        self.lock().jobs = None;
    }

    /// The files are to be read again.
    pub fn request_reload(&self) {
        let mut state = self.lock();
        if core::mem::replace(&mut state.awaits_reload, true) {
            return;
        }
        if let Some(jobs) = &state.jobs {
            // The keeper ends with the process.
            let _ = jobs.send(ConfigJob::Reload);
        }
    }

    /// The keeper begins to read the files.
    pub fn begin_reload(&self) {
        self.lock().awaits_reload = false;
    }

    /// The revisions from now on.
    pub fn publish(&self, history: ConfigHistory) {
        self.lock().history = Arc::new(history);
    }

    /// The revisions.
    #[must_use]
    pub fn history(&self) -> Arc<ConfigHistory> {
        Arc::clone(&self.lock().history)
    }

    /// The jobs of the keeper, and a place for a request; `None` if it is not there, or busy.
    pub(super) fn reserve(
        &self,
    ) -> (
        Option<mpsc::Sender<ConfigJob>>,
        Option<OwnedSemaphorePermit>,
    ) {
        let place = Arc::clone(&self.places).try_acquire_owned().ok();
        (self.lock().jobs.clone(), place)
    }

    fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
