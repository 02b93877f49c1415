//! The commands that ask a running service: `status`, `health`, `sms`, `nodes`, `links`, `limits`,
//! `where`, `path`. They only use the API.

use core::time::Duration;
use std::io::IsTerminal;
use std::thread::sleep;

use ferrosm_api::answer::{Answer, Page};
use ferrosm_api::change::{Changes, Diff};
use ferrosm_api::event::{EventSeverity, Events};
use ferrosm_api::fabric::{Link, Node, Where};
use ferrosm_api::invariant::{InvariantState, Invariants};
use ferrosm_api::path::Path;
use ferrosm_api::status::{Health, HealthState, Limits, Sms, Status};
use hyper::Method;
use serde::de::DeserializeOwned;

use super::service::{self, failure};
use crate::api::client::Call;
use crate::api::rfc3339;
use crate::cli::{
    AskArgs, AskAtArgs, ChangesArgs, DiffArgs, EventsArgs, LinksArgs, ListArgs, ListAtArgs,
    PathArgs, SeverityArg, TimeArgs, WhereArgs,
};
use crate::failure::Failure;
use crate::output::{self, answers};

/// Time between the questions of `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);
/// How long a request of `events --follow` waits.
const FOLLOW_WAIT: Duration = Duration::from_secs(30);
/// How long the service waits until the SM has read the fabric again.
const FRESH_WAIT: Duration = Duration::from_secs(60);
/// Exit status of `health` if the state is unknown.
const UNKNOWN: u8 = 3;

/// Runs `status`.
///
/// # Errors
/// If no service answers.
pub fn status(args: &AskAtArgs) -> Result<(), Failure> {
    ask_at::<Status>(&args.ask, &args.time, "status", &[], answers::status).map(drop)
}

/// Runs `health`.
///
/// # Errors
/// The state as exit status, unless it is ok.
pub fn health(args: &AskAtArgs) -> Result<(), Failure> {
    let asked = ask_at::<Health>(&args.ask, &args.time, "health", &[], answers::health);
    let answer = match asked {
        Ok(answer) => answer,
        // A monitoring system reads the exit status.
        Err(Failure::NoService { message, hint }) => {
            output::print(&format!("UNKNOWN  {message}\n  {hint}\n"))?;
            return Err(Failure::Status(UNKNOWN));
        }
        Err(other) => return Err(other),
    };
    match answer.body.state {
        HealthState::Ok => Ok(()),
        HealthState::Degraded => Err(Failure::Status(1)),
        HealthState::Down => Err(Failure::Status(2)),
        HealthState::Unknown => Err(Failure::Status(UNKNOWN)),
    }
}

/// Runs `sms`.
///
/// # Errors
/// If no service answers.
pub fn sms(args: &AskAtArgs) -> Result<(), Failure> {
    ask_at::<Sms>(&args.ask, &args.time, "sms", &[], answers::sms).map(drop)
}

/// Runs `nodes`.
///
/// # Errors
/// If no service answers, or the conditions are invalid.
pub fn nodes(args: &ListAtArgs) -> Result<(), Failure> {
    let list = &args.list;
    let query = list_query(list, None);
    ask_at::<Page<Node>>(&list.ask, &args.time, "nodes", &query, answers::nodes).map(drop)
}

/// Runs `links`.
///
/// # Errors
/// If no service answers, or the conditions are invalid.
pub fn links(args: &LinksArgs) -> Result<(), Failure> {
    let query = list_query(&args.list, args.problems.then_some("state!=up"));
    let ask = &args.list.ask;
    ask_at::<Page<Link>>(ask, &args.time, "links", &query, answers::links).map(drop)
}

/// Runs `limits`.
///
/// # Errors
/// If no service answers, or it does not know the fabric yet.
pub fn limits(args: &AskAtArgs) -> Result<(), Failure> {
    ask_at::<Limits>(&args.ask, &args.time, "limits", &[], answers::limits).map(drop)
}

/// Runs `invariants`.
///
/// # Errors
/// If no service answers, or one is violated.
pub fn invariants(args: &AskArgs) -> Result<(), Failure> {
    let answer = ask::<Invariants>(args, "invariants", &[], output::invariants::list)?;
    let mut items = answer.body.items.iter();
    match items.any(|status| status.state == InvariantState::Violated) {
        true => Err(Failure::Status(1)),
        false => Ok(()),
    }
}

/// Runs `where`.
///
/// # Errors
/// If no service answers, or no port has this name.
pub fn place(args: &WhereArgs) -> Result<(), Failure> {
    let query = [("name", args.name.clone())];
    ask_at::<Where>(&args.ask, &args.time, "where", &query, answers::places).map(drop)
}

/// Runs `path`.
///
/// # Errors
/// If no service answers, a name is unknown or ambiguous, or packets do not arrive.
pub fn path(args: &PathArgs) -> Result<(), Failure> {
    let query = [("from", args.from.clone()), ("to", args.to.clone())];
    let answer = ask_at::<Path>(&args.ask, &args.time, "paths", &query, answers::path)?;
    match answer.body.dropped {
        None => Ok(()),
        Some(_) => Err(Failure::Status(1)),
    }
}

/// Runs `changes`.
///
/// # Errors
/// If no service answers, or a kind is unknown.
pub fn changes(args: &ChangesArgs) -> Result<(), Failure> {
    let mut query = vec![("limit", args.limit.to_string())];
    let since_s = args.since.map(|since| since.as_secs().to_string());
    query.extend(since_s.map(|since_s| ("since_s", since_s)));
    query.extend(args.node.clone().map(|node| ("node", node)));
    query.extend(args.kind.clone().map(|kind| ("kind", kind)));
    ask::<Changes>(&args.ask, "changes", &query, answers::changes).map(drop)
}

/// Runs `diff`.
///
/// # Errors
/// If no service answers, or the first time is after the second.
pub fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let mut query = vec![("from", rfc3339(args.from))];
    query.extend(args.to.map(|to| ("to", rfc3339(to))));
    ask::<Diff>(&args.ask, "diff", &query, answers::diff).map(drop)
}

/// Runs `events`.
///
/// # Errors
/// If no service answers.
pub fn events(args: &EventsArgs) -> Result<(), Failure> {
    let endpoint = service::endpoint(&args.service)?;
    let severity = match args.severity {
        SeverityArg::Debug => EventSeverity::Debug,
        SeverityArg::Info => EventSeverity::Info,
        SeverityArg::Warning => EventSeverity::Warning,
        SeverityArg::Error => EventSeverity::Error,
    };
    let mut since = args.since;
    let mut is_connected = false;
    loop {
        let mut query = vec![("severity", severity.name().to_owned())];
        query.extend(since.map(|since| ("since", since.to_string())));
        if args.follow && since.is_some() {
            query.push(("wait_s", FOLLOW_WAIT.as_secs().to_string()));
        }
        let call = Call {
            endpoint: &endpoint,
            method: Method::GET,
            resource: "events",
            query: &query,
            wait: FOLLOW_WAIT,
        };
        let events = match call.send::<Events>() {
            Ok(received) => received.answer.body,
            // The service restarts.
            Err(_) if is_connected => {
                sleep(WATCH_INTERVAL);
                continue;
            }
            Err(e) => return Err(failure(&args.service, &endpoint, e)),
        };
        output::print(&match args.json {
            true => answers::event_lines(&events),
            false => answers::events(&events),
        })?;
        if !args.follow {
            return Ok(());
        }
        is_connected = true;
        since = Some(events.last);
    }
}

pub(super) fn list_query(args: &ListArgs, condition: Option<&str>) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", args.limit.to_string())];
    let conditions: Vec<&str> = condition
        .into_iter()
        .chain(args.conditions.as_deref())
        .collect();
    if !conditions.is_empty() {
        query.push(("where", conditions.join(",")));
    }
    query
}

/// Asks and prints, with `--watch` until interrupted.
pub(super) fn ask<T: DeserializeOwned>(
    args: &AskArgs,
    resource: &str,
    query: &[(&str, String)],
    render: fn(&Answer<T>) -> String,
) -> Result<Answer<T>, Failure> {
    ask_at(args, &TimeArgs::default(), resource, query, render)
}

/// Asks about a time and prints, with the time that the answer is of if it is not now.
pub(super) fn ask_at<T: DeserializeOwned>(
    args: &AskArgs,
    time: &TimeArgs,
    resource: &str,
    query: &[(&str, String)],
    render: fn(&Answer<T>) -> String,
) -> Result<Answer<T>, Failure> {
    let endpoint = service::endpoint(&args.service)?;
    let mut query = query.to_vec();
    query.extend(time.at.map(|at| ("at", rfc3339(at))));
    query.extend(time.fresh.then(|| ("fresh", "true".to_owned())));
    let call = Call {
        endpoint: &endpoint,
        method: Method::GET,
        resource,
        query: &query,
        wait: if time.fresh {
            FRESH_WAIT
        } else {
            Duration::ZERO
        },
    };
    loop {
        let received = call
            .send::<T>()
            .map_err(|e| failure(&args.service, &endpoint, e))?;
        if args.watch && std::io::stdout().is_terminal() {
            output::print("\x1b[H\x1b[2J")?;
        }
        if args.json {
            output::print(&format!("{}\n", received.json))?;
        } else {
            if time.at.is_some() {
                output::print(&answers::state_time(&received.answer))?;
            }
            output::print(&render(&received.answer))?;
        }
        if !args.watch {
            return Ok(received.answer);
        }
        sleep(WATCH_INTERVAL);
    }
}
