//! The `ferrosm` program: parses the command line, runs the command, tells how it failed.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ferrosm::cli::Cli;

fn main() -> ExitCode {
    ferrosm::allocator::use_one_arena();
    match ferrosm::commands::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where even standard error is gone, the exit code is all that is left to say.
            let _ = writeln!(std::io::stderr(), "ferrosm: {failure}");
            failure.exit_code()
        }
    }
}
