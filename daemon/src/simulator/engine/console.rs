//! Lines of text to the server: statements of the scenario language, and questions about the fabric.
//!
//! Every answer is some lines and then `ok`, or a line `error: ` with the reason. Nothing is decided
//! here: statements become actions of the net, questions are read off the devices.

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
    self, Command, NodeNames, Query, Script, ScriptClock, Statement, Target,
};
use ferrosm_sim::spec::PortAt;

use super::Engine;
use crate::failure::Failure;

/// Schedules what a scenario file says, from now on.
///
/// # Errors
/// If it cannot be read, or a line is wrong: with line and column.
pub fn play(net: &mut Net, path: &Path) -> Result<(), Failure> {
    let wrong = |e: &dyn std::fmt::Display| Failure::job(format!("{}: {e}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| wrong(&e))?;
    let script = Script::parse(&text).map_err(|e| wrong(&e))?;
    let plan = script
        .plan(net.fabric(), net.now())
        .map_err(|e| wrong(&e))?;
    for (at, action) in plan {
        net.schedule(at, action);
    }
    Ok(())
}

/// Does what a line says and returns the answer.
pub(in crate::simulator) fn obey(engine: &mut Engine, line: &str, now: Instant) -> String {
    match act(engine, line, now) {
        Ok(mut text) => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text + "ok\n"
        }
        Err(why) => format!("error: {}\n", why.replace('\n', " ")),
    }
}

fn act(engine: &mut Engine, line: &str, now: Instant) -> Result<String, String> {
    // What only a server can be asked.
    match line {
        "judge" => return judge(engine.net.fabric()),
        "topology" => {
            let mut text = String::new();
            // Writing into a String cannot fail.
            let _ = ibnet::write(&engine.spec, &mut text);
            return Ok(text);
        }
        "smps" => return Ok(smps(engine.net.fabric())),
        "lids" => return Ok(lids(engine.net.fabric())),
        _ => {}
    }
    let parsed = Statement::parse(line).map_err(|e| e.to_string())?;
    let Some(statement) = parsed else {
        return Ok(String::new());
    };
    if let Command::Query(query) = &statement.command {
        return ask(engine, query);
    }
    engine.advance(now);
    let fabric = engine.net.fabric();
    let names = NodeNames::of(fabric);
    let plan = statement
        .plan(&names, fabric, &mut ScriptClock::new(now))
        .map_err(|e| e.to_string())?;
    for (at, action) in plan {
        if at > now {
            engine.net.schedule(at, action);
        } else {
            engine.net.act(action).map_err(|e| e.to_string())?;
        }
    }
    Ok(String::new())
}

fn ask(engine: &Engine, query: &Query) -> Result<String, String> {
    match query {
        Query::Help => Ok(scenario::help()
            + "\nOnly here:\n  judge       what the oracle says of the tables in the devices\n  topology    the fabric as it was loaded, as a file\n"
            + "  smps        requests that reached agents so far, by attribute\n  lids        GUID, base LID and LMC of every end port, as in the devices\n"),
        Query::Status => Ok(status(engine)),
        Query::Clients => Ok(clients(engine)),
        Query::Links => Ok(links(engine.net.fabric())),
        Query::Counters(target) => counters(engine.net.fabric(), target.as_ref()),
    }
}

fn status(engine: &Engine) -> String {
    let fabric = engine.net.fabric();
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
        "{} devices open; {} MADs written, {} refused",
        engine.devices.len(),
        engine.served,
        engine.refused
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
    for (at, error) in engine.net.action_errors() {
        let _ = writeln!(out, "at {:?} it could not be done: {error}", at);
    }
    out
}

fn clients(engine: &Engine) -> String {
    let fabric = engine.net.fabric();
    let mut out = String::new();
    for (conn, client) in &engine.clients {
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
        if let Some(device) = engine.devices.iter().find(|d| d.conn == *conn) {
            let _ = write!(out, ": {} waiting", engine.umad.queued(device.file));
            let (dropped, unmatched) = (
                engine.umad.dropped(device.file),
                engine.umad.unmatched(device.file),
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

/// Every cable once: both ends and the states there.
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

/// Requests of subnet management that reached agents since the server began, of each attribute. All of them: what two managers
/// ask for cannot be told apart by it.
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

/// The addresses that the devices have, in the order of the fabric.
fn lids(fabric: &Fabric) -> String {
    let mut out = String::new();
    for at in fabric.end_ports() {
        let (lid, lmc) = fabric.lid(at);
        let _ = writeln!(out, "{} {} {lmc}", fabric.port_guid(at), lid.0);
    }
    out
}

fn counters(fabric: &Fabric, target: Option<&Target>) -> Result<String, String> {
    let names = NodeNames::of(fabric);
    let ports: Vec<PortAt> = match target {
        None => (0..fabric.num_nodes())
            .flat_map(|node| fabric.external_ports(node))
            .collect(),
        Some(Target::Node(node)) => {
            let node = names.node(node).map_err(|e| e.to_string())?;
            fabric.external_ports(node).collect()
        }
        Some(Target::Port(port)) => vec![names.port(port, fabric).map_err(|e| e.to_string())?],
    };
    let mut out = String::new();
    for at in ports {
        let counters = fabric.port_counters(at);
        let told: Vec<String> = PortCounter::ALL
            .iter()
            .map(|&which| (which.name(), counters.get(which)))
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !told.is_empty() || target.is_some() {
            let _ = writeln!(out, "{}: {}", port_name(fabric, at), told.join(", "));
        }
    }
    Ok(out)
}

/// The oracle's verdict, from the port of the master that the default port knows.
fn judge(fabric: &Fabric) -> Result<String, String> {
    let known = fabric
        .end_ports()
        .filter_map(|at| fabric.port_info(at))
        .map(|info| info.master_sm_lid)
        .find(|lid| lid.is_unicast())
        .ok_or("no port knows a master: no subnet manager was here")?;
    let master = fabric
        .end_ports()
        .find(|&at| fabric.lid(at).0 == known)
        .ok_or_else(|| format!("the master's LID {known} belongs to no port"))?;
    Ok(oracle::judge_fabric(fabric, &Expectations::new(master)).to_string())
}
