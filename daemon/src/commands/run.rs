//! `ferrosm run`: the subnet manager on a local port, or on one for each fabric of the configuration.

use tracing::error_span;

use crate::cli::RunArgs;
use crate::commands::serve::Process;
use crate::commands::serve_port::{overlay, serve_one};
use crate::commands::{config, multi_fabric};
use crate::config::ConfigSource;
use crate::failure::Failure;
use crate::metrics::{Metrics, server};
use crate::output::log;
use crate::output::progress::Terminal;
use crate::service_manager::ServiceManager;
use crate::signals::{self, SignalListener};

/// Runs the command.
///
/// # Errors
/// The configuration is invalid, no port can serve, or (with `--once`) the fabric does not come up.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    // First, so that early signals are not lost.
    let (runtime, signals) = signals::install()?;
    let mut sources = config::sources(args.sm.config.as_deref())?;
    if let Some(name) = &args.fabric {
        sources = vec![ConfigSource::select(sources, Some(name)).map_err(Failure::Usage)?];
    }
    if sources.len() > 1 && args.has_fabric_flags() {
        let names: Vec<&str> = sources.iter().filter_map(ConfigSource::fabric).collect();
        return Err(Failure::Usage(format!(
            "--ca, --port, --port-guid, --state-dir, --dump-dir, --capture and --record apply to one fabric, but the configuration has {}: \
             choose one with --fabric",
            names.join(", ")
        )));
    }
    let mut resolved = crate::config::resolve_all(sources, overlay(args))?;
    let terminal = Terminal::detect();
    let Some((source, settings)) = resolved.pop() else {
        return Ok(());
    };
    let log = log::init(&settings.log, &terminal);
    let metrics = Metrics::default();
    let listen = settings.metrics.filter(|_| !args.sm.once);
    let _metrics_server = server::start_if_configured(listen, &metrics);
    if !resolved.is_empty() {
        resolved.push((source, settings));
        let process = (&terminal, &log, &metrics);
        return multi_fabric::serve(resolved, args, process, (runtime, signals));
    }
    let process = Process {
        runtime,
        signal_listener: SignalListener::Own(signals),
        service: ServiceManager::of_process(),
        on_serving: Box::new(|| ()),
        is_all: args.fabric.is_none(),
    };
    let _in = source
        .fabric()
        .map(|name| error_span!("fabric", fabric = name).entered());
    let metrics = metrics.for_fabric(source.fabric());
    serve_one(source, settings, args, (&terminal, &log, &metrics), process)
}
