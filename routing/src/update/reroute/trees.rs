//! The tree constraint of a rerouted routing.

use ferrosm_mad::ids::PortNum;

use crate::channels::{RoutedDependencies, dependencies_of_spanning_tree};
use crate::routing::TreeConstraint;
use crate::topology::PortChannels;
use crate::topology::{SwitchIdx, Topology};

/// Maximum number of links tried as a replacement in the spanning tree.
const REPLACEMENTS_MAX: usize = 256;

/// Removes local roots from a switch order: a switch with neighbours, but with none before it,
/// moves to the position right after its first neighbour. All routes stay up/down, because no route
/// reaches a local root from above: a route over it goes up to it or starts there, and goes down
/// next. `None` if a switch would move twice.
pub(super) fn without_local_roots(topo: &Topology, order: &[u32]) -> Option<Vec<u32>> {
    let n = topo.num_switches();
    if order.len() != n {
        return None;
    }
    let mut sequence: Vec<usize> = (0..n).collect();
    sequence.sort_by_key(|&v| order[v]);
    let mut position = order.to_vec();
    let first_neighbour = |position: &[u32], v: usize| {
        let peers = topo
            .links(SwitchIdx::from_index(v))
            .iter()
            .map(|l| l.peer.index());
        peers.min_by_key(|&u| position[u])
    };
    let root = sequence
        .iter()
        .copied()
        .find(|&v| first_neighbour(&position, v).is_some())?;
    let mut is_moved = vec![false; n];
    loop {
        for (i, &v) in (0u32..).zip(&sequence) {
            position[v] = i;
        }
        let local_root = sequence.iter().copied().find_map(|v| {
            let parent = first_neighbour(&position, v)?;
            (v != root && position[parent] > position[v]).then_some((v, parent))
        });
        let Some((v, above)) = local_root else {
            return Some(if sequence.iter().is_sorted_by_key(|&v| order[v]) {
                order.to_vec()
            } else {
                position
            });
        };
        if std::mem::replace(&mut is_moved[v], true) {
            return None;
        }
        sequence.retain(|&x| x != v);
        let after = sequence.iter().position(|&x| x == above)?;
        sequence.insert(after + 1, v);
    }
}

/// The constraint after lost links: each lost link of the spanning tree is replaced.
pub(super) fn after_loss(
    topo: &Topology,
    trees: &TreeConstraint,
    graph: &mut RoutedDependencies<'_>,
) -> TreeConstraint {
    let channels = graph.channels.ports;
    let TreeConstraint::Within { up, sl } = trees else {
        return trees.clone();
    };
    let mut up = up.clone();
    let detached: Vec<usize> = (0..up.len())
        .filter(|&v| up[v].is_some_and(|p| channels.peer(v, p.raw()).is_none()))
        .collect();
    detached.iter().for_each(|&v| up[v] = None);
    let mut tries = 0;
    for v in detached {
        let mut in_subtree = vec![false; up.len()];
        mark_subtree(channels, &up, v, &mut in_subtree);
        let links = topo.switches().flat_map(|s| {
            let links = topo.links(s).iter();
            links.map(move |l| (s.index(), l.port, l.peer.index()))
        });
        let mut is_replaced = false;
        for (a, port, b) in links {
            if !in_subtree[a] || in_subtree[b] || tries >= REPLACEMENTS_MAX {
                continue;
            }
            tries += 1;
            let mut candidate = up.clone();
            reroot(channels, &mut candidate, a, port);
            if graph.admit(&dependencies_of_spanning_tree(
                topo,
                graph.channels,
                &candidate,
                *sl,
            )) {
                up = candidate;
                is_replaced = true;
                break;
            }
        }
        let is_isolated = topo.links(SwitchIdx::from_index(v)).is_empty();
        if !is_replaced && !is_isolated {
            return TreeConstraint::Search;
        }
    }
    TreeConstraint::Within { up, sl: *sl }
}

/// Marks the subtree of a switch.
fn mark_subtree(
    channels: &PortChannels,
    up: &[Option<PortNum>],
    v: usize,
    in_subtree: &mut [bool],
) {
    let mut stack = vec![v];
    while let Some(v) = stack.pop() {
        in_subtree[v] = true;
        for (u, port) in up.iter().enumerate() {
            let parent = port.and_then(|p| channels.peer(u, p.raw()));
            if !in_subtree[u] && parent.is_some_and(|(peer, _)| peer == v) {
                stack.push(u);
            }
        }
    }
}

/// Makes `a` the root of its component and attaches it by the link at `port`.
fn reroot(channels: &PortChannels, up: &mut [Option<PortNum>], a: usize, port: PortNum) {
    let mut v = a;
    let mut next = Some(port);
    while let Some(port) = next {
        let old_port = up[v].replace(port);
        next = None;
        if let Some((parent, far)) = old_port.and_then(|p| channels.peer(v, p.raw())) {
            next = Some(PortNum(far));
            v = parent;
        }
    }
}
