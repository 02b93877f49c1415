//! Text tables.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use ferrosm_mad::attr::NodeType;

use super::json::topology::node_type_name;
use ferrosm_opensm_compat::view::{FabricLinkEnd, FabricView};

/// An empty table in the common style.
#[must_use]
pub fn new<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_header(heads);
    table
}

/// Width of wrapped tables.
const WIDTH: u16 = 110;

/// Wraps long cells.
pub fn wrap(table: &mut Table) {
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
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
pub fn topology(view: &FabricView) -> String {
    let mut table = new([
        "Kind",
        "Name",
        "GUID",
        "LID",
        "Ports linked",
        "Connected to",
    ]);
    right(&mut table, &[3, 4]);
    let link_ends = view.link_ends();
    for (node, link_ends) in view.nodes.iter().zip(&link_ends) {
        let lids: Vec<String> = node
            .end_ports
            .iter()
            .filter(|e| e.lid.0 != 0)
            .map(|e| match e.lmc.0 {
                0 => e.lid.to_string(),
                lmc => format!("{}+{}", e.lid, (1u32 << lmc) - 1),
            })
            .collect();
        let connected = if node.is_switch() {
            neighbours(view, link_ends)
        } else {
            let speeds = link_ends.iter().map(|e| {
                let peer = &view.nodes[e.peer.node];
                format!("{} port {} ({})", peer.name(), e.peer.port, e.link.rate())
            });
            speeds.collect::<Vec<_>>().join(", ")
        };
        table.add_row([
            node_type_name(node.kind).to_owned(),
            node.name(),
            node.guid.to_string(),
            if lids.is_empty() {
                "-".to_owned()
            } else {
                lids.join(", ")
            },
            format!("{}/{}", link_ends.len(), node.num_ports),
            connected,
        ]);
    }
    format!("{table}\n{}\n", sums(view))
}

/// `3 switches, 12 channel adapters, 1 router, 18 links`.
#[must_use]
pub fn sums(view: &FabricView) -> String {
    let mut parts = vec![
        count(view.count_nodes(NodeType::Switch), "switch", "switches"),
        count(
            view.count_nodes(NodeType::Ca),
            "channel adapter",
            "channel adapters",
        ),
    ];
    let routers = view.count_nodes(NodeType::Router);
    if routers > 0 {
        parts.push(count(routers, "router", "routers"));
    }
    parts.push(count(view.links.len(), "link", "links"));
    parts.join(", ")
}

/// A number with its noun.
#[must_use]
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Neighbours of a switch, counted by type.
fn neighbours(view: &FabricView, link_ends: &[FabricLinkEnd<'_>]) -> String {
    let count_of_kind = |kind: NodeType| {
        link_ends
            .iter()
            .filter(|e| view.nodes[e.peer.node].kind == kind)
            .count()
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

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn topology_has_a_row_per_node_and_totals() {
        let spec = from_spec("ring:3,2").unwrap();
        let text = topology(&view_of_spec(&spec));
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
