//! One module per command. Each takes its flags and returns its failure.

pub mod alarms;
pub mod ask;
pub mod bugreport;
pub mod cabling;
pub mod capture;
pub mod change;
pub mod config;
pub mod config_change;
pub mod control;
pub mod draw;
pub mod explain;
pub mod export;
mod fabric_source;
pub mod group;
pub mod keys;
pub mod man;
pub mod plan;
pub mod ports;
pub mod replay;
#[cfg(feature = "simulator")]
pub mod route;
pub mod run;
pub mod sa;
mod service;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod state;
mod state_backup;
pub mod topology;
pub mod upgrade;
pub mod web;
pub mod what_if;

use clap::CommandFactory;

use crate::cli::{Cli, CliCommand, ConfigCommand};
use crate::failure::Failure;
use crate::output;

/// Runs a command.
///
/// # Errors
/// The failure of the command.
pub fn run(mut cli: Cli) -> Result<(), Failure> {
    cli.command.set_time(&cli.time).map_err(Failure::Usage)?;
    cli.command.check().map_err(Failure::Usage)?;
    match cli.command {
        CliCommand::Run(args) => run::run(&args),
        #[cfg(feature = "simulator")]
        CliCommand::Simulator(command) => simulator::run(&command),
        CliCommand::Status(args) => ask::status(&args),
        CliCommand::Health(args) => ask::health(&args),
        CliCommand::Sms(args) => ask::sms(&args),
        CliCommand::Nodes(args) => ask::nodes(&args),
        CliCommand::Links(args) => ask::links(&args),
        CliCommand::Limits(args) => ask::limits(&args),
        CliCommand::Where(args) => ask::place(&args),
        CliCommand::Path(args) => ask::path(&args),
        CliCommand::Invariants(args) => ask::invariants(&args),
        CliCommand::Cabling(args) => cabling::run(&args.command),
        CliCommand::WhatIf(args) => what_if::run(&args),
        CliCommand::Plan(args) => plan::run(&args),
        CliCommand::Ports(args) => ports::run(&args),
        CliCommand::Topology(args) => topology::run(&args),
        #[cfg(feature = "simulator")]
        CliCommand::Route(args) => route::run(&args),
        CliCommand::Draw(args) => draw::run(&args),
        CliCommand::Export(args) => export::run(&args.command),
        CliCommand::Explain(args) => explain::run(&args),
        CliCommand::Replay(args) => replay::run(&args),
        CliCommand::Sweep(args) => control::sweep(&args),
        CliCommand::Handover(args) => control::handover(&args),
        CliCommand::Takeover(args) => control::takeover(&args),
        CliCommand::Partition(args) => change::partition(&args.command),
        CliCommand::Group(args) => group::run(&args.command),
        CliCommand::Host(args) => group::host(&args.command),
        CliCommand::Drain(args) => change::drain(&args),
        CliCommand::Undrain(args) => change::undrain(&args),
        CliCommand::Port(args) => change::port(&args.command),
        CliCommand::Maintenance(args) => change::maintenance(&args),
        CliCommand::Keys(args) => keys::run(&args.command),
        CliCommand::Events(args) => ask::events(&args),
        CliCommand::Changes(args) => ask::changes(&args),
        CliCommand::Diff(args) => ask::diff(&args),
        CliCommand::Alarms(args) => alarms::run(&args),
        CliCommand::Forget(args) => alarms::forget(&args),
        CliCommand::Notify(args) => alarms::notify(&args),
        CliCommand::Commands(args) => control::commands(&args),
        CliCommand::Sa(args) => sa::run(&args),
        CliCommand::Bugreport(args) => bugreport::run(&args),
        CliCommand::Capture(args) => capture::run(&args),
        CliCommand::Web(args) => web::run(&args.command),
        CliCommand::State(args) => state::run(&args),
        CliCommand::Config(args) => match &args.command {
            ConfigCommand::Files(command) => config::run(command),
            ConfigCommand::Running(command) => config_change::run(command),
        },
        CliCommand::Upgrade(args) => upgrade::run(&args.command),
        CliCommand::Man(args) => man::run(&args.dir),
        CliCommand::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ferrosm", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
    }
}
