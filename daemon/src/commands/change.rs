//! `ferrosm partition`, `drain`, `undrain`, `port` and `maintenance`: partitions and what is in
//! service.

use core::time::Duration;

use ferrosm_api::answer::Page;
use ferrosm_api::maintenance::{
    DrainRequest, MaintenanceItems, PortDisableRequest, PortLimitsItems, PortLimitsRequest,
    ServiceRequest,
};
use ferrosm_api::partition::{MemberChanges, PartitionDefinition, PartitionMember, Partitions};
use hyper::Method;

use super::ask::{ask, ask_at, list_query};
use super::control::{Execution, Request, execute};
use crate::api::client::encoded;
use crate::cli::{
    AcceptedConsequence, AskArgs, DrainArgs, InServiceArgs, PartitionAddArgs, PartitionCommand,
    PartitionSetArgs, PortCommand, ServiceArgs,
};
use crate::failure::Failure;
use crate::output::{self, answers};

/// Time for which `port reset` disables a port, in seconds.
const RESET_S: u64 = 2;

/// Runs `partition`.
///
/// # Errors
/// If no service answers, there is no such partition, or the SM refuses it.
pub fn partition(command: &PartitionCommand) -> Result<(), Failure> {
    match command {
        PartitionCommand::List(args) => ask_at::<Partitions>(
            &args.ask,
            &args.time,
            "partitions",
            &[],
            answers::partitions,
        )
        .map(drop),
        PartitionCommand::Show { partition, list } => {
            let resource = format!("partitions/{}/members", encoded(partition));
            let query = list_query(&list.list, None);
            ask_at::<Page<PartitionMember>>(
                &list.list.ask,
                &list.time,
                &resource,
                &query,
                answers::members,
            )
            .map(drop)
        }
        PartitionCommand::Add(args) => add_partition(args),
        PartitionCommand::Set(args) => set_members(args),
        PartitionCommand::Remove {
            partition,
            accept,
            dry_run,
            service,
        } => {
            let resource = format!("partitions/{}", encoded(partition));
            let request =
                Request::new(Method::DELETE, &resource).with_option(accepted(accept.is_some()));
            send(service, request, *dry_run)
        }
    }
}

/// Texts that commas separate. Those in brackets belong to a host list.
fn separated(texts: &[String]) -> Vec<String> {
    let mut parts = Vec::new();
    for text in texts {
        let mut part = String::new();
        let mut is_bracketed = false;
        for letter in text.chars() {
            match letter {
                '[' => is_bracketed = true,
                ']' => is_bracketed = false,
                ',' if !is_bracketed => {
                    parts.push(core::mem::take(&mut part));
                    continue;
                }
                _ => {}
            }
            part.push(letter);
        }
        parts.push(part);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn add_partition(args: &PartitionAddArgs) -> Result<(), Failure> {
    let definition = PartitionDefinition {
        p_key: args.pkey.clone(),
        index0: args.index0,
        ipoib: args.ipoib,
        flags: args.flags.clone(),
        members: separated(&args.members),
        groups: Vec::new(),
    };
    let resource = format!("partitions/{}", encoded(&args.name));
    let request = Request::new(Method::PUT, &resource)
        .with_body(&definition)?
        .with_option(accepted(args.accept.is_some()));
    send(&args.service, request, args.dry_run)
}

fn set_members(args: &PartitionSetArgs) -> Result<(), Failure> {
    let changes = MemberChanges {
        add: separated(&args.add),
        remove: separated(&args.remove),
    };
    let resource = format!("partitions/{}/members", encoded(&args.partition));
    let request = Request::new(Method::PATCH, &resource)
        .with_body(&changes)?
        .with_option(accepted(args.accept.is_some()));
    send(&args.service, request, args.dry_run)
}

/// Runs `drain`.
///
/// # Errors
/// If no service answers, or the SM refuses it.
pub fn drain(args: &DrainArgs) -> Result<(), Failure> {
    let request = DrainRequest {
        target: args.target.clone(),
        for_s: args.time.as_ref().map(Duration::as_secs),
    };
    let drain = Request::new(Method::POST, "drain")
        .with_body(&request)?
        .with_option(accepted(args.accept.is_some()));
    send(&args.service, drain, args.dry_run)
}

/// Runs `undrain`.
///
/// # Errors
/// If no service answers, or nothing of this name is drained.
pub fn undrain(args: &InServiceArgs) -> Result<(), Failure> {
    put_back(args, "undrain")
}

/// Runs `port`.
///
/// # Errors
/// If no service answers, or the SM refuses it.
pub fn port(command: &PortCommand) -> Result<(), Failure> {
    match command {
        PortCommand::Disable {
            target,
            time,
            accept,
            dry_run,
            service,
        } => {
            let request = PortDisableRequest {
                target: target.clone(),
                for_s: time.as_ref().map(Duration::as_secs),
                accept_cut_off: accept.contains(&AcceptedConsequence::CutOff),
            };
            let disable = Request::new(Method::POST, "ports/disable").with_body(&request)?;
            let accepts = accept.contains(&AcceptedConsequence::Invariant);
            send(service, disable.with_option(accepted(accepts)), *dry_run)
        }
        PortCommand::Enable(args) => put_back(args, "ports/enable"),
        PortCommand::Set {
            target,
            mtu,
            rate,
            width,
            speed,
            accept,
            dry_run,
            service,
        } => {
            let request = PortLimitsRequest {
                target: target.clone(),
                mtu: *mtu,
                rate_gbps: *rate,
                width: *width,
                speed: speed.clone(),
                accept_cut_off: accept.contains(&AcceptedConsequence::CutOff),
            };
            let set = Request::new(Method::POST, "ports/set").with_body(&request)?;
            let accepts = accept.contains(&AcceptedConsequence::Invariant);
            send(service, set.with_option(accepted(accepts)), *dry_run)
        }
        PortCommand::Unset(args) => put_back(args, "ports/unset"),
        PortCommand::Limits(args) => {
            ask::<PortLimitsItems>(args, "ports/limits", &[], answers::port_limits).map(drop)
        }
        PortCommand::Reset {
            target,
            accept,
            service,
        } => {
            let request = PortDisableRequest {
                target: target.clone(),
                for_s: Some(RESET_S),
                accept_cut_off: accept.contains(&AcceptedConsequence::CutOff),
            };
            let disable = Request::new(Method::POST, "ports/disable").with_body(&request)?;
            let accepts = accept.contains(&AcceptedConsequence::Invariant);
            send(service, disable.with_option(accepted(accepts)), false)?;
            match service.json {
                true => Ok(()),
                false => output::print(&format!(
                    "The service enables it again after {RESET_S} s.\n"
                )),
            }
        }
    }
}

/// Runs `maintenance`.
///
/// # Errors
/// If no service answers.
pub fn maintenance(args: &AskArgs) -> Result<(), Failure> {
    ask::<MaintenanceItems>(args, "maintenance", &[], answers::maintenance).map(drop)
}

fn put_back(args: &InServiceArgs, resource: &str) -> Result<(), Failure> {
    let request = ServiceRequest {
        target: args.target.clone(),
    };
    let put_back = Request::new(Method::POST, resource).with_body(&request)?;
    send(&args.service, put_back, args.dry_run)
}

/// The part of the query that accepts violated invariants.
fn accepted(is_accepted: bool) -> Option<(&'static str, &'static str)> {
    is_accepted.then_some(("accept", "invariant"))
}

fn send(service: &ServiceArgs, request: Request<'_>, is_dry_run: bool) -> Result<(), Failure> {
    execute(service, &request.with_execution(Execution::of(is_dry_run)))
}
