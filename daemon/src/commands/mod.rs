//! One module per command. Each reads its flags, does its job, and returns how it failed.

pub mod attach;
pub mod config;
pub mod demo;
pub mod explain;
pub mod fabric;
pub mod handover;
pub mod multi_fabric;
pub mod port_wait;
pub mod ports;
pub mod route;
pub mod run;
pub mod serve;
pub mod serve_port;

pub mod sim;
pub mod sim_ctl;
pub mod state;
pub mod topology;

use clap::CommandFactory;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::output;

/// Runs a command.
///
/// # Errors
/// How it failed.
pub fn run(cli: Cli) -> Result<(), Failure> {
    cli.command.check().map_err(Failure::Usage)?;
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Attach(args) => attach::run(&args),
        Command::SimCtl(args) => sim_ctl::run(&args),
        Command::Ports(args) => ports::run(&args),
        Command::Topology(args) => topology::run(&args),
        Command::Route(args) => route::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Handover(args) => handover::run(&args),
        Command::State(args) => state::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ferrosm", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
    }
}
