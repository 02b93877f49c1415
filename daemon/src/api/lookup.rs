//! Ports and nodes by GUID, LID or name, as operators write them.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};

use super::history::NodeChange;
use super::published::FabricState;
use super::rfc3339;

/// Candidates that the message about an ambiguous name lists.
const CANDIDATES_SHOWN: usize = 5;

/// The end port that a text names: GUID of a port or node, LID, name, or `name/port`.
pub(super) fn end_port(fabric: &FabricState, text: &str) -> Result<EndPortIdx, ApiError> {
    let snapshot = &fabric.snapshot;
    let found = end_ports(fabric, text)?;
    match found[..] {
        [one] => Ok(one),
        [..] => {
            let shown = found.iter().take(CANDIDATES_SHOWN);
            let names: Vec<String> = shown
                .map(|at| snapshot.port_name(*at).to_string())
                .collect();
            let more = match found.len().saturating_sub(CANDIDATES_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(ApiError::new(
                ErrorKind::Ambiguous,
                format!("`{text}` is {}{more}", names.join(", ")),
                "Name one of them by its GUID, or add the port: `name/port`.",
            ))
        }
    }
}

/// All end ports that a text names, at least one.
pub(super) fn end_ports(fabric: &FabricState, text: &str) -> Result<Vec<EndPortIdx>, ApiError> {
    let found = matching_ports(&fabric.snapshot, text);
    if found.is_empty() {
        return Err(not_found(fabric, text));
    }
    Ok(found)
}

/// The node that left the subnet and has this name or GUID.
pub(super) fn absent_node<'f>(
    fabric: &'f FabricState,
    text: &str,
) -> Option<(NodeGuid, &'f NodeChange)> {
    let is_named = |name: &str| name == text || name.split_whitespace().next() == Some(text);
    let mut absent = fabric.history.absent_nodes();
    absent.find(|(guid, node)| is_named(&node.name) || guid.to_string() == text)
}

fn not_found(fabric: &FabricState, text: &str) -> ApiError {
    let (message, remedy) = match absent_node(fabric, text) {
        Some((_, node)) => (
            format!(
                "{} is absent since {}, last seen at {}",
                node.name,
                rfc3339(node.since),
                node.location
            ),
            "`ferrosm links --problems` shows the state of its links.",
        ),
        None => match missing_port(&fabric.snapshot, text) {
            Some(error) => return error,
            None => (
                format!("no port is named `{text}`"),
                "Use a GUID, a LID, a name or `name/port`; `ferrosm nodes` lists the names.",
            ),
        },
    };
    ApiError::new(ErrorKind::NotFound, message, remedy)
}

/// The error for the port of a node that does not have it; `None` if the text does not name a node.
fn missing_port(snapshot: &Snapshot, text: &str) -> Option<ApiError> {
    let (name, port) = text.rsplit_once('/')?;
    let number: u32 = port.parse().ok()?;
    let first = by_name(snapshot, name, None).first().copied()?;
    let node = snapshot.node(snapshot.end_port(first).node);
    let ports = match node.node_info().num_ports {
        1 => "Its port is 1.".to_owned(),
        last => format!("Its ports are 1 to {last}."),
    };
    let message = match (1..=u32::from(node.node_info().num_ports)).contains(&number) {
        // The port of a channel adapter without a link.
        true => format!("port {number} of {name} has no LID"),
        false => format!("{name} has no port {number}"),
    };
    Some(ApiError::new(ErrorKind::NotFound, message, ports))
}

/// The end ports that a text names. A whole name outranks its first word, which is the host in
/// a NodeDescription such as `host-1 mlx5_0`.
fn matching_ports(snapshot: &Snapshot, text: &str) -> Vec<EndPortIdx> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let Ok(guid) = u64::from_str_radix(hex, 16) else {
            return Vec::new();
        };
        if let Some(at) = snapshot.by_guid(PortGuid(guid)) {
            return vec![at];
        }
        let slot = snapshot.by_node_guid(NodeGuid(guid));
        return slot.map_or_else(Vec::new, |slot| snapshot.end_ports_of_node(slot).collect());
    }
    if let Ok(lid) = text.parse::<u16>() {
        return snapshot.by_lid(Lid(lid)).into_iter().collect();
    }
    let whole = by_name(snapshot, text, None);
    if !whole.is_empty() {
        return whole;
    }
    let numbered = text.rsplit_once('/');
    numbered
        .and_then(|(name, port)| Some((name, port.parse().ok().map(PortNum)?)))
        .map_or_else(Vec::new, |(name, port)| by_name(snapshot, name, Some(port)))
}

/// The end ports of nodes with a name. For a switch, `port` may be any of its ports.
fn by_name(snapshot: &Snapshot, name: &str, port: Option<PortNum>) -> Vec<EndPortIdx> {
    let matching = |is_named: &dyn Fn(&str) -> bool| -> Vec<EndPortIdx> {
        let slots = snapshot.slots();
        let named = slots.filter(|slot| is_named(&snapshot.node(*slot).name()));
        let ends = named.flat_map(|slot| snapshot.end_ports_of_node(slot));
        ends.filter(|at| {
            let end_port = snapshot.end_port(*at);
            let node = snapshot.node(end_port.node);
            port.is_none_or(|port| match node.is_switch() {
                true => port.0 <= node.node_info().num_ports,
                false => end_port.port.num() == port,
            })
        })
        .collect()
    };
    let whole = matching(&|candidate| candidate == name);
    if whole.is_empty() && !name.is_empty() {
        matching(&|candidate| candidate.split_whitespace().next() == Some(name))
    } else {
        whole
    }
}
