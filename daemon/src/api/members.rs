//! Members of partitions as operators write them: GUIDs, names, host lists, patterns.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::NodeType;

use super::list::invalid;
use super::lookup;
use super::published::FabricState;
use crate::host_list::host_list;
use crate::pattern::is_match;

/// Most ports that one request may name.
const PORTS_MAX: usize = 100_000;
/// What stands for ports of a kind, as in the configuration.
const KINDS: [&str; 5] = ["ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"];

/// The members in the form of the configuration: port GUIDs and kinds, each with its membership if
/// it has one.
pub(super) fn resolve(fabric: &FabricState, members: &[String]) -> Result<Vec<String>, ApiError> {
    let mut resolved = Vec::new();
    for member in members {
        let (ports, membership) = match member.split_once('=') {
            Some((ports, membership)) => (ports.trim(), Some(membership.trim())),
            None => (member.trim(), None),
        };
        for port in ports_of(fabric, ports)? {
            resolved.push(match membership {
                Some(membership) => format!("{port}={membership}"),
                None => port,
            });
        }
        if resolved.len() > PORTS_MAX {
            return Err(invalid(format!("more than {PORTS_MAX} members")));
        }
    }
    Ok(resolved)
}

fn ports_of(fabric: &FabricState, text: &str) -> Result<Vec<String>, ApiError> {
    let is_guid = text.starts_with("0x") || text.starts_with("0X");
    if is_guid || KINDS.contains(&text) {
        // A GUID of a port that is not in the subnet yet is a member when it comes.
        return Ok(vec![text.to_owned()]);
    }
    let snapshot = &*fabric.snapshot;
    let mut found = Vec::new();
    for name in host_list(text).map_err(|error| invalid(error.to_string()))? {
        if name.contains('*') {
            found.extend(by_pattern(snapshot, &name)?);
            continue;
        }
        let ports = lookup::end_ports(fabric, &name)?;
        found.extend(
            ports
                .iter()
                .map(|at| snapshot.end_port(*at).guid.to_string()),
        );
    }
    Ok(found)
}

/// GUIDs of the ports of hosts whose name, or its first word, matches a pattern.
fn by_pattern(snapshot: &Snapshot, pattern: &str) -> Result<Vec<String>, ApiError> {
    let is_host = |slot: &u32| snapshot.node(*slot).node_info().node_type == NodeType::Ca;
    let is_named = |slot: &u32| {
        let name = snapshot.node(*slot).name();
        let first_word = name.split_whitespace().next().unwrap_or_default();
        is_match(pattern, &name) || is_match(pattern, first_word)
    };
    let slots = snapshot
        .slots()
        .filter(|slot| is_host(slot) && is_named(slot));
    let ports = slots.flat_map(|slot| snapshot.end_ports_of_node(slot));
    let guids: Vec<String> = ports
        .map(|at| snapshot.end_port(at).guid.to_string())
        .collect();
    if guids.is_empty() {
        return Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no host matches `{pattern}`"),
            "`ferrosm nodes` lists the names.",
        ));
    }
    Ok(guids)
}
