//! `ferrosm topology`: prints the topology of the live fabric or of a file.

use core::ops::ControlFlow;

use ferrosm_core::event::report_problems;
use ferrosm_core::{Event, Progress, SubnetManager};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_umad::libibumad::{OpenOptions, UmadPort};
use tokio::sync::mpsc;

use crate::cli::{TopologyArgs, TopologyFormat};
use crate::clock::Clock;
use crate::commands::config;
#[cfg(feature = "simulator")]
use crate::config::LogSettings;
use crate::config::Settings;
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::{fabric, spec};
use crate::output::progress::{SweepBar, Terminal};
use crate::output::{self, dot, ibnet, json, log, table};
use crate::port::{ThreadedPort, local_port};
use crate::run::driver::{Driver, Reload, Shell};
use crate::run::signals::{self, Signals};
use ferrosm_store::PersistRequest;

const INBOX: usize = 8192;

/// Runs the command.
///
/// # Errors
/// The file or port does not exist, or the fabric cannot be read.
pub fn run(args: &TopologyArgs) -> Result<(), Failure> {
    #[cfg(feature = "simulator")]
    if let Some(from) = &args.from {
        let _log = log::init(&LogSettings::compact(&args.log_level), &Terminal::detect());
        let fabric = spec::observed(&fabric::load(from)?);
        fabric::warn_of_parts(&fabric);
        let snapshot = spec::snapshot(&fabric, None, None);
        return output::print(&render(&snapshot, args.format));
    }
    let snapshot = live(args)?;
    output::print(&render(&snapshot, args.format))
}

/// Renders a snapshot in an output format.
#[must_use]
pub fn render(snapshot: &Snapshot, format: TopologyFormat) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match format {
        TopologyFormat::Ibnet => ibnet::render(snapshot, &mut text),
        TopologyFormat::Dot => dot::render(snapshot, &mut text),
        TopologyFormat::Json => {
            text = json::pretty(&json::topology::document(snapshot));
            Ok(())
        }
        TopologyFormat::Table => {
            text = table::topology(snapshot);
            Ok(())
        }
    };
    text
}

/// Discovers the live fabric, read-only.
fn live(args: &TopologyArgs) -> Result<Snapshot, Failure> {
    // The file may select the port and the SMP limits; it is optional.
    let source = config::source(args.config.as_deref())?;
    let mut settings: Settings = source.resolve(|settings| {
        args.port.apply(settings);
        settings.log.level.clone_from(&args.log_level);
    })?;
    let terminal = Terminal::detect();
    let _ = log::init(&settings.log, &terminal);
    let local = local_port::choose_for_reading(&settings.port)?;
    let open = OpenOptions {
        as_sm: false,
        response_timeout_ms: local_port::response_timeout_ms(&settings.sm),
    };
    let (sender, receiver) =
        UmadPort::open(&local, &open).map_err(|e| local_port::open_failure(&e, Some(&local)))?;
    if let Some(limit) = sender.window_limit() {
        settings.sm.max_outstanding = settings.sm.max_outstanding.min(limit);
    }
    let port = ThreadedPort::new(Box::new(sender), Box::new(receiver), INBOX)
        .map_err(|e| Failure::runtime(format!("cannot start the receiving thread: {e}")))?;
    signals::runtime()?.block_on(async {
        let (control, inbox) = mpsc::channel(4);
        Signals::register()?.forward_to(control);
        let clock = Clock::start();
        let sm = SubnetManager::read_only(settings.sm, clock.now());
        let mut driver = Driver::new(
            sm,
            clock,
            port,
            DiscoveryShell {
                bar: terminal.bar(),
            },
            inbox,
        );
        let result = driver.run().await;
        result.map_err(|e| Failure::runtime(format!("the port failed: {e}: {}", e.source)))?
    })
}

/// A shell for read-only discovery.
struct DiscoveryShell {
    bar: SweepBar,
}

impl Shell for DiscoveryShell {
    type End = Result<Snapshot, Failure>;

    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other events are only reported"
    )]
    fn event(&mut self, event: Event, sm: &SubnetManager) -> ControlFlow<Self::End> {
        let mut report = |event: Event| log::event(&event, event.row().severity);
        match event {
            Event::SweepCompleted(done) => {
                self.bar.clear();
                report_problems(&done.problems, &[], &mut report);
                ControlFlow::Break(Ok(sm.snapshot(None)))
            }
            Event::LocalPortUnusable(why) => ControlFlow::Break(Err(Failure::with_hint(
                format!("local port unusable: {why}"),
                "Choose another port: `ferrosm ports` lists them.",
            ))),
            _ => {
                report(event);
                ControlFlow::Continue(())
            }
        }
    }

    fn persist(&mut self, _: PersistRequest) -> Option<u64> {
        None
    }

    fn reload(&mut self) -> Reload {
        Reload::Rejected
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        Err(Failure::runtime("interrupted before the fabric was read"))
    }

    fn tick(&mut self, progress: Progress) {
        if self.bar.is_shown() {
            self.bar.show(progress);
        }
    }
}
