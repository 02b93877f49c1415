//! `ferrosm config diff`, `apply`, `confirm`, `rollback` and `history`: the configuration of the
//! running service.

use core::time::Duration;
use std::path::Path;

use ferrosm_api::answer::{Answer, ErrorKind};
use ferrosm_api::config::{ConfigChange, ConfigHistory, InputFile, NewConfiguration};
use hyper::Method;

use super::ask::ask;
use super::service::{endpoint, failure};
use crate::api::client::{AskError, Call, ReceivedAnswer};
use crate::cli::{ConfigChangeArgs, ConfigSendArgs, RunningConfigCommand, ServiceDirArgs};
use crate::config;
use crate::failure::Failure;
use crate::output::{self, changes};

/// Runs a command.
///
/// # Errors
/// A file has errors, no service answers, or it refuses the change.
pub fn run(command: &RunningConfigCommand) -> Result<(), Failure> {
    match command {
        RunningConfigCommand::Diff {
            file,
            service,
            json,
        } => diff(file, service, *json),
        RunningConfigCommand::Apply { file, change } => apply(file, change),
        RunningConfigCommand::Confirm {
            revision,
            force,
            send,
        } => confirm(*revision, *force, send),
        RunningConfigCommand::Rollback { revision, change } => roll_back(*revision, change),
        RunningConfigCommand::History(args) => {
            ask::<ConfigHistory>(args, "config", &[], changes::history).map(drop)
        }
    }
}

fn diff(file: &Path, service: &ServiceDirArgs, json: bool) -> Result<(), Failure> {
    let new = read_new(file)?;
    let query = [("dry_run", "true".to_owned())];
    let received = post(service, "config", &query, Some(&new))?;
    print(&received, json, |answer| {
        changes::difference(&answer.body, file)
    })
}

fn apply(file: &Path, args: &ConfigChangeArgs) -> Result<(), Failure> {
    let new = read_new(file)?;
    let received = post(
        &args.send.service,
        "config",
        &change_query(args),
        Some(&new),
    )?;
    print(&received, args.send.json, |answer| {
        changes::applied(&answer.body)
    })
}

fn confirm(revision: Option<u64>, force: bool, args: &ConfigSendArgs) -> Result<(), Failure> {
    let revision = match revision {
        Some(revision) => revision,
        None => read_history(&args.service)?.trial.ok_or_else(|| {
            Failure::with_hint(
                "no configuration is tried",
                "`ferrosm config history` shows what is in force.",
            )
        })?,
    };
    let resource = format!("config/{revision}/confirm");
    let received = post(&args.service, &resource, &query(args, force), None)?;
    print(&received, args.json, |answer| {
        changes::confirmed(&answer.body)
    })
}

fn roll_back(revision: Option<u64>, args: &ConfigChangeArgs) -> Result<(), Failure> {
    let revision = match revision {
        Some(revision) => revision,
        None => read_history(&args.send.service)?.previous.ok_or_else(|| {
            Failure::with_hint(
                "there is no earlier configuration",
                "`ferrosm config history` lists the revisions.",
            )
        })?,
    };
    let resource = format!("config/{revision}/rollback");
    let received = post(&args.send.service, &resource, &change_query(args), None)?;
    print(&received, args.send.json, |answer| {
        changes::rolled_back(&answer.body, revision)
    })
}

/// A configuration file and the files that it names. The service checks them.
fn read_new(file: &Path) -> Result<NewConfiguration, Failure> {
    let source = config::read(file)?;
    let inputs = source.read_named_inputs()?;
    let files = source.files(&source.settings);
    Ok(NewConfiguration {
        name: file.display().to_string(),
        toml: files.toml,
        inputs: inputs
            .into_iter()
            .map(|(name, text)| InputFile {
                name: name.display().to_string(),
                text,
            })
            .collect(),
    })
}

fn query(args: &ConfigSendArgs, force: bool) -> Vec<(&'static str, String)> {
    let mut query = Vec::new();
    if force {
        query.push(("force", "true".to_owned()));
    }
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    query
}

fn change_query(args: &ConfigChangeArgs) -> Vec<(&'static str, String)> {
    let mut query = query(&args.send, args.force);
    query.extend(args.accept.map(|_| ("accept", "invariant".to_owned())));
    let within = args.confirm_within;
    query.extend(within.map(|time| ("confirm_within_s", time.as_secs().to_string())));
    query
}

fn read_history(service: &ServiceDirArgs) -> Result<ConfigHistory, Failure> {
    let endpoint = endpoint(service)?;
    let call = Call {
        endpoint: &endpoint,
        method: Method::GET,
        resource: "config",
        query: &[],
        wait: Duration::ZERO,
    };
    let received = call.send::<ConfigHistory>();
    received
        .map(|received| received.answer.body)
        .map_err(|e| failure(service, &endpoint, e))
}

fn post(
    service: &ServiceDirArgs,
    resource: &str,
    query: &[(&str, String)],
    new: Option<&NewConfiguration>,
) -> Result<ReceivedAnswer<ConfigChange>, Failure> {
    let endpoint = endpoint(service)?;
    let call = Call {
        endpoint: &endpoint,
        method: Method::POST,
        resource,
        query,
        wait: Duration::ZERO,
    };
    let body = new
        .map(serde_json::to_vec)
        .transpose()
        .map_err(|e| Failure::runtime(format!("cannot encode the files: {e}")))?;
    let sent = call.send_body(body.unwrap_or_default());
    sent.map_err(|error| {
        if let AskError::Answered(error) = &error
            && error.kind == ErrorKind::InvalidConfiguration
        {
            return Failure::Unconfigured {
                message: error.message.clone(),
                hint: error.remedy.clone(),
            };
        }
        failure(service, &endpoint, error)
    })
}

fn print(
    received: &ReceivedAnswer<ConfigChange>,
    json: bool,
    text: impl Fn(&Answer<ConfigChange>) -> String,
) -> Result<(), Failure> {
    match json {
        true => output::print(&format!("{}\n", received.json)),
        false => output::print(&text(&received.answer)),
    }
}
