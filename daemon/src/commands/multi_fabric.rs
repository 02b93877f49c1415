//! Several fabrics in one process: each has a thread with its own runtime, port, state and election.
//!
//! They share only the process, its log and its signals. A fabric that cannot be served (device missing, directory not writable) is logged
//! and retried; the others continue. If none can be served at startup, the process ends.

use core::time::Duration;
use std::path::Path;
use std::thread::JoinHandle;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tracing::{error, error_span, info};

use super::serve::{self, Process};
use super::serve_port;
use crate::cli::RunArgs;
use crate::config::{self, ConfigSource, Settings};
use crate::driver::Control;
use crate::failure::Failure;
use crate::metrics::{FabricMetrics, Metrics};
use crate::output::log;
use crate::output::progress::Terminal;
use crate::service_manager::{Heartbeat, ServiceManager};
use crate::signals::{self, SignalCounts, SignalListener, SignalRelay, Signals};

/// Interval between attempts to serve a fabric.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Report of a fabric's thread.
enum FabricReport {
    /// It is served.
    Served,
    /// It cannot be served and is retried.
    Failed(String, Failure),
    /// Its thread ends.
    Ended(String, Result<(), Failure>),
}

/// Serves all fabrics until SIGTERM or SIGINT or, with `--once`, until the first sweep of each is complete.
///
/// # Errors
/// None can be served, or (with `--once`) one does not come up.
pub fn serve(
    fabrics: Vec<(ConfigSource, Settings)>,
    args: &RunArgs,
    (terminal, log, metrics): (&Terminal, &log::Handle, &Metrics),
    (runtime, signals): (Runtime, Signals),
) -> Result<(), Failure> {
    let (signal_sender, signal_counts) = watch::channel(SignalCounts::default());
    let path = fabrics.iter().find_map(|(source, _)| source.path());
    let path = path.map(Path::to_owned);
    let (report_sender, reports) = mpsc::unbounded_channel();
    let names: Vec<String> = fabrics
        .iter()
        .map(|(source, _)| source.fabric().unwrap_or_default().to_owned())
        .collect();
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let services = ServiceManager::of_fabrics(&named);
    let heartbeat = services.first().map(ServiceManager::supervise_loop);
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for ((source, settings), service) in fabrics.into_iter().zip(services) {
        let name = source.fabric().unwrap_or_default().to_owned();
        let thread = FabricThread {
            args: args.clone(),
            terminal: terminal.clone(),
            log: log.clone(),
            metrics: metrics.for_fabric(Some(&name)),
            relay: SignalRelay::new(signal_counts.clone()),
            reports: report_sender.clone(),
            service,
            name: name.clone(),
        };
        let started = crate::threads::start(&name, move || {
            error_span!("fabric", fabric = thread.name).in_scope(|| thread.serve(source, settings));
        });
        threads.push(started.map_err(|e| Failure::runtime(format!("cannot start a thread: {e}")))?);
    }
    drop((report_sender, signal_counts));
    let file = (path.as_deref(), &names[..]);
    let result = runtime.block_on(supervise(file, reports, signals, &signal_sender, heartbeat));
    signal_sender.send_modify(|counts| counts.add(Control::Stop));
    let mut panicked = false;
    for thread in threads {
        panicked |= thread.join().is_err();
    }
    if panicked {
        return Err(Failure::runtime("the thread of a fabric panicked"));
    }
    result
}

/// Forwards signals to the fabrics and waits until all threads have ended.
async fn supervise(
    (path, names): (Option<&Path>, &[String]),
    mut reports: mpsc::UnboundedReceiver<FabricReport>,
    mut signals: Signals,
    signal_sender: &watch::Sender<SignalCounts>,
    heartbeat: Option<Heartbeat>,
) -> Result<(), Failure> {
    // The loop that the fabrics depend on for signals, and the only one while each waits to be retried.
    let beat = async {
        loop {
            match heartbeat.as_ref().and_then(|h| Some((h, h.interval()?))) {
                Some((heartbeat, interval)) => heartbeat.sleep(interval).await,
                None => core::future::pending().await,
            }
        }
    };
    tokio::pin!(beat);
    let mut served = false;
    let mut failed = Vec::new();
    let mut result = Ok(());
    loop {
        let report = tokio::select! {
            signal = signals.next() => {
                if let (Control::Reload, Some(path)) = (signal, path) {
                    log_added(path, names);
                }
                signal_sender.send_modify(|counts| counts.add(signal));
                continue;
            }
            report = reports.recv() => report,
            () = &mut beat => continue,
        };
        match report {
            None => return result,
            Some(FabricReport::Served) => served = true,
            Some(FabricReport::Failed(name, failure)) => {
                failed.retain(|(other, _)| *other != name);
                failed.push((name, failure));
                if !served && failed.len() == names.len() {
                    signal_sender.send_modify(|counts| counts.add(Control::Stop));
                    let (name, error) = failed.swap_remove(0);
                    result = Err(add_fabric(&name, error));
                }
            }
            Some(FabricReport::Ended(name, Err(failure))) if result.is_ok() => {
                result = Err(add_fabric(&name, failure))
            }
            Some(FabricReport::Ended(..)) => {}
        }
    }
}

/// Logs fabrics that were added to the file. Each served fabric logs the errors of the file.
fn log_added(path: &Path, names: &[String]) {
    if let Ok(sources) = config::read(path) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        serve::log_added_fabrics(&sources, &names);
    }
}

/// Adds the name of the fabric to a failure.
fn add_fabric(name: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Runtime { error, hint } => Failure::Runtime {
            error: error.context(format!("fabric {name}")),
            hint,
        },
        Failure::Unconfigured { message, hint } => Failure::Unconfigured {
            message: format!("fabric {name}: {message}"),
            hint,
        },
        other @ (Failure::NotRun { .. } | Failure::Usage(_) | Failure::Config(_)) => other,
    }
}

/// One fabric, in its thread.
struct FabricThread {
    args: RunArgs,
    terminal: Terminal,
    log: log::Handle,
    metrics: FabricMetrics,
    relay: SignalRelay,
    service: ServiceManager,
    reports: mpsc::UnboundedSender<FabricReport>,
    name: String,
}

impl FabricThread {
    fn serve(mut self, mut source: ConfigSource, mut settings: Settings) {
        loop {
            let failure = match self.serve_now(source.clone(), settings.clone()) {
                Err(failure) if !self.args.sm.once && !self.relay.is_stopping() => failure,
                result => return self.report(FabricReport::Ended(self.name.clone(), result)),
            };
            self.relay.mark_rerouted();
            error!(
                error = failure.to_log_line(),
                retry_s = RETRY_INTERVAL.as_secs(),
                "fabric not served"
            );
            self.service
                .set_status(format!("not served: {}", failure.to_log_line()));
            self.service.set_ready();
            self.report(FabricReport::Failed(self.name.clone(), failure));
            if self.wait_for_retry() {
                return self.report(FabricReport::Ended(self.name.clone(), Ok(())));
            }
            // The file may have been corrected; an invalid file changes nothing.
            let received = self.relay.received();
            if let Some((new_source, new_settings)) = self.reload(&source) {
                (source, settings) = (new_source, new_settings);
                self.relay.mark_reloaded(&received);
            }
            info!("retrying fabric");
        }
    }

    fn serve_now(&self, source: ConfigSource, settings: Settings) -> Result<(), Failure> {
        let reports = self.reports.clone();
        let process = Process {
            runtime: signals::runtime()?,
            signal_listener: SignalListener::Relay(self.relay.clone()),
            service: self.service.clone(),
            // Fails only at exit.
            on_serving: Box::new(move || drop(reports.send(FabricReport::Served))),
            is_all: false,
        };
        let outputs = (&self.terminal, &self.log, &self.metrics);
        serve_port::serve_one(source, settings, &self.args, outputs, process)
    }

    fn report(&self, report: FabricReport) {
        // Fails only at exit.
        let _ = self.reports.send(report);
    }

    /// Waits for the next attempt; returns whether the process stops instead.
    fn wait_for_retry(&self) -> bool {
        let mut relay = self.relay.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let Ok(runtime) = runtime else { return true };
        runtime.block_on(async {
            let stopped = tokio::time::timeout(RETRY_INTERVAL, relay.stopped());
            stopped.await.is_ok()
        })
    }

    fn reload(&self, source: &ConfigSource) -> Option<(ConfigSource, Settings)> {
        let sources = source.reread().ok()?;
        let resolved = config::resolve_all(sources, serve_port::overlay(&self.args)).ok()?;
        resolved
            .into_iter()
            .find(|(other, _)| other.fabric() == source.fabric())
    }
}
