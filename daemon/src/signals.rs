//! What the system tells the process: heard from the first moment on, before there is anybody to act on it.
//!
//! As soon as [`Signals`] are heard, none of them ends the process any more, and what comes is kept until somebody takes it. A process
//! of one service passes them on ([`Signals::pass_on`]); one of several counts them, and each service does what it has not done yet
//! ([`Relay`]). Decides nothing: what follows from a signal is up to who is told.

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
pub fn begin() -> Result<(Runtime, Signals), Failure> {
    let runtime = runtime()?;
    let signals = {
        let _in = runtime.enter();
        Signals::hear()?
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
    pub fn hear() -> Result<Self, Failure> {
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
    pub fn pass_on(mut self, control: mpsc::Sender<Control>) {
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
pub struct Heard {
    stops: u32,
    reloads: u32,
    rebalances: u32,
}

impl Heard {
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
    pub const fn stops(&self) -> bool {
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
pub struct Relay {
    all: watch::Receiver<Heard>,
    done: Heard,
}

impl Relay {
    /// Of all that this process is told.
    #[must_use]
    pub fn new(all: watch::Receiver<Heard>) -> Self {
        let done = Heard::default();
        Self { all, done }
    }

    /// Whether the process is to end.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.all.borrow().stops()
    }

    /// Comes back when the process is to end.
    pub async fn stopped(&mut self) {
        // An error says that all is over.
        let _ = self.all.wait_for(Heard::stops).await;
    }

    /// What was told up to now.
    #[must_use]
    pub fn heard(&self) -> Heard {
        *self.all.borrow()
    }

    /// The configuration was read after this was told: it need not be for that again.
    pub const fn has_read(&mut self, since: &Heard) {
        self.done.reloads = since.reloads;
    }

    /// Who was served until now has made routes anew as often as it was told, and is not to do so again when it is served again.
    pub fn was_served(&mut self) {
        self.done.rebalances = self.heard().rebalances;
    }

    /// Tells this service, as long as the runtime lives, also what came before. Needs a runtime.
    pub fn pass_on(mut self, control: mpsc::Sender<Control>) {
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
pub enum Ear {
    /// It is alone in its process.
    Own(Signals),
    /// It is one of several.
    Relay(Relay),
}

impl Ear {
    /// Returns when the process is to end, for a service that has not started yet. May be cancelled.
    pub async fn stopped(&mut self) {
        match self {
            Self::Own(signals) => signals.stopped().await,
            Self::Relay(relay) => relay.stopped().await,
        }
    }

    /// Tells the service. Needs a runtime.
    pub fn pass_on(self, control: mpsc::Sender<Control>) {
        match self {
            Self::Own(signals) => signals.pass_on(control),
            Self::Relay(relay) => relay.pass_on(control),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(all: &[Control]) -> Heard {
        let mut heard = Heard::default();
        all.iter().for_each(|&what| heard.add(what));
        heard
    }

    fn rest(mut done: Heard, all: &Heard) -> Vec<Control> {
        core::iter::from_fn(|| done.next(all)).collect()
    }

    #[test]
    fn a_service_does_what_it_has_not_done() {
        use Control::{Rebalance, Reload, Stop};
        let all = heard(&[Reload, Reload, Rebalance, Stop, Reload, Stop]);
        assert!(all.stops());
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
        let (tell, told) = watch::channel(Heard::default());
        let early = Relay::new(told);
        tell.send_modify(|heard| heard.add(Reload));
        let mut late = early.clone();
        let since = late.heard();
        late.has_read(&since);
        tell.send_modify(|heard| heard.add(Stop));
        let runtime = runtime().unwrap();
        let told = |relay: Relay| {
            runtime.block_on(async {
                let (control, mut orders) = mpsc::channel(4);
                relay.pass_on(control);
                let mut all = Vec::new();
                while all.last() != Some(&Rebalance) {
                    all.extend(orders.recv().await);
                }
                all
            })
        };
        tell.send_modify(|heard| heard.add(Rebalance));
        let mut again = early.clone();
        again.was_served();
        assert_eq!(rest(again.done, &again.heard()), [Stop, Reload]);
        assert_eq!(told(early), [Stop, Reload, Rebalance]);
        assert_eq!(told(late), [Stop, Rebalance]);
    }
}
