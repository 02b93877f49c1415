//! `ferrosm cabling`: compares the cables of the fabric with a plan.

use core::time::Duration;
use std::fs;

use ferrosm_api::answer::{PAGE_LIMIT_MAX, Page};
use ferrosm_api::fabric::{Link, Node};
use hyper::Method;
use serde::de::DeserializeOwned;

use super::service::{self, failure};
use crate::api::client::Call;
use crate::cabling::compare::compare;
use crate::cabling::fabric::CabledFabric;
use crate::cabling::ndt;
use crate::cabling::plan::CablingPlan;
use crate::cli::{CabledFabricArgs, CablingCommand, ServiceDirArgs};
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::{fabric, spec};
use crate::output::{self, cabling as text, json};

/// Most objects of a page.
const PAGE_LIMIT: usize = PAGE_LIMIT_MAX;

/// Runs the command.
///
/// # Errors
/// If no service answers, the plan cannot be read, or the cables are not as planned.
pub fn run(command: &CablingCommand) -> Result<(), Failure> {
    let (plan, fabric_args, is_json) = match command {
        CablingCommand::Learn { fabric } => {
            return output::print(&ndt::write(&read_fabric(fabric)?));
        }
        CablingCommand::Check { plan, fabric, json } => (plan, fabric, *json),
    };
    let bytes = fs::read(plan)
        .map_err(|e| Failure::runtime(format!("cannot read {}: {e}", plan.display())))?;
    let invalid = |error| Failure::runtime(format!("{}: {error}", plan.display()));
    // Names in other encodings only match by pattern.
    let planned = CablingPlan::read(&String::from_utf8_lossy(&bytes)).map_err(invalid)?;
    let report = compare(&planned, &read_fabric(fabric_args)?).map_err(invalid)?;
    if is_json {
        output::print(&json::pretty(&report))?;
    } else {
        output::print(&text::report(&report))?;
    }
    match report.findings.is_empty() {
        true => Ok(()),
        false => Err(Failure::Status(1)),
    }
}

fn read_fabric(args: &CabledFabricArgs) -> Result<CabledFabric, Failure> {
    #[cfg(feature = "simulator")]
    if let Some(from) = &args.from {
        let observed = spec::observed(&fabric::load(from)?);
        return Ok(CabledFabric::of_snapshot(&spec::snapshot(
            &observed, None, None,
        )));
    }
    of_service(&args.service)
}

/// The nodes and cables of the fabric of a service.
pub(super) fn of_service(service: &ServiceDirArgs) -> Result<CabledFabric, Failure> {
    let nodes = all::<Node>(service, "nodes")?;
    let links = all::<Link>(service, "links")?;
    Ok(CabledFabric::of_answers(&nodes, &links))
}

/// All objects of a list.
fn all<T: DeserializeOwned>(args: &ServiceDirArgs, resource: &str) -> Result<Vec<T>, Failure> {
    let endpoint = service::endpoint(args)?;
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("limit", PAGE_LIMIT.to_string())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let call = Call {
            endpoint: &endpoint,
            method: Method::GET,
            resource,
            query: &query,
            wait: Duration::ZERO,
        };
        let page = call
            .send::<Page<T>>()
            .map_err(|e| failure(args, &endpoint, e))?
            .answer
            .body;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(items);
        }
    }
}
