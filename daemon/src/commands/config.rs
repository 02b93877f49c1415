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
            let all = config::resolve_all(config::read(&path)?, |_| {})?;
            let mut remarks: Vec<String> = all
                .iter()
                .flat_map(|(_, settings)| &settings.warnings)
                .map(|remark| format!("{remark}\n"))
                .collect();
            remarks.dedup();
            let remarks = remarks.concat();
            output::print(&format!("{remarks}{}: no errors\n", path.display()))
        }
        ConfigCommand::Print { default: true, .. } => output::print(config::DEFAULT_FILE),
        ConfigCommand::Print { file, fabric, .. } => {
            let settings = source(file.as_deref(), fabric.as_deref())?.resolve(|_| {})?;
            output::print(&config::effective(&settings.raw))
        }
    }
}

/// The fabrics of the file that was named, else of the one at the usual place, else one with all defaults.
///
/// # Errors
/// Everything that is wrong with it.
pub fn sources(named: Option<&Path>) -> Result<Vec<Source>, Failure> {
    let usual = Path::new(DEFAULT_PATH);
    match named {
        Some(path) => Ok(config::read(path)?),
        None if usual.exists() => Ok(config::read(usual)?),
        None => Ok(vec![Source::defaults()]),
    }
}

/// The state directory that the file names for a fabric. What else it says need not fit together, and the files that it names need not
/// be right, nor be there.
///
/// # Errors
/// If the file cannot be read, there is no such fabric, or nothing is kept for it.
pub fn state_dir(named: Option<&Path>, fabric: Option<&str>) -> Result<PathBuf, Failure> {
    let dir = source(named, fabric)?.raw.files.state_dir;
    if dir.is_empty() {
        let none = "no state directory: name one with --state-dir";
        return Err(Failure::Usage(none.to_owned()));
    }
    Ok(PathBuf::from(dir))
}

/// One fabric of that file: the one of this name, or the only one.
///
/// # Errors
/// Everything that is wrong with the file, or there is no such fabric.
pub fn source(named: Option<&Path>, fabric: Option<&str>) -> Result<Source, Failure> {
    let all = sources(named)?;
    let several = fabric.is_none() && all.len() > 1;
    Source::select(all, fabric).map_err(|why| {
        let hint = if several {
            ": choose one with --fabric"
        } else {
            ""
        };
        Failure::Usage(format!("{why}{hint}"))
    })
}
