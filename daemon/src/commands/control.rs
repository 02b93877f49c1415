//! `ferrosm sweep`, `handover`, `takeover` and `commands`: commands that a running service
//! executes.

use core::time::Duration;

use ferrosm_api::command::{ChangePlan, Command, CommandState, Commands};
use hyper::Method;
use serde::Serialize;

use super::ask::ask;
use super::service::{endpoint, failure};
use crate::api::client::Call;
use crate::cli::{AskArgs, ServiceArgs, SweepArgs, TakeoverArgs};
use crate::failure::Failure;
use crate::output::{self, answers, what_if};

/// Runs `sweep`.
///
/// # Errors
/// If no service runs, it is not master, no full sweep is complete in time, or the subnet is not
/// fully up.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let resource = if args.reroute { "reroute" } else { "sweep" };
    let request = Request {
        option: args.exclude.then_some(("exclude", "true")),
        ..Request::new(Method::POST, resource)
    };
    execute(&args.service, &request)
}

/// Runs `handover`.
///
/// # Errors
/// If no service runs, it is not master, or no other SM takes over.
pub fn handover(args: &ServiceArgs) -> Result<(), Failure> {
    execute(args, &Request::new(Method::POST, "handover"))
}

/// Runs `takeover`.
///
/// # Errors
/// If no service runs, or it does not become master.
pub fn takeover(args: &TakeoverArgs) -> Result<(), Failure> {
    if args.accept.is_empty() {
        return execute(&args.service, &Request::new(Method::POST, "takeover"));
    }
    for consequence in &args.accept {
        let request = Request {
            option: Some(("accept", consequence.kind().name())),
            ..Request::new(Method::POST, "takeover")
        };
        execute(&args.service, &request)?;
    }
    Ok(())
}

/// Runs `commands`.
///
/// # Errors
/// If no service answers.
pub fn commands(args: &AskArgs) -> Result<(), Failure> {
    ask::<Commands>(args, "commands", &[], answers::commands).map(drop)
}

/// A request that makes the service execute a command.
#[derive(Debug)]
pub(super) struct Request<'a> {
    method: Method,
    resource: &'a str,
    /// A part of the query.
    option: Option<(&'static str, &'static str)>,
    /// JSON.
    body: Option<String>,
    execution: Execution,
}

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// It is executed.
    Real,
    /// The service says what it would do.
    DryRun,
}

impl Execution {
    pub(super) const fn of(is_dry_run: bool) -> Self {
        match is_dry_run {
            true => Self::DryRun,
            false => Self::Real,
        }
    }
}

impl<'a> Request<'a> {
    pub(super) const fn new(method: Method, resource: &'a str) -> Self {
        Self {
            method,
            resource,
            option: None,
            body: None,
            execution: Execution::Real,
        }
    }

    pub(super) fn with_option(self, option: Option<(&'static str, &'static str)>) -> Self {
        Self { option, ..self }
    }

    pub(super) fn with_execution(self, execution: Execution) -> Self {
        Self { execution, ..self }
    }

    pub(super) fn with_body(self, body: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_string(body);
        Ok(Self {
            body: Some(body.map_err(|e| Failure::runtime(e.to_string()))?),
            ..self
        })
    }
}

/// Sends a command to the service, waits for its result and prints it.
pub(super) fn execute(args: &ServiceArgs, request: &Request<'_>) -> Result<(), Failure> {
    let endpoint = endpoint(&args.service)?;
    let mut query = vec![("wait_s", args.wait_s.to_string())];
    query.extend(request.option.map(|(name, value)| (name, value.to_owned())));
    if request.execution == Execution::DryRun {
        query.push(("dry_run", true.to_string()));
    }
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    let call = Call {
        endpoint: &endpoint,
        method: request.method.clone(),
        resource: request.resource,
        query: &query,
        wait: Duration::from_secs(args.wait_s),
    };
    let body = request.body.clone().unwrap_or_default().into_bytes();
    if request.execution == Execution::DryRun {
        let received = call
            .send_body::<ChangePlan>(body)
            .map_err(|e| failure(&args.service, &endpoint, e))?;
        let plan = &received.answer.body;
        output::print(&match args.json {
            true => format!("{}\n", received.json),
            false => what_if::change_plan(plan),
        })?;
        let accepts = request.option == Some(("accept", "invariant"));
        return match plan.violations.is_empty() || accepts {
            true => Ok(()),
            false => Err(Failure::Status(1)),
        };
    }
    let received = call
        .send_body::<Command>(body)
        .map_err(|e| failure(&args.service, &endpoint, e))?;
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
