//! Commands in progress: their IDs, and the clients that await their results.

use std::collections::BTreeMap;

use ferrosm_core::{Command, CommandFailure, CommandId, CommandReply};
use tracing::{debug, info, warn};

use crate::control::ResultSender;

/// The clients of commands in progress. Commands of signals have none.
#[derive(Debug, Default)]
pub(super) struct CommandClients {
    last: CommandId,
    clients: BTreeMap<CommandId, ResultSender>,
}

impl CommandClients {
    /// The ID of a new command.
    pub(super) fn add(
        &mut self,
        command: Command,
        source: &'static str,
        client: Option<ResultSender>,
    ) -> CommandId {
        self.last.0 += 1;
        info!(id = self.last.0, %command, source, "command received");
        if let Some(client) = client {
            self.clients.insert(self.last, client);
        }
        self.last
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
        if let Some(client) = self.clients.remove(&id) {
            // The client may no longer wait.
            let _ = client.send(result);
        }
    }
}
