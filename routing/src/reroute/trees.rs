//! What becomes of the promise about multicast trees.

use ferrosm_mad::ids::PortNum;

use crate::channels::{PortChannels, RoutedDependencies, dependencies_of_spanning_tree};
use crate::engine::TreeConstraint;
use crate::topology::{SwitchIdx, Topology};

/// Cables that are tried in place of one of the spanning tree.
const REPLACEMENTS_MAX: usize = 256;

/// Turns a local top of an order (a switch that has neighbours, but none before it) into one that hangs on the first of its
/// neighbours: it moves to the place right after that one. No route notices: nobody came to a top from above, so every
/// route over it climbs there or starts there, and goes down next. `None` if one would have to move twice: what hangs on it has no
/// way up but through itself.
pub(super) fn without_local_tops(topo: &Topology, order: &[u32]) -> Option<Vec<u32>> {
    let n = topo.num_switches();
    if order.len() != n {
        return None;
    }
    let mut sequence: Vec<usize> = (0..n).collect();
    sequence.sort_by_key(|&v| order[v]);
    let mut place = order.to_vec();
    let first = |place: &[u32], v: usize| {
        let peers = topo.links(SwitchIdx::at(v)).iter().map(|l| l.peer.index());
        peers.min_by_key(|&u| place[u])
    };
    let root = sequence
        .iter()
        .copied()
        .find(|&v| first(&place, v).is_some())?;
    let mut moved = vec![false; n];
    loop {
        for (i, &v) in (0u32..).zip(&sequence) {
            place[v] = i;
        }
        let top = sequence.iter().copied().find_map(|v| {
            let above = first(&place, v)?;
            (v != root && place[above] > place[v]).then_some((v, above))
        });
        let Some((v, above)) = top else {
            return Some(if sequence.iter().is_sorted_by_key(|&v| order[v]) {
                order.to_vec()
            } else {
                place
            });
        };
        if std::mem::replace(&mut moved[v], true) {
            return None;
        }
        sequence.retain(|&x| x != v);
        let after = sequence.iter().position(|&x| x == above)?;
        sequence.insert(after + 1, v);
    }
}

/// The promise as one about a spanning tree: of the trees that an order allows, the one in which every switch hangs on the
/// first of its neighbours. None where that is no tree.
pub(super) fn promised(topo: &Topology, trees: &TreeConstraint) -> TreeConstraint {
    let TreeConstraint::Ordered(order) = trees else {
        return trees.clone();
    };
    if order.len() != topo.num_switches() {
        return TreeConstraint::Search;
    }
    let above = |v: SwitchIdx| {
        let links = topo.links(v).iter();
        let first = links.min_by_key(|l| (order[l.peer.index()], l.port))?;
        (order[first.peer.index()] < order[v.index()]).then_some(first.port)
    };
    let up: Vec<Option<PortNum>> = topo.switches().map(above).collect();
    let tops = topo.switches().zip(&up);
    let tops = tops.filter(|(v, up)| up.is_none() && !topo.links(*v).is_empty());
    if tops.count() > 1 {
        return TreeConstraint::Search;
    }
    TreeConstraint::Within { up, sl: 0 }
}

/// The promise after the loss of cables; `lost` are both their ends.
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
    let cut: Vec<usize> = (0..up.len())
        .filter(|&v| up[v].is_some_and(|p| channels.peer(v, p.raw()).is_none()))
        .collect();
    cut.iter().for_each(|&v| up[v] = None);
    let mut tries = 0;
    for v in cut {
        let mut inside = vec![false; up.len()];
        below(channels, &up, v, &mut inside);
        let cables = topo.switches().flat_map(|s| {
            let links = topo.links(s).iter();
            links.map(move |l| (s.index(), l.port, l.peer.index()))
        });
        let mut found = false;
        for (a, port, b) in cables {
            if !inside[a] || inside[b] || tries >= REPLACEMENTS_MAX {
                continue;
            }
            tries += 1;
            let mut turned = up.clone();
            hang(channels, &mut turned, a, port);
            if graph.admit(&dependencies_of_spanning_tree(
                topo,
                graph.channels,
                &turned,
                *sl,
            )) {
                up = turned;
                found = true;
                break;
            }
        }
        let dark = topo.links(SwitchIdx::at(v)).is_empty();
        if !found && !dark {
            return TreeConstraint::Search;
        }
    }
    TreeConstraint::Within { up, sl: *sl }
}

/// Marks a switch and all that hang on it.
fn below(channels: &PortChannels, up: &[Option<PortNum>], v: usize, inside: &mut [bool]) {
    let mut stack = vec![v];
    while let Some(v) = stack.pop() {
        inside[v] = true;
        for (u, port) in up.iter().enumerate() {
            let hangs = port.and_then(|p| channels.peer(u, p.raw()));
            if !inside[u] && hangs.is_some_and(|(peer, _)| peer == v) {
                stack.push(u);
            }
        }
    }
}

/// Hangs the part of a tree that `a` is in on the cable at `port`: what was above `a` is below it now.
fn hang(channels: &PortChannels, up: &mut [Option<PortNum>], a: usize, port: PortNum) {
    let (mut v, mut next) = (a, Some(port));
    while let Some(port) = next {
        let was = up[v].replace(port);
        next = None;
        if let Some((parent, far)) = was.and_then(|p| channels.peer(v, p.raw())) {
            next = Some(PortNum(far));
            v = parent;
        }
    }
}
