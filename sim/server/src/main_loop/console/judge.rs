//! Command `judge`: verdicts of the oracles on every part of the fabric that has a master SM.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, PortGuid, Sl};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::oracle::{
    self, Expectations, FabricSnapshot, SlTable, Traffic, connected_end_ports,
};
use ferrosm_sim::spec::{NodeIdx, PortAt};

use super::{FailedCommand, port_name};

/// Parses the SL of each path: for each source, the SLs indexed by destination LID. A source is the
/// GUID of a port or of its node. An SL above 15 means that the path has none.
pub type PathSlParser = fn(&str) -> Result<BTreeMap<PortGuid, Arc<[u8]>>, String>;

/// Verdict on every connected part that contains the SM in its MasterSMLIDs, and the nodes that
/// were not checked. Fails if there are violations. `argument` is the SL of all packets, the path
/// of a dump with the SL of each path, or empty.
pub(super) fn judge(
    fabric: &Fabric,
    argument: &str,
    parse_path_sl: PathSlParser,
) -> Result<String, FailedCommand> {
    let traffic = traffic(fabric, argument, parse_path_sl)?;
    let state = FabricSnapshot::from(fabric);
    let parts = connected_end_ports(&state);
    let mut out = String::new();
    let mut checked: BTreeSet<NodeIdx> = BTreeSet::new();
    let mut violations = 0;
    let mut judges_credit_loops = true;
    let mut is_configured = false;
    for part in &parts {
        let Some(lid) = master_sm_lid(&state, part) else {
            continue;
        };
        is_configured = true;
        let has_lid = |at: &&PortAt| state.port(**at).is_some_and(|port| port.info.lid == lid);
        let Some(master) = part.iter().find(has_lid).copied() else {
            continue;
        };
        let verdict = oracle::judge(&state, &expectations(&state, master, traffic.clone()));
        judges_credit_loops &= verdict.judges_credit_loops;
        violations += verdict.violations.len();
        checked.extend(part.iter().map(|at| at.node));
        let sm = port_name(fabric, master);
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "{verdict}\nchecked: all nodes with a cable path to {sm}, the port of the last master SM; hung nodes count"
        );
    }
    if !is_configured {
        let reason = "no SM has configured the fabric: no port with a link has a MasterSMLID";
        return Err(reason.to_owned().into());
    }
    if checked.is_empty() {
        let reason = "nothing checked: no port with a link reaches the SM in its MasterSMLID";
        return Err(reason.to_owned().into());
    }
    if !judges_credit_loops {
        out.push_str(
            "not checked: credit loops, because the SL of a packet selects its VL here and the SLs of the paths are unknown; give the \
             SL of all packets (`judge 0`) or opensm-path-sl.dump of the SM (`judge FILE`)\n",
        );
    }
    let unchecked: Vec<NodeIdx> = (0..fabric.num_nodes())
        .filter(|node| !checked.contains(node))
        .collect();
    if let Some(first) = unchecked.first() {
        let nodes = count_nodes(fabric, &unchecked);
        let name = fabric.description(*first);
        let _ = writeln!(
            out,
            "not checked: {nodes} that no master SM reaches, such as \"{name}\""
        );
    }
    out.push_str("not checked: whether the P_Keys are those of the partition file\n");
    if violations == 0 {
        return Ok(out);
    }
    Err(FailedCommand {
        output: out,
        reason: count(violations, "violation", "violations"),
    })
}

/// The unicast MasterSMLID that most of these ports have.
fn master_sm_lid(state: &FabricSnapshot, part: &[PortAt]) -> Option<Lid> {
    let mut ports_by_lid: BTreeMap<Lid, usize> = BTreeMap::new();
    for port in part.iter().filter_map(|at| state.port(*at)) {
        let lid = port.info.master_sm_lid;
        if lid.is_unicast() {
            *ports_by_lid.entry(lid).or_default() += 1;
        }
    }
    let most = ports_by_lid.into_iter().max_by_key(|(_, ports)| *ports);
    most.map(|(lid, _)| lid)
}

/// The SLs of packets, from the command's argument.
fn traffic(
    fabric: &Fabric,
    argument: &str,
    parse_path_sl: PathSlParser,
) -> Result<Traffic, String> {
    if argument.is_empty() {
        return Ok(Traffic::Unknown);
    }
    if let Ok(sl) = argument.parse::<u8>() {
        return match sl {
            0..=15 => Ok(Traffic::OneSl(Sl(sl))),
            16.. => Err(format!("{sl} is no SL: SLs are 0 to 15")),
        };
    }
    let text = fs::read_to_string(argument)
        .map_err(|e| format!("cannot read the path SLs in {argument}: {e}"))?;
    let rows = parse_path_sl(&text).map_err(|error| format!("{argument}: {error}"))?;
    let row_of = |at: PortAt| {
        let node_guid = fabric.node_guid(at.node);
        let row = rows
            .get(&fabric.port_guid(at))
            .or_else(|| rows.get(&PortGuid(node_guid.0)));
        row.map(|row| (at, row.clone()))
    };
    let rows: BTreeMap<PortAt, _> = fabric.end_ports().filter_map(row_of).collect();
    Ok(Traffic::PerPath(SlTable::new(move |source, dest| {
        let sl = *rows.get(&source)?.get(usize::from(dest.raw()))?;
        (sl <= 15).then_some(Sl(sl))
    })))
}

/// The configuration of the SM is unknown.
fn expectations(state: &FabricSnapshot, master: PortAt, traffic: Traffic) -> Expectations {
    let mut expect = Expectations::new(master);
    expect.traffic = traffic;
    expect.partitions.keys = None;
    let ports = state
        .nodes
        .iter()
        .flat_map(|node| node.ports.iter().skip(1));
    let operational_vls = ports.map(|port| port.info.operational_vls).max();
    expect.max_operational_vls = operational_vls.unwrap_or(expect.max_operational_vls);
    expect
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `2 switches, 1 channel adapter`.
fn count_nodes(fabric: &Fabric, nodes: &[NodeIdx]) -> String {
    let count_kind = |kind: NodeType, one: &str, many: &str| {
        let n = nodes.iter().filter(|n| fabric.kind(**n) == kind).count();
        (n > 0).then(|| count(n, one, many))
    };
    let kinds: Vec<String> = [
        count_kind(NodeType::Switch, "switch", "switches"),
        count_kind(NodeType::Ca, "channel adapter", "channel adapters"),
        count_kind(NodeType::Router, "router", "routers"),
    ]
    .into_iter()
    .flatten()
    .collect();
    kinds.join(", ")
}
