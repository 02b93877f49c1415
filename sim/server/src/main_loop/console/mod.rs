//! Console commands: statements of the scenario language, and queries.
//!
//! A reply ends with `ok`, or with a line `error: ` and the reason. Statements become actions of
//! the net; queries read the devices.

mod judge;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ferrosm_mad::attr::{self, NodeType};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{DropReason, Fabric, NodeCounters, PortCounter, SpecError};
use ferrosm_sim::ibnet;
use ferrosm_sim::net::Net;
use ferrosm_sim::scenario::{
    self, NodeNames, Query, ScenarioCommand, ScenarioError, ScenarioProblem, ScenarioTarget,
    Script, ScriptClock, Statement,
};
use ferrosm_sim::spec::PortAt;

use super::{AttachedProgram, SimulatorLoop};
use crate::request::ConnId;
use crate::similar_names::{nearest, suggest};
pub use judge::PathSlParser;

/// Why a scenario file cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioFileError {
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A statement is invalid.
    #[error("{}: {error}{suggestion}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error, with line and column.
        error: ScenarioError,
        /// Similar names, as the end of a message; may be empty.
        suggestion: String,
    },
}

/// Schedules the statements of a scenario file.
///
/// # Errors
/// The file cannot be read, or a line is invalid (with line and column).
pub fn play(net: &mut Net, path: &Path) -> Result<(), ScenarioFileError> {
    let in_file = |error: ScenarioError| ScenarioFileError::Invalid {
        path: path.to_owned(),
        suggestion: suggest_correction(&error.problem, net.fabric()),
        error,
    };
    let text = fs::read_to_string(path).map_err(|source| ScenarioFileError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let script = Script::parse(&text).map_err(in_file)?;
    let plan = script.plan(net.fabric(), net.now()).map_err(in_file)?;
    for (at, action) in plan {
        net.schedule(at, action);
    }
    Ok(())
}

/// Executes a line and returns the reply.
pub(crate) fn run_line(simulator: &mut SimulatorLoop, line: &str, now: Instant) -> String {
    match execute(simulator, line, now) {
        Ok(mut text) => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text + "ok\n"
        }
        Err(FailedCommand { output, reason }) => {
            format!("{output}error: {}\n", reason.replace('\n', " "))
        }
    }
}

/// A command that was rejected or reports a fault.
struct FailedCommand {
    /// Complete lines before the reason.
    output: String,
    reason: String,
}

impl From<String> for FailedCommand {
    fn from(reason: String) -> Self {
        Self {
            output: String::new(),
            reason,
        }
    }
}

fn execute(
    simulator: &mut SimulatorLoop,
    line: &str,
    now: Instant,
) -> Result<String, FailedCommand> {
    if let Some(reply) = execute_server_command(simulator, line.trim()) {
        return reply;
    }
    let parsed = Statement::parse(line).map_err(|e| in_line(&e, simulator.net.fabric()))?;
    let Some(statement) = parsed else {
        return Ok(String::new());
    };
    if let ScenarioCommand::Query(query) = &statement.command {
        return Ok(run_query(simulator, query)?);
    }
    simulator.advance(now);
    let fabric = simulator.net.fabric();
    let names = NodeNames::of(fabric);
    let plan = statement
        .plan(&names, fabric, &mut ScriptClock::new(now))
        .map_err(|e| in_line(&e, fabric))?;
    for (at, action) in plan {
        if at > now {
            simulator.net.schedule(at, action);
        } else {
            let acted = simulator.net.act(action);
            acted.map_err(|e| describe_action_error(simulator.net.fabric(), &e))?;
        }
    }
    Ok(String::new())
}

/// Commands of the server that are not in the scenario language.
const SERVER_COMMANDS: [&str; 4] = ["judge", "topology", "smps", "lids"];

/// The reply to one of [`SERVER_COMMANDS`]; `None` for another command.
fn execute_server_command(
    simulator: &SimulatorLoop,
    line: &str,
) -> Option<Result<String, FailedCommand>> {
    let (command, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = SERVER_COMMANDS.into_iter().find(|c| *c == command)?;
    let argument = arguments.split('#').next().unwrap_or_default().trim();
    if !argument.is_empty() && command != "judge" {
        return Some(Err(format!("`{command}` has no arguments").into()));
    }
    let fabric = simulator.net.fabric();
    Some(match command {
        "judge" => judge::judge(fabric, argument, simulator.path_sl_parser),
        "topology" => {
            let mut text = String::new();
            // Writing into a String cannot fail.
            let _ = ibnet::write(&simulator.spec, &mut text);
            Ok(text)
        }
        "smps" => Ok(smps(fabric)),
        _ => Ok(lids(fabric)),
    })
}

/// An error of a statement. It has one line, whose number only the client knows.
fn in_line(error: &ScenarioError, fabric: &Fabric) -> String {
    let ScenarioError {
        column, problem, ..
    } = error;
    let suggestion = suggest_correction(problem, fabric);
    format!("column {column}: {problem}{suggestion}")
}

/// The end of a message about an unknown name.
fn suggest_correction(problem: &ScenarioProblem, fabric: &Fabric) -> String {
    match problem {
        ScenarioProblem::NoSuchCommand(word) => {
            let scenario_commands = scenario::HELP.iter().map(|(form, _)| *form);
            let first_words = scenario_commands.filter_map(|form| form.split(' ').next());
            let nearest = nearest(word, first_words.chain(SERVER_COMMANDS));
            nearest.first().map_or_else(String::new, |command| {
                format!("; did you mean `{command}`?")
            })
        }
        ScenarioProblem::NoSuchNode(name) => {
            let nodes = 0..fabric.num_nodes();
            let names: Vec<String> = nodes.map(|n| fabric.description(n).to_string()).collect();
            suggest(name.trim_matches('"'), names.iter().map(String::as_str))
        }
        ScenarioProblem::NoSuchCounter(name) => {
            let names = PortCounter::ALL.iter().map(|counter| counter.name());
            match nearest(name, names.clone()).first() {
                Some(counter) => format!("; did you mean `{counter}`?"),
                None => {
                    let names: Vec<&str> = names.collect();
                    format!("; the counters are {}", names.join(", "))
                }
            }
        }
        ScenarioProblem::Expected { .. }
        | ScenarioProblem::OpenQuote
        | ScenarioProblem::AmbiguousNode { .. }
        | ScenarioProblem::NoSuchPort { .. }
        | ScenarioProblem::QueryInScenario => String::new(),
    }
}

/// An error of an action, with the name of the port.
fn describe_action_error(fabric: &Fabric, error: &SpecError) -> String {
    match error {
        SpecError::NoCable(at) => format!("{} has no cable", port_name(fabric, *at)),
        SpecError::PortInUse(at) => format!("{} is in use", port_name(fabric, *at)),
        SpecError::NoSuchPort(_)
        | SpecError::Empty
        | SpecError::TooManyPorts { .. }
        | SpecError::MissingGuids { .. }
        | SpecError::UnknownKind(_) => error.to_string(),
    }
}

const SERVER_HELP: &str = "
Only while the fabric is served:
  judge [SL|FILE]
              check the tables in all devices: reachability, loops, credit loops, multicast, partitions; exit status 1 if violated. SL:
              that of all packets; FILE: opensm-path-sl.dump. Without them, credit loops are judged where SLs do not select VLs
  topology    print the fabric as loaded, as a file
  smps        count the SMPs that reached the agents of nodes since the start, by attribute
  lids        print GUID, base LID and LMC of every end port, from the devices

Before a command:
  at TIME | after TIME                 execute it at this time after the start, or after the previous statement
  every TIME N times                   repeat it

Words:
  NODE        name, GUID, or number from 0 in the order of `topology`; names with blanks or a leading digit in quotes: \"host 1\"
  PORT        NODE[PORT NUMBER], such as leaf-0-0[1]
  LINK        PORT: both directions of its link; `into PORT`, `out-of PORT`: one direction
  SCOPE       all (default), NODE or LINK
  TIME        such as 100ms, 1.5s, 2min
  PERCENT     such as 20%
  COUNTER     such as symbol_errors; an error message lists all
  KIND        data, status, tid, attribute, modifier or any
";

/// Commands, statements and queries with their effects.
#[must_use]
pub fn help() -> String {
    scenario::help() + SERVER_HELP
}

fn run_query(simulator: &SimulatorLoop, query: &Query) -> Result<String, String> {
    match query {
        Query::Help => Ok(help()),
        Query::Status => Ok(status(simulator)),
        Query::Clients => Ok(clients(simulator)),
        Query::Links => Ok(links(simulator.net.fabric())),
        Query::Counters(target) => counters(simulator.net.fabric(), target.as_ref()),
    }
}

fn status(simulator: &SimulatorLoop) -> String {
    let fabric = simulator.net.fabric();
    let mut kinds = [0usize; 3];
    let mut up = 0usize;
    let mut down = 0usize;
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
        "{} umad devices open; {} MADs written by programs, {} of them invalid",
        simulator.devices.len(),
        simulator.served,
        simulator.rejected
    );
    let _ = writeln!(
        out,
        "{} packets sent by programs, {} delivered to programs, {} traps of devices, {} lost",
        totals.sent,
        totals.delivered,
        totals.traps,
        totals.all_dropped()
    );
    for reason in DropReason::ALL {
        let count = totals.dropped(reason);
        if count > 0 {
            let _ = writeln!(out, "  {count} lost: {reason}");
        }
    }
    for (at, error) in simulator.net.action_errors() {
        let error = describe_action_error(fabric, error);
        let time = humantime::format_duration(at.since(Instant::START));
        let _ = writeln!(out, "statement for {time} after the start failed: {error}");
    }
    out
}

/// The attached programs: a line for each umad device, or one if it has none open.
fn clients(simulator: &SimulatorLoop) -> String {
    let fabric = simulator.net.fabric();
    let device_of = |conn: &ConnId| simulator.devices.iter().find(|d| d.conn == *conn);
    let mut lines: BTreeSet<String> = BTreeSet::new();
    for (conn, client) in &simulator.clients {
        let AttachedProgram { program, pid, cas } = client;
        let mut connections = simulator.clients.iter().filter(|(_, c)| c.pid == *pid);
        let queue = match device_of(conn) {
            Some(device) => {
                let file = device.file;
                let umad = &simulator.umad;
                format!(
                    "{} MADs waiting until it reads them, {} lost because its queue was full, {} responses without a request discarded",
                    umad.queued(file),
                    umad.dropped(file),
                    umad.unmatched(file)
                )
            }
            // Other connections of a program serve files or other devices.
            None if connections.any(|(conn, _)| device_of(conn).is_some()) => continue,
            None => "no umad device open".to_owned(),
        };
        let names: Vec<String> = cas
            .iter()
            .map(|&node| format!("\"{}\"", fabric.description(node)))
            .collect();
        lines.insert(format!(
            "{program} (PID {pid}) at {}: {queue}\n",
            names.join(", ")
        ));
    }
    if lines.is_empty() {
        return "no program is attached\n".to_owned();
    }
    lines.into_iter().collect()
}

fn port_name(fabric: &Fabric, at: PortAt) -> String {
    format!("\"{}\"[{}]", fabric.description(at.node), at.port)
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
    let mut gets = sum.all_gets();
    let mut sets = sum.all_sets();
    for attr in NodeCounters::ATTRIBUTES {
        let get = sum.gets(attr);
        let set = sum.sets(attr);
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
