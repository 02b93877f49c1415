//! Several fabrics in one process: each has its own thread, and there its own runtime, port, state and election.
//!
//! They share nothing but the program, the log and the signals that end it. A fabric that cannot be served, because its device
//! is gone or its directory is not writable, is told and tried again; the others do not notice. Only where none can be served at
//! the start the program ends, as with one.

use core::time::Duration;
use std::path::Path;
use std::thread::JoinHandle;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tracing::{error, error_span, info};

use super::serve::{self, Process};
use super::serve_port;
use crate::cli::RunArgs;
use crate::config::{self, Settings, Source};
use crate::driver::Control;
use crate::failure::Failure;
use crate::metrics::{FabricMetrics, Metrics};
use crate::output::log;
use crate::output::progress::Terminal;
use crate::signals::{self, SignalCounts, SignalListener, SignalRelay, Signals};

/// Time until a fabric that could not be served is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// What a fabric tells.
enum Told {
    /// It has what it needs, and serves.
    Serves,
    /// It could not be served, and is tried again.
    Fails(String, Failure),
    /// It has ended.
    Ended(String, Result<(), Failure>),
}

/// Serves all of them until SIGTERM or SIGINT, or with `--once` until each one's first sweep is done.
///
/// # Errors
/// If none can be served, or (with `--once`) one does not come up.
pub fn serve(
    all: Vec<(Source, Settings)>,
    args: &RunArgs,
    (terminal, log, metrics): (&Terminal, &log::Handle, &Metrics),
    (runtime, signals): (Runtime, Signals),
) -> Result<(), Failure> {
    let (tell, all_told) = watch::channel(SignalCounts::default());
    let path = all.iter().find_map(|(source, _)| source.path());
    let path = path.map(Path::to_owned);
    let (teller, told) = mpsc::unbounded_channel();
    let mut names = Vec::new();
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (source, settings) in all {
        let name = source.fabric().unwrap_or_default().to_owned();
        let one = One {
            args: args.clone(),
            terminal: terminal.clone(),
            log: log.clone(),
            metrics: metrics.for_fabric(Some(&name)),
            relay: SignalRelay::new(all_told.clone()),
            teller: teller.clone(),
            name: name.clone(),
        };
        let started = crate::threads::start(&name, move || {
            error_span!("fabric", fabric = one.name).in_scope(|| one.serve(source, settings));
        });
        threads.push(started.map_err(|e| Failure::job(format!("cannot start a thread: {e}")))?);
        names.push(name);
    }
    drop((teller, all_told));
    let file = (path.as_deref(), &names[..]);
    let end = runtime.block_on(watch_over(file, told, signals, &tell));
    tell.send_modify(|heard| heard.add(Control::Stop));
    let mut broken = false;
    for thread in threads {
        broken |= thread.join().is_err();
    }
    if broken {
        return Err(Failure::job("a thread of a fabric broke"));
    }
    end
}

/// Waits until all have ended, and tells them what the process is told.
async fn watch_over(
    (path, names): (Option<&Path>, &[String]),
    mut told: mpsc::UnboundedReceiver<Told>,
    mut signals: Signals,
    tell: &watch::Sender<SignalCounts>,
) -> Result<(), Failure> {
    let mut served = false;
    let mut failed = Vec::new();
    let mut end = Ok(());
    loop {
        let told = tokio::select! {
            what = signals.next() => {
                if let (Control::Reload, Some(path)) = (what, path) {
                    tell_added(path, names);
                }
                tell.send_modify(|heard| heard.add(what));
                continue;
            }
            told = told.recv() => told,
        };
        match told {
            None => return end,
            Some(Told::Serves) => served = true,
            Some(Told::Fails(name, why)) => {
                failed.retain(|(other, _)| *other != name);
                failed.push((name, why));
                if !served && failed.len() == names.len() {
                    tell.send_modify(|heard| heard.add(Control::Stop));
                    let (name, why) = failed.swap_remove(0);
                    end = Err(of(&name, why));
                }
            }
            Some(Told::Ended(name, Err(why))) if end.is_ok() => end = Err(of(&name, why)),
            Some(Told::Ended(..)) => {}
        }
    }
}

/// Tells of fabrics that the file has by now; each fabric that is served tells what is wrong with the file.
fn tell_added(path: &Path, names: &[String]) {
    if let Ok(all) = config::read(path) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        serve::tell_added(&all, &names);
    }
}

/// A failure, with the fabric that it is of.
fn of(name: &str, why: Failure) -> Failure {
    match why {
        Failure::Job { error, hint } => Failure::Job {
            error: error.context(format!("fabric {name}")),
            hint,
        },
        Failure::Unconfigured { what, hint } => Failure::Unconfigured {
            what: format!("fabric {name}: {what}"),
            hint,
        },
        other @ (Failure::NotRun { .. } | Failure::Usage(_) | Failure::Config(_)) => other,
    }
}

/// One fabric, on its thread.
struct One {
    args: RunArgs,
    terminal: Terminal,
    log: log::Handle,
    metrics: FabricMetrics,
    relay: SignalRelay,
    teller: mpsc::UnboundedSender<Told>,
    name: String,
}

impl One {
    fn serve(mut self, mut source: Source, mut settings: Settings) {
        loop {
            let why = match self.serve_now(source.clone(), settings.clone()) {
                Err(why) if !self.args.sm.once && !self.relay.is_stopping() => why,
                end => return self.tell(Told::Ended(self.name.clone(), end)),
            };
            self.relay.mark_rebalanced();
            error!(
                error = why.to_log_line(),
                retry_s = AGAIN.as_secs(),
                "fabric not served"
            );
            self.tell(Told::Fails(self.name.clone(), why));
            if self.wait() {
                return self.tell(Told::Ended(self.name.clone(), Ok(())));
            }
            // What is wrong may have been mended there; a file that is wrong changes nothing.
            let heard = self.relay.received();
            if let Some((again, said)) = self.read(&source) {
                (source, settings) = (again, said);
                self.relay.mark_reloaded(&heard);
            }
            info!("retrying fabric");
        }
    }

    fn serve_now(&self, source: Source, settings: Settings) -> Result<(), Failure> {
        let teller = self.teller.clone();
        let process = Process {
            runtime: signals::runtime()?,
            ear: SignalListener::Relay(self.relay.clone()),
            // Fails only at the end of the program.
            serves: Box::new(move || drop(teller.send(Told::Serves))),
            is_all: false,
        };
        let shown = (&self.terminal, &self.log, &self.metrics);
        serve_port::serve_one(source, settings, &self.args, shown, process)
    }

    fn tell(&self, told: Told) {
        // Fails only at the end of the program.
        let _ = self.teller.send(told);
    }

    /// Waits for the next attempt; whether the program ends instead.
    fn wait(&self) -> bool {
        let mut relay = self.relay.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let Ok(runtime) = runtime else { return true };
        runtime.block_on(async {
            let stopped = tokio::time::timeout(AGAIN, relay.stopped());
            stopped.await.is_ok()
        })
    }

    fn read(&self, source: &Source) -> Option<(Source, Settings)> {
        let all = config::read(source.path()?).ok()?;
        let all = config::resolve_all(all, serve_port::overlay(&self.args)).ok()?;
        all.into_iter()
            .find(|(other, _)| other.fabric() == source.fabric())
    }
}
