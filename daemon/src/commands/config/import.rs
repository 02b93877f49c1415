//! `ferrosm config import`: OpenSM's configuration as a configuration of ferrosm.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ferrosm_mad::ids::PortGuid;
use ferrosm_opensm_compat::import::command_line;
use ferrosm_opensm_compat::import::evaluation::{Imported, evaluate};
use ferrosm_opensm_compat::import::file_kind::{self, FileKind};
use ferrosm_opensm_compat::import::services::{ImportRequest, SmSource, SourceFile, services};
use ferrosm_opensm_compat::import::toml_text::{self, Secrets};
use ferrosm_opensm_compat::options::conversion::{Conversion, TomlValue};
use ferrosm_opensm_compat::options::{self, Equivalent};
use ferrosm_store::atomic;
use ferrosm_umad::libibumad::LocalPort;

use crate::cli::ImportArgs;
use crate::config::{self, ConfigErrors, ConfigSource, INSTANCE_DIR};
use crate::failure::Failure;
use crate::output::import::{ImportReport, SmReport};
use crate::output::{self, json};
use crate::port::local_port;

/// Largest file that is read.
const FILE_MAX: u64 = 16 << 20;

/// Runs the command.
///
/// # Errors
/// A file cannot be read or written, or is none of OpenSM's; status 1 if behaviour changes, or
/// OpenSM dropped a file.
pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let ports = local_port::enumerate().unwrap_or_default();
    let request = request(args, &ports)?;
    let (sources, common) = services(&request, &read_named);
    let mut names = BTreeSet::new();
    let mut results = Vec::new();
    for source in &sources {
        let mut imported = evaluate(&source.assignments, source.scope, &read_named);
        make_paths_absolute(&mut imported);
        omit_defaults(&mut imported);
        let name = unused_name(source, &ports, &mut names);
        results.push((source, imported, name));
    }
    let targets = targets(args, &results)?;
    let report = ImportReport {
        findings: &common,
        sms: results
            .iter()
            .zip(&targets)
            .map(|((source, imported, name), target)| SmReport {
                name,
                sources: &source.names,
                imported,
                target: target.as_deref(),
            })
            .collect(),
    };
    if let Err(failure) = write_results(args, &results, &targets) {
        output::print_error(&report.render(args.all));
        return Err(failure);
    }
    let text = match args.json {
        true => json::pretty(&json::import::document(&report)),
        false => report.render(args.all),
    };
    match args.output {
        Some(_) => output::print(&text)?,
        // The result is on standard output.
        None => output::print_error(&text),
    }
    let needs_review = report.has_differences() || !report.dropped_files().is_empty();
    match needs_review && !args.accept {
        true => Err(Failure::Status(1)),
        false => Ok(()),
    }
}

type ImportResult<'a> = (&'a SmSource, Imported, String);

/// Reads the files that the operator names.
fn request(args: &ImportArgs, ports: &[LocalPort]) -> Result<ImportRequest, Failure> {
    let mut files = Vec::new();
    for argument in &args.files {
        files.push(source_file(argument)?);
    }
    let command_line = match args.command_line.split_first() {
        None => None,
        Some((program, words)) => {
            let words = match program.starts_with('-') {
                true => &args.command_line[..],
                false => words,
            };
            Some(command_line::parse(words))
        }
    };
    Ok(ImportRequest {
        files,
        command_line,
        host_ports: ports.iter().map(|port| port.port_guid).collect(),
    })
}

/// The file of an argument `FILE` or `OPTION=FILE`.
fn source_file(argument: &Path) -> Result<SourceFile, Failure> {
    let text = argument.to_string_lossy();
    let named = text.split_once('=').and_then(|(option, path)| {
        let option = options::by_name(option)?;
        let names_file =
            matches!(option.equivalent, Equivalent::Key(key) if key.conversion == Conversion::Path);
        names_file.then_some((FileKind::Input(option.proper_name()), path))
    });
    let path = named.map_or(&*text, |(_, path)| path);
    let content = read_bounded(Path::new(path))
        .map_err(|e| Failure::runtime(format!("{path}: cannot read file: {e}")))?;
    let kind = named
        .map(|(kind, _)| kind)
        .or_else(|| file_kind::detect(Path::new(path), &content));
    let Some(kind) = kind else {
        return Err(Failure::Usage(format!(
            "{path}: not recognized as a file of OpenSM: name the option that names it, such as root_guid_file={path}"
        )));
    };
    Ok(SourceFile {
        name: path.to_owned(),
        kind,
        content,
    })
}

/// Reads a file that OpenSM's configuration names.
fn read_named(path: &str) -> io::Result<Vec<u8>> {
    read_bounded(Path::new(path))
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let size = File::open(path)?
        .take(FILE_MAX + 1)
        .read_to_end(&mut content)?;
    match u64::try_from(size).is_ok_and(|size| size <= FILE_MAX) {
        true => Ok(content),
        false => Err(io::Error::other("larger than 16 MiB")),
    }
}

/// The service reads relative paths from the directory of its own file.
fn make_paths_absolute(imported: &mut Imported) {
    for setting in &mut imported.settings {
        let is_path = options::all().any(|option| match option.equivalent {
            Equivalent::Key(key) => key.key == setting.key && key.conversion == Conversion::Path,
            Equivalent::NotNeeded(_) | Equivalent::Absent { .. } => false,
        });
        if let TomlValue::Text(path) = &mut setting.value
            && is_path
            && let Ok(absolute) = std::path::absolute(&*path)
        {
            *path = absolute.to_string_lossy().into_owned();
        }
    }
}

/// Removes keys at ferrosm's default.
fn omit_defaults(imported: &mut Imported) {
    imported
        .settings
        .retain(|setting| !config::is_default(setting.key, &setting.value.to_toml()));
}

/// The name of the service: the port if the host has it, otherwise its GUID.
fn unused_name(source: &SmSource, ports: &[LocalPort], names: &mut BTreeSet<String>) -> String {
    let of_host = |guid: PortGuid| ports.iter().find(|port| port.port_guid == guid);
    let name = match source.port() {
        None => "ferrosm".to_owned(),
        Some(guid) => of_host(guid).map_or_else(
            || guid.to_string(),
            |port| format!("{}-{}", port.ca, port.port_num.0),
        ),
    };
    let mut unused = name.clone();
    let mut number = 2;
    while !names.insert(unused.clone()) {
        unused = format!("{name}-{number}");
        number += 1;
    }
    unused
}

/// The file of each result; none for standard output.
fn targets(
    args: &ImportArgs,
    results: &[ImportResult<'_>],
) -> Result<Vec<Option<PathBuf>>, Failure> {
    let Some(path) = &args.output else {
        return Ok(vec![None; results.len()]);
    };
    let targets: Vec<PathBuf> = if path.is_dir() {
        let file = |(_, _, name): &ImportResult<'_>| path.join(format!("{name}.toml"));
        results.iter().map(file).collect()
    } else if results.len() <= 1 {
        vec![path.clone(); results.len()]
    } else {
        return Err(Failure::with_hint(
            format!("{} is no directory", path.display()),
            format!(
                "The files start {} SMs, each of which needs a file: name a directory, such as -o {INSTANCE_DIR}.",
                results.len()
            ),
        ));
    };
    match targets.iter().find(|target| target.exists() && !args.force) {
        Some(existing) => Err(Failure::with_hint(
            format!("{} exists", existing.display()),
            "--force replaces it.",
        )),
        None => Ok(targets.into_iter().map(Some).collect()),
    }
}

/// Checks all results, then writes or prints them.
fn write_results(
    args: &ImportArgs,
    results: &[ImportResult<'_>],
    targets: &[Option<PathBuf>],
) -> Result<(), Failure> {
    let secrets = match args.output {
        Some(_) => Secrets::Written,
        None => Secrets::Omitted,
    };
    let mut texts = Vec::new();
    for ((source, imported, name), target) in results.iter().zip(targets) {
        let header = toml_text::header(&source.names);
        let text = toml_text::render(imported, &header, secrets);
        let path = target
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
        check_result(&path, &text)?;
        texts.push(text);
    }
    for (text, ((_, _, name), target)) in texts.iter().zip(results.iter().zip(targets)) {
        match target {
            Some(path) => write_private(path, text)?,
            None if results.len() > 1 => {
                output::print(&format!("# {INSTANCE_DIR}/{name}.toml\n{text}\n"))?;
            }
            None => output::print(text)?,
        }
    }
    Ok(())
}

/// Rejects a result that the service would reject.
fn check_result(path: &Path, text: &str) -> Result<(), ConfigErrors> {
    ConfigSource::parse(path, text)?.resolve(|_| {})?;
    Ok(())
}

fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    atomic::replace(path, text.as_bytes())
        .map_err(|e| Failure::runtime(format!("cannot write {}: {e}", path.display())))
}
