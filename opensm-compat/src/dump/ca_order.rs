//! `opensm-ftree-ca-order.dump`: the hosts of a fat tree by leaf, for the order of MPI ranks.
//!
//! In this order, shift permutations do not collide on a full tree. As in OpenSM, leaves with fewer
//! hosts are padded to the largest leaf. I/O ports are listed as well, because the tables do not
//! distinguish them.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::NodeType;
use ferrosm_routing::Hints;
use ferrosm_routing::structure::tree::tree;

use super::LidOwners;

/// Engines that assign routes in this order.
const ENGINES: [&str; 2] = ["dmodc", "ftree"];

/// Whether the routing has such an order.
pub(super) fn applies(snapshot: &Snapshot) -> bool {
    let routing = snapshot.installed_routing();
    routing.is_some_and(|routing| ENGINES.contains(&routing.run.routing.engine))
}

pub(super) fn render(
    snapshot: &Snapshot,
    owners: &LidOwners,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(routing) = snapshot.installed_routing() else {
        return Ok(());
    };
    let topo = &*routing.run.topo;
    let Ok(tree) = tree(topo, &Hints::default()) else {
        return Ok(());
    };
    let leaves: Vec<Vec<(u16, String)>> = tree
        .leaves
        .iter()
        .map(|&leaf| {
            let end_ports = topo.end_ports(leaf).iter();
            let hosts = end_ports.filter(|e| !tree.is_service(topo, leaf, e.port));
            let host_names = hosts.filter_map(|e| {
                let node = snapshot.node(owners.owner(e.lid)?.node());
                (node.node_type == NodeType::Ca).then(|| (e.lid.0, node.name()))
            });
            host_names.collect()
        })
        .collect();
    let max_hosts = leaves.iter().map(Vec::len).max().unwrap_or(0);
    for leaf in &leaves {
        for (lid, name) in leaf {
            writeln!(out, "0x{lid:04x}\t{name}")?;
        }
        for _ in leaf.len()..max_hosts {
            writeln!(out, "0xFFFF\tDUMMY")?;
        }
    }
    Ok(())
}
