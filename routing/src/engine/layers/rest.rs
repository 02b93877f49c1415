//! Ways of packets that hosts do not send each other, so that one lane stays enough.
//!
//! Where the packets between end ports alone are free of circles, shortest ways to switches' own LIDs, and from switches
//! without end ports, may still close one: on a tree with a cable lost they turn upwards after they went down. Those ways
//! are then grown anew beside what is there, hop by hop, over turns that the lane takes. Ways of end ports never change.

use ferrosm_mad::ids::PortNum;

use super::super::graph::{Graph, Slot};
use super::super::sssp::Ways;
use super::lane::{Dependency, Lane};
use super::tree;
use super::wires::Wires;
use crate::engine::Request;
use crate::topology::Destination;
use crate::work::BudgetExceeded;

/// Not reached yet.
const FAR: u32 = u32::MAX;

/// Ports towards the root of a spanning tree, by switch.
type Up = Vec<Option<PortNum>>;

/// Makes one lane of the ways, if the packets between end ports fit into one: the lane, and a spanning tree all of whose
/// turns are in it. `order` is that in which switches join the tree.
pub(crate) fn one_lane(
    request: &Request<'_>,
    graph: &Graph,
    wires: &Wires,
    ways: &mut Ways,
    order: &[usize],
) -> Result<Option<(Lane, Up)>, BudgetExceeded> {
    let (topo, budget) = (request.topo, request.budget);
    let n = graph.len();
    let lids: Vec<Destination> = ways.destinations(topo).copied().collect();
    let mut after = vec![0u64; wires.words_after()];
    let mut used = vec![false; n];
    for (column, d) in lids.iter().enumerate() {
        let (ports, dest) = (ways.column(column), d.switch.index());
        budget.spend_len(n)?;
        mark_used(graph, wires, ports, d, &mut used);
        for v in (0..n).filter(|&v| used[v] && v != dest) {
            let x = wires.behind(v, ports[v]);
            let next = wires.head[x as usize] as usize;
            if next != dest {
                let (word, bit) = wires.bit_after(x, wires.behind(next, ports[next]));
                after[word] |= bit;
            }
        }
    }
    let Some(mut lane) = Lane::of(wires, after) else {
        return Ok(None);
    };
    let Some(up) = tree::grow(graph, wires, &mut lane, order, budget)? else {
        return Ok(None);
    };
    // Ways to end ports cannot go along the tree: they come first.
    let mut late: Vec<(bool, usize, usize)> = Vec::new();
    let mut wanted: Vec<Dependency> = Vec::new();
    for (column, lid) in lids.iter().enumerate() {
        budget.spend_len(n)?;
        turns(graph, wires, ways.column(column), lid, &mut wanted);
        if !wanted.iter().all(|&turn| lane.has(wires, turn)) {
            let d = lids[column];
            let rank = graph.lid_rank[d.switch.index()];
            late.push((d.port == PortNum::ZERO, rank, column));
        }
    }
    late.sort_unstable();
    for (own, _, column) in late {
        let d = lids[column];
        turns(graph, wires, ways.column(column), &d, &mut wanted);
        budget.spend_len(n)?;
        if lane.admit_within(wires, &wanted, budget)? {
            continue;
        }
        mark_used(graph, wires, ways.column(column), &d, &mut used);
        if !regrow(graph, wires, &mut lane, ways.column_mut(column), &d, &used) {
            if !own {
                return Ok(None);
            }
            along(graph, wires, &up, ways.column_mut(column), d.switch.index());
        }
    }
    Ok(Some((lane, up)))
}

/// The turns of all packets to a LID that are real: to a switch itself nobody sends but who has end ports.
fn turns(graph: &Graph, wires: &Wires, ports: &[u8], d: &Destination, found: &mut Vec<Dependency>) {
    found.clear();
    let (n, dest) = (graph.len(), d.switch.index());
    let mut seen = vec![false; n];
    seen[dest] = true;
    for from in (0..n).filter(|&v| d.port != PortNum::ZERO || graph.hosts[v] > 0) {
        let mut at = from;
        while !seen[at] {
            seen[at] = true;
            let x = wires.behind(at, ports[at]);
            at = wires.head[x as usize] as usize;
            if at != dest {
                found.push((x, wires.behind(at, ports[at])));
            }
        }
    }
}

/// The switches that packets between end ports pass on their way to a LID, the last one included.
fn mark_used(graph: &Graph, wires: &Wires, ports: &[u8], d: &Destination, used: &mut [bool]) {
    used.fill(false);
    used[d.switch.index()] = true;
    if d.port == PortNum::ZERO {
        return;
    }
    for from in (0..graph.len()).filter(|&v| graph.hosts[v] > 0) {
        let mut at = from;
        while !used[at] {
            used[at] = true;
            at = wires.head[wires.behind(at, ports[at]) as usize] as usize;
        }
    }
}

/// Finds ways of the switches that are not `used`, each over the nearest neighbour whose way the lane takes; `false` if
/// some have none.
fn regrow(
    graph: &Graph,
    wires: &Wires,
    lane: &mut Lane,
    ports: &mut [u8],
    d: &Destination,
    used: &[bool],
) -> bool {
    let (n, dest) = (graph.len(), d.switch.index());
    let mut hops = vec![FAR; n];
    hops[dest] = 0;
    for from in (0..n).filter(|&v| used[v]) {
        let (mut at, mut count) = (from, 0);
        while at != dest {
            at = wires.head[wires.behind(at, ports[at]) as usize] as usize;
            count += 1;
        }
        hops[from] = count;
    }
    let mut left: Vec<usize> = graph.by_lid.to_vec();
    left.retain(|&v| hops[v] == FAR);
    let mut near = 0;
    let mut last = hops.iter().copied().filter(|&h| h != FAR).max();
    while !left.is_empty() && last.is_some_and(|last| near <= last) {
        left.retain(|&v| {
            let goes = |slot: &&Slot| graph.ports(**slot).contains(&ports[v]);
            let nearest = || graph.slots(v).iter().filter(|s| hops[s.peer] == near);
            // The way that it has, before others that are as near.
            let mut in_turn = nearest().filter(goes).chain(nearest());
            let found = in_turn.find(|slot| {
                let Some(&port) = graph.ports(**slot).first() else {
                    return false;
                };
                let x = wires.behind(v, port);
                slot.peer == dest
                    || lane.admit(wires, &[(x, wires.behind(slot.peer, ports[slot.peer]))])
            });
            let Some(slot) = found else { return true };
            let all = graph.ports(*slot);
            if !all.contains(&ports[v]) {
                ports[v] = all[graph.lid_rank[dest] % all.len()];
            }
            hops[v] = near + 1;
            last = last.max(Some(near + 1));
            false
        });
        near += 1;
    }
    left.is_empty()
}

/// Sends everything to a switch along the spanning tree.
fn along(graph: &Graph, wires: &Wires, up: &[Option<PortNum>], ports: &mut [u8], dest: usize) {
    let parent = |v: usize| {
        up[v].map(|port| {
            let channel = wires.behind(v, port.raw());
            (port, channel, wires.head[channel as usize] as usize)
        })
    };
    // Everybody climbs, but who is above the switch descends towards it.
    for v in (0..graph.len()).filter(|&v| v != dest) {
        if let Some((port, ..)) = parent(v) {
            ports[v] = port.raw();
        }
    }
    let mut at = dest;
    while let Some((_, channel, above)) = parent(at) {
        let back = wires.back[channel as usize];
        let slot = graph.slots(above)[(back - wires.first[above]) as usize];
        if let Some(&port) = graph.ports(slot).first() {
            ports[above] = port;
        }
        at = above;
    }
}
