//! `ferrosm config`: check and print configuration.

use std::path::{Path, PathBuf};

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::config::{self, DEFAULT_PATH, Source};
use crate::failure::Failure;
use crate::output;

/// Runs the command.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.what {
        ConfigCommand::Check { file } => {
            let path = file.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_PATH));
            let settings = config::read(&path)?.settle(|_| {})?;
            let remarks = settings.remarks.iter().map(|r| format!("{r}\n"));
            let remarks: String = remarks.collect();
            output::print(&format!("{remarks}{}: no errors\n", path.display()))
        }
        ConfigCommand::Print { default: true, .. } => output::print(config::DEFAULT_FILE),
        ConfigCommand::Print { file, .. } => {
            let settings = source(file.as_deref())?.settle(|_| {})?;
            output::print(&config::effective(&settings.raw))
        }
    }
}

/// The file that was named, else the one at the usual place, else all defaults.
///
/// # Errors
/// Everything that is wrong with it.
pub fn source(named: Option<&Path>) -> Result<Source, Failure> {
    let usual = Path::new(DEFAULT_PATH);
    match named {
        Some(path) => Ok(config::read(path)?),
        None if usual.exists() => Ok(config::read(usual)?),
        None => Ok(Source::defaults()),
    }
}
