//! `opensm-ftree-ca-order.dump`: the hosts of a fat tree, leaf after leaf, for ranks of MPI.
//!
//! In this order shifts by any number of places do not collide on a full tree. Leaves with fewer hosts than the fullest
//! are filled up, as OpenSM does it. Where it is given which ports are compute ports, others are listed all the same:
//! the tables know nothing of that.

use std::io::{self, Write};

use ferrosm_mad::attr::NodeType;
use ferrosm_routing::Hints;
use ferrosm_routing::structure::tree::tree;

use super::Owners;
use crate::output::view::View;

/// The engines that deal routes by this order.
const ENGINES: [&str; 2] = ["dmodc", "ftree"];

/// Whether these tables have such an order.
pub(super) fn is_there(view: &View) -> bool {
    let engine = view.lanes.as_ref().map(|of| of.run.routing.engine);
    engine.is_some_and(|e| ENGINES.contains(&e))
}

pub(super) fn render(view: &View, owners: &Owners, out: &mut dyn Write) -> io::Result<()> {
    let Some(of) = &view.lanes else {
        return Ok(());
    };
    let topo = &*of.run.topo;
    let Ok(tree) = tree(topo, &Hints::default()) else {
        return Ok(());
    };
    let leaves: Vec<Vec<(u16, String)>> = tree
        .leaves
        .iter()
        .map(|&leaf| {
            let ends = topo.end_ports(leaf).iter();
            let hosts = ends.filter(|e| !tree.is_service(topo, leaf, e.port));
            let named = hosts.filter_map(|e| {
                let node = &view.nodes[owners.owner(e.lid)?.node];
                (node.kind == NodeType::Ca).then(|| (e.lid.0, node.name()))
            });
            named.collect()
        })
        .collect();
    let most = leaves.iter().map(Vec::len).max().unwrap_or(0);
    for leaf in &leaves {
        for (lid, name) in leaf {
            writeln!(out, "0x{lid:04x}\t{name}")?;
        }
        for _ in leaf.len()..most {
            writeln!(out, "0xFFFF\tDUMMY")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::text;
    use super::*;
    use crate::cli::{FileArgs, HintArgs};
    use crate::paper;

    fn routed(spec: &str, engine: &str) -> View {
        let args = HintArgs {
            from: spec.to_owned(),
            node: None,
            engine: vec![engine.parse().unwrap()],
            budget: core::time::Duration::from_secs(2).into(),
            vls: None,
            files: FileArgs::default(),
        };
        paper::route(&args).unwrap().view
    }

    /// Every host once, those of a leaf together, no aggregation node, and every leaf as long as the fullest.
    #[test]
    fn hosts_are_listed_leaf_after_leaf() {
        for (spec, per_leaf, dummies) in [("fat-tree:4;sharp", 2, 0), ("fat-tree2:8,3,3", 3, 0)] {
            let view = routed(spec, "dmodc");
            assert!(is_there(&view));
            let text = text(render, &view);
            let lines: Vec<&str> = text.lines().collect();
            let hosts = view.nodes.iter().filter(|n| n.name().starts_with("host"));
            assert_eq!(lines.len(), hosts.clone().count(), "{text}");
            for host in hosts {
                let line = format!("0x{:04x}\t{}", host.end_ports[0].lid.0, host.name());
                assert!(lines.contains(&line.as_str()), "{line}\n{text}");
            }
            assert_eq!(text.matches("DUMMY").count(), dummies);
            let leaf_of = |line: &str| {
                let name = line.split('\t').nth(1).unwrap();
                let at = view.nodes.iter().position(|n| n.name() == name).unwrap();
                view.ends()[at][0].peer.node
            };
            for leaf in lines.chunks(per_leaf) {
                assert!(
                    leaf.iter().all(|l| leaf_of(l) == leaf_of(leaf[0])),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn short_leaves_are_filled_up_and_other_engines_have_no_order() {
        let mut cut = routed("fat-tree:4", "ftree");
        let host = cut.nodes.iter().position(|n| !n.is_switch()).unwrap();
        cut.nodes[host].kind = NodeType::Router;
        let text = text(render, &cut);
        assert_eq!(text.lines().count(), 16);
        assert_eq!(text.matches("0xFFFF\tDUMMY\n").count(), 1, "{text}");
        assert!(!is_there(&routed("ring:5,1", "updn")));
    }
}
