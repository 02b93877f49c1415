//! Graphviz output.

use core::fmt::{self, Write};

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::NodeType;

/// Writes a graph: switches as boxes, hosts as ellipses, an edge per link with its ports.
///
/// # Errors
/// Errors of `out`.
pub fn render(snapshot: &Snapshot, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "graph fabric {{")?;
    writeln!(out, "  node [fontname=\"sans-serif\", fontsize=10];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=7];")?;
    for slot in snapshot.slots() {
        let node = snapshot.node(slot);
        let shape = match node.node_type {
            NodeType::Switch => "box",
            NodeType::Router => "diamond",
            _ => "ellipse",
        };
        let lids: Vec<String> = snapshot
            .reported_end_ports(slot)
            .filter(|end_port| end_port.lid.0 != 0)
            .map(|end_port| end_port.lid.to_string())
            .collect();
        let lid = if lids.is_empty() {
            String::new()
        } else {
            format!("\\nLID {}", lids.join(", "))
        };
        writeln!(
            out,
            "  \"{}\" [shape={shape}, label=\"{}{lid}\"];",
            node.guid,
            node.name().replace('\\', "\\\\")
        )?;
    }
    for link in snapshot.links() {
        writeln!(
            out,
            "  \"{}\" -- \"{}\" [taillabel=\"{}\", headlabel=\"{}\", tooltip=\"{}\"];",
            snapshot.node(link.a.node()).guid,
            snapshot.node(link.b.node()).guid,
            link.a.num(),
            link.b.num(),
            snapshot.reported_link(*link)
        )?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::offline::spec::{observed, snapshot};
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn every_node_and_link_appears_once() {
        let spec = from_spec("torus:3,3,1;parallel=2").unwrap();
        let mut text = String::new();
        render(&snapshot(&observed(&spec), None, None), &mut text).unwrap();
        assert_eq!(text.matches("[shape=").count(), spec.nodes.len());
        assert_eq!(text.matches(" -- ").count(), spec.links.len());
    }
}
