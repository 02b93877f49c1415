//! The `ferrosm` program: parses the command line, runs the command, reports its failure.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ferrosm::cli::Cli;

fn main() -> ExitCode {
    ferrosm::allocator::use_one_arena();
    match ferrosm::commands::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is closed, the exit status still reports the failure.
            for line in failure.to_string().lines() {
                let prefix = if line.starts_with(' ') {
                    ""
                } else {
                    "ferrosm: "
                };
                let _ = writeln!(std::io::stderr(), "{prefix}{line}");
            }
            failure.exit_code()
        }
    }
}
