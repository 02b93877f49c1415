//! Signals: registered first, before anything can act on them.
//!
//! From [`Signals::register`] on, no handled signal ends the process; signals stay pending until they are read. A process with one service
//! forwards them to its driver ([`Signals::forward_to`]); with several, it counts them and each service catches up ([`SignalRelay`]).

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::driver::Control;
use crate::failure::Failure;

/// Signals of a service process.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    reroute: Signal,
    /// SIGUSR1 makes OpenSM reopen its log. Without a handler, a log rotation written for OpenSM would end this process.
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

    /// The next signal: SIGTERM and SIGINT stop, SIGHUP reloads, SIGUSR2 reroutes. May be cancelled.
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

    /// Returns at the next SIGTERM or SIGINT, which is consumed. Other signals stay pending. May be cancelled.
    async fn stopped(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Forwards signals to one service as long as the runtime lives. Needs a runtime.
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

/// Number of signals received, by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignalCounts {
    stops: u32,
    reloads: u32,
    reroutes: u32,
}

impl SignalCounts {
    /// Counts a signal.
    pub const fn add(&mut self, signal: Control) {
        match signal {
            Control::Stop => self.stops += 1,
            Control::Reload => self.reloads += 1,
            Control::Reroute => self.reroutes += 1,
            Control::Port(_) => {}
        }
    }

    /// Whether the process is to stop.
    #[must_use]
    pub const fn is_stopping(&self) -> bool {
        self.stops > 0
    }

    /// The next signal for a service that has processed these counts, to catch up with `received`. Each stop counts; several pending
    /// reloads or reroutes are combined into one.
    const fn next(&mut self, received: &Self) -> Option<Control> {
        if self.stops < received.stops {
            self.stops += 1;
            return Some(Control::Stop);
        }
        if self.reloads < received.reloads {
            self.reloads = received.reloads;
            return Some(Control::Reload);
        }
        if self.reroutes < received.reroutes {
            self.reroutes = received.reroutes;
            return Some(Control::Reroute);
        }
        None
    }
}

/// Signals for one of several services.
#[derive(Debug, Clone)]
pub struct SignalRelay {
    all: watch::Receiver<SignalCounts>,
    handled: SignalCounts,
}

impl SignalRelay {
    /// A relay of the process's signals.
    #[must_use]
    pub fn new(all: watch::Receiver<SignalCounts>) -> Self {
        let handled = SignalCounts::default();
        Self { all, handled }
    }

    /// Whether the process is to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.all.borrow().is_stopping()
    }

    /// Returns when the process is to stop.
    pub async fn stopped(&mut self) {
        // An error means that the process ends.
        let _ = self.all.wait_for(SignalCounts::is_stopping).await;
    }

    /// The signals received so far.
    #[must_use]
    pub fn received(&self) -> SignalCounts {
        *self.all.borrow()
    }

    /// Marks the reloads up to `since` as processed: the configuration was read after them.
    pub const fn mark_reloaded(&mut self, since: &SignalCounts) {
        self.handled.reloads = since.reloads;
    }

    /// Marks all reroutes as processed, so that a service that starts again does not repeat them.
    pub fn mark_rerouted(&mut self) {
        self.handled.reroutes = self.received().reroutes;
    }

    /// Forwards signals to this service as long as the runtime lives, including earlier ones. Needs a runtime.
    pub fn forward_to(mut self, control: mpsc::Sender<Control>) {
        drop(tokio::spawn(async move {
            loop {
                let received = *self.all.borrow_and_update();
                while let Some(signal) = self.handled.next(&received) {
                    if control.send(signal).await.is_err() {
                        return;
                    }
                }
                if self.all.changed().await.is_err() {
                    return;
                }
            }
        }));
    }
}

/// The source of a service's signals.
#[derive(Debug)]
pub enum SignalListener {
    /// The only service of its process.
    Own(Signals),
    /// One of several services.
    Relay(SignalRelay),
}

impl SignalListener {
    /// Returns when the process is to stop, for a service that has not started yet. May be cancelled.
    pub async fn stopped(&mut self) {
        match self {
            Self::Own(signals) => signals.stopped().await,
            Self::Relay(relay) => relay.stopped().await,
        }
    }

    /// Forwards signals to the service. Needs a runtime.
    pub fn forward_to(self, control: mpsc::Sender<Control>) {
        match self {
            Self::Own(signals) => signals.forward_to(control),
            Self::Relay(relay) => relay.forward_to(control),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(signals: &[Control]) -> SignalCounts {
        let mut counts = SignalCounts::default();
        signals.iter().for_each(|&signal| counts.add(signal));
        counts
    }

    fn pending(mut handled: SignalCounts, received: &SignalCounts) -> Vec<Control> {
        core::iter::from_fn(|| handled.next(received)).collect()
    }

    #[test]
    fn service_processes_pending_signals() {
        use Control::{Reload, Reroute, Stop};
        let received = counts(&[Reload, Reload, Reroute, Stop, Reload, Stop]);
        assert!(received.is_stopping());
        assert_eq!(
            pending(counts(&[]), &received),
            [Stop, Stop, Reload, Reroute]
        );
        assert_eq!(
            pending(counts(&[Reload, Stop]), &received),
            [Stop, Reload, Reroute]
        );
        assert_eq!(pending(received, &received), []);
    }

    /// A service gets the signals that arrived before it started, except reloads that its configuration already includes.
    #[test]
    fn late_service_gets_earlier_signals() {
        use Control::{Reload, Reroute, Stop};
        let (sender, receiver) = watch::channel(SignalCounts::default());
        let first_relay = SignalRelay::new(receiver);
        sender.send_modify(|counts| counts.add(Reload));
        let mut second_relay = first_relay.clone();
        let since = second_relay.received();
        second_relay.mark_reloaded(&since);
        sender.send_modify(|counts| counts.add(Stop));
        let runtime = runtime().unwrap();
        let forwarded = |relay: SignalRelay| {
            runtime.block_on(async {
                let (control, mut signals) = mpsc::channel(4);
                relay.forward_to(control);
                let mut all_pending = Vec::new();
                while all_pending.last() != Some(&Reroute) {
                    all_pending.extend(signals.recv().await);
                }
                all_pending
            })
        };
        sender.send_modify(|counts| counts.add(Reroute));
        let mut third_relay = first_relay.clone();
        third_relay.mark_rerouted();
        assert_eq!(
            pending(third_relay.handled, &third_relay.received()),
            [Stop, Reload]
        );
        assert_eq!(forwarded(first_relay), [Stop, Reload, Reroute]);
        assert_eq!(forwarded(second_relay), [Stop, Reroute]);
    }
}
