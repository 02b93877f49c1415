//! The control socket: `ferrosm sweep`, `handover` and `takeover` send commands to a running
//! service.
//!
//! `control` in the state directory is a Unix stream socket that only its owner and root can
//! connect to. A client sends requests, one JSON object a line, and gets one JSON object a line for
//! each, when the command ends or its `wait-s` is over:
//!
//! ```json
//! {"command":"sweep","wait-s":30}
//! {"result":"complete","message":"sweep 12 complete"}
//! {"command":"handover"}
//! {"result":"failed","reason":"not-master","message":"this SM is Standby of the SM of GUID 0x0002c90300a1b2c3"}
//! ```
//!
//! [`server`] belongs to the service, [`client`] to the commands. Bounds: [`REQUEST_MAX`] bytes a
//! request, [`CLIENTS_MAX`] clients, [`TRANSFER_TIMEOUT`] to receive a request or to send a reply,
//! [`WAIT_MAX`] for a command.

pub mod client;
pub mod server;

use core::time::Duration;

use ferrosm_core::{Command, CommandFailure, CommandOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::output::report::problem_lines;

/// Name of the socket in the state directory.
pub const SOCKET_NAME: &str = "control";
/// Longest request, in bytes.
pub const REQUEST_MAX: u64 = 1024;
/// Longest reply, in bytes.
pub const REPLY_MAX: u64 = 65_536;
/// Most clients connected at the same time; further ones get a reply and are disconnected.
pub const CLIENTS_MAX: usize = 16;
/// Time to receive a request, or to send a reply.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest `wait-s` of a request, in seconds.
pub const WAIT_MAX: u64 = 86_400;
/// `wait-s` of a request that has none, in seconds.
pub const WAIT_DEFAULT: u64 = 30;

/// Sends the result of a command to its client.
pub type ResultSender = oneshot::Sender<Result<CommandOutcome, CommandFailure>>;

/// A command for the service's loop, which sends its result.
#[derive(Debug)]
pub struct CommandRequest {
    pub command: Command,
    /// Dropped without a result if the loop ends first.
    pub result: ResultSender,
}

/// A command that clients may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCommand {
    /// [`Command::Sweep`].
    Sweep,
    /// [`Command::Reroute`].
    Reroute,
    /// [`Command::Handover`].
    Handover,
    /// [`Command::Takeover`].
    Takeover,
}

impl From<ClientCommand> for Command {
    fn from(command: ClientCommand) -> Self {
        match command {
            ClientCommand::Sweep => Self::Sweep,
            ClientCommand::Reroute => Self::Reroute,
            ClientCommand::Handover => Self::Handover,
            ClientCommand::Takeover => Self::Takeover,
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ControlRequest {
    pub command: ClientCommand,
    /// Seconds to wait for its end, at most [`WAIT_MAX`]. The command stays in progress after that.
    #[serde(default = "default_wait")]
    pub wait_s: u64,
}

const fn default_wait() -> u64 {
    WAIT_DEFAULT
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum ControlReply {
    /// The command is complete.
    Complete {
        /// Human-readable result.
        message: String,
    },
    /// The command failed, or was not started.
    Failed {
        /// Why.
        reason: Reason,
        /// Human-readable reason.
        message: String,
    },
}

/// Why a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Only a master can do this.
    NotMaster,
    /// This SM was master, and is no longer.
    MastershipLost,
    /// This SM is master already.
    AlreadyMaster,
    /// The SM's own port has no link.
    NoLink,
    /// No engine found a routing that passes verification.
    RoutingFailed,
    /// No SM took over.
    NotHandedOver,
    /// Another change of mastership came first.
    Superseded,
    /// The service is stopping.
    Stopping,
    /// Too many commands or clients.
    Busy,
    /// The sweep is complete, and some port is not up, addressed or routed.
    NotFullyUp,
    /// The command did not end in time, and is still in progress.
    Timeout,
    /// The request is not valid.
    InvalidRequest,
}

impl ControlReply {
    fn failed(reason: Reason, message: impl Into<String>) -> Self {
        Self::Failed {
            reason,
            message: message.into(),
        }
    }
}

impl From<Result<CommandOutcome, CommandFailure>> for ControlReply {
    fn from(result: Result<CommandOutcome, CommandFailure>) -> Self {
        let failure = match result {
            Ok(outcome) => return outcome.into(),
            Err(failure) => failure,
        };
        let reason = match &failure {
            CommandFailure::NotMaster { .. } => Reason::NotMaster,
            CommandFailure::MastershipLost { .. } => Reason::MastershipLost,
            CommandFailure::AlreadyMaster => Reason::AlreadyMaster,
            CommandFailure::NoLink => Reason::NoLink,
            CommandFailure::RoutingFailed(_) => Reason::RoutingFailed,
            CommandFailure::NotHandedOver(_) => Reason::NotHandedOver,
            CommandFailure::Superseded => Reason::Superseded,
            CommandFailure::Stopping => Reason::Stopping,
            CommandFailure::TooManyCommands => Reason::Busy,
        };
        Self::failed(reason, failure.to_string())
    }
}

impl From<CommandOutcome> for ControlReply {
    fn from(outcome: CommandOutcome) -> Self {
        let mut message = outcome.to_string();
        let CommandOutcome::Swept { problems, .. } = &outcome else {
            return Self::Complete { message };
        };
        for line in problem_lines(problems) {
            message.push_str(&format!("\n  {line}"));
        }
        if problems.iter().any(|p| p.kind.is_severe()) {
            Self::failed(Reason::NotFullyUp, message)
        } else {
            Self::Complete { message }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use ferrosm_core::CommandOutcome;
    use ferrosm_core::report::{Problem, ProblemKind};
    use ferrosm_fabric::location::Location;
    use tokio::sync::mpsc;

    use super::client::{self, ClientError};
    use super::server::ControlSocket;
    use super::*;
    use crate::testing::TempDir;

    /// Runs `clients` on a thread beside a service that completes sweeps, drops reroutes, and never
    /// ends handovers.
    fn with_service<T: Send + 'static>(
        name: &str,
        clients: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> T {
        let dir = TempDir::new(name);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (requests, mut inbox) = mpsc::channel::<CommandRequest>(4);
            let socket = ControlSocket::open(dir.path(), requests).unwrap();
            let path = dir.path().to_owned();
            let clients = tokio::task::spawn_blocking(move || clients(&path));
            let service = async {
                let mut pending = Vec::new();
                while let Some(request) = inbox.recv().await {
                    match request.command {
                        Command::Sweep => {
                            let outcome = CommandOutcome::Swept {
                                number: 2,
                                problems: Vec::new(),
                            };
                            let _ = request.result.send(Ok(outcome));
                        }
                        Command::Reroute => drop(request),
                        Command::Handover | Command::Takeover | Command::Stop => {
                            pending.push(request);
                        }
                    }
                }
            };
            let result = tokio::select! {
                end = clients => end.unwrap(),
                () = service => unreachable!("the socket is open"),
            };
            socket.close().await;
            result
        })
    }

    fn request(
        dir: &Path,
        command: ClientCommand,
        wait_s: u64,
    ) -> Result<ControlReply, ClientError> {
        client::request(dir, ControlRequest { command, wait_s })
    }

    fn lines(dir: &Path, sent: &str) -> Vec<ControlReply> {
        let mut stream = UnixStream::connect(dir.join(SOCKET_NAME)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        BufReader::new(stream)
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect()
    }

    fn reason(reply: &ControlReply) -> Option<Reason> {
        match reply {
            ControlReply::Complete { .. } => None,
            ControlReply::Failed { reason, .. } => Some(*reason),
        }
    }

    #[test]
    fn request_gets_the_result_of_its_command() {
        let replies = with_service("control-reply", |dir| {
            let mode = std::fs::metadata(dir.join(SOCKET_NAME))
                .unwrap()
                .permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
            [
                request(dir, ClientCommand::Sweep, 30),
                request(dir, ClientCommand::Reroute, 30),
                request(dir, ClientCommand::Handover, 0),
            ]
        });
        let [complete, dropped, late] = replies.map(Result::unwrap);
        let message = "sweep 2 complete".to_owned();
        assert_eq!(complete, ControlReply::Complete { message });
        assert_eq!(reason(&dropped), Some(Reason::Stopping));
        assert_eq!(reason(&late), Some(Reason::Timeout));
    }

    #[test]
    fn problems_of_a_sweep_are_listed_and_minor_ones_are_no_failure() {
        let swept = |kind| {
            ControlReply::from(CommandOutcome::Swept {
                number: 3,
                problems: vec![Problem {
                    location: Location::LocalNode,
                    kind,
                }],
            })
        };
        let message = "sweep 3 complete, 1 problem\n  problem: local node: no LID available";
        assert_eq!(
            swept(ProblemKind::NoLid),
            ControlReply::failed(Reason::NotFullyUp, message)
        );
        let message = "sweep 3 complete, 1 minor problem\n  minor problem: local node: loopback link; not routed";
        let message = message.to_owned();
        assert_eq!(
            swept(ProblemKind::Loopback),
            ControlReply::Complete { message }
        );
    }

    #[test]
    fn each_request_of_a_connection_gets_one_reply() {
        let replies = with_service("control-lines", |dir| {
            let sent = "{\"command\":\"sweep\"}\nnonsense\n{\"command\":\"stop\"}\n{\"command\":\"sweep\",\"wait-s\":1}\n";
            lines(dir, sent)
        });
        let reasons: Vec<_> = replies.iter().map(reason).collect();
        let invalid = Some(Reason::InvalidRequest);
        assert_eq!(reasons, [None, invalid, invalid, None]);
    }

    #[test]
    fn long_request_is_rejected_and_ends_the_connection() {
        let replies = with_service("control-long", |dir| {
            let long = "x".repeat(usize::try_from(REQUEST_MAX).unwrap() + 1);
            lines(dir, &format!("{long}\n{{\"command\":\"sweep\"}}\n"))
        });
        let reasons: Vec<_> = replies.iter().map(reason).collect();
        assert_eq!(reasons, [Some(Reason::InvalidRequest)]);
    }

    #[test]
    fn clients_are_bounded() {
        let reply = with_service("control-clients", |dir| {
            let connect = || UnixStream::connect(dir.join(SOCKET_NAME)).unwrap();
            let connected: Vec<UnixStream> = (0..CLIENTS_MAX).map(|_| connect()).collect();
            let reply = request(dir, ClientCommand::Sweep, 30).unwrap();
            drop(connected);
            reply
        });
        assert_eq!(reason(&reply), Some(Reason::Busy));
    }

    #[test]
    fn socket_of_an_ended_service_is_removed_or_reported() {
        let dir = TempDir::new("control-gone");
        let sweep = || request(dir.path(), ClientCommand::Sweep, 1);
        assert!(matches!(sweep(), Err(ClientError::NoService(_))));
        // Left by a service that was killed.
        drop(std::os::unix::net::UnixListener::bind(dir.path().join(SOCKET_NAME)).unwrap());
        assert!(matches!(sweep(), Err(ClientError::NoService(_))));
    }
}
