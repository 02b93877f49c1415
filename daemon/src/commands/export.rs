//! `ferrosm export`: the fabric for other programs.

use std::fs;
use std::path::Path;

use super::fabric_source::read;
use crate::cli::{FabricExportCommand, SlurmArgs};
use crate::exports::slurm::names::NodeNaming;
use crate::exports::slurm::{SlurmTopology, SlurmTopologyKind, TopologyFile, difference};
use crate::exports::{csv, dot};
use crate::failure::Failure;
use crate::output;

/// Hosts that are not in the file, and are listed.
const MISSING_LISTED_MAX: usize = 5;

/// Runs the command.
///
/// # Errors
/// If no service answers, a file cannot be read, or a topology.conf differs from the fabric.
pub fn run(command: &FabricExportCommand) -> Result<(), Failure> {
    match command {
        FabricExportCommand::Slurm(args) => slurm(args),
        FabricExportCommand::Csv { fabric } => output::print(&csv::render(&read(fabric)?)),
        FabricExportCommand::Dot { fabric } => output::print(&dot::render(&read(fabric)?)),
    }
}

fn slurm(args: &SlurmArgs) -> Result<(), Failure> {
    let mut naming = NodeNaming {
        substitutions: args.names.clone(),
        ..NodeNaming::default()
    };
    if let Some(map) = &args.map {
        let named = naming.read_map(&text_of(map)?);
        named.map_err(|e| Failure::runtime(format!("{}: {e}", map.display())))?;
    }
    let kind = match args.block {
        true => SlurmTopologyKind::Block,
        false => SlurmTopologyKind::Tree,
    };
    let topology = SlurmTopology::new(&read(&args.fabric)?, kind, &naming);
    report_missing(
        &topology.unnamed,
        "Slurm would not accept their names. Name them with --names or --map",
    );
    report_missing(
        &topology.unconnected,
        "they have no link to a switch, so they are in no block",
    );
    let Some(file) = &args.check else {
        return output::print(&topology.text());
    };
    let invalid = |error| Failure::runtime(format!("{}: {error}", file.display()));
    let present = TopologyFile::read(&text_of(file)?).map_err(invalid)?;
    let wanted = TopologyFile::read(&topology.text()).map_err(invalid)?;
    let lines = difference(&present, &wanted);
    if lines.is_empty() {
        let summary = format!(
            "{} agrees with the fabric: {} switches, {} hosts\n",
            file.display(),
            topology.num_switches,
            topology.num_hosts
        );
        return output::print(&summary);
    }
    output::print(&(lines.join("\n") + "\n"))?;
    Err(Failure::Status(1))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path)
        .map_err(|e| Failure::runtime(format!("cannot read {}: {e}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Says which hosts are not in the file, and why.
fn report_missing(hosts: &[String], reason: &str) {
    if hosts.is_empty() {
        return;
    }
    let mut text = format!(
        "warning: {} left out: {reason}:\n",
        output::table::count(hosts.len(), "host", "hosts")
    );
    for name in hosts.iter().take(MISSING_LISTED_MAX) {
        text.push_str(&format!("  {name}\n"));
    }
    if hosts.len() > MISSING_LISTED_MAX {
        text.push_str("  ...\n");
    }
    output::print_error(&text);
}
