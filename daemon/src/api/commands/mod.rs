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
use ferrosm_api::status::Finding;
use ferrosm_core::config::key_rotation::KeyKind;
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::election::ElectionNotice;
use ferrosm_core::report::Problem;
use ferrosm_core::report::maintenance_refusal::MaintenanceRefusal;
use ferrosm_core::report::port_limit_refusal::PortLimitRefusal;
use ferrosm_core::{
    Command, CommandFailure, CommandId, CommandOutcome, OperatorChange, PlannedChange,
};
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

/// A request for the loop of the SM.
#[derive(Debug)]
pub enum SmRequest {
    Execute(CommandRequest),
    Plan(PlanRequest),
}

/// A query for what a change would do.
#[derive(Debug)]
pub struct PlanRequest {
    pub change: OperatorChange,
    /// Dropped without an answer if the loop ends first.
    pub result: oneshot::Sender<Result<PlannedChange, CommandFailure>>,
}

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
    pub fn begin(&self, command: &Command, by: String, reason: Option<String>) -> CommandId {
        self.begin_named(
            kind(command),
            target(command),
            &command.to_string(),
            by,
            reason,
        )
    }

    /// A number for a command that changes nothing and is not remembered.
    pub fn number(&self) -> CommandId {
        let mut inner = self.lock();
        inner.last += 1;
        CommandId(inner.last)
    }

    /// A command for the configuration is received, with its name. Returns its number.
    pub fn begin_named(
        &self,
        kind: CommandKind,
        target: String,
        command: &str,
        by: String,
        reason: Option<String>,
    ) -> CommandId {
        let mut inner = self.lock();
        inner.last += 1;
        let entry = Entry {
            command: inner.last,
            kind,
            target,
            by,
            reason,
            received_at: rfc3339(SystemTime::now()),
            state: CommandState::InProgress,
            ended_at: None,
            message: String::new(),
            findings: Vec::new(),
        };
        let reason = entry.reason.as_deref();
        info!(
            id = entry.command,
            command,
            by = entry.by,
            reason,
            "command received"
        );
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
            target: String::new(),
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
        let mut findings = Vec::new();
        if let Ok(CommandOutcome::Swept { problems, .. }) = result {
            let mut problems: Vec<&Problem> = problems.iter().collect();
            problems.sort_by_key(|problem| !problem.kind.is_severe());
            problems.truncate(FINDINGS_MAX);
            findings = problems.into_iter().map(status::finding).collect();
        }
        let result = result.as_ref();
        let described = result.map(ToString::to_string).map_err(ToString::to_string);
        self.end_with(id, described, findings);
    }

    /// A command ended with this result in a sentence. The first result counts.
    pub fn end_with(&self, id: CommandId, result: Result<String, String>, findings: Vec<Finding>) {
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
        entry.findings = findings;
        (entry.state, entry.message) = match result {
            Ok(outcome) => (CommandState::Complete, outcome),
            Err(failure) => (CommandState::Failed, failure),
        };
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

    /// The commands in progress, each with its client and reason.
    #[must_use]
    pub fn in_progress(&self) -> Vec<String> {
        let inner = self.lock();
        let entries = inner.entries.iter();
        entries
            .filter(|entry| entry.state == CommandState::InProgress)
            .map(|entry| {
                let command = format!("command {} ({})", entry.command, entry.kind.name());
                match &entry.reason {
                    Some(reason) => format!("{command} by {}: {reason}", entry.by),
                    None => format!("{command} by {}", entry.by),
                }
            })
            .collect()
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

pub(super) const fn kind(command: &Command) -> CommandKind {
    match command {
        Command::Sweep | Command::Exclude | Command::Refresh => CommandKind::Sweep,
        Command::Reroute => CommandKind::Reroute,
        Command::Handover => CommandKind::Handover,
        Command::Takeover | Command::AcceptRemoval(_) => CommandKind::Takeover,
        Command::Stop => CommandKind::Stop,
        Command::Rotate(KeyKind::MKey, _) => CommandKind::RotateMKey,
        Command::Rotate(KeyKind::SmKey, _) => CommandKind::RotateSmKey,
        Command::Change(change) => kind_of_change(change),
    }
}

pub(super) const fn kind_of_change(change: &OperatorChange) -> CommandKind {
    match change {
        OperatorChange::PutPartition(_) => CommandKind::PutPartition,
        OperatorChange::RemovePartition(_) => CommandKind::RemovePartition,
        OperatorChange::BeginMaintenance(entry) => match entry.target {
            MaintenanceTarget::Port(..) => CommandKind::DisablePort,
            MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..) => CommandKind::Drain,
        },
        OperatorChange::EndMaintenance(target) => match target {
            MaintenanceTarget::Port(..) => CommandKind::EnablePort,
            MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..) => CommandKind::Undrain,
        },
        OperatorChange::SetPortLimits(_) => CommandKind::SetPort,
        OperatorChange::EndPortLimits(_) => CommandKind::UnsetPort,
    }
}

/// What a command is for; empty if it is for the SM.
fn target(command: &Command) -> String {
    match command {
        Command::Change(change) => target_of_change(change),
        Command::Sweep
        | Command::Exclude
        | Command::Refresh
        | Command::Reroute
        | Command::Handover
        | Command::Takeover
        | Command::AcceptRemoval(_)
        | Command::Stop
        | Command::Rotate(..) => String::new(),
    }
}

pub(super) fn target_of_change(change: &OperatorChange) -> String {
    match change {
        OperatorChange::PutPartition(partition) => {
            format!("{} ({:#06x})", partition.name, partition.number)
        }
        OperatorChange::RemovePartition(number) => format!("{number:#06x}"),
        OperatorChange::BeginMaintenance(entry) => entry.name.clone(),
        OperatorChange::EndMaintenance(target) => match target.port() {
            Some(port) => format!("{}/{port}", target.node()),
            None => target.node().to_string(),
        },
        OperatorChange::SetPortLimits(request) => {
            format!("{}: {}", request.limits.name, request.limits)
        }
        OperatorChange::EndPortLimits((node, port)) => format!("{node}/{port}"),
    }
}

const fn refusal_remedy(refusal: &MaintenanceRefusal) -> (ErrorKind, &'static str) {
    match refusal {
        MaintenanceRefusal::NotASwitch => (
            ErrorKind::NotFound,
            "Name a switch, or a switch port as `name/port`; `ferrosm nodes` lists the names.",
        ),
        MaintenanceRefusal::NoLink => (ErrorKind::Conflict, "`ferrosm links` lists the links."),
        MaintenanceRefusal::OwnPort => (
            ErrorKind::CutsOff,
            "Run `ferrosm handover` first, and the command on the new master.",
        ),
        MaintenanceRefusal::HostsConnected(_) => (
            ErrorKind::CutsOff,
            "Nothing was changed. Stop these hosts first; `ferrosm port disable PORT --accept cut-off` disables the port of a host.",
        ),
        MaintenanceRefusal::CutsOff(_) => (
            ErrorKind::CutsOff,
            "Nothing was changed. Restore another link to them first; `ferrosm links --problems` and `ferrosm maintenance` show what is missing.",
        ),
        MaintenanceRefusal::InService => (
            ErrorKind::NotFound,
            "`ferrosm maintenance` lists what is out of service.",
        ),
    }
}

/// The error of a command that failed.
pub(super) fn error(id: CommandId, command: CommandKind, failure: &CommandFailure) -> ApiError {
    ApiError {
        command: Some(id.0),
        ..refusal(command, failure)
    }
}

/// Why a command fails, or would fail.
pub(super) fn refusal(command: CommandKind, failure: &CommandFailure) -> ApiError {
    let (kind, remedy) = match failure {
        CommandFailure::NotMaster { .. } => (
            ErrorKind::NotMaster,
            if matches!(command, CommandKind::Takeover) {
                "To make this SM master, run `ferrosm handover` on the master. If the master is another program: give this SM a higher priority, stop that program, or allow what waits for consent (`ferrosm health`) with `ferrosm takeover --accept KIND`."
            } else {
                "Run the command on the master. If the subnet has none, `ferrosm takeover` makes this SM master."
            },
        ),
        CommandFailure::MastershipLost { .. } => (
            ErrorKind::MastershipLost,
            "Run the command on the new master.",
        ),
        CommandFailure::AlreadyMaster => (ErrorKind::AlreadyMaster, ""),
        CommandFailure::NoLink => (
            ErrorKind::NoLink,
            "`ferrosm ports --local` shows the state of the local ports.",
        ),
        CommandFailure::RoutingFailed(_) => (
            ErrorKind::RoutingFailed,
            "The log of the service has the result of each engine; `ferrosm route` tries others offline.",
        ),
        CommandFailure::NotHandedOver(about)
            if matches!(about.what, ElectionNotice::LacksMKey(_)) =>
        {
            (
                ErrorKind::NotHandedOver,
                "Set `subnet.m-key` of that SM to the key in force and reload it, then run the command again. With replication, `ferrosm keys rotate m-key` gives all SMs the same key.",
            )
        }
        CommandFailure::NotHandedOver(_) => (
            ErrorKind::NotHandedOver,
            "Start a standby, or check priority and state of the other SMs, then run the command again.",
        ),
        CommandFailure::Superseded => (ErrorKind::Superseded, "Run the command again."),
        CommandFailure::Stopping => (ErrorKind::Stopping, ""),
        CommandFailure::TooManyCommands => (ErrorKind::Busy, "Run the command again."),
        CommandFailure::PartitionInvalid(_) => (
            ErrorKind::Conflict,
            "`ferrosm partition list` lists the partitions.",
        ),
        CommandFailure::PartitionNotAdded {
            is_configured: true,
            ..
        } => (
            ErrorKind::Conflict,
            "Change the configuration and reload it.",
        ),
        CommandFailure::PartitionNotAdded { .. } => (
            ErrorKind::NotFound,
            "`ferrosm partition list` lists the partitions.",
        ),
        CommandFailure::PKeyTableFull(_) => (
            ErrorKind::Conflict,
            "Nothing was written. Remove the port from another partition first; `ferrosm limits` shows the fullest table.",
        ),
        CommandFailure::Maintenance(refusal) => refusal_remedy(refusal),
        CommandFailure::PortLimits(PortLimitRefusal::NotLimited) => (
            ErrorKind::NotFound,
            "`ferrosm port limits` lists the ports with limits.",
        ),
        CommandFailure::PortLimits(
            PortLimitRefusal::NoWidth | PortLimitRefusal::NoSpeed | PortLimitRefusal::XdrStays,
        ) => (
            ErrorKind::Conflict,
            "Nothing was written. `ferrosm explain port` shows what the port supports.",
        ),
        CommandFailure::KeyInForce(_) => (ErrorKind::Conflict, "Choose another key."),
    };
    ApiError::new(kind, failure.to_string(), remedy)
}
