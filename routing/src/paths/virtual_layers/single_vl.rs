//! Adapts paths without end ports at the source or destination, so that one VL is enough.
//!
//! Even if the paths between end ports alone are free of credit loops, shortest paths to switch
//! LIDs and from switches without end ports may close one: on a tree with a lost link they climb
//! after a descent. These paths are rebuilt hop by hop with dependencies that the layer admits.
//! Paths between end ports never change.

use ferrosm_mad::ids::PortNum;

use super::spanning_tree;
use crate::channels::{Dependency, DependencySet, VirtualLayer};
use crate::paths::weighted::LidTrees;
use crate::request::RoutingRequest;
use crate::topology::Destination;
use crate::topology::graph::{Graph, Slot};
use crate::work::BudgetExceeded;

/// Not reached yet.
const UNREACHED: u32 = u32::MAX;

/// Ports towards the root of a spanning tree, by switch.
type Up = Vec<Option<PortNum>>;

/// Places all paths on one layer, if the paths between end ports fit. Returns the layer and a
/// spanning tree whose dependencies it includes. Switches join the tree in the order of `order`.
pub(crate) fn fit_one_vl(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    lid_trees: &mut LidTrees,
    order: &[usize],
) -> Result<Option<(VirtualLayer, Up)>, BudgetExceeded> {
    let topo = request.topo;
    let budget = request.budget;
    let n = graph.len();
    let lids: Vec<Destination> = lid_trees.destinations(topo).copied().collect();
    let index = &graph.channels;
    let mut dependencies = DependencySet::empty(index);
    let mut is_used = vec![false; n];
    for (column, d) in lids.iter().enumerate() {
        let ports = lid_trees.column(column);
        let dest = d.switch.index();
        budget.spend_len(n)?;
        mark_used(graph, ports, d, &mut is_used);
        for v in (0..n).filter(|&v| is_used[v] && v != dest) {
            let x = graph.output_channel(v, ports[v]);
            let next = graph.head(x);
            if next != dest {
                dependencies.insert(index, (x, graph.output_channel(next, ports[next])));
            }
        }
    }
    let Some(mut layer) = VirtualLayer::from_dependencies(index, dependencies) else {
        return Ok(None);
    };
    let Some(up) = spanning_tree::grow_spanning_tree(graph, index, &mut layer, order, budget)?
    else {
        return Ok(None);
    };
    // Paths to end ports cannot use the tree: process them first.
    let mut misfits: Vec<(bool, usize, usize)> = Vec::new();
    let mut dependencies: Vec<Dependency> = Vec::new();
    for (column, lid) in lids.iter().enumerate() {
        budget.spend_len(n)?;
        dependencies_of_lid(graph, lid_trees.column(column), lid, &mut dependencies);
        if !dependencies
            .iter()
            .all(|&dependency| layer.contains(index, dependency))
        {
            let d = lids[column];
            let rank = graph.lid_rank[d.switch.index()];
            misfits.push((d.port == PortNum::ZERO, rank, column));
        }
    }
    misfits.sort_unstable();
    for (is_switch_lid, _, column) in misfits {
        let d = lids[column];
        dependencies_of_lid(graph, lid_trees.column(column), &d, &mut dependencies);
        budget.spend_len(n)?;
        if layer.admit_within(index, &dependencies, budget)? {
            continue;
        }
        mark_used(graph, lid_trees.column(column), &d, &mut is_used);
        if !rebuild_paths(
            graph,
            &mut layer,
            lid_trees.column_mut(column),
            &d,
            &is_used,
        ) {
            if !is_switch_lid {
                return Ok(None);
            }
            route_along_tree(graph, &up, lid_trees.column_mut(column), d.switch.index());
        }
    }
    Ok(Some((layer, up)))
}

/// Dependencies of all packets to a LID. Only switches with end ports send to a switch LID.
fn dependencies_of_lid(
    graph: &Graph,
    ports: &[u8],
    d: &Destination,
    dependencies: &mut Vec<Dependency>,
) {
    dependencies.clear();
    let n = graph.len();
    let dest = d.switch.index();
    let mut visited = vec![false; n];
    visited[dest] = true;
    for from in (0..n).filter(|&v| d.port != PortNum::ZERO || graph.hosts[v] > 0) {
        let mut at = from;
        while !visited[at] {
            visited[at] = true;
            let x = graph.output_channel(at, ports[at]);
            at = graph.head(x);
            if at != dest {
                dependencies.push((x, graph.output_channel(at, ports[at])));
            }
        }
    }
}

/// Marks the switches that packets between end ports pass on their path to a LID, including the
/// last.
fn mark_used(graph: &Graph, ports: &[u8], d: &Destination, is_used: &mut [bool]) {
    is_used.fill(false);
    is_used[d.switch.index()] = true;
    if d.port == PortNum::ZERO {
        return;
    }
    for from in (0..graph.len()).filter(|&v| graph.hosts[v] > 0) {
        let mut at = from;
        while !is_used[at] {
            is_used[at] = true;
            at = graph.head(graph.output_channel(at, ports[at]));
        }
    }
}

/// Rebuilds the paths of the switches that are not in `is_used`, each over the nearest neighbour
/// whose dependency the layer admits. Returns `false` if a switch has no path.
fn rebuild_paths(
    graph: &Graph,
    layer: &mut VirtualLayer,
    ports: &mut [u8],
    d: &Destination,
    is_used: &[bool],
) -> bool {
    let n = graph.len();
    let dest = d.switch.index();
    let mut hops = vec![UNREACHED; n];
    hops[dest] = 0;
    for from in (0..n).filter(|&v| is_used[v]) {
        let mut at = from;
        let mut count = 0;
        while at != dest {
            at = graph.head(graph.output_channel(at, ports[at]));
            count += 1;
        }
        hops[from] = count;
    }
    let mut remaining: Vec<usize> = graph.by_lid.to_vec();
    remaining.retain(|&v| hops[v] == UNREACHED);
    let mut reached = 0;
    let mut last = hops.iter().copied().filter(|&h| h != UNREACHED).max();
    while !remaining.is_empty() && last.is_some_and(|last| reached <= last) {
        remaining.retain(|&v| {
            let contains_port = |slot: &&Slot| graph.ports(**slot).contains(&ports[v]);
            let nearest = || graph.slots(v).iter().filter(|s| hops[s.peer] == reached);
            // Prefer the current next hop among equally near ones.
            let mut candidates = nearest().filter(contains_port).chain(nearest());
            let slot = candidates.find(|slot| {
                let Some(&port) = graph.ports(**slot).first() else {
                    return false;
                };
                let x = graph.output_channel(v, port);
                slot.peer == dest
                    || layer.admit(
                        &graph.channels,
                        &[(x, graph.output_channel(slot.peer, ports[slot.peer]))],
                    )
            });
            let Some(slot) = slot else { return true };
            let ports_of_slot = graph.ports(*slot);
            if !ports_of_slot.contains(&ports[v]) {
                ports[v] = ports_of_slot[graph.lid_rank[dest] % ports_of_slot.len()];
            }
            hops[v] = reached + 1;
            last = last.max(Some(reached + 1));
            false
        });
        reached += 1;
    }
    remaining.is_empty()
}

/// Routes all packets to a switch along the spanning tree.
fn route_along_tree(graph: &Graph, up: &[Option<PortNum>], ports: &mut [u8], dest: usize) {
    let parent = |v: usize| {
        up[v].map(|port| {
            let channel = graph.output_channel(v, port.raw());
            (port, channel, graph.head(channel))
        })
    };
    // All switches climb, except the ancestors of the destination, which descend towards it.
    for v in (0..graph.len()).filter(|&v| v != dest) {
        if let Some((port, ..)) = parent(v) {
            ports[v] = port.raw();
        }
    }
    let mut at = dest;
    while let Some((_, channel, above)) = parent(at) {
        let reverse = graph.channels.reverse[channel as usize];
        let slot = graph.slots(above)[(reverse - graph.channels.first[above]) as usize];
        if let Some(&port) = graph.ports(slot).first() {
            ports[above] = port;
        }
        at = above;
    }
}
