//! Console commands: statements of the scenario language, and queries.
//!
//! A reply ends with `ok`, or is a line `error: ` with the reason. Statements become actions of the net; queries read the devices.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ferrosm_mad::attr::{self, NodeType};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{DropReason, Fabric, NodeCounters, PortCounter};
use ferrosm_sim::ibnet;
use ferrosm_sim::net::Net;
use ferrosm_sim::oracle::{self, Expectations};
use ferrosm_sim::scenario::{
    self, NodeNames, Query, ScenarioCommand, ScenarioError, ScenarioTarget, Script, ScriptClock,
    Statement,
};
use ferrosm_sim::spec::PortAt;

use super::SimulatorLoop;
use crate::failure::Failure;

/// Schedules the statements of a scenario file.
///
/// # Errors
/// The file cannot be read, or a line is invalid (with line and column).
pub fn play(net: &mut Net, path: &Path) -> Result<(), Failure> {
    let failure = |e: &dyn std::fmt::Display| Failure::runtime(format!("{}: {e}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| failure(&e))?;
    let script = Script::parse(&text).map_err(|e| failure(&e))?;
    let plan = script
        .plan(net.fabric(), net.now())
        .map_err(|e| failure(&e))?;
    for (at, action) in plan {
        net.schedule(at, action);
    }
    Ok(())
}

/// Executes a line and returns the reply.
pub(in crate::simulator) fn run_line(
    simulator: &mut SimulatorLoop,
    line: &str,
    now: Instant,
) -> String {
    match execute(simulator, line, now) {
        Ok(mut text) => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text + "ok\n"
        }
        Err(error) => format!("error: {}\n", error.replace('\n', " ")),
    }
}

fn execute(simulator: &mut SimulatorLoop, line: &str, now: Instant) -> Result<String, String> {
    // Commands of the server that are not in the scenario language.
    match line {
        "judge" => return judge(simulator.net.fabric()),
        "topology" => {
            let mut text = String::new();
            // Writing into a String cannot fail.
            let _ = ibnet::write(&simulator.spec, &mut text);
            return Ok(text);
        }
        "smps" => return Ok(smps(simulator.net.fabric())),
        "lids" => return Ok(lids(simulator.net.fabric())),
        _ => {}
    }
    // A statement has one line, whose number only the client knows.
    let in_line = |e: ScenarioError| format!("column {}: {}", e.column, e.problem);
    let parsed = Statement::parse(line).map_err(in_line)?;
    let Some(statement) = parsed else {
        return Ok(String::new());
    };
    if let ScenarioCommand::Query(query) = &statement.command {
        return run_query(simulator, query);
    }
    simulator.advance(now);
    let fabric = simulator.net.fabric();
    let names = NodeNames::of(fabric);
    let plan = statement
        .plan(&names, fabric, &mut ScriptClock::new(now))
        .map_err(in_line)?;
    for (at, action) in plan {
        if at > now {
            simulator.net.schedule(at, action);
        } else {
            simulator.net.act(action).map_err(|e| e.to_string())?;
        }
    }
    Ok(String::new())
}

fn run_query(simulator: &SimulatorLoop, query: &Query) -> Result<String, String> {
    match query {
        Query::Help => Ok(scenario::help()
            + "\nOnly here:\n  judge       checks of the tables in the devices: reachability, loops, credit loops, P_Keys\n"
            + "  topology    the fabric as loaded, as a file\n"
            + "  smps        SMPs that reached agents so far, by attribute\n"
            + "  lids        GUID, base LID and LMC of every end port, from the devices\n"
            + "\nWords:\n  NODE        name, GUID, or index from 0; names with blanks or a leading digit in quotes: \"host 1\"\n"
            + "  PORT        NODE[PORT NUMBER], such as leaf-0-0[1]\n"
            + "  LINK        PORT: both directions of its link; `into PORT`, `out-of PORT`: one direction\n"
            + "  SCOPE       all (default), NODE or LINK\n  TIME        such as 100ms, 1.5s, 2min\n  PERCENT     such as 20%\n"
            + "  KIND        data, status, tid, attribute, modifier or any\n"),
        Query::Status => Ok(status(simulator)),
        Query::Clients => Ok(clients(simulator)),
        Query::Links => Ok(links(simulator.net.fabric())),
        Query::Counters(target) => counters(simulator.net.fabric(), target.as_ref()),
    }
}

fn status(simulator: &SimulatorLoop) -> String {
    let fabric = simulator.net.fabric();
    let mut kinds = [0usize; 3];
    let (mut up, mut down) = (0usize, 0usize);
    for node in 0..fabric.num_nodes() {
        let kind = match fabric.kind(node) {
            NodeType::Switch => 0,
            NodeType::Router => 2,
            _ => 1,
        };
        kinds[kind] += 1;
        for port in fabric.external_ports(node) {
            if fabric.link_up(port) {
                up += 1;
            } else if fabric.cable_at(port).is_some() {
                down += 1;
            }
        }
    }
    let totals = fabric.totals();
    let mut out = String::new();
    // Writing into a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "{} switches, {} channel adapters, {} routers; {} links up, {} down",
        kinds[0],
        kinds[1],
        kinds[2],
        up / 2,
        down / 2
    );
    let _ = writeln!(
        out,
        "{} devices open; {} MADs written, {} rejected",
        simulator.devices.len(),
        simulator.served,
        simulator.rejected
    );
    let _ = writeln!(
        out,
        "{} packets sent, {} delivered to programs, {} traps, {} lost",
        totals.sent,
        totals.delivered,
        totals.traps,
        totals.all_dropped()
    );
    for reason in DropReason::ALL {
        let count = totals.dropped(reason);
        if count > 0 {
            let _ = writeln!(out, "  {count} {reason:?}");
        }
    }
    for (at, error) in simulator.net.action_errors() {
        let _ = writeln!(out, "action at {:?} failed: {error}", at);
    }
    out
}

fn clients(simulator: &SimulatorLoop) -> String {
    let fabric = simulator.net.fabric();
    let mut out = String::new();
    for (conn, client) in &simulator.clients {
        let names: Vec<String> = client
            .cas
            .iter()
            .map(|&node| format!("{:?}", fabric.description(node).to_string()))
            .collect();
        let _ = write!(
            out,
            "{} (process {}) at {}",
            client.program,
            client.pid,
            names.join(", ")
        );
        if let Some(device) = simulator.devices.iter().find(|d| d.conn == *conn) {
            let _ = write!(out, ": {} waiting", simulator.umad.queued(device.file));
            let (dropped, unmatched) = (
                simulator.umad.dropped(device.file),
                simulator.umad.unmatched(device.file),
            );
            let _ = write!(out, ", {dropped} dropped, {unmatched} unexpected");
        }
        out.push('\n');
    }
    out
}

fn port_name(fabric: &Fabric, at: PortAt) -> String {
    format!("{:?}[{}]", fabric.description(at.node).to_string(), at.port)
}

/// Every link once: both ports and their states.
fn links(fabric: &Fabric) -> String {
    let mut out = String::new();
    for node in 0..fabric.num_nodes() {
        for at in fabric.external_ports(node) {
            let Some(cable) = fabric.cable_at(at) else {
                continue;
            };
            let other = if cable.a == at { cable.b } else { cable.a };
            if other < at {
                continue;
            }
            let state = |at| {
                fabric
                    .port_info(at)
                    .map(|info| info.port_state.to_string())
                    .unwrap_or_default()
            };
            let _ = writeln!(
                out,
                "{} {}  {} {}  {}x{}",
                port_name(fabric, at),
                state(at),
                port_name(fabric, other),
                state(other),
                cable.width.0,
                cable.speed.name()
            );
        }
    }
    out
}

/// SMPs that reached agents since the server started, by attribute; of all SMs together.
fn smps(fabric: &Fabric) -> String {
    let sum = fabric.all_counters();
    let mut out = String::new();
    let (mut gets, mut sets) = (sum.all_gets(), sum.all_sets());
    for attr in NodeCounters::ATTRIBUTES {
        let (get, set) = (sum.gets(attr), sum.sets(attr));
        (gets, sets) = (gets - u64::from(get), sets - u64::from(set));
        let name = attr::id::name(attr).unwrap_or("?");
        let _ = writeln!(out, "{name} {get} gets {set} sets");
    }
    let _ = writeln!(out, "others {gets} gets {sets} sets");
    out
}

/// LIDs of the devices, in the order of the fabric.
fn lids(fabric: &Fabric) -> String {
    let mut out = String::new();
    for at in fabric.end_ports() {
        let (lid, lmc) = fabric.lid(at);
        let _ = writeln!(out, "{} {} {lmc}", fabric.port_guid(at), lid.0);
    }
    out
}

fn counters(fabric: &Fabric, target: Option<&ScenarioTarget>) -> Result<String, String> {
    let names = NodeNames::of(fabric);
    let ports: Vec<PortAt> = match target {
        None => (0..fabric.num_nodes())
            .flat_map(|node| fabric.external_ports(node))
            .collect(),
        Some(ScenarioTarget::Node(node)) => {
            let node = names.node(node).map_err(|e| e.to_string())?;
            fabric.external_ports(node).collect()
        }
        Some(ScenarioTarget::Port(port)) => {
            vec![names.port(port, fabric).map_err(|e| e.to_string())?]
        }
    };
    let mut out = String::new();
    for at in ports {
        let counters = fabric.port_counters(at);
        let nonzero: Vec<String> = PortCounter::ALL
            .iter()
            .map(|&counter| (counter.name(), counters.get(counter)))
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !nonzero.is_empty() || target.is_some() {
            let _ = writeln!(out, "{}: {}", port_name(fabric, at), nonzero.join(", "));
        }
    }
    Ok(out)
}

/// Verdict of the oracle, from the port of the master in the first MasterSMLID found.
fn judge(fabric: &Fabric) -> Result<String, String> {
    let known = fabric
        .end_ports()
        .filter_map(|at| fabric.port_info(at))
        .map(|info| info.master_sm_lid)
        .find(|lid| lid.is_unicast())
        .ok_or("no port has a MasterSMLID: no SM has configured the fabric")?;
    let master = fabric
        .end_ports()
        .find(|&at| fabric.lid(at).0 == known)
        .ok_or_else(|| format!("the master's LID {known} belongs to no port"))?;
    Ok(oracle::judge_fabric(fabric, &Expectations::new(master)).to_string())
}
