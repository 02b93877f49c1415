//! The `ferrosm` program: parses the command line, runs the command, reports its failure.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ferrosm::cli::{Cli, opensm_flags};
use ferrosm::failure::Failure;

fn main() -> ExitCode {
    ferrosm::allocator::use_one_arena();
    match parse().and_then(ferrosm::commands::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is closed, the exit status still reports the failure.
            let report = failure.report();
            if !report.is_empty() {
                let _ = writeln!(std::io::stderr(), "{report}");
            }
            failure.exit_code()
        }
    }
}

/// Parses the command line. Help and usage errors end the program; flags of OpenSM are explained
/// instead.
fn parse() -> Result<Cli, Failure> {
    Cli::try_parse().or_else(|error| {
        let words: Vec<String> = std::env::args_os()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        if let Some(text) = needs_simulator(&words).or_else(|| opensm_flags::explain(&words))
            && error.use_stderr()
        {
            return Err(Failure::Usage(text));
        }
        error.exit()
    })
}

/// What to use for a command that this build does not have.
fn needs_simulator(words: &[String]) -> Option<String> {
    let command = words.first()?;
    let is_missing = cfg!(not(feature = "simulator"))
        && ["attach", "demo", "route", "sim", "sim-ctl"].contains(&command.as_str());
    is_missing.then(|| {
        format!(
            "this ferrosm was built without the simulator: install the package ferrosm-simulator, and run `ferrosm-simulator {command}`"
        )
    })
}
