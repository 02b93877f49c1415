//! The log, and the log events of the subnet manager.
//!
//! Events are constant, lower case, with data in fields; docs/operations.md lists them. Levels:
//! `error` requires an operator, `warn` is a deviation, `info` has a few lines per sweep, `debug`
//! has details per phase.

use ferrosm_core::Event;
use ferrosm_core::event::Severity;
use tracing::Level;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use super::event_callsite;
use super::opensm_format::OpensmFormat;
use super::progress::Terminal;
use crate::config::{LogFormat, LogSettings, parse_log_level};

/// Changes the log level at run time.
#[derive(Debug, Clone)]
pub struct Handle(Option<reload::Handle<Targets, Registry>>);

impl Handle {
    /// Sets the level, a value of `log.level`; invalid values are ignored.
    pub fn set_level(&self, level: &str) {
        if let (Some(handle), Some(targets)) = (&self.0, parse_log_level(level)) {
            // Fails only at exit, without a subscriber.
            let _ = handle.reload(targets);
        }
    }
}

/// Initializes the log; only the first call has an effect.
#[must_use]
pub fn init(settings: &LogSettings, terminal: &Terminal) -> Handle {
    let level: Targets = parse_log_level(&settings.level).unwrap_or_default();
    let (filter, handle) = reload::Layer::new(level);
    let registry = tracing_subscriber::registry().with(filter);
    let format = tracing_subscriber::fmt::layer().with_writer(terminal.clone());
    let set = match settings.format {
        LogFormat::Compact => {
            use std::io::IsTerminal;
            let format = format
                .with_ansi(std::io::stderr().is_terminal())
                .with_target(false);
            registry.with(format.compact()).try_init()
        }
        LogFormat::Json => registry.with(format.json().flatten_event(true)).try_init(),
        LogFormat::Opensm => {
            let format = format.with_ansi(false);
            registry.with(format.event_format(OpensmFormat)).try_init()
        }
    };
    Handle(set.is_ok().then_some(handle))
}

/// Logs an event with a severity, which is its own or lower.
pub fn event(event: &Event, severity: Severity) {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARN,
        Severity::Info => Level::INFO,
        Severity::Debug => Level::DEBUG,
    };
    event_callsite::dispatch(event.row().name, level, event.fields().as_slice());
}
