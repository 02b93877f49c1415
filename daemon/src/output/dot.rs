//! Graphviz output.

use core::fmt::{self, Write};

use ferrosm_mad::attr::NodeType;

use ferrosm_opensm_compat::view::FabricView;

/// Writes a graph: switches as boxes, hosts as ellipses, an edge per link with its ports.
///
/// # Errors
/// Errors of `out`.
pub fn render(view: &FabricView, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "graph fabric {{")?;
    writeln!(out, "  node [fontname=\"sans-serif\", fontsize=10];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=7];")?;
    for node in &view.nodes {
        let shape = match node.kind {
            NodeType::Switch => "box",
            NodeType::Router => "diamond",
            _ => "ellipse",
        };
        let lid = node
            .lids()
            .map_or_else(String::new, |lids| format!("\\nLID {lids}"));
        writeln!(
            out,
            "  \"{}\" [shape={shape}, label=\"{}{lid}\"];",
            node.guid,
            node.name().replace('\\', "\\\\")
        )?;
    }
    for link in &view.links {
        writeln!(
            out,
            "  \"{}\" -- \"{}\" [taillabel=\"{}\", headlabel=\"{}\", tooltip=\"{}\"];",
            view.nodes[link.a.node].guid,
            view.nodes[link.b.node].guid,
            link.a.port,
            link.b.port,
            link.rate()
        )?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn every_node_and_link_appears_once() {
        let spec = from_spec("torus:3,3,1;parallel=2").unwrap();
        let mut text = String::new();
        render(&view_of_spec(&spec), &mut text).unwrap();
        assert_eq!(text.matches("[shape=").count(), spec.nodes.len());
        assert_eq!(text.matches(" -- ").count(), spec.links.len());
    }
}
