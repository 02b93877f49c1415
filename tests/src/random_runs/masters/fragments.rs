//! Subnet fragments: connected components of the fabric with the SMs in each.

use std::collections::BTreeSet;

use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::NodeIdx;

/// The nodes of each connected component, and the SMs in it.
pub(crate) type Fragments = Vec<(BTreeSet<NodeIdx>, Vec<usize>)>;

/// The fragments that contain SMs, in the order of their first SM. A host without a link is not a
/// fragment.
pub(crate) fn find_fragments(
    fabric: &Fabric,
    running: impl Iterator<Item = (usize, NodeIdx)>,
) -> Fragments {
    let mut all = Fragments::new();
    for (i, node) in running {
        match all.iter_mut().find(|(nodes, _)| nodes.contains(&node)) {
            Some((_, sms)) => sms.push(i),
            None => all.push((reachable(fabric, node), vec![i])),
        }
    }
    all.retain(|(nodes, _)| nodes.iter().any(|node| fabric.is_switch(*node)));
    all
}

/// All nodes reachable from `from`.
pub(crate) fn reachable(fabric: &Fabric, from: NodeIdx) -> BTreeSet<NodeIdx> {
    let mut seen = BTreeSet::from([from]);
    let mut todo = vec![from];
    while let Some(node) = todo.pop() {
        for at in fabric.external_ports(node) {
            if let Some(peer) = fabric.peer(at)
                && seen.insert(peer.node)
            {
                todo.push(peer.node);
            }
        }
    }
    seen
}
