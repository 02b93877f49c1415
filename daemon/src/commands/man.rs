//! `ferrosm man`: manual pages from the definitions of the commands.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::Failure;

/// Writes a page for each command.
///
/// # Errors
/// The directory cannot be created or written.
pub fn run(dir: &Path) -> Result<(), Failure> {
    let error = |e| Failure::runtime(format!("cannot write to {}: {e}", dir.display()));
    fs::create_dir_all(dir).map_err(error)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(error)
}
