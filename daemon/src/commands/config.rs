//! `ferrosm config`: check and print configuration.

use std::path::{Path, PathBuf};

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::config::{self, ConfigSource, DEFAULT_PATH, Settings};
use crate::failure::Failure;
use crate::output::{self, table};

/// Runs the command.
///
/// # Errors
/// All errors of the file.
pub fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.command {
        ConfigCommand::Check { file } => {
            let path = file.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_PATH));
            let resolved = config::resolve_all(config::read(&path)?, |_| {})?;
            let mut warnings: Vec<String> = resolved
                .iter()
                .flat_map(|(_, settings)| &settings.warnings)
                .map(|warning| format!("{warning}\n"))
                .collect();
            warnings.dedup();
            let count = match warnings.len() {
                0 => "no errors".to_owned(),
                1 => "no errors, 1 warning".to_owned(),
                count => format!("no errors, {count} warnings"),
            };
            let mut text = format!("{}{}: {count}\n", warnings.concat(), path.display());
            for (source, settings) in &resolved {
                text.push_str(&summary(source, settings));
            }
            output::print(&text)
        }
        ConfigCommand::Print { default: true, .. } => output::print(config::DEFAULT_FILE),
        ConfigCommand::Print { file, fabric, .. } => {
            let settings = source(file.as_deref(), fabric.as_deref())?.resolve(|_| {})?;
            output::print(&config::effective(&settings.raw))
        }
    }
}

/// What an SM with these settings would do, on one line.
fn summary(source: &ConfigSource, settings: &Settings) -> String {
    let fabric = source
        .fabric()
        .map_or_else(String::new, |name| format!("fabric {name}: "));
    let port = match (&settings.port.guid, &settings.port.ca, settings.port.number) {
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
        "  {fabric}SM priority {} on {port}, {}, {state_dir}\n",
        settings.sm.priority,
        table::count(partitions, "partition", "partitions"),
    )
}

/// The fabrics of the given file; without one, those of [`DEFAULT_PATH`] if it exists, otherwise one fabric with default settings.
///
/// # Errors
/// All errors of the file.
pub fn sources(file: Option<&Path>) -> Result<Vec<ConfigSource>, Failure> {
    let default = Path::new(DEFAULT_PATH);
    match file {
        Some(path) => Ok(config::read(path)?),
        None if default.exists() => Ok(config::read(default)?),
        None => Ok(vec![ConfigSource::defaults()]),
    }
}

/// The state directory of a fabric. Combinations of keys are not checked, and the files that the configuration names are not read.
///
/// # Errors
/// The file is invalid, the fabric is unknown, or no state directory is configured.
pub fn state_dir(file: Option<&Path>, fabric: Option<&str>) -> Result<PathBuf, Failure> {
    let dir = source(file, fabric)?.raw.files.state_dir;
    if dir.is_empty() {
        let message = "no state directory: specify one with --state-dir";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(PathBuf::from(dir))
}

/// One fabric of the file: by name, or the only one.
///
/// # Errors
/// All errors of the file, or an unknown fabric.
pub fn source(file: Option<&Path>, fabric: Option<&str>) -> Result<ConfigSource, Failure> {
    let fabrics = sources(file)?;
    let is_ambiguous = fabric.is_none() && fabrics.len() > 1;
    ConfigSource::select(fabrics, fabric).map_err(|error| {
        let hint = if is_ambiguous {
            ": choose one with --fabric"
        } else {
            ""
        };
        Failure::Usage(format!("{error}{hint}"))
    })
}
