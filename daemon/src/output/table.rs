//! Text tables.

use core::fmt;

pub use comfy_table::Table;
use std::io::IsTerminal;

use comfy_table::{CellAlignment, ContentArrangement, presets};
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortNum;
use rustix::termios::tcgetwinsize;

/// An empty table in the common style.
#[must_use]
pub fn new<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_header(heads);
    if let Some(width) = terminal_width() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width.max(WIDTH_MIN));
    }
    table
}

/// Width of wrapped tables without a terminal.
const WIDTH: u16 = 110;
/// On a narrower terminal, lines are wrapped by it.
const WIDTH_MIN: u16 = 60;

/// Columns of the terminal; `None` if the output is none.
fn terminal_width() -> Option<u16> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| tcgetwinsize(stdout).ok());
    size.flatten()
        .map(|size| size.ws_col)
        .filter(|columns| *columns > 0)
}

/// Wraps long cells.
pub fn wrap(table: &mut Table) {
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(terminal_width().unwrap_or(WIDTH).max(WIDTH_MIN));
}

/// Right-aligns columns.
pub fn right(table: &mut Table, columns: &[usize]) {
    table.discover_columns();
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The fabric: a row per node, and totals.
#[must_use]
pub fn topology(snapshot: &Snapshot) -> String {
    let mut table = new([
        "Kind",
        "Name",
        "GUID",
        "LID",
        "Ports linked",
        "Connected to",
    ]);
    right(&mut table, &[3, 4]);
    let links = snapshot.links_by_port();
    for slot in snapshot.slots() {
        let node = snapshot.node(slot);
        let lids: Vec<String> = snapshot
            .reported_end_ports(slot)
            .filter(|e| e.lid.0 != 0)
            .map(|e| match e.lmc.0 {
                0 => e.lid.to_string(),
                lmc => format!("{}+{}", e.lid, (1u32 << lmc) - 1),
            })
            .collect();
        let linked_ports: Vec<_> = snapshot.linked_ports(slot).collect();
        let connected = if node.is_switch() {
            neighbours(snapshot, &linked_ports)
        } else {
            let speeds = linked_ports.iter().map(|(port, peer)| {
                let link = links.get(&PortIdx::new(slot, *port));
                let rate = link.map(|link| snapshot.reported_link(*link));
                let name = snapshot.node(peer.node()).name();
                format!("{name} port {} ({})", peer.num(), rate.unwrap_or_default())
            });
            speeds.collect::<Vec<_>>().join(", ")
        };
        table.add_row([
            node_type_name(node.node_type).to_owned(),
            node.name(),
            node.guid.to_string(),
            if lids.is_empty() {
                "-".to_owned()
            } else {
                lids.join(", ")
            },
            format!("{}/{}", linked_ports.len(), node.node_info().num_ports),
            connected,
        ]);
    }
    format!("{table}\n{}\n", sums(snapshot))
}

/// `3 switches, 12 channel adapters, 1 router, 18 links`.
#[must_use]
pub fn sums(snapshot: &Snapshot) -> String {
    let count_nodes = |kind| count_nodes(snapshot, kind);
    let mut parts = vec![
        count(count_nodes(NodeType::Switch), "switch", "switches"),
        count(
            count_nodes(NodeType::Ca),
            "channel adapter",
            "channel adapters",
        ),
    ];
    let routers = count_nodes(NodeType::Router);
    if routers > 0 {
        parts.push(count(routers, "router", "routers"));
    }
    parts.push(count(snapshot.links().len(), "link", "links"));
    parts.join(", ")
}

/// Number of nodes of a type.
#[must_use]
pub fn count_nodes(snapshot: &Snapshot, node_type: NodeType) -> usize {
    let nodes = snapshot.nodes();
    nodes.filter(|node| node.node_type == node_type).count()
}

/// A number with its noun.
#[must_use]
pub fn count<N>(n: N, one: &str, many: &str) -> String
where
    N: fmt::Display + PartialEq + From<u8>,
{
    let noun = if n == N::from(1) { one } else { many };
    format!("{n} {noun}")
}

/// Neighbours of a switch, counted by type.
fn neighbours(snapshot: &Snapshot, linked_ports: &[(PortNum, PortIdx)]) -> String {
    let count_of_kind = |kind: NodeType| {
        let peers = linked_ports
            .iter()
            .map(|(_, peer)| snapshot.node(peer.node()));
        peers.filter(|peer| peer.node_type == kind).count()
    };
    let parts = [
        (
            count_of_kind(NodeType::Switch),
            "switch port",
            "switch ports",
        ),
        (count_of_kind(NodeType::Ca), "host port", "host ports"),
        (
            count_of_kind(NodeType::Router),
            "router port",
            "router ports",
        ),
    ];
    let counts: Vec<String> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| count(n, one, many))
        .collect();
    counts.join(", ")
}

/// `switch`, `ca` or `router`.
#[must_use]
pub const fn node_type_name(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Switch => "switch",
        NodeType::Router => "router",
        _ => "ca",
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::offline::spec::{observed, snapshot};
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn topology_has_a_row_per_node_and_totals() {
        let spec = from_spec("ring:3,2").unwrap();
        let text = topology(&snapshot(&observed(&spec), None, None));
        for node in &spec.nodes {
            assert!(text.contains(&node.node_guid.to_string()));
        }
        assert!(
            text.ends_with("3 switches, 6 channel adapters, 9 links\n"),
            "{text}"
        );
        assert!(text.contains("2 switch ports, 2 host ports"), "{text}");
    }
}
