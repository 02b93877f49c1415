//! Signals: registered first, before anything can act on them.
//!
//! From [`Signals::register`] on, no handled signal ends the process; signals stay pending until
//! they are read or forwarded to the driver.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::run::driver::Control;

/// Signals of a service process.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    reroute: Signal,
    /// SIGUSR1 makes OpenSM reopen its log. Without a handler, a log rotation written for OpenSM
    /// would end this process.
    _reopen_log: Signal,
}

/// Creates a runtime for this thread and registers the signal handlers.
///
/// # Errors
/// The runtime cannot be created, or a handler cannot be registered.
pub fn install() -> Result<(Runtime, Signals), Failure> {
    let runtime = runtime()?;
    let signals = {
        let _in = runtime.enter();
        Signals::register()?
    };
    Ok((runtime, signals))
}

/// Creates a runtime for this thread.
///
/// # Errors
/// The system lacks resources.
pub fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::runtime(format!("cannot start the runtime: {e}")))
}

impl Signals {
    /// Registers the handlers. Needs a runtime.
    ///
    /// # Errors
    /// The system rejects a handler.
    pub fn register() -> Result<Self, Failure> {
        let register = |kind| {
            let rejected = |e| Failure::runtime(format!("cannot register signal handlers: {e}"));
            signal(kind).map_err(rejected)
        };
        Ok(Self {
            terminate: register(SignalKind::terminate())?,
            interrupt: register(SignalKind::interrupt())?,
            hangup: register(SignalKind::hangup())?,
            reroute: register(SignalKind::user_defined2())?,
            _reopen_log: register(SignalKind::user_defined1())?,
        })
    }

    /// The next signal: SIGTERM and SIGINT stop, SIGHUP reloads, SIGUSR2 reroutes. May be
    /// cancelled.
    pub async fn next(&mut self) -> Control {
        tokio::select! {
            // A process that stops needs no new configuration.
            biased;
            _ = self.terminate.recv() => Control::Stop,
            _ = self.interrupt.recv() => Control::Stop,
            _ = self.hangup.recv() => Control::Reload,
            _ = self.reroute.recv() => Control::Reroute,
        }
    }

    /// Returns at the next SIGTERM or SIGINT, which is consumed. Other signals stay pending. May be
    /// cancelled.
    pub async fn stopped(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Forwards signals to the service as long as the runtime lives. Needs a runtime.
    pub fn forward_to(mut self, control: mpsc::Sender<Control>) {
        drop(tokio::spawn(async move {
            loop {
                let signal = self.next().await;
                if control.send(signal).await.is_err() {
                    return;
                }
            }
        }));
    }
}
