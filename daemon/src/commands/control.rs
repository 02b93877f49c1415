//! `ferrosm sweep`, `handover`, `takeover` and `commands`: commands that a running service
//! executes.

use core::time::Duration;

use ferrosm_api::command::{Command, CommandState, Commands};
use hyper::Method;

use super::ask::ask;
use super::service::{failure, state_dir};
use crate::api::client::Call;
use crate::api::socket_to_ask;
use crate::cli::{AskArgs, ServiceArgs, SweepArgs, TakeoverArgs};
use crate::failure::Failure;
use crate::output::{self, answers};

/// Runs `sweep`.
///
/// # Errors
/// If no service runs, it is not master, no full sweep is complete in time, or the subnet is not
/// fully up.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let resource = if args.reroute { "reroute" } else { "sweep" };
    execute(&args.service, resource, None)
}

/// Runs `handover`.
///
/// # Errors
/// If no service runs, it is not master, or no other SM takes over.
pub fn handover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, "handover", None)
}

/// Runs `takeover`.
///
/// # Errors
/// If no service runs, or it does not become master.
pub fn takeover(args: &TakeoverArgs) -> Result<(), Failure> {
    let accepted = args.accept.map(|_| ("accept", "p-key-removal".to_owned()));
    execute(&args.service, "takeover", accepted)
}

/// Runs `commands`.
///
/// # Errors
/// If no service answers.
pub fn commands(args: &AskArgs) -> Result<(), Failure> {
    ask::<Commands>(args, "commands", &[], answers::commands).map(drop)
}

fn execute(
    args: &ServiceArgs,
    resource: &str,
    option: Option<(&'static str, String)>,
) -> Result<(), Failure> {
    let dir = state_dir(&args.service)?;
    let mut query = vec![("wait_s", args.wait_s.to_string())];
    query.extend(option);
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    let call = Call {
        socket: &socket_to_ask(&dir),
        method: Method::POST,
        resource,
        query: &query,
        wait: Duration::from_secs(args.wait_s),
    };
    let received = call
        .send::<Command>()
        .map_err(|e| failure(&args.service, &dir, e))?;
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
