//! `opensm-ftree-ca-order.dump`: the hosts of a fat tree, leaf after leaf, for ranks of MPI.
//!
//! In this order shifts by any number of places do not collide on a full tree. Leaves with fewer hosts than the fullest
//! are filled up, as OpenSM does it. Where it is given which ports are compute ports, others are listed all the same:
//! the tables know nothing of that.

use std::io::{self, Write};

use ferrosm_mad::attr::NodeType;
use ferrosm_routing::Hints;
use ferrosm_routing::structure::tree::tree;

use super::LidOwners;
use crate::view::FabricView;

/// The engines that deal routes by this order.
const ENGINES: [&str; 2] = ["dmodc", "ftree"];

/// Whether these tables have such an order.
pub(super) fn applies(view: &FabricView) -> bool {
    let engine = view.routing.as_ref().map(|of| of.run.routing.engine);
    engine.is_some_and(|e| ENGINES.contains(&e))
}

pub(super) fn render(view: &FabricView, owners: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let Some(of) = &view.routing else {
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
