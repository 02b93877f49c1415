//! `ferrosm sweep`, `handover` and `takeover`: commands that a running service executes, sent
//! through its control socket.

use std::path::{Path, PathBuf};

use super::config;
use crate::cli::{ServiceArgs, ServiceDirArgs, SweepArgs};
use crate::control::client::{self, ClientError};
use crate::control::{ClientCommand, ControlReply, ControlRequest, Reason, SOCKET_NAME};
use crate::failure::Failure;
use crate::output;

/// Runs `sweep`.
///
/// # Errors
/// If no service runs, it is not master, no full sweep is complete in time, or the subnet is not
/// fully up.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let command = if args.reroute {
        ClientCommand::Reroute
    } else {
        ClientCommand::Sweep
    };
    execute(&args.service, command)
}

/// Runs `handover`.
///
/// # Errors
/// If no service runs, it is not master, or no other SM takes over.
pub fn handover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, ClientCommand::Handover)
}

/// Runs `takeover`.
///
/// # Errors
/// If no service runs, or it does not become master.
pub fn takeover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, ClientCommand::Takeover)
}

fn execute(args: &ServiceArgs, command: ClientCommand) -> Result<(), Failure> {
    let dir = state_dir(&args.service)?;
    let request = ControlRequest {
        command,
        wait_s: args.wait_s,
    };
    let reply = client::request(&dir, request).map_err(|e| no_reply(&dir, &e))?;
    match reply {
        ControlReply::Complete { message } => output::print(&format!("{message}\n")),
        ControlReply::Failed { reason, message } => {
            Err(Failure::with_hint(message, advice(command, reason)))
        }
    }
}

/// The state directory of a service.
pub(super) fn state_dir(service: &ServiceDirArgs) -> Result<PathBuf, Failure> {
    match &service.state_dir {
        Some(dir) => Ok(dir.clone()),
        None => match config::state_dir(service.config.as_deref()) {
            Err(Failure::Config(errors)) => Err(Failure::Unconfigured {
                message: errors.to_string(),
                hint: "Name the service by its state directory instead: --state-dir DIR."
                    .to_owned(),
            }),
            dir => dir,
        },
    }
}

fn no_reply(dir: &Path, error: &ClientError) -> Failure {
    let shown = dir.display();
    match error {
        ClientError::NoService(_) => no_service(dir),
        ClientError::PermissionDenied(_) => Failure::with_hint(
            format!("cannot open control socket {shown}/{SOCKET_NAME}: permission denied"),
            "Run the command as root or as the user of the service.",
        ),
        ClientError::ServiceEnded => Failure::with_hint(
            format!("no reply from the service with state directory {shown}: {error}"),
            "See its log for the reason.",
        ),
        ClientError::Io(_) => Failure::with_hint(
            format!("no reply from the service with state directory {shown}: {error}"),
            "Check that the service and this command are of the same version, and that the service responds.",
        ),
    }
}

/// No service runs with a state directory.
pub(super) fn no_service(dir: &Path) -> Failure {
    Failure::NoService {
        message: format!("no ferrosm service runs with state directory {}", dir.display()),
        hint: "Start it (`ferrosm run`), or name its state directory with --state-dir or its configuration with --config."
            .to_owned(),
    }
}

/// What the operator can do next.
const fn advice(command: ClientCommand, reason: Reason) -> &'static str {
    match reason {
        Reason::NotMaster => match command {
            ClientCommand::Takeover => {
                "To make this SM master, run `ferrosm handover` on the master."
            }
            ClientCommand::Sweep | ClientCommand::Reroute | ClientCommand::Handover => {
                "Run the command on the master. If the subnet has none, `ferrosm takeover` makes this SM master."
            }
        },
        Reason::MastershipLost => "Run the command on the new master.",
        Reason::AlreadyMaster => "",
        Reason::NoLink => "`ferrosm ports` shows the state of the local ports.",
        Reason::RoutingFailed => {
            "The log of the service has the result of each engine; `ferrosm route` tries others offline."
        }
        Reason::NotHandedOver => {
            "Start a standby, or check priority and state of the other SMs, then run the command again."
        }
        Reason::NotFullyUp => {
            "The other nodes carry data, except hosts that only an excluded device connects. An excluded device is added \
             again when its problem is solved; one that does not respond may need a restart. If there are other problems, resolve them, \
             then run the command again."
        }
        Reason::Superseded | Reason::Busy => "Run the command again.",
        Reason::Stopping => "",
        Reason::Timeout => {
            "The log of the service shows when it is complete; --wait-s waits longer."
        }
        Reason::InvalidRequest => "Use the `ferrosm` of the version that runs as the service.",
    }
}
