//! Commands: who sent them, why, and what became of them.
//!
//! The service remembers the last ones. Every command is a line of JSON in the audit log when it is
//! received, and another one when it ends.

mod audit;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::change::ChangeKind;
use ferrosm_api::command::{Command as Entry, CommandKind, CommandState};
use ferrosm_core::report::Problem;
use ferrosm_core::{Command, CommandFailure, CommandId, CommandOutcome};
use tokio::sync::oneshot;
use tracing::info;

use self::audit::AuditLog;
use super::changes::ChangeLog;
use super::{rfc3339, status};

/// Commands that the service remembers.
const REMEMBERED: usize = 100;

/// Most problems of a sweep that a command lists, the most severe first.
const FINDINGS_MAX: usize = 1000;

/// The result of a command.
pub type CommandResult = Result<CommandOutcome, CommandFailure>;

/// A command for the loop of the SM.
#[derive(Debug)]
pub struct CommandRequest {
    pub id: CommandId,
    pub command: Command,
    /// Dropped without a result if the loop ends first.
    pub result: oneshot::Sender<CommandResult>,
}

/// All commands of the service. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CommandLog {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    /// The newest last.
    entries: VecDeque<Entry>,
    audit: Option<AuditLog>,
    /// Where commands that ended are listed with other changes.
    changes: ChangeLog,
}

impl CommandLog {
    /// With an audit log in a state directory that this process has locked; numbers continue from
    /// its last line. A failure is logged.
    #[must_use]
    pub fn open(state_dir: &Path) -> Self {
        let audit = AuditLog::open(state_dir);
        let inner = Inner {
            last: audit.as_ref().map_or(0, AuditLog::last_command),
            entries: VecDeque::new(),
            audit,
            changes: ChangeLog::default(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Lists commands that end with other changes from now on.
    pub fn report_to(&self, changes: &ChangeLog) {
        self.lock().changes = changes.clone();
    }

    /// A command is received. Returns its number.
    pub fn begin(&self, command: Command, by: String, reason: Option<String>) -> CommandId {
        let mut inner = self.lock();
        inner.last += 1;
        let entry = Entry {
            command: inner.last,
            kind: kind(command),
            by,
            reason,
            received_at: rfc3339(SystemTime::now()),
            state: CommandState::InProgress,
            ended_at: None,
            message: String::new(),
            findings: Vec::new(),
        };
        let reason = entry.reason.as_deref();
        info!(id = entry.command, %command, by = entry.by, reason, "command received");
        inner.write(&entry);
        inner.remember(entry);
        CommandId(inner.last)
    }

    /// The service itself has executed a command. Returns its number.
    pub fn record(
        &self,
        kind: CommandKind,
        by: String,
        reason: Option<String>,
        message: String,
    ) -> u64 {
        let mut inner = self.lock();
        inner.last += 1;
        let now = rfc3339(SystemTime::now());
        let entry = Entry {
            command: inner.last,
            kind,
            by,
            reason,
            received_at: now.clone(),
            state: CommandState::Complete,
            ended_at: Some(now),
            message,
            findings: Vec::new(),
        };
        let reason = entry.reason.as_deref();
        let command = kind.name();
        let result = &entry.message;
        info!(
            id = entry.command,
            command,
            by = entry.by,
            reason,
            result,
            "command executed"
        );
        inner.write(&entry);
        add_change(&inner.changes, &entry);
        let number = entry.command;
        inner.remember(entry);
        number
    }

    /// A command ended. The first result counts: the loop and the client may both report the end.
    pub fn end(&self, id: CommandId, result: &CommandResult) {
        let mut inner = self.lock();
        let Inner {
            entries,
            audit,
            changes,
            ..
        } = &mut *inner;
        let is_running =
            |entry: &&mut Entry| entry.command == id.0 && entry.state == CommandState::InProgress;
        let Some(entry) = entries.iter_mut().find(is_running) else {
            return;
        };
        entry.ended_at = Some(rfc3339(SystemTime::now()));
        match result {
            Ok(outcome) => {
                entry.state = CommandState::Complete;
                entry.message = outcome.to_string();
                if let CommandOutcome::Swept { problems, .. } = outcome {
                    let mut problems: Vec<&Problem> = problems.iter().collect();
                    problems.sort_by_key(|problem| !problem.kind.is_severe());
                    problems.truncate(FINDINGS_MAX);
                    entry.findings = problems.into_iter().map(status::finding).collect();
                }
            }
            Err(failure) => {
                entry.state = CommandState::Failed;
                entry.message = failure.to_string();
            }
        }
        if let Some(audit) = audit {
            audit.write(entry);
        }
        add_change(changes, entry);
    }

    /// The loop of the SM ends: no command in progress ends otherwise.
    pub fn end_all(&self) {
        let entries = self.recent();
        let running = entries
            .iter()
            .filter(|entry| entry.state == CommandState::InProgress);
        for entry in running {
            self.end(CommandId(entry.command), &Err(CommandFailure::Stopping));
        }
    }

    /// A command that the service remembers.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Entry> {
        let inner = self.lock();
        let mut entries = inner.entries.iter();
        entries.find(|entry| entry.command == number).cloned()
    }

    /// The commands that the service remembers, the newest first.
    #[must_use]
    pub fn recent(&self) -> Vec<Entry> {
        self.lock().entries.iter().rev().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remember(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        if self.entries.len() > REMEMBERED {
            let mut entries = self.entries.iter();
            let ended = entries.position(|entry| entry.state != CommandState::InProgress);
            self.entries.remove(ended.unwrap_or(0));
        }
    }

    fn write(&self, entry: &Entry) {
        if let Some(audit) = &self.audit {
            audit.write(entry);
        }
    }
}

fn add_change(changes: &ChangeLog, entry: &Entry) {
    let what = format!("command {}: {}", entry.command, entry.kind.name());
    let cause = match &entry.reason {
        Some(reason) => format!("{}: {reason}", entry.by),
        None => entry.by.clone(),
    };
    let effect = format!("{}: {}", entry.state.name(), entry.message);
    changes.add(ChangeKind::Command, what, cause, Some(effect));
}

const fn kind(command: Command) -> CommandKind {
    match command {
        Command::Sweep => CommandKind::Sweep,
        Command::Reroute => CommandKind::Reroute,
        Command::Handover => CommandKind::Handover,
        Command::Takeover | Command::AcceptRemovals => CommandKind::Takeover,
        Command::Stop => CommandKind::Stop,
    }
}

/// The error of a command that failed.
pub(super) fn error(id: CommandId, command: Command, failure: &CommandFailure) -> ApiError {
    let (kind, remedy) = match failure {
        CommandFailure::NotMaster { .. } => (
            ErrorKind::NotMaster,
            match command {
                Command::Takeover | Command::AcceptRemovals => {
                    "To make this SM master, run `ferrosm handover` on the master."
                }
                Command::Sweep | Command::Reroute | Command::Handover | Command::Stop => {
                    "Run the command on the master. If the subnet has none, `ferrosm takeover` makes this SM master."
                }
            },
        ),
        CommandFailure::MastershipLost { .. } => (
            ErrorKind::MastershipLost,
            "Run the command on the new master.",
        ),
        CommandFailure::AlreadyMaster => (ErrorKind::AlreadyMaster, ""),
        CommandFailure::NoLink => (
            ErrorKind::NoLink,
            "`ferrosm ports` shows the state of the local ports.",
        ),
        CommandFailure::RoutingFailed(_) => (
            ErrorKind::RoutingFailed,
            "The log of the service has the result of each engine; `ferrosm route` tries others offline.",
        ),
        CommandFailure::NotHandedOver(_) => (
            ErrorKind::NotHandedOver,
            "Start a standby, or check priority and state of the other SMs, then run the command again.",
        ),
        CommandFailure::Superseded => (ErrorKind::Superseded, "Run the command again."),
        CommandFailure::Stopping => (ErrorKind::Stopping, ""),
        CommandFailure::TooManyCommands => (ErrorKind::Busy, "Run the command again."),
    };
    ApiError {
        command: Some(id.0),
        ..ApiError::new(kind, failure.to_string(), remedy)
    }
}
