//! `ferrosm cabling`: compares the cables of the fabric with a plan.

use std::fs;

use ferrosm_api::fabric::{Link, Node};

use super::fabric_source::all;
use crate::cabling::compare::compare;
use crate::cabling::fabric::CabledFabric;
use crate::cabling::ndt;
use crate::cabling::plan::CablingPlan;
use crate::cli::{CablingCommand, FabricSourceArgs, ServiceDirArgs};
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::{fabric, spec};
use crate::output::{self, cabling as text, json};

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

fn read_fabric(args: &FabricSourceArgs) -> Result<CabledFabric, Failure> {
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
