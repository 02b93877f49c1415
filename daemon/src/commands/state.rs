//! `ferrosm state`: shows, exports and imports persisted state.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_store::opensm::{self, StateFile};
use ferrosm_store::{StateDir, StateError, StateInspection, atomic, export, restore, unix_s};

use super::state_backup::{check_damage, describes_devices};
use super::{config, state_backup};
use crate::cli::{StateArgs, StateCommand};
use crate::config::LogSettings;
use crate::failure::Failure;
use crate::output::progress::Terminal;
use crate::output::state::StateSummary;
use crate::output::{self, json, log, table};

const IMPORT_WHILE_STOPPED: &str = "A subnet manager reads its state only when it starts: stop the service, import, and start it again.";
/// Most errors of a file that are reported.
const ERRORS_MAX: usize = 20;

/// Runs the command.
///
/// # Errors
/// Another process uses the directory of an import, or a file is invalid or cannot be read or
/// written.
pub fn run(args: &StateArgs) -> Result<(), Failure> {
    let path = match args.named_state_dir() {
        Some(path) => path,
        None => config::state_dir(args.config.as_deref())?,
    };
    let creates_dir = matches!(
        args.command,
        StateCommand::Import { .. } | StateCommand::Restore { .. }
    );
    if !creates_dir && !path.is_dir() {
        return Err(Failure::with_hint(
            format!("no state directory {}", path.display()),
            "Name the directory with --state-dir, or the configuration file with --config.",
        ));
    }
    match &args.command {
        StateCommand::Show { json } => {
            let inspection = StateInspection::open(&path)?;
            show(&inspection, *json)?;
            check_damage(&inspection, &path)
        }
        StateCommand::Export { file } => {
            let inspection = StateInspection::open(&path)?;
            export(&inspection, file.as_deref())?;
            check_damage(&inspection, &path)
        }
        StateCommand::Backup { file } => {
            let file = file.clone().unwrap_or_else(state_backup::default_path);
            state_backup::backup(&path, &file)
        }
        StateCommand::Restore { file } => state_backup::restore(&path, file),
        StateCommand::Import {
            files,
            opensm_dir,
            replace,
        } => {
            // Read all files before any change.
            let (batch, omitted, from) = read_import_files(files, opensm_dir)?;
            // Opening the directory logs as at a start of the SM.
            let _ = log::init(&LogSettings::default(), &Terminal::detect());
            let mut dir = StateDir::open(&path).map_err(|e| match e {
                StateError::InUse { .. } => Failure::with_hint(e, IMPORT_WHILE_STOPPED),
                StateError::Directory { .. }
                | StateError::Store { .. }
                | StateError::Rename { .. }
                | StateError::Inspect { .. }
                | StateError::Changing { .. } => e.into(),
            })?;
            import(&mut dir, &batch, omitted, &from, *replace)
        }
    }
}

fn show(inspection: &StateInspection, as_json: bool) -> Result<(), Failure> {
    let now = SystemTime::now();
    let (sequence, written) = inspection.last_batch();
    let (restored, invalid) = restore(inspection.records(), now);
    let age_s = unix_s(now).saturating_sub(written);
    let state = StateSummary::new(sequence, age_s, &restored, &invalid);
    if as_json {
        return output::print(&json::pretty(&json::state::document(&state)));
    }
    let user = inspection
        .user()
        .map(|user| format!("in use by {user}; saved so far:\n"));
    output::print(&(user.unwrap_or_default() + &state.render()))
}

fn export(inspection: &StateInspection, file: Option<&Path>) -> Result<(), Failure> {
    let records = inspection.records();
    if let Some(path) = file {
        let write = |out: &mut dyn std::io::Write| {
            export::write(records, inspection.last_batch(), &mut BufWriter::new(out))
        };
        // It may hold M_Keys.
        return atomic::write_private(path, write)
            .map_err(|e| Failure::runtime(format!("cannot write {}: {e}", path.display())));
    }
    let mut lines = Vec::new();
    export::write(records, inspection.last_batch(), &mut lines).map_err(Failure::runtime)?;
    output::print(&String::from_utf8_lossy(&lines))
}

/// Reads the files to import; returns a batch, the number of records that are not imported, and the
/// names of the files.
fn read_import_files(
    files: &[PathBuf],
    opensm_dirs: &[PathBuf],
) -> Result<(RecordBatch, usize, String), Failure> {
    let mut paths = files.to_vec();
    for dir in opensm_dirs {
        let candidates = StateFile::ALL.map(|file| dir.join(file.name()));
        let before = paths.len();
        paths.extend(candidates.into_iter().filter(|path| path.exists()));
        if paths.len() == before {
            let names = StateFile::ALL.map(StateFile::name).join(", ");
            return Err(Failure::runtime(format!(
                "{} has none of {names}",
                dir.display()
            )));
        }
    }
    let content = |path: &Path| {
        let failure = |e| Failure::runtime(format!("cannot read {}: {e}", path.display()));
        std::fs::read_to_string(path).map_err(failure)
    };
    let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    let names = names.join(", ");
    if let [path] = &paths[..]
        && StateFile::from_path(path).is_none()
    {
        let mut batch = export::read(&content(path)?).map_err(|(line, error)| {
            let message = format!("{}:{line}: {error}", path.display());
            Failure::with_hint(message, NOTHING_IMPORTED)
        })?;
        let read = batch.changes.len();
        batch.changes.retain(|change| !describes_devices(change));
        let omitted = read - batch.changes.len();
        return Ok((batch, omitted, names));
    }
    let mut read: Vec<(StateFile, PathBuf, String)> = Vec::new();
    for path in paths {
        let file = StateFile::from_path(&path).ok_or_else(|| {
            Failure::Usage(format!(
                "{} is not a file of OpenSM; a file of `ferrosm state export` is imported alone",
                path.display()
            ))
        })?;
        if read.iter().any(|(other, ..)| *other == file) {
            let duplicate = format!("more than one {}", file.name());
            return Err(Failure::Usage(duplicate));
        }
        let content = content(&path)?;
        read.push((file, path, content));
    }
    let batch = opensm::parse(&read).map_err(|problems| {
        let mut lines: Vec<String> = problems
            .iter()
            .take(ERRORS_MAX)
            .map(ToString::to_string)
            .collect();
        if problems.len() > ERRORS_MAX {
            lines.push(format!("and {} more", problems.len() - ERRORS_MAX));
        }
        Failure::with_hint(lines.join("\n"), NOTHING_IMPORTED)
    })?;
    Ok((batch, 0, names))
}

const NOTHING_IMPORTED: &str = "Nothing was imported.";

fn import(
    dir: &mut StateDir,
    batch: &RecordBatch,
    omitted: usize,
    from: &str,
    replace: bool,
) -> Result<(), Failure> {
    let cleared: Vec<_> = batch
        .changes
        .iter()
        .filter_map(|change| match change {
            RecordChange::Clear(kind) => Some(*kind),
            RecordChange::Put(..) | RecordChange::Remove(_) => None,
        })
        .collect();
    let is_cleared = |kind: RecordKind| cleared.contains(&kind) && !kind.is_of_view();
    let existing = dir
        .records()
        .iter()
        .filter(|(key, _)| key.kind().is_some_and(is_cleared))
        .count();
    if existing > 0 && !replace {
        return Err(Failure::with_hint(
            format!(
                "the state directory already has {} of the kinds in this import",
                table::count(existing, "record", "records")
            ),
            "Use --replace to replace them; save them with `ferrosm state export`.",
        ));
    }
    dir.commit(batch)?;
    let puts = batch.changes.len() - cleared.len();
    let records = table::count(puts, "record", "records");
    let omitted = match omitted {
        0 => String::new(),
        n => format!("; {n} not: the restored view and routing belong to the exporting SM"),
    };
    output::print(&format!("{records} imported from {from}{omitted}\n"))
}
