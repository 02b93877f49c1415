//! What the system tells the process: heard from the first moment on, before there is anybody to act on it.
//!
//! As soon as [`Signals`] are heard, none of them ends the process any more, and what comes is kept until somebody takes it. A process
//! of one service passes them on ([`Signals::forward_to`]); one of several counts them, and each service does what it has not done yet
//! ([`SignalRelay`]). Decides nothing: what follows from a signal is up to who is told.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::driver::Control;
use crate::failure::Failure;

/// The signals of a process that serves.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    rebalance: Signal,
}

/// A runtime in this thread, and the signals, heard from now on.
///
/// # Errors
/// If the system refuses either.
pub fn install() -> Result<(Runtime, Signals), Failure> {
    let runtime = runtime()?;
    let signals = {
        let _in = runtime.enter();
        Signals::register()?
    };
    Ok((runtime, signals))
}

/// A runtime in this thread.
///
/// # Errors
/// If the system has nothing left for it.
pub fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::job(format!("cannot start: {e}")))
}

impl Signals {
    /// From now on. Needs a runtime.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub fn register() -> Result<Self, Failure> {
        let hear = |kind| {
            let refused = |e| Failure::job(format!("cannot watch for signals: {e}"));
            signal(kind).map_err(refused)
        };
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            interrupt: hear(SignalKind::interrupt())?,
            hangup: hear(SignalKind::hangup())?,
            rebalance: hear(SignalKind::user_defined2())?,
        })
    }

    /// What the next one means: SIGTERM and SIGINT, SIGHUP, SIGUSR2. May be cancelled.
    pub async fn next(&mut self) -> Control {
        tokio::select! {
            // Who is to end needs no new configuration.
            biased;
            _ = self.terminate.recv() => Control::Stop,
            _ = self.interrupt.recv() => Control::Stop,
            _ = self.hangup.recv() => Control::Reload,
            _ = self.rebalance.recv() => Control::Rebalance,
        }
    }

    /// Returns at the next SIGTERM or SIGINT, which is consumed. Other signals stay pending. May be cancelled.
    async fn stopped(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Tells one service, as long as the runtime lives. Needs a runtime.
    pub fn forward_to(mut self, control: mpsc::Sender<Control>) {
        drop(tokio::spawn(async move {
            loop {
                let what = self.next().await;
                if control.send(what).await.is_err() {
                    return;
                }
            }
        }));
    }
}

/// How often a process was told what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignalCounts {
    stops: u32,
    reloads: u32,
    rebalances: u32,
}

impl SignalCounts {
    /// Once more.
    pub const fn add(&mut self, what: Control) {
        match what {
            Control::Stop => self.stops += 1,
            Control::Reload => self.reloads += 1,
            Control::Rebalance => self.rebalances += 1,
            Control::HandOver | Control::TakeOver | Control::Port(_) => {}
        }
    }

    /// Whether it is to end.
    #[must_use]
    pub const fn is_stopping(&self) -> bool {
        self.stops > 0
    }

    /// What who has done this much does next to have done all. Each word to end counts; of the others one is as good as many.
    const fn next(&mut self, all: &Self) -> Option<Control> {
        if self.stops < all.stops {
            self.stops += 1;
            return Some(Control::Stop);
        }
        if self.reloads < all.reloads {
            self.reloads = all.reloads;
            return Some(Control::Reload);
        }
        if self.rebalances < all.rebalances {
            self.rebalances = all.rebalances;
            return Some(Control::Rebalance);
        }
        None
    }
}

/// What one of several services hears of the signals.
#[derive(Debug, Clone)]
pub struct SignalRelay {
    all: watch::Receiver<SignalCounts>,
    done: SignalCounts,
}

impl SignalRelay {
    /// Of all that this process is told.
    #[must_use]
    pub fn new(all: watch::Receiver<SignalCounts>) -> Self {
        let done = SignalCounts::default();
        Self { all, done }
    }

    /// Whether the process is to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.all.borrow().is_stopping()
    }

    /// Comes back when the process is to end.
    pub async fn stopped(&mut self) {
        // An error says that all is over.
        let _ = self.all.wait_for(SignalCounts::is_stopping).await;
    }

    /// What was told up to now.
    #[must_use]
    pub fn received(&self) -> SignalCounts {
        *self.all.borrow()
    }

    /// The configuration was read after this was told: it need not be for that again.
    pub const fn mark_reloaded(&mut self, since: &SignalCounts) {
        self.done.reloads = since.reloads;
    }

    /// Who was served until now has made routes anew as often as it was told, and is not to do so again when it is served again.
    pub fn mark_rebalanced(&mut self) {
        self.done.rebalances = self.received().rebalances;
    }

    /// Tells this service, as long as the runtime lives, also what came before. Needs a runtime.
    pub fn forward_to(mut self, control: mpsc::Sender<Control>) {
        drop(tokio::spawn(async move {
            loop {
                let all = *self.all.borrow_and_update();
                while let Some(what) = self.done.next(&all) {
                    if control.send(what).await.is_err() {
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

/// By what a service hears of signals.
#[derive(Debug)]
pub enum SignalListener {
    /// It is alone in its process.
    Own(Signals),
    /// It is one of several.
    Relay(SignalRelay),
}

impl SignalListener {
    /// Returns when the process is to end, for a service that has not started yet. May be cancelled.
    pub async fn stopped(&mut self) {
        match self {
            Self::Own(signals) => signals.stopped().await,
            Self::Relay(relay) => relay.stopped().await,
        }
    }

    /// Tells the service. Needs a runtime.
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

    fn heard(all: &[Control]) -> SignalCounts {
        let mut heard = SignalCounts::default();
        all.iter().for_each(|&what| heard.add(what));
        heard
    }

    fn rest(mut done: SignalCounts, all: &SignalCounts) -> Vec<Control> {
        core::iter::from_fn(|| done.next(all)).collect()
    }

    #[test]
    fn a_service_does_what_it_has_not_done() {
        use Control::{Rebalance, Reload, Stop};
        let all = heard(&[Reload, Reload, Rebalance, Stop, Reload, Stop]);
        assert!(all.is_stopping());
        assert_eq!(rest(heard(&[]), &all), [Stop, Stop, Reload, Rebalance]);
        assert_eq!(
            rest(heard(&[Reload, Stop]), &all),
            [Stop, Reload, Rebalance]
        );
        assert_eq!(rest(all, &all), []);
    }

    /// What was told before a service began is told to it; what its configuration was read after is not.
    #[test]
    fn who_begins_late_hears_what_was_told_before() {
        use Control::{Rebalance, Reload, Stop};
        let (tell, told) = watch::channel(SignalCounts::default());
        let early = SignalRelay::new(told);
        tell.send_modify(|heard| heard.add(Reload));
        let mut late = early.clone();
        let since = late.received();
        late.mark_reloaded(&since);
        tell.send_modify(|heard| heard.add(Stop));
        let runtime = runtime().unwrap();
        let told = |relay: SignalRelay| {
            runtime.block_on(async {
                let (control, mut orders) = mpsc::channel(4);
                relay.forward_to(control);
                let mut all = Vec::new();
                while all.last() != Some(&Rebalance) {
                    all.extend(orders.recv().await);
                }
                all
            })
        };
        tell.send_modify(|heard| heard.add(Rebalance));
        let mut again = early.clone();
        again.mark_rebalanced();
        assert_eq!(rest(again.done, &again.received()), [Stop, Reload]);
        assert_eq!(told(early), [Stop, Reload, Rebalance]);
        assert_eq!(told(late), [Stop, Rebalance]);
    }
}
