//! Reads the fabric through a local port, without serving it: for `topology` and `plan`.

use core::time::Duration;

use ferrosm_core::SubnetManager;
use ferrosm_mad::time::Instant;
use ferrosm_umad::libibumad::{OpenOptions, UmadPort};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::driver::{Control, Driver, Shell};
use super::signals::{self, Signals};
use crate::clock::Clock;
use crate::config::Settings;
use crate::failure::Failure;
use crate::port::{MadPort, ThreadedPort, local_port};

const INBOX: usize = 8192;

/// Opens the port that the settings select, not as SM, and limits the outstanding SMPs to what it
/// supports.
///
/// # Errors
/// If there is no such port, or it cannot be opened.
pub fn open(settings: &mut Settings) -> Result<ThreadedPort, Failure> {
    let local = local_port::choose_for_reading(&settings.port)?;
    let options = OpenOptions {
        as_sm: false,
        response_timeout_ms: local_port::response_timeout_ms(&settings.sm),
    };
    let (sender, receiver) =
        UmadPort::open(&local, &options).map_err(|e| local_port::open_failure(&e, Some(&local)))?;
    if let Some(limit) = sender.window_limit() {
        settings.sm.max_outstanding = settings.sm.max_outstanding.min(limit);
    }
    ThreadedPort::new(Box::new(sender), Box::new(receiver), INBOX)
        .map_err(|e| Failure::runtime(format!("cannot start the receiving thread: {e}")))
}

/// Runs a subnet manager, which begins at the given time, until the shell ends it.
///
/// # Errors
/// If the port fails, or the failure of the shell.
pub fn run<T, P: MadPort, S: Shell<End = Result<T, Failure>>>(
    port: P,
    shell: S,
    sm: impl FnOnce(Instant) -> SubnetManager,
) -> Result<T, Failure> {
    signals::runtime()?.block_on(async {
        let (control, inbox) = mpsc::channel(4);
        Signals::register()?.forward_to(control);
        drive(port, shell, sm, inbox).await
    })
}

/// As [`run`], in the process of a service, whose signals are not for it, and for a time at most.
///
/// # Errors
/// Also if the time is over.
pub fn run_within<T, P: MadPort, S: Shell<End = Result<T, Failure>>>(
    limit: Duration,
    port: P,
    shell: S,
    sm: impl FnOnce(Instant) -> SubnetManager,
) -> Result<T, Failure> {
    signals::runtime()?.block_on(async {
        let (_control, inbox) = mpsc::channel(1);
        let driven = timeout(limit, drive(port, shell, sm, inbox)).await;
        driven.unwrap_or_else(|_| {
            let limit_s = limit.as_secs();
            Err(Failure::runtime(format!(
                "the fabric was not read within {limit_s} s"
            )))
        })
    })
}

async fn drive<T, P: MadPort, S: Shell<End = Result<T, Failure>>>(
    port: P,
    shell: S,
    sm: impl FnOnce(Instant) -> SubnetManager,
    inbox: mpsc::Receiver<Control>,
) -> Result<T, Failure> {
    let clock = Clock::start();
    let mut driver = Driver::new(sm(clock.now()), clock, port, shell, inbox);
    let result = driver.run().await;
    result.map_err(|e| Failure::runtime(format!("the port failed: {e}: {}", e.source)))?
}
