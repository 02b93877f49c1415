//! `ferrosm bugreport`: everything that a developer needs, in one archive without keys.
//!
//! The command asks the API, and reads the files of the state directory itself: a service has no
//! work but its answers, and without one the files remain.

mod archive;
mod redaction;

use core::time::Duration;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use ferrosm_api::answer::PAGE_LIMIT_MAX;
use ferrosm_core::RestoredState;
use ferrosm_recording::mask::copy_masked;
use ferrosm_store::{StateInspection, restore, unix_s};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Method;
use serde_json::Value;

use super::config;
use super::service::{failure, state_dir};
use crate::api::client::{ApiEndpoint, AskError, Call};
use crate::cli::BugreportArgs;
use crate::config::revisions::RevisionStore;
use crate::config::{ConfigSource, Settings, effective};
use crate::failure::Failure;
use crate::output::dump::{self, Extent};
use crate::output::state::StateSummary;
use crate::output::{self, json};
use crate::rings;
use archive::Archive;
use redaction::Redaction;

/// Time to replay a recording while its keys are replaced.
const REPLAY_MAX: Duration = Duration::from_secs(120);
/// Time for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Most pages of a list.
const PAGES_MAX: usize = 100;
/// Bytes at the end of logs of the state directory.
const LOG_TAIL: usize = 4 << 20;

/// Answers of the service: file, resource, query, contents.
const ANSWERS: [(&str, &str, &str); 13] = [
    ("status", "status", "what the service is and does"),
    ("health", "health", "what is wrong"),
    ("sms", "sms", "the SMs of the subnet"),
    ("limits", "limits", "how near limits are"),
    ("nodes", "nodes", "nodes"),
    ("links", "links", "links"),
    ("partitions", "partitions", "partitions"),
    ("maintenance", "maintenance", "what is drained or disabled"),
    ("alarms", "alarms", "alarms"),
    (
        "events",
        "events",
        "events, also those of sweeps with their causes",
    ),
    ("changes", "changes", "changes with causes and effects"),
    ("commands", "commands", "commands of operators"),
    ("revisions", "config", "revisions of the configuration"),
];

/// Answers that are lists with pages.
const LISTS: [&str; 3] = ["nodes", "links", "alarms"];

/// Runs the command.
///
/// # Errors
/// The archive cannot be written, or there is neither a service nor a state directory.
pub fn run(args: &BugreportArgs) -> Result<(), Failure> {
    if args.service.api.is_some() {
        return Err(Failure::Usage(
            "a bug report contains files of the service: run it on the host of the service, without --api".to_owned(),
        ));
    }
    let dir = state_dir(&args.service)?;
    if !dir.is_dir() {
        return Err(Failure::with_hint(
            format!("no state directory {}", dir.display()),
            "Name the directory with --state-dir, or the configuration file with --config.",
        ));
    }
    let now = SystemTime::now();
    let path = args.output.clone().unwrap_or_else(|| {
        let at = humantime::format_rfc3339_seconds(now).to_string();
        PathBuf::from(format!("ferrosm-bugreport-{}.tar.gz", at.replace(':', "")))
    });
    let write_failed = |e: io::Error| {
        let hint = if e.kind() == io::ErrorKind::AlreadyExists {
            "An existing file is not replaced. Name another file with --output, or remove this one."
        } else {
            ""
        };
        Failure::with_hint(format!("cannot write {}: {e}", path.display()), hint)
    };
    let archive = Archive::create(&path, unix_s(now)).map_err(write_failed)?;
    let mut report = Report {
        args,
        dir: &dir,
        now,
        since: now
            .checked_sub(args.since)
            .unwrap_or(SystemTime::UNIX_EPOCH),
        redaction: Redaction::new(args.anonymize),
        archive,
    };
    report.collect().map_err(write_failed)?;
    let Report {
        archive,
        mut redaction,
        ..
    } = report;
    let missing = archive.missing().to_vec();
    let about = about(args, now);
    archive
        .finish(&about, &mut redaction)
        .map_err(write_failed)?;
    let len = std::fs::metadata(&path).map_or(0, |file| file.len());
    let mut text = format!(
        "{}: {} KiB, without keys{}\n",
        path.display(),
        len.div_ceil(1024),
        if args.anonymize {
            ", names and GUIDs"
        } else {
            ""
        }
    );
    for (what, reason) in missing {
        text.push_str(&format!("missing: {what}: {reason}\n"));
    }
    output::print(&text)
}

/// The begin of the list of contents.
fn about(args: &BugreportArgs, now: SystemTime) -> String {
    let anonymized = match args.anonymize {
        true => "GUIDs, GIDs and names are pseudonyms: name-N, fefefe....\n",
        false => "",
    };
    format!(
        "Bug report of ferrosm {} at {}, with what happened in the last {}.\n\
         M_Keys, SM_Keys, SA keys and ServiceKeys are pseudonyms: MASK (4d41534b...) and a number.\n\
         {anonymized}\
         `ferrosm replay` of the same version replays recordings. Wireshark reads captures.\n",
        env!("CARGO_PKG_VERSION"),
        humantime::format_rfc3339_seconds(now),
        humantime::format_duration(args.since),
    )
}

/// A report that is being collected.
struct Report<'a> {
    args: &'a BugreportArgs,
    dir: &'a Path,
    now: SystemTime,
    since: SystemTime,
    redaction: Redaction,
    archive: Archive,
}

impl Report<'_> {
    fn collect(&mut self) -> io::Result<()> {
        let restored = self.read_state();
        let settings = self.read_settings();
        // All keys and names are known before the first text is written.
        self.learn_keys(settings.as_ref(), restored.as_ref());
        let answers = self.ask_all();
        self.learn_names(settings.as_ref(), &answers);
        let recordings = self.add_recordings()?;
        self.add_captures()?;
        self.add_version()?;
        if let Some(settings) = &settings {
            self.add_config(settings)?;
        }
        for (name, what, answer) in answers {
            let text = serde_json::to_string_pretty(&answer)?;
            self.add_text(&format!("answers/{name}.json"), what, &text)?;
        }
        if let Some((inspection, restored)) = restored {
            self.add_state(&inspection, &restored)?;
        }
        self.add_files()?;
        if !recordings && !self.args.anonymize {
            self.archive
                .miss("recording", "there is none in the state directory");
        }
        Ok(())
    }

    fn add_text(&mut self, name: &str, what: &'static str, text: &str) -> io::Result<()> {
        self.archive.add_text(name, what, text, &mut self.redaction)
    }

    /// The state that a start would restore.
    fn read_state(&mut self) -> Option<(StateInspection, RestoredState)> {
        match StateInspection::open(self.dir) {
            Ok(inspection) => {
                let (restored, _) = restore(inspection.records(), self.now);
                Some((inspection, restored))
            }
            Err(error) => {
                self.archive.miss("state, tables", error);
                None
            }
        }
    }

    /// The configuration of the files, as the service has stored it, otherwise as they are now.
    fn read_settings(&mut self) -> Option<Settings> {
        let stored = || {
            // Opening creates the folder.
            let _ = std::fs::metadata(self.dir.join("revisions")).ok()?;
            let revisions = RevisionStore::open(self.dir).ok()?;
            let files = revisions.files(revisions.in_force()?).ok()?;
            let source = ConfigSource::parse(Path::new("revision.toml"), &files.toml);
            Some(source.ok()?.settings)
        };
        let from_file = || config::source(self.args.service.config.as_deref());
        match stored().map_or_else(|| from_file().map(|source| source.settings), Ok) {
            Ok(settings) => Some(settings),
            Err(error) => {
                self.archive.miss("configuration", error.to_log_line());
                None
            }
        }
    }

    fn learn_keys(
        &mut self,
        settings: Option<&Settings>,
        restored: Option<&(StateInspection, RestoredState)>,
    ) {
        let keys = &mut self.redaction.keys;
        if let Some(settings) = settings {
            for key in [settings.sm.m_key, settings.sm.sm_key] {
                let _ = keys.of(key);
            }
        }
        let Some((_, restored)) = restored else {
            return;
        };
        for key in restored.m_keys.values() {
            let _ = keys.of(*key);
        }
        for service in &restored.registrations.services {
            keys.replace(&mut service.record.service_key.clone());
        }
    }

    /// The answers that the service gives.
    fn ask_all(&mut self) -> Vec<(&'static str, &'static str, Value)> {
        let mut answers = Vec::new();
        for (name, resource, what) in ANSWERS {
            match self.ask(name, resource) {
                Ok(answer) => answers.push((name, what, answer)),
                Err(AskError::NoService) => {
                    self.archive
                        .miss("answers of the service", "no service runs");
                    return answers;
                }
                Err(error) => {
                    let error = failure(&self.args.service, &self.endpoint(), error);
                    self.archive.miss(what, error.to_log_line());
                }
            }
        }
        answers
    }

    fn ask(&self, name: &str, resource: &str) -> Result<Value, AskError> {
        let mut query = Vec::new();
        if name == "changes" {
            query.push(("since_s", self.args.since.as_secs().to_string()));
        }
        let is_list = LISTS.contains(&name);
        if is_list {
            query.push(("limit", PAGE_LIMIT_MAX.to_string()));
        }
        let mut answer = self.ask_page(resource, &query)?;
        for _ in 1..PAGES_MAX {
            let Some(next) = answer["next"].as_str().map(str::to_owned) else {
                break;
            };
            let query = [query.clone(), vec![("cursor", next)]].concat();
            let mut page = self.ask_page(resource, &query)?;
            let more = page["items"].take();
            answer["next"] = page["next"].take();
            if let (Some(items), Value::Array(more)) = (answer["items"].as_array_mut(), more) {
                items.extend(more);
            }
        }
        if name == "events" {
            let since = humantime::format_rfc3339_millis(self.since).to_string();
            if let Some(items) = answer["items"].as_array_mut() {
                items.retain(|event| event["at"].as_str().is_some_and(|at| at >= &since[..]));
            }
        }
        Ok(answer)
    }

    /// The service of the state directory.
    fn endpoint(&self) -> ApiEndpoint {
        ApiEndpoint::Local {
            state_dir: self.dir.to_owned(),
        }
    }

    fn ask_page(&self, resource: &str, query: &[(&str, String)]) -> Result<Value, AskError> {
        let call = Call {
            endpoint: &self.endpoint(),
            method: Method::GET,
            resource,
            query,
            wait: ANSWER_WAIT,
        };
        let received = call.send::<Value>()?;
        serde_json::from_str(&received.json).map_err(|e| AskError::Failed(e.to_string()))
    }

    /// Names that are not shown: those of nodes, partitions and this host.
    fn learn_names(
        &mut self,
        settings: Option<&Settings>,
        answers: &[(&'static str, &'static str, Value)],
    ) {
        let host = rustix::system::uname();
        self.redaction.add_name(&host.nodename().to_string_lossy());
        for partition in settings.into_iter().flat_map(|s| s.sm.partitions.list()) {
            self.redaction.add_name(&partition.name);
        }
        for (_, _, answer) in answers {
            for item in answer["items"].as_array().into_iter().flatten() {
                for name in [&item["name"], &item["a"]["name"], &item["b"]["name"]] {
                    if let Some(name) = name.as_str() {
                        self.redaction.add_name(name);
                    }
                }
            }
        }
    }

    fn add_version(&mut self) -> io::Result<()> {
        let host = rustix::system::uname();
        let text = format!(
            "ferrosm {}\n{} {} {} {}\n",
            env!("CARGO_PKG_VERSION"),
            host.sysname().to_string_lossy(),
            host.release().to_string_lossy(),
            host.version().to_string_lossy(),
            host.machine().to_string_lossy(),
        );
        self.add_text("version.txt", "versions of ferrosm and the system", &text)
    }

    fn add_config(&mut self, settings: &Settings) -> io::Result<()> {
        if self.redaction.is_anonymous() {
            self.archive
                .miss("configuration", "it has names and file names");
            return Ok(());
        }
        let what = "configuration, without flags of the command line and without keys";
        self.add_text("config.toml", what, &effective(settings))
    }

    /// A summary of the persisted state, and the tables of the last sweep in it.
    fn add_state(
        &mut self,
        inspection: &StateInspection,
        restored: &RestoredState,
    ) -> io::Result<()> {
        let (sequence, written) = inspection.last_batch();
        let age_s = unix_s(self.now).saturating_sub(written);
        let (_, invalid) = restore(inspection.records(), self.now);
        let state = StateSummary::new(sequence, age_s, restored, &invalid);
        let text = json::pretty(&json::state::document(&state));
        self.add_text("state.json", "persisted state", &text)?;
        let Some(view) = &restored.snapshot else {
            self.archive
                .miss("tables", "no sweep as master is persisted");
            return Ok(());
        };
        let dumps = std::env::temp_dir().join(format!("ferrosm-bugreport-{}", std::process::id()));
        // New: another user could have prepared an existing one.
        std::fs::DirBuilder::new().mode(0o700).create(&dumps)?;
        let written = dump::write(&view.snapshot, &dumps, Extent::Bounded);
        let added = match written {
            Ok(_) => self.add_dumps(&dumps),
            Err(error) => {
                self.archive.miss("tables", error.to_log_line());
                Ok(())
            }
        };
        let _ = std::fs::remove_dir_all(&dumps);
        added
    }

    fn add_dumps(&mut self, dumps: &Path) -> io::Result<()> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(dumps)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let bytes = std::fs::read(&file)?;
            let text = String::from_utf8_lossy(&bytes);
            let what = "tables of the last sweep as master, in OpenSM's format";
            self.add_text(&format!("tables/{name}"), what, &text)?;
        }
        Ok(())
    }

    /// The files of the state directory, and the ends of its logs.
    fn add_files(&mut self) -> io::Result<()> {
        let mut list = String::new();
        for dir in [self.dir.to_owned(), self.dir.join(rings::DIR)] {
            let Ok(entries) = std::fs::read_dir(&dir) else {
                continue;
            };
            let mut lines: Vec<String> = entries
                .filter_map(Result::ok)
                .filter_map(|entry| {
                    let metadata = entry.metadata().ok()?;
                    let at = humantime::format_rfc3339_seconds(metadata.modified().ok()?);
                    let name = entry.file_name().to_string_lossy().into_owned();
                    Some(format!("{name} {} bytes, written {at}\n", metadata.len()))
                })
                .collect();
            lines.sort();
            list.push_str(&lines.concat());
        }
        self.add_text("state-directory.txt", "files of the state directory", &list)?;
        if self.redaction.is_anonymous() {
            self.archive
                .miss("audit log", "it has names and reasons of operators");
            return Ok(());
        }
        for (file, what) in [
            ("audit.jsonl", "the end of the audit log"),
            ("changes.jsonl", "the end of the log of changes"),
        ] {
            match std::fs::read(self.dir.join(file)) {
                Ok(bytes) => {
                    let tail = &bytes[bytes.len().saturating_sub(LOG_TAIL)..];
                    self.add_text(file, what, &String::from_utf8_lossy(tail))?;
                }
                Err(error) => self.archive.miss(what, error),
            }
        }
        Ok(())
    }

    /// The files of the rings that were written since then, the oldest first.
    fn ring_files(&self, prefix: &str) -> Vec<(String, PathBuf)> {
        let entries = std::fs::read_dir(self.dir.join(rings::DIR));
        let mut files: Vec<(String, PathBuf)> = entries
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().to_str()?.to_owned();
                let modified = entry.metadata().ok()?.modified().ok()?;
                let is_wanted = name.starts_with(prefix) && modified >= self.since;
                is_wanted.then(|| (name, entry.path()))
            })
            .collect();
        files.sort();
        files
    }

    fn add_captures(&mut self) -> io::Result<()> {
        if self.redaction.is_anonymous() {
            self.archive
                .miss("MADs", "they have GUIDs and names in binary form");
            return Ok(());
        }
        let files = self.ring_files("mads-");
        if files.is_empty() {
            self.archive.miss(
                "MADs",
                "no ring has MADs of this time (`files.rings-mib`, 0: off)",
            );
        }
        for (name, path) in files {
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let bytes = self.redaction.capture(bytes);
                    let name = format!("rings/{name}");
                    self.archive.add(&name, "MADs, for Wireshark", &bytes)?;
                }
                // The ring went on.
                Err(error) => self.archive.miss("a part of the MADs", error),
            }
        }
        Ok(())
    }

    /// Adds the recordings of runs that went on since then. Returns whether there are any.
    fn add_recordings(&mut self) -> io::Result<bool> {
        // The service writes what it has in memory.
        let _ = self.ask_page("capture", &[]);
        let files = self.ring_files("run-");
        if self.redaction.is_anonymous() {
            self.archive
                .miss("recording", "it has GUIDs and names in binary form");
            return Ok(false);
        }
        let mut has_any = false;
        for (name, path) in files {
            match self.masked_recording(&path) {
                Ok((bytes, is_whole)) => {
                    let what = match is_whole {
                        true => "inputs of the SM since its start, for `ferrosm replay`",
                        false => "the first inputs of the SM: the rest took too long to mask",
                    };
                    self.archive.add(&format!("rings/{name}"), what, &bytes)?;
                    has_any = true;
                }
                Err(reason) => self.archive.miss("recording", format!("{name}: {reason}")),
            }
        }
        Ok(has_any)
    }

    fn masked_recording(&mut self, path: &Path) -> Result<(Vec<u8>, bool), String> {
        let recording = rings::read_recording(path).map_err(|e| e.to_string())?;
        let began = Instant::now();
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        let keys = &mut self.redaction.keys;
        let mut is_over = || began.elapsed() > REPLAY_MAX;
        let copied = copy_masked(&recording, keys, &mut out, &mut is_over);
        let is_whole = copied.map_err(|e| e.to_string())?;
        out.flush().map_err(|e| e.to_string())?;
        let bytes = out.finish().map_err(|e| e.to_string())?;
        Ok((bytes, is_whole))
    }
}
