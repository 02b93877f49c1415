//! `ferrosm alarms`, `forget` and `notify`: what is wrong, acknowledgements, what is no longer
//! expected, and tests of notifications.

use core::time::Duration;

use ferrosm_api::alarm::{Alarm, Forgotten, NotifyTest};
use ferrosm_api::answer::Page;
use hyper::Method;

use super::ask::{ask, list_query};
use super::service::{endpoint, failure, send};
use crate::api::client::Call;
use crate::cli::{AlarmsArgs, AlarmsCommand, ForgetArgs, NotifyArgs, NotifyCommand};
use crate::failure::Failure;
use crate::output::{self, alarms};

/// How long a test of notifications may take.
const NOTIFY_WAIT: Duration = Duration::from_secs(30);

/// Runs `alarms`.
///
/// # Errors
/// If no service answers, or no such alarm is open.
pub fn run(args: &AlarmsArgs) -> Result<(), Failure> {
    let Some(command) = &args.command else {
        let query = list_query(&args.list, (!args.all).then_some("state!=cleared"));
        return ask::<Page<Alarm>>(&args.list.ask, "alarms", &query, alarms::list).map(drop);
    };
    let AlarmsCommand::Ack {
        id,
        until,
        reason,
        service,
        json,
    } = command;
    let mut query: Vec<(&str, String)> = Vec::new();
    query.extend(until.map(|time| ("for_s", time.as_secs().to_string())));
    query.extend(reason.clone().map(|reason| ("reason", reason)));
    let received = send::<Alarm>(service, Method::POST, &format!("alarms/{id}/ack"), &query)?;
    match json {
        true => output::print(&format!("{}\n", received.json)),
        false => output::print(&alarms::acknowledged(&received.answer.body)),
    }
}

/// Runs `forget`.
///
/// # Errors
/// If no service answers, or nothing that is gone has this name.
pub fn forget(args: &ForgetArgs) -> Result<(), Failure> {
    let mut query = vec![("name", args.name.clone())];
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    let received = send::<Forgotten>(&args.service, Method::POST, "forget", &query)?;
    match args.json {
        true => output::print(&format!("{}\n", received.json)),
        false => output::print(&alarms::forgotten(&received.answer.body)),
    }
}

/// Runs `notify`.
///
/// # Errors
/// If no service answers, or a target did not get the test.
pub fn notify(args: &NotifyArgs) -> Result<(), Failure> {
    let NotifyCommand::Test {
        name,
        service,
        json,
    } = &args.command;
    let endpoint = endpoint(service)?;
    let query: Vec<_> = name
        .clone()
        .map(|name| ("name", name))
        .into_iter()
        .collect();
    let call = Call {
        endpoint: &endpoint,
        method: Method::POST,
        resource: "notify/test",
        query: &query,
        wait: NOTIFY_WAIT,
    };
    let received = call
        .send::<NotifyTest>()
        .map_err(|e| failure(service, &endpoint, e))?;
    let results = &received.answer.body;
    match json {
        true => output::print(&format!("{}\n", received.json))?,
        false => output::print(&alarms::notify_results(results))?,
    }
    match results.items.iter().any(|result| result.error.is_some()) {
        true => Err(Failure::Status(1)),
        false => Ok(()),
    }
}
