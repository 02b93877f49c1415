//! Commands in progress, and the clients that await their results.

use std::collections::BTreeMap;

use ferrosm_core::{Command, CommandFailure, CommandId, CommandReply};
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::api::commands::{CommandLog, CommandResult};

/// Commands in progress.
#[derive(Debug, Default)]
pub(super) struct CommandClients {
    log: CommandLog,
    /// The clients that wait. Commands of signals have none.
    clients: BTreeMap<CommandId, oneshot::Sender<CommandResult>>,
}

impl CommandClients {
    pub(super) fn new(log: CommandLog) -> Self {
        Self {
            log,
            clients: BTreeMap::new(),
        }
    }

    /// The ID of a command that a signal causes.
    pub(super) fn of_signal(&self, command: &Command, signal: &'static str) -> CommandId {
        self.log.begin(command, signal.to_owned(), None)
    }

    /// A client sent a command.
    pub(super) fn add(&mut self, id: CommandId, result: oneshot::Sender<CommandResult>) {
        self.clients.insert(id, result);
    }

    /// Logs a reply, and sends a result to the client of its command.
    pub(super) fn on_reply(&mut self, id: CommandId, reply: CommandReply) {
        let CommandId(number) = id;
        let result = match reply {
            CommandReply::Accepted => {
                debug!(id = number, "command accepted");
                return;
            }
            CommandReply::Progress(progress) => {
                debug!(id = number, %progress, "command in progress");
                return;
            }
            CommandReply::Done(result) => result,
        };
        match &result {
            Ok(outcome) => info!(id = number, %outcome, "command complete"),
            // The event `handover failed` has the reason.
            Err(reason @ CommandFailure::NotHandedOver(_)) => {
                debug!(id = number, %reason, "command failed");
            }
            Err(reason) => warn!(id = number, %reason, "command failed"),
        }
        self.log.end(id, &result);
        if let Some(client) = self.clients.remove(&id) {
            // The client may no longer wait.
            let _ = client.send(result);
        }
    }
}
