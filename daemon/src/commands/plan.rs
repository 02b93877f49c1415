//! `ferrosm plan`: what the SM would write to the fabric as it is now.

use ferrosm_api::plan::Plan;

use crate::api::start_plan::StartPlanOptions;
use crate::cli::PlanArgs;
use crate::commands::config;
use crate::config::Settings;
use crate::failure::Failure;
use crate::output::progress::Terminal;
use crate::output::{self, json, log};
use crate::run::planning::{self, PlanClient};
use crate::run::reading;

/// Runs the command.
///
/// # Errors
/// The configuration is invalid, the port does not exist, or no sweep is complete.
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let plan = make(args)?;
    match args.json {
        true => output::print(&json::pretty(&plan)),
        false => output::print(&output::plan::render(&plan)),
    }
}

fn make(args: &PlanArgs) -> Result<Plan, Failure> {
    let source = config::source(args.config.as_deref())?;
    let mut settings: Settings = source.resolve(|settings| {
        args.port.apply(settings);
        settings.log.level.clone_from(&args.log_level);
        if let Some(dir) = &args.state_dir {
            settings.state_dir = Some(dir.clone());
        }
    })?;
    let terminal = Terminal::detect();
    let _ = log::init(&settings.log, &terminal);
    let port = reading::open(&mut settings)?;
    let accepted = args.accept.iter().map(|consequence| consequence.kind());
    let options = StartPlanOptions {
        accepted: accepted.collect(),
        lists_writes: args.full,
    };
    let client = PlanClient::Command(terminal.bar());
    planning::plan(port, settings, &options, client)
}
