//! `ferrosm topology`: prints the topology of the live fabric or of a file.

use core::ops::ControlFlow;

use ferrosm_core::event::report_problems;
use ferrosm_core::{Event, Progress, SubnetManager};
use ferrosm_fabric::snapshot::Snapshot;

use crate::cli::{TopologyArgs, TopologyFormat};
use crate::commands::config;
#[cfg(feature = "simulator")]
use crate::config::LogSettings;
use crate::config::Settings;
use crate::drawing::{self, Highlight};
use crate::exports::dot;
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::{fabric, spec};
use crate::output::progress::{SweepBar, Terminal};
use crate::output::{self, ibnet, json, log, table};
use crate::run::driver::Shell;
use crate::run::reading;
use crate::whole_fabric::WholeFabric;

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
        TopologyFormat::Dot => {
            text = dot::render(&WholeFabric::of_snapshot(snapshot));
            Ok(())
        }
        TopologyFormat::Json => {
            text = json::pretty(&json::topology::document(snapshot));
            Ok(())
        }
        TopologyFormat::Svg => {
            let fabric = WholeFabric::of_snapshot(snapshot);
            text = drawing::svg(&drawing::draw(&fabric, None, &Highlight::Unmarked));
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
    let port = reading::open(&mut settings)?;
    let shell = DiscoveryShell {
        bar: terminal.bar(),
    };
    reading::run(port, shell, |now| {
        SubnetManager::read_only(settings.sm, now)
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
                "Choose another port: `ferrosm ports --local` lists them.",
            ))),
            _ => {
                report(event);
                ControlFlow::Continue(())
            }
        }
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        Err(Failure::runtime("interrupted before the fabric was read"))
    }

    fn tick(&mut self, progress: Progress) {
        self.bar.show(progress);
    }
}
