//! The tree constraint of a rerouted routing.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::PortNum;
use petgraph::unionfind::UnionFind;

use crate::channels::{RoutedDependencies, dependencies_of_spanning_tree};
use crate::routing::TreeConstraint;
use crate::topology::PortChannels;
use crate::topology::{SwitchIdx, Topology};

/// Maximum number of links tried to attach parts of a spanning tree.
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

/// The constraint with one tree for each connected part of the graph, as far as it was one spanning
/// tree: lost links of the tree are replaced, and trees that new links connect are joined.
pub(super) fn spanning(
    topo: &Topology,
    trees: &TreeConstraint,
    graph: &mut RoutedDependencies<'_>,
) -> TreeConstraint {
    let channels = graph.channels.ports;
    let TreeConstraint::Within { up, sl } = trees else {
        return trees.clone();
    };
    let mut up = up.clone();
    let mut tries = 0;
    for v in take_surplus_roots(topo, channels, &mut up) {
        let mut in_subtree = vec![false; up.len()];
        mark_subtree(channels, &up, v, &mut in_subtree);
        let links = topo.switches().flat_map(|s| {
            let links = topo.links(s).iter();
            links.map(move |l| (s.index(), l.port, l.peer.index()))
        });
        let mut is_attached = false;
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
                is_attached = true;
                break;
            }
        }
        if !is_attached {
            return TreeConstraint::Search;
        }
    }
    TreeConstraint::Within { up, sl: *sl }
}

/// Removes lost links, and cycles of moved cables, from a spanning tree. Returns the roots to
/// attach to other trees, so that each connected part of the graph has one tree again.
fn take_surplus_roots(
    topo: &Topology,
    channels: &PortChannels,
    up: &mut [Option<PortNum>],
) -> BTreeSet<usize> {
    let parent = |v: usize, up: &[Option<PortNum>]| {
        let peer = up[v].and_then(|port| channels.peer(v, port.raw()));
        peer.map(|(parent, _)| parent)
    };
    let mut is_detached = vec![false; up.len()];
    let mut walk_of = vec![None; up.len()];
    for start in 0..up.len() {
        let mut v = start;
        while walk_of[v].is_none() {
            walk_of[v] = Some(start);
            match parent(v, up) {
                Some(next) => v = next,
                None => {
                    is_detached[v] = up[v].take().is_some();
                    break;
                }
            }
            // A cable that leads elsewhere may close a cycle.
            if walk_of[v] == Some(start) {
                is_detached[v] = up[v].take().is_some();
            }
        }
    }
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for start in 0..up.len() {
        let mut root = start;
        while let Some(next) = parent(root, up) {
            root = next;
        }
        *sizes.entry(root).or_default() += 1;
    }
    let mut parts = UnionFind::<usize>::new(up.len());
    for s in topo.switches() {
        for link in topo.links(s) {
            parts.union(s.index(), link.peer.index());
        }
    }
    // Members of the largest tree lose no packets.
    let mut kept: BTreeMap<usize, usize> = BTreeMap::new();
    for &root in sizes.keys() {
        let rank = |root: usize| (!is_detached[root], sizes.get(&root));
        let of_part = kept.entry(parts.find(root)).or_insert(root);
        if rank(root) > rank(*of_part) {
            *of_part = root;
        }
    }
    let kept: BTreeSet<usize> = kept.into_values().collect();
    sizes
        .into_keys()
        .filter(|root| !kept.contains(root))
        .collect()
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

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lid;

    use super::*;
    use crate::channels::{VlChannelNumbers, dependency_graph};
    use crate::tables::Lft;
    use crate::topology::TopologyBuilder;
    use crate::vl_plan::VlPlan;

    /// A row of switches: port 1 leads to the switch before, port 2 to the next one.
    fn row(switches: u16) -> Topology {
        let mut b = TopologyBuilder::new();
        let all: Vec<SwitchIdx> = (0..switches).map(|s| b.switch(2, Lid(s + 1))).collect();
        for pair in all.windows(2) {
            b.link((pair[0], PortNum(2)), (pair[1], PortNum(1)));
        }
        b.build()
    }

    /// Trees that new links connect become one tree; the root of the largest one stays.
    #[test]
    fn new_links_join_the_trees_of_parts() {
        let topo = row(6);
        let plan = VlPlan::default();
        let channels = VlChannelNumbers::new(topo.port_channels(), &plan);
        let empty = Lft::drop_all(topo.top_lid());
        let rows = [&empty; 6];
        let (before, next) = (Some(PortNum(1)), Some(PortNum(2)));
        // Switches 0 and 1 are one tree, 3 to 5 another one, and 2 is new.
        let trees = TreeConstraint::Within {
            up: vec![None, before, None, next, None, before],
            sl: 0,
        };
        let search = &TreeConstraint::Search;
        let mut graph = dependency_graph(&topo, channels, None, &rows, search).unwrap();
        let joined = TreeConstraint::Within {
            up: vec![next, next, next, next, None, before],
            sl: 0,
        };
        assert_eq!(spanning(&topo, &trees, &mut graph), joined);
    }
    /// A moved cable that closes a cycle is removed from the tree.
    #[test]
    fn cycles_are_cut() {
        let topo = row(2);
        let mut up = [Some(PortNum(2)), Some(PortNum(1))];
        let roots = take_surplus_roots(&topo, topo.port_channels(), &mut up);
        assert_eq!(up, [None, Some(PortNum(1))]);
        assert!(roots.is_empty());
    }
}
