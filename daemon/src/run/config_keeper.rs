//! The keeper of the configuration: one thread that reads its files, stores its revisions, and
//! decides what is in force (ADR 0034).
//!
//! It passes settings to the loop of the SM, and waits until they are in force. So a slow disk
//! delays a change, but never the SM. A trial ends at its deadline, at a rollback, at a reload, and
//! with the process: the files that a start reads are changed only for good.

use core::time::Duration;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Instant, SystemTime};

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::command::CommandKind;
use ferrosm_api::config::{
    ConfigChange, ConfigHistory, NewConfiguration, Reverts, Revision, RevisionOrigin,
    RevisionRecord, RevisionState,
};
use ferrosm_api::invariant::InvariantStatus;
use ferrosm_core::config::partitions::Partitions;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::driver::Control;
use super::service_manager::ServiceManager;
use crate::api::config::{ConfigAction, ConfigJob, ConfigOptions, ConfigRequest, ConfigResult};
use crate::api::intent::Intent;
use crate::api::intent_check;
use crate::api::{self, rfc3339};
use crate::config::revisions::{self, FilesBefore, RevisionError, RevisionStore};
use crate::config::{
    self, ConfigError, ConfigErrors, ConfigFiles, ConfigSource, InputTexts, Settings,
};

/// Command line flags, applied to the configuration file at each load.
pub type Overlay = Arc<dyn Fn(&mut Settings) + Send + Sync>;

/// Settings for the loop of the SM.
#[derive(Debug)]
pub struct NewSettings {
    pub settings: Settings,
    /// A sweep follows even if nothing changed.
    pub sweeps: bool,
    /// Receives the settings that are in force now.
    pub done: oneshot::Sender<Settings>,
}

/// What a keeper begins with.
pub struct KeeperSetup {
    pub source: ConfigSource,
    /// The settings of the source with the flags.
    pub settings: Settings,
    pub overlay: Overlay,
    /// The state directory, locked by this process; `None` without revisions.
    pub state_dir: Option<PathBuf>,
    pub service: ServiceManager,
    pub api: api::Service,
    /// The loop of the SM.
    pub control: tokio::sync::mpsc::Sender<Control>,
    pub new_settings: mpsc::Sender<NewSettings>,
}

/// The loop of the SM has ended.
struct LoopEnded;

/// A configuration that was read from files.
struct FileConfig {
    source: ConfigSource,
    settings: Settings,
    files: ConfigFiles,
}

impl FileConfig {
    fn new(source: ConfigSource, settings: Settings) -> Self {
        Self {
            files: source.files(&settings),
            source,
            settings,
        }
    }
}

/// A configuration in force that is not confirmed.
struct Trial {
    number: u64,
    config: FileConfig,
    deadline: Instant,
    reverts_at: SystemTime,
}

struct Keeper {
    overlay: Overlay,
    store: Option<RevisionStore>,
    /// What a restart puts in force.
    last_good: FileConfig,
    /// The settings in force.
    running: Settings,
    trial: Option<Trial>,
    service: ServiceManager,
    api: api::Service,
    control: tokio::sync::mpsc::Sender<Control>,
    new_settings: mpsc::Sender<NewSettings>,
}

/// Starts the keeper. Its thread ends when the API accepts no more requests.
///
/// # Errors
/// The system has no thread left.
pub fn start(setup: KeeperSetup) -> std::io::Result<()> {
    let (jobs, inbox) = mpsc::channel();
    // A client that sees the history may send requests.
    setup.api.config.accept(jobs);
    std::thread::Builder::new()
        .name("config".to_owned())
        .spawn(move || Keeper::begin(setup).run(&inbox))
        .map(drop)
}

impl Keeper {
    fn begin(setup: KeeperSetup) -> Self {
        let KeeperSetup {
            source,
            settings,
            overlay,
            state_dir,
            service,
            api,
            control,
            new_settings,
        } = setup;
        let store = state_dir.and_then(|dir| {
            RevisionStore::open(&dir)
                .inspect_err(|error| {
                    let effect = "no history, no `config apply` and no `config rollback`";
                    warn!(%error, effect, "cannot keep configuration revisions");
                })
                .ok()
        });
        let mut keeper = Self {
            overlay,
            store,
            last_good: FileConfig::new(source, settings.clone()),
            running: settings,
            trial: None,
            service,
            api,
            control,
            new_settings,
        };
        if let Some(number) = keeper.store_trial(None) {
            let reason = "the service was restarted";
            warn!(revision = number, reason, "configuration trial ended");
        }
        // The files may be incomplete: then what is in force is the revision to be installed.
        if !keeper
            .store
            .as_ref()
            .is_some_and(RevisionStore::is_installing)
        {
            keeper.record_files(RevisionOrigin::Start, "start");
        }
        keeper.publish();
        keeper
    }

    fn run(mut self, jobs: &Receiver<ConfigJob>) {
        loop {
            let job = match &self.trial {
                Some(trial) => {
                    let rest = trial.deadline.saturating_duration_since(Instant::now());
                    match jobs.recv_timeout(rest) {
                        Ok(job) => Some(job),
                        Err(RecvTimeoutError::Timeout) => None,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                None => match jobs.recv() {
                    Ok(job) => Some(job),
                    Err(_) => return,
                },
            };
            self.end_overdue_trial();
            match job {
                Some(ConfigJob::Request(request)) => self.on_request(*request),
                Some(ConfigJob::Reload) => {
                    self.api.config.begin_reload();
                    let service = self.service.clone();
                    service.reload(|| self.reload());
                }
                None => {}
            }
            self.publish();
        }
    }

    /// Reads the files, and puts them in force. A trial ends.
    fn reload(&mut self) {
        let old = &self.last_good.source;
        let file = old.path().map(|path| path.display().to_string());
        let overlay = Arc::clone(&self.overlay);
        let reread = old.reread();
        let read = reread.and_then(|source| source.into_resolved(|settings| overlay(settings)));
        let (source, settings) = match read {
            Ok(read) => read,
            Err(errors) => {
                log_messages(errors.errors());
                error!(
                    file,
                    effect = "the previous configuration stays in force",
                    "configuration rejected"
                );
                return;
            }
        };
        if self.put_in_force(settings.clone(), true).is_err() {
            return;
        }
        self.last_good = FileConfig::new(source, settings);
        if let Some(trial) = self.trial.take() {
            let reason = "the configuration was reloaded";
            warn!(revision = trial.number, reason, "configuration trial ended");
            self.store_trial(None);
        }
        self.record_files(RevisionOrigin::Reload, "SIGHUP");
    }

    /// Passes settings to the loop of the SM, and waits until they are in force.
    fn put_in_force(&mut self, settings: Settings, sweeps: bool) -> Result<(), LoopEnded> {
        let (done, in_force) = oneshot::channel();
        let new = NewSettings {
            settings,
            sweeps,
            done,
        };
        self.new_settings.send(new).map_err(|_| LoopEnded)?;
        let sent = self.control.blocking_send(Control::Configure);
        sent.map_err(|_| LoopEnded)?;
        self.running = in_force.blocking_recv().map_err(|_| LoopEnded)?;
        Ok(())
    }

    /// Stores the files that are in force as a revision, unless they are the last one.
    fn record_files(&mut self, origin: RevisionOrigin, by: &str) {
        let Some(store) = &mut self.store else {
            return;
        };
        let files = &self.last_good.files;
        let in_force = store.in_force();
        let is_known = |number| store.files(number).is_ok_and(|old| old == *files);
        // An installation that could not be completed ends with the files as they are now.
        if !store.is_installing() && in_force.is_some_and(is_known) {
            return;
        }
        let record = new_record(store, origin, by.to_owned(), None);
        let number = record.number;
        // They exist: they were read.
        let created = BTreeSet::new();
        let stored = store
            .add(record, files, created)
            .and_then(|()| store.confirm(number));
        match stored {
            Ok(()) => info!(revision = number, by, "configuration revision stored"),
            Err(error) => {
                let effect = "no rollback leads to the configuration in force";
                warn!(%error, effect, "cannot keep configuration revisions");
            }
        }
    }

    /// Stores which revision is tried; returns the one before.
    fn store_trial(&mut self, trial: Option<u64>) -> Option<u64> {
        let stored = self.store.as_mut()?.set_trial(trial);
        stored
            .inspect_err(|error| {
                // The start that finds it reports the end of the trial once more.
                let effect = "the next start reports the end of the trial";
                warn!(%error, effect, "cannot keep configuration revisions");
            })
            .ok()
            .flatten()
    }

    fn end_overdue_trial(&mut self) {
        let is_overdue = |trial: &Trial| trial.deadline <= Instant::now();
        let Some(number) = self
            .trial
            .as_ref()
            .filter(|t| is_overdue(t))
            .map(|t| t.number)
        else {
            return;
        };
        let kind = CommandKind::ConfigRollback;
        let by = format!("deadline of revision {number}");
        let id = self
            .api
            .commands
            .begin_named(kind, String::new(), kind.name(), by, None);
        let ended = self.end_trial("not confirmed in time");
        let result = ended
            .map(|()| "the last good configuration is in force".to_owned())
            .map_err(|error| error.message);
        self.api.commands.end_with(id, result, Vec::new());
    }

    /// Puts the configuration of the files in force.
    fn end_trial(&mut self, reason: &str) -> Result<(), ApiError> {
        let settings = self.last_good.settings.clone();
        let ended = self.put_in_force(settings, false);
        if let Some(trial) = self.trial.take() {
            warn!(revision = trial.number, reason, "configuration trial ended");
        }
        self.store_trial(None);
        ended.map_err(|_| stopping())
    }

    fn on_request(&mut self, request: ConfigRequest) {
        let ConfigRequest {
            id,
            action,
            options,
            result,
            place,
        } = request;
        let mut executed = self.execute(action, &options);
        if let Some(id) = id {
            match &mut executed {
                Ok(change) => change.command = Some(id.0),
                Err(error) => error.command = Some(id.0),
            }
            let described = match &executed {
                Ok(change) => Ok(describe(change)),
                Err(error) => Err(error.message.clone()),
            };
            self.api.commands.end_with(id, described, Vec::new());
        }
        // A client that has the result sees it in the history.
        self.publish();
        drop(place);
        // The client may have left.
        let _ = result.send(executed);
    }

    fn execute(&mut self, action: ConfigAction, options: &ConfigOptions) -> ConfigResult {
        match action {
            ConfigAction::Apply(new) => {
                self.refuse_during_trial(options)?;
                let config = self.read_new(&new)?;
                self.change_to(config, RevisionOrigin::Apply, options)
            }
            ConfigAction::Rollback(number) => self.roll_back(number, options),
            ConfigAction::Confirm(number) => self.confirm(number, options),
        }
    }

    fn refuse_during_trial(&self, options: &ConfigOptions) -> Result<(), ApiError> {
        match &self.trial {
            Some(trial) if !options.is_dry_run => Err(not_applicable(
                format!(
                    "revision {} is tried until {}",
                    trial.number,
                    rfc3339(trial.reverts_at)
                ),
                "`ferrosm config confirm` keeps it, `ferrosm config rollback` ends the trial.",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Reads a configuration that a client sent.
    fn read_new(&self, new: &NewConfiguration) -> Result<FileConfig, ApiError> {
        let path = self.path()?;
        let dir = path.parent().unwrap_or(path);
        let mut given = InputTexts::new();
        for input in &new.inputs {
            let file = std::path::absolute(dir.join(&input.name)).map_err(|e| {
                let message = format!("{}: {e}", input.name);
                ApiError::new(ErrorKind::InvalidRequest, message, "")
            })?;
            given.insert(file, input.text.clone());
        }
        let name_of = |file: &Path| {
            let is_input = |name: &&str| dir.join(name) == file;
            if file == path {
                return Some(PathBuf::from(&new.name));
            }
            let mut names = new.inputs.iter().map(|input| &*input.name);
            names.find(is_input).map(PathBuf::from)
        };
        self.resolve(&new.toml, &given)
            .map_err(|errors| invalid_configuration(&errors.with_names(name_of)))
    }

    /// Resolves texts in place of the configuration file and of its input files.
    fn resolve(&self, toml: &str, given: &InputTexts) -> Result<FileConfig, ConfigErrors> {
        let path = self.last_good.source.path();
        let source = ConfigSource::parse(path.unwrap_or_else(|| Path::new("")), toml)?;
        let settings = source.resolve_given(|settings| (self.overlay)(settings), given)?;
        Ok(FileConfig::new(source, settings))
    }

    /// The configuration file.
    fn path(&self) -> Result<&Path, ApiError> {
        self.last_good.source.path().ok_or_else(|| {
            not_applicable(
                "the service has no configuration file",
                "Start it with --config FILE. The file may be empty.",
            )
        })
    }

    fn store(&mut self) -> Result<&mut RevisionStore, ApiError> {
        self.store.as_mut().ok_or_else(|| {
            not_applicable(
                "the service keeps no revisions of its configuration",
                "It needs a writable state directory (files.state-dir); the log says why it has none.",
            )
        })
    }

    /// Puts another configuration in force, for good or as a trial.
    fn change_to(
        &mut self,
        config: FileConfig,
        origin: RevisionOrigin,
        options: &ConfigOptions,
    ) -> ConfigResult {
        let mut change = config::difference(&self.running, &config.settings);
        change.violations = self.violations(&config.settings);
        if options.is_dry_run {
            return Ok(change);
        }
        let path = self.path()?.to_owned();
        self.check_change(&change, &config, options)?;
        let is_unchanged = config.files == self.last_good.files;
        if is_unchanged && !options.replaces_edited {
            change.in_force = self.store()?.in_force();
            return Ok(change);
        }
        let before = match options.confirm_within {
            Some(_) => FilesBefore::InForce,
            None if options.replaces_edited => FilesBefore::Any,
            None => FilesBefore::InForceOrNew,
        };
        let refused = |error| refusal(error, before);
        let old = self.last_good.files.clone();
        revisions::check_files(&config.files, &old, &path, before).map_err(refused)?;
        let by = options.by.clone();
        let reason = options.reason.clone();
        let store = self.store()?;
        let record = new_record(store, origin, by, reason);
        let number = record.number;
        let created = revisions::missing_files(&config.files, &path).map_err(refused)?;
        store.add(record, &config.files, created).map_err(refused)?;
        match options.confirm_within {
            Some(within) => {
                self.begin_trial(number, config, within)?;
                change.reverts = self.reverts();
            }
            None => {
                change.copies = self.install(number, &config.files, &path, before)?;
                // Also if the SM stops now: the next start finds the files.
                let settings = config.settings.clone();
                self.last_good = config;
                self.put_in_force(settings, false).map_err(|_| stopping())?;
                info!(
                    revision = number,
                    by = options.by,
                    "configuration revision stored"
                );
            }
        }
        change.new_revision = Some(number);
        change.in_force = Some(number);
        Ok(change)
    }

    /// The invariants that the new configuration violates, on the routes as they are.
    fn violations(&self, new: &Settings) -> Vec<InvariantStatus> {
        let state = self.api.published.state();
        let intent = Intent::of(new);
        let added = state
            .partitions
            .list()
            .iter()
            .filter(|partition| state.added_partitions.contains(&partition.number));
        // The configuration wins over partitions that operators added.
        let configured = Partitions::clone(&new.sm.partitions);
        let partitions = added.fold(configured, |all, partition| {
            let with = all.with(partition.clone());
            with.unwrap_or(all)
        });
        intent_check::violations(&state, &intent.invariants, &partitions)
    }

    /// Refuses changes that cannot be made in a running service.
    fn check_change(
        &self,
        change: &ConfigChange,
        config: &FileConfig,
        options: &ConfigOptions,
    ) -> Result<(), ApiError> {
        if config.settings.state_dir != self.running.state_dir {
            return Err(not_applicable(
                "files.state-dir differs, and the revisions are in the state directory",
                "Stop the service, edit its configuration file, and start it again.",
            ));
        }
        if !options.accepts_violations {
            intent_check::refuse(&change.violations)?;
        }
        let for_restart: Vec<&str> = change.keys_for_restart().collect();
        if options.confirm_within.is_some() && !for_restart.is_empty() {
            return Err(not_applicable(
                format!(
                    "a restart ends a trial, and these keys need one: {}",
                    for_restart.join(", ")
                ),
                "Apply it without --confirm-within, then restart the service.",
            ));
        }
        Ok(())
    }

    fn begin_trial(
        &mut self,
        number: u64,
        config: FileConfig,
        within: Duration,
    ) -> Result<(), ApiError> {
        self.store_trial(Some(number));
        let settings = config.settings.clone();
        self.put_in_force(settings, false).map_err(|_| stopping())?;
        let reverts_at = SystemTime::now() + within;
        self.trial = Some(Trial {
            number,
            config,
            deadline: Instant::now() + within,
            reverts_at,
        });
        let until = rfc3339(reverts_at);
        info!(revision = number, until, "configuration trial started");
        Ok(())
    }

    fn roll_back(&mut self, number: u64, options: &ConfigOptions) -> ConfigResult {
        let before = FilesBefore::InForceOrNew;
        let store = self.store()?;
        let is_in_force = store.in_force() == Some(number);
        let files = store
            .files(number)
            .map_err(|error| refusal(error, before))?;
        let resolved = self.resolve(&files.toml, &files.inputs);
        let config = resolved.map_err(|errors| invalid_configuration(&errors))?;
        if self.trial.is_some() && !options.is_dry_run {
            let change = config::difference(&self.running, &self.last_good.settings);
            self.end_trial("rolled back")?;
            if is_in_force && !options.replaces_edited {
                return Ok(ConfigChange {
                    in_force: Some(number),
                    ..change
                });
            }
        }
        let replaced = self.last_good.files.clone();
        let change = self.change_to(config, RevisionOrigin::Rollback(number), options)?;
        if change.new_revision.is_some() && self.trial.is_none() {
            self.remove_created(&replaced)?;
        }
        Ok(change)
    }

    /// Removes the files that an applied configuration created, and that the one in force does not
    /// name.
    fn remove_created(&mut self, replaced: &ConfigFiles) -> Result<(), ApiError> {
        let path = self.path()?.to_owned();
        let new = self.last_good.files.clone();
        for file in self.store()?.remove_created(&new, replaced, &path) {
            let reason =
                "`config apply` created it, and the configuration in force does not name it";
            info!(file = %file.display(), reason, "input file removed");
        }
        Ok(())
    }

    /// Writes the configuration that is tried to the files.
    fn confirm(&mut self, number: u64, options: &ConfigOptions) -> ConfigResult {
        let path = self.path()?.to_owned();
        let Some(trial) = self.trial.take() else {
            let message = format!("revision {number} is not tried");
            let remedy = "`ferrosm config history` shows what is in force.";
            return Err(not_applicable(message, remedy));
        };
        let installed = self.install_trial(&trial, number, &path, options);
        let copies = match installed {
            Ok(copies) => copies,
            Err(error) => {
                self.trial = Some(trial);
                return Err(error);
            }
        };
        self.last_good = trial.config;
        info!(
            revision = number,
            by = options.by,
            "configuration confirmed"
        );
        Ok(ConfigChange {
            in_force: Some(number),
            copies,
            ..ConfigChange::default()
        })
    }

    fn install_trial(
        &mut self,
        trial: &Trial,
        number: u64,
        path: &Path,
        options: &ConfigOptions,
    ) -> Result<Vec<String>, ApiError> {
        if trial.number != number {
            return Err(not_applicable(
                format!("revision {} is tried, not {number}", trial.number),
                "`ferrosm config history` shows what is in force.",
            ));
        }
        let before = match options.replaces_edited {
            true => FilesBefore::Any,
            false => FilesBefore::InForceOrNew,
        };
        let refused = |error| refusal(error, before);
        let new = &trial.config.files;
        let old = &self.last_good.files;
        revisions::check_files(new, old, path, before).map_err(refused)?;
        self.install(number, new, path, before)
    }

    /// Writes the files of a revision in place of those in force. Returns the copies of files that
    /// were edited by hand.
    fn install(
        &mut self,
        number: u64,
        new: &ConfigFiles,
        path: &Path,
        before: FilesBefore,
    ) -> Result<Vec<String>, ApiError> {
        let refused = |error| refusal(error, before);
        let old = self.last_good.files.clone();
        let copies = revisions::copy_edited(new, &old, path, number).map_err(refused)?;
        let installed = self.store()?.install(number, new, &old, path);
        installed.map_err(refused)?;
        let shown = copies.iter().map(|copy| copy.display().to_string());
        Ok(shown.collect())
    }

    /// How the trial ends.
    fn reverts(&self) -> Option<Reverts> {
        let trial = self.trial.as_ref()?;
        Some(Reverts {
            to: self.store.as_ref()?.in_force()?,
            at: rfc3339(trial.reverts_at),
        })
    }

    /// Publishes the revisions for the API.
    fn publish(&self) {
        let mut history = ConfigHistory {
            file: self
                .last_good
                .source
                .path()
                .map(|path| path.display().to_string()),
            trial: self.trial.as_ref().map(|trial| trial.number),
            reverts: self.reverts(),
            ..ConfigHistory::default()
        };
        if let Some(store) = &self.store {
            let in_force = store.in_force();
            history.previous = match self.trial {
                Some(_) => in_force,
                None => store.previous(),
            };
            let state = |number: u64| match (Some(number) == in_force, history.trial) {
                (true, None) => RevisionState::InForce,
                (true, Some(_)) => RevisionState::LastGood,
                (false, Some(trial)) if trial == number => RevisionState::Trial,
                (false, _) if store.was_in_force(number) => RevisionState::Replaced,
                (false, _) => RevisionState::NotConfirmed,
            };
            let revisions = store.records().map(|record| Revision {
                record: record.clone(),
                state: state(record.number),
            });
            history.items = revisions.collect();
        }
        self.api.config.publish(history);
    }
}

fn new_record(
    store: &RevisionStore,
    origin: RevisionOrigin,
    by: String,
    reason: Option<String>,
) -> RevisionRecord {
    RevisionRecord {
        number: store.next_number(),
        at: rfc3339(SystemTime::now()),
        by,
        reason,
        origin,
    }
}

/// The result of a request in a sentence.
fn describe(change: &ConfigChange) -> String {
    let number = change.in_force.unwrap_or(0);
    match &change.reverts {
        Some(reverts) => format!("revision {number} is tried until {}", reverts.at),
        None => format!("revision {number} is in force"),
    }
}

/// Logs errors and warnings of the configuration and its input files.
pub(super) fn log_messages(messages: &[ConfigError]) {
    for found in messages {
        let (line, column) = found.at.unzip();
        let file = found.file.as_ref().map(|file| file.display().to_string());
        let reason = &found.message;
        if found.is_warning {
            warn!(file, line, column, reason, "configuration warning");
        } else {
            error!(file, line, column, reason, "configuration error");
        }
    }
}

fn stopping() -> ApiError {
    ApiError::new(
        ErrorKind::Stopping,
        "the service stops",
        "After the next start, `ferrosm config history` shows which revision is in force.",
    )
}

fn not_applicable(message: impl Into<String>, remedy: impl Into<String>) -> ApiError {
    ApiError::new(ErrorKind::NotApplicable, message, remedy)
}

fn invalid_configuration(errors: &ConfigErrors) -> ApiError {
    let remedy = "Correct the errors, then apply it again. Nothing was changed.";
    ApiError::new(ErrorKind::InvalidConfiguration, errors.to_string(), remedy)
}

/// Why files cannot be written, and what to do.
fn refusal(error: RevisionError, before: FilesBefore) -> ApiError {
    let message = error.to_string();
    let remedy = match (&error, before) {
        (RevisionError::Unknown(_), _) => {
            let remedy = "`ferrosm config history` lists the revisions.";
            return ApiError::new(ErrorKind::NotFound, message, remedy);
        }
        (RevisionError::Edited { .. }, FilesBefore::InForce) => {
            "A restart ends a trial, and would read that file. Move what is new to another file and apply that; \
             `ferrosm config rollback --force` with the number of the revision in force restores the files."
                .to_owned()
        }
        (RevisionError::Edited { .. }, FilesBefore::InForceOrNew | FilesBefore::Any) => {
            "Reload the service to put what was edited in force, or replace it with --force, which copies it to FILE.before-REVISION."
                .to_owned()
        }
        (RevisionError::File { file, .. }, _) => {
            let dir = file.parent().unwrap_or(file);
            format!(
                "The service needs write access to {dir}: under systemd, `systemctl edit` its unit and add ReadWritePaths={dir} to \
                 [Service]. Or replace the files by hand and reload.",
                dir = dir.display()
            )
        }
        (RevisionError::TooLarge { .. }, _) => {
            "Replace the files by hand and reload.".to_owned()
        }
        (RevisionError::Folder { .. }, _) => "Check the state directory and its disk.".to_owned(),
    };
    not_applicable(message, remedy)
}
