//! Graphviz output.

use core::fmt::Write;

use ferrosm_api::fabric::NodeKind;

use crate::whole_fabric::WholeFabric;

/// A graph: switches as boxes, hosts as ellipses, an edge per link with its ports.
#[must_use]
pub fn render(fabric: &WholeFabric) -> String {
    let mut out = "graph fabric {\n  node [fontname=\"sans-serif\", fontsize=10];\n".to_owned();
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=7];\n");
    for node in &fabric.nodes {
        let shape = match node.kind {
            NodeKind::Switch => "box",
            NodeKind::Router => "diamond",
            NodeKind::Ca => "ellipse",
        };
        let lids: Vec<String> = node.lids.iter().map(ToString::to_string).collect();
        let lid = if lids.is_empty() {
            String::new()
        } else {
            format!("\\nLID {}", lids.join(", "))
        };
        let name = node.name.replace('\\', "\\\\").replace('"', "\\\"");
        let guid = &node.guid;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  \"{guid}\" [shape={shape}, label=\"{name}{lid}\"];");
    }
    for link in &fabric.links {
        let _ = writeln!(
            out,
            "  \"{}\" -- \"{}\" [taillabel=\"{}\", headlabel=\"{}\", tooltip=\"{}\"];",
            link.a.guid, link.b.guid, link.a.port, link.b.port, link.rate
        );
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn every_node_and_link_appears_once() {
        let spec = from_spec("torus:3,3,1;parallel=2").unwrap();
        let text = render(&WholeFabric::of_description(&spec));
        assert_eq!(text.matches("[shape=").count(), spec.nodes.len());
        assert_eq!(text.matches(" -- ").count(), spec.links.len());
    }
}
