//! `ferrosm run`: the subnet manager on a local port.

use tracing::warn;

use crate::api;
use crate::cli::RunArgs;
use crate::commands::config;
use crate::config::{ConfigSource, INSTANCE_DIR, Settings};
use crate::failure::Failure;
use crate::http::HttpThread;
use crate::metrics::{self, Metrics};
use crate::output::log;
use crate::output::progress::Terminal;
use crate::run::config_start::StartFiles;
use crate::run::serve::Process;
use crate::run::serve_port::{overlay, serve_one};
use crate::run::service_manager::ServiceManager;
use crate::run::signals;

/// Runs the command.
///
/// # Errors
/// The configuration is invalid, no port can serve, or (with `--once`) the fabric does not come up.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    // First, so that early signals are not lost.
    let (runtime, signals) = signals::install()?;
    let source = config::source(args.sm.config.as_deref())?;
    let files = StartFiles::new(source, overlay(args))?;
    let settings = files.resolve(overlay(args))?;
    let terminal = Terminal::detect();
    let log = log::init(&settings.log, &terminal);
    let source = files.into_source();
    let metrics = Metrics::default();
    let http = (!args.sm.once).then(HttpThread::start).flatten();
    metrics::serve_if_configured(http.as_ref(), settings.metrics, &metrics);
    warn_of_conflicts(&source, &settings);
    let process = Process {
        runtime,
        signals,
        service: ServiceManager::of_process(),
        terminal,
        log,
        metrics,
        api: api::Service::default(),
    };
    serve_one(source, settings, args, http.as_ref(), process)
}

/// Logs what this service shares with other services of this host, but should not. The service
/// starts nevertheless: a resource that cannot be shared causes an error when it is used.
fn warn_of_conflicts(source: &ConfigSource, settings: &Settings) {
    let files = match crate::config::files_of_host() {
        Ok(files) => files,
        Err(error) => {
            warn!(dir = INSTANCE_DIR, %error, "configurations of other services not checked");
            return;
        }
    };
    let path = source.absolute_path();
    for file in files.iter().filter(|file| path.as_ref() != Some(file)) {
        let other = crate::config::read(file).and_then(|other| other.into_resolved(|_| {}));
        // The other service reports the errors of its own file.
        let Ok((other, other_settings)) = other else {
            continue;
        };
        let pair = [(&other, &other_settings), (source, settings)];
        for found in crate::config::check_combination(&pair).errors() {
            warn!(
                reason = found.message,
                "configuration of another service conflicts"
            );
        }
    }
}
