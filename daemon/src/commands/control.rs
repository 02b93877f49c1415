//! `ferrosm sweep`, `handover`, `takeover` and `commands`: commands that a running service executes.

use core::time::Duration;
use std::path::{Path, PathBuf};

use ferrosm_api::command::{Command, CommandState, Commands};
use hyper::Method;

use super::ask::{ask, failure};
use super::config;
use crate::api::client::Call;
use crate::api::socket_to_ask;
use crate::cli::{AskArgs, ServiceArgs, ServiceDirArgs, SweepArgs};
use crate::failure::Failure;
use crate::output::{self, answers};

/// Runs `sweep`.
///
/// # Errors
/// If no service runs, it is not master, no full sweep is complete in time, or the subnet is not
/// fully up.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let resource = if args.reroute { "reroute" } else { "sweep" };
    execute(&args.service, resource)
}

/// Runs `handover`.
///
/// # Errors
/// If no service runs, it is not master, or no other SM takes over.
pub fn handover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, "handover")
}

/// Runs `takeover`.
///
/// # Errors
/// If no service runs, or it does not become master.
pub fn takeover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, "takeover")
}

/// Runs `commands`.
///
/// # Errors
/// If no service answers.
pub fn commands(args: &AskArgs) -> Result<(), Failure> {
    ask::<Commands>(args, "commands", &[], answers::commands).map(drop)
}

fn execute(args: &ServiceArgs, resource: &str) -> Result<(), Failure> {
    let dir = state_dir(&args.service)?;
    let mut query = vec![("wait_s", args.wait_s.to_string())];
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    let call = Call {
        socket: &socket_to_ask(&dir),
        method: Method::POST,
        resource,
        query: &query,
        wait: Duration::from_secs(args.wait_s),
    };
    let received = call.send::<Command>();
    let received = received.map_err(|e| failure(&args.service, &dir, e))?;
    let command = &received.answer.body;
    if args.json {
        output::print(&format!("{}\n", received.json))?;
    }
    if command.state == CommandState::InProgress {
        return Err(Failure::with_hint(
            format!(
                "command {} not complete after {} s, still in progress",
                command.command, args.wait_s
            ),
            "`ferrosm commands` shows when it is complete; --wait-s waits longer.",
        ));
    }
    let text = answers::result(command);
    if command.findings.iter().any(|finding| finding.severe) {
        return Err(Failure::with_hint(
            text.trim_end(),
            "The other nodes carry data, except hosts that only an excluded device connects. An excluded device is added \
             again when its problem is solved; one that does not respond may need a restart. If there are other problems, resolve them, \
             then run the command again.",
        ));
    }
    match args.json {
        true => Ok(()),
        false => output::print(&text),
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

/// No service runs with a state directory.
pub(super) fn no_service(dir: &Path) -> Failure {
    Failure::NoService {
        message: format!("no ferrosm service runs with state directory {}", dir.display()),
        hint: "Start it (`ferrosm run`), or name its state directory with --state-dir or its configuration with --config."
            .to_owned(),
    }
}
