//! `ferrosm state`: what is kept over restarts is shown, written out, and taken in.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_opensm_compat::state::{self as opensm_state, StateFile};

use super::config;
use crate::atomic;
use crate::cli::{StateArgs, StateCommand};
use crate::config::{LogFormat, LogSettings};
use crate::failure::Failure;
use crate::output::progress::Terminal;
use crate::output::{self, json, log, state, table};
use crate::state::{StateDir, StateInspection, export, restore, unix_s};

/// Wrong lines that are told at once.
const TOLD_MAX: usize = 20;

/// Runs the command.
///
/// # Errors
/// If another process holds the directory, a file cannot be read or written, or what is in it is wrong.
pub fn run(args: &StateArgs) -> Result<(), Failure> {
    let path = match &args.state_dir {
        Some(path) => path.clone(),
        None => config::state_dir(args.config.as_deref(), args.fabric.as_deref())?,
    };
    if !matches!(args.what, StateCommand::Import { .. }) && !path.is_dir() {
        return Err(Failure::with_hint(
            format!("there is no state directory {}", path.display()),
            "Name one with --state-dir.",
        ));
    }
    match &args.what {
        StateCommand::Show { json } => {
            let look = StateInspection::open(&path)?;
            show(&look, *json)?;
            whole(&look, &path)
        }
        StateCommand::Export { file } => {
            let look = StateInspection::open(&path)?;
            export(&look, file.as_deref())?;
            whole(&look, &path)
        }
        StateCommand::Import {
            files,
            opensm_dir,
            replace,
        } => {
            // Read before anything is touched.
            let (batch, from) = read(files, opensm_dir)?;
            // What is set aside is logged as at a start.
            let settings = LogSettings {
                format: LogFormat::Compact,
                level: "info".to_owned(),
            };
            let _ = log::init(&settings, &Terminal::detect());
            import(&mut StateDir::open(&path)?, &batch, &from, *replace)
        }
    }
}

fn show(dir: &StateInspection, as_json: bool) -> Result<(), Failure> {
    let now = SystemTime::now();
    let (sequence, written) = dir.last_batch();
    let (restored, left_out) = restore(dir.records(), now);
    let age_s = unix_s(now).saturating_sub(written);
    let document = state::Document::new(sequence, age_s, &restored, &left_out);
    if as_json {
        output::print(&json::pretty(&document))
    } else {
        output::print(&document.render())
    }
}

fn export(dir: &StateInspection, file: Option<&Path>) -> Result<(), Failure> {
    let records = dir.records();
    if let Some(path) = file {
        let write = |out: &mut dyn std::io::Write| {
            export::write(records, dir.last_batch(), &mut BufWriter::new(out))
        };
        // It may have M_Keys in it.
        return atomic::write_private(path, write)
            .map_err(|e| Failure::job(format!("cannot write {}: {e}", path.display())));
    }
    let mut lines = Vec::new();
    export::write(records, dir.last_batch(), &mut lines).map_err(Failure::job)?;
    output::print(&String::from_utf8_lossy(&lines))
}

/// That there was nothing else to be shown.
fn whole(look: &StateInspection, path: &Path) -> Result<(), Failure> {
    if look.damage().is_empty() {
        return Ok(());
    }
    let damage = look.damage().join("; ");
    Err(Failure::with_hint(
        format!("the store in {} is damaged: {damage}", path.display()),
        "What is whole was taken, and the store stays as it is. A start sets it aside, and goes on with the same.",
    ))
}

/// What files say, and their names.
fn read(files: &[PathBuf], opensm_dirs: &[PathBuf]) -> Result<(RecordBatch, String), Failure> {
    let mut paths = files.to_vec();
    for dir in opensm_dirs {
        let there = StateFile::ALL.map(|file| dir.join(file.name()));
        let before = paths.len();
        paths.extend(there.into_iter().filter(|path| path.exists()));
        if paths.len() == before {
            let names = StateFile::ALL.map(StateFile::name).join(", ");
            return Err(Failure::job(format!(
                "{} has none of {names}",
                dir.display()
            )));
        }
    }
    let content = |path: &Path| {
        let cannot = |e| Failure::job(format!("cannot read {}: {e}", path.display()));
        std::fs::read_to_string(path).map_err(cannot)
    };
    let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    let names = names.join(", ");
    if let [path] = &paths[..]
        && StateFile::from_path(path).is_none()
    {
        let mut batch = export::read(&content(path)?).map_err(|(line, what)| {
            let place = format!("{}:{line}: {what}", path.display());
            Failure::with_hint(place, NOTHING)
        })?;
        batch.changes.retain(|change| !is_of_a_moment(change));
        return Ok((batch, names));
    }
    let mut read: Vec<(StateFile, PathBuf, String)> = Vec::new();
    for path in paths {
        let file = StateFile::from_path(&path).ok_or_else(|| {
            Failure::Usage(format!(
                "{} is none of OpenSM's files; one file of `ferrosm state export` is imported alone",
                path.display()
            ))
        })?;
        if read.iter().any(|(other, ..)| *other == file) {
            let twice = format!("more than one {}", file.name());
            return Err(Failure::Usage(twice));
        }
        let content = content(&path)?;
        read.push((file, path, content));
    }
    let batch = opensm_state::parse(&read).map_err(|problems| {
        let told = problems.iter().take(TOLD_MAX).map(ToString::to_string);
        let mut told: Vec<String> = told.collect();
        if problems.len() > TOLD_MAX {
            told.push(format!("and {} more", problems.len() - TOLD_MAX));
        }
        Failure::with_hint(told.join("\n"), NOTHING)
    })?;
    Ok((batch, names))
}

/// What was in devices when it was written out: nobody knows what has been done to them since, nor who has registered.
fn is_of_a_moment(change: &RecordChange) -> bool {
    match change {
        RecordChange::Put(key, _) => {
            let of_it = |kind| crate::state::is_view(kind) || kind == RecordKind::Routing;
            key.kind().is_some_and(of_it)
        }
        RecordChange::Clear(_) | RecordChange::Remove(_) => false,
    }
}

const NOTHING: &str = "Nothing was imported.";

fn import(
    dir: &mut StateDir,
    batch: &RecordBatch,
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
    let gone = |kind| cleared.contains(&kind) && !crate::state::is_view(kind);
    let there = dir.records().iter();
    let there = there
        .filter(|(key, _)| key.kind().is_some_and(gone))
        .count();
    if there > 0 && !replace {
        return Err(Failure::with_hint(
            format!(
                "{} of the same kinds would be lost",
                table::count(there, "record that is kept", "records that are kept")
            ),
            "With --replace they are replaced; `ferrosm state export` writes them out before.",
        ));
    }
    dir.commit(batch)?;
    let put = batch.changes.len() - cleared.len();
    let records = table::count(put, "record", "records");
    output::print(&format!("{records} taken from {from}\n"))
}
