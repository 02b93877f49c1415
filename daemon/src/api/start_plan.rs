//! Plans of a start (`GET /v1/plan`): made on a thread of their own, one at a time.
//!
//! The service gives a function that opens its port again and reads the fabric there
//! (`run::planning`), so that a plan shows the fabric as it is, also while another SM is master.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::plan::Plan;
use ferrosm_core::report::foreign_settings::RemovalKind;
use tokio::sync::{Semaphore, oneshot};

use crate::config::Settings;
use crate::failure::Failure;

/// What a plan is to contain.
#[derive(Debug, Clone, Default)]
pub struct StartPlanOptions {
    /// The consent that it assumes.
    pub accepted: Vec<RemovalKind>,
    /// It lists each write.
    pub lists_writes: bool,
}

/// Makes the plan of a start with these settings.
pub type MakePlan = dyn Fn(Settings, &StartPlanOptions) -> Result<Plan, Failure> + Send + Sync;

/// Makes plans with the settings in force. Clones share it.
#[derive(Clone)]
pub struct StartPlanner {
    source: Arc<Mutex<Option<PlanSource>>>,
    /// Held while a plan is made.
    turn: Arc<Semaphore>,
}

#[derive(Clone)]
struct PlanSource {
    settings: Settings,
    make: Arc<MakePlan>,
}

impl Default for StartPlanner {
    fn default() -> Self {
        Self {
            source: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl fmt::Debug for StartPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartPlanner").finish_non_exhaustive()
    }
}

impl StartPlanner {
    /// Plans are made from now on, with these settings.
    pub fn serve(&self, settings: Settings, make: Arc<MakePlan>) {
        *self.lock() = Some(PlanSource { settings, make });
    }

    /// Other settings are in force.
    pub fn configure(&self, settings: &Settings) {
        if let Some(source) = &mut *self.lock() {
            source.settings.clone_from(settings);
        }
    }

    /// What a start would write now.
    pub(super) async fn plan(&self, options: StartPlanOptions) -> Result<Plan, ApiError> {
        let Some(PlanSource { settings, make }) = self.lock().clone() else {
            return Err(ApiError::new(
                ErrorKind::NotReady,
                "the service waits for its local port",
                "`ferrosm status` shows what the service does.",
            ));
        };
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else {
            return Err(ApiError::new(
                ErrorKind::Busy,
                "another plan is being made",
                "Try again in a few seconds.",
            ));
        };
        let (result, made) = oneshot::channel();
        // The process may end before it.
        let thread = std::thread::Builder::new().name("plan".to_owned());
        let started = thread.spawn(move || {
            let plan = make(settings, &options);
            drop(turn);
            // The client may no longer wait.
            let _ = result.send(plan);
        });
        if let Err(error) = started {
            let message = format!("cannot start a thread: {error}");
            return Err(ApiError::new(ErrorKind::Internal, message, ""));
        }
        match made.await {
            Ok(Ok(plan)) => Ok(plan),
            Ok(Err(failure)) => Err(ApiError::new(
                ErrorKind::NotReady,
                format!("no plan: {}", failure.to_log_line()),
                "`ferrosm plan` on the host of the service reads the fabric in the same way.",
            )),
            Err(_) => Err(ApiError::new(
                ErrorKind::Internal,
                "the plan failed",
                "This is a defect: please report it with the log of the service.",
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<PlanSource>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
