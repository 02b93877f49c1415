//! `ferrosm config`: check, print, import and export configuration.

mod export;
mod import;
mod opensm_rules;

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::ConfigFileCommand;
use crate::config::{
    self, ConfigSource, DEFAULT_PATH, FORMER_DEFAULT_PATH, INSTANCE_DIR, Settings,
};
use crate::failure::Failure;
use crate::output::{self, table};

/// Runs the command.
///
/// # Errors
/// All errors of the files.
pub fn run(command: &ConfigFileCommand) -> Result<(), Failure> {
    match command {
        ConfigFileCommand::Check { files, opensm } => check(files, *opensm),
        ConfigFileCommand::Print { default: true, .. } => output::print(config::DEFAULT_FILE),
        ConfigFileCommand::Import(args) => import::run(args),
        ConfigFileCommand::Export(args) => export::run(args),
        ConfigFileCommand::Print { file, .. } => {
            let settings = source(file.as_deref())?.resolve(|_| {})?;
            output::print(&config::effective(&settings))
        }
    }
}

fn check(files: &[PathBuf], by_opensm: bool) -> Result<(), Failure> {
    let mut files = files.to_vec();
    if files.is_empty() {
        let unreadable = |e| Failure::runtime(format!("cannot read {INSTANCE_DIR}: {e}"));
        files = config::files_of_host().map_err(unreadable)?;
    }
    if files.is_empty() {
        files.push(PathBuf::from(DEFAULT_PATH));
    }
    let mut text = String::new();
    let resolved = config::read_files(&files)?;
    for (file, (_, settings)) in files.iter().zip(&resolved) {
        let line = |warning| format!("{warning}\n");
        let warnings: Vec<String> = settings.warnings.iter().map(line).collect();
        let count = match warnings.len() {
            0 => "no errors".to_owned(),
            n => format!("no errors, {}", table::count(n, "warning", "warnings")),
        };
        text.push_str(&warnings.concat());
        text.push_str(&format!("{}: {count}\n", file.display()));
        text.push_str(&summary(settings));
        if by_opensm {
            text.push_str(&opensm_rules::report(settings));
        }
    }
    output::print(&text)
}

/// What an SM with these settings would do, on one line.
fn summary(settings: &Settings) -> String {
    let port = match (
        &settings.port.port_guid,
        &settings.port.ca,
        settings.port.port,
    ) {
        (Some(guid), ..) => format!("port GUID {guid}"),
        (None, Some(ca), Some(port)) => format!("{ca} port {port}"),
        (None, Some(ca), None) => format!("the port of {ca} with a link"),
        (None, None, _) => "the only port with a link".to_owned(),
    };
    let state_dir = settings.state_dir.as_ref().map_or_else(
        || "nothing persisted".to_owned(),
        |dir| format!("state directory {}", dir.display()),
    );
    let partitions = settings.sm.partitions.list().len();
    format!(
        "  SM priority {} on {port}, {}, {state_dir}\n",
        settings.sm.priority,
        table::count(partitions, "partition", "partitions"),
    )
}

/// The given file; without one, [`DEFAULT_PATH`] if it exists, otherwise default settings.
///
/// # Errors
/// All errors of the file; only [`FORMER_DEFAULT_PATH`] exists.
pub fn source(file: Option<&Path>) -> Result<ConfigSource, Failure> {
    let default = Path::new(DEFAULT_PATH);
    match file {
        Some(path) => Ok(config::read(path)?),
        None if default.exists() => Ok(config::read(default)?),
        None if Path::new(FORMER_DEFAULT_PATH).exists() => Err(Failure::Usage(format!(
            "{FORMER_DEFAULT_PATH} is not read any more: move it to {DEFAULT_PATH}, or name it with --config"
        ))),
        None => Ok(ConfigSource::default()),
    }
}

/// The state directory of a service. Combinations of keys are not checked, and the files that the
/// configuration names are not read. For a user who may not read the configuration, as members of
/// the service's group, it is the default one.
///
/// # Errors
/// The file is invalid, or no state directory is configured.
pub fn state_dir(file: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = file.unwrap_or_else(|| Path::new(DEFAULT_PATH));
    let source = match std::fs::File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => ConfigSource::parse(path, "")?,
        Ok(_) | Err(_) => source(file)?,
    };
    source.settings.state_dir.ok_or_else(|| {
        let message = "no state directory: specify one with --state-dir";
        Failure::Usage(message.to_owned())
    })
}
