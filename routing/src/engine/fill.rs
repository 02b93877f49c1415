//! Which of the possible next hops is taken: the part that balances load. Shared by engines that route by [`Legs`].
//!
//! Counting routes per switch is not enough: in a tree of three levels a middle switch is only handed the destinations
//! that the leaves below chose to send through it, and a balance over all destinations says nothing about those. So each
//! LID of an end port gets a *trunk*, a chain of switches that grows from the LID's own switch towards the centre of
//! the fabric, over the channels that carry the fewest trunks so far. Every other switch then prefers, among its shortest
//! legal next hops, one that meets the trunk as far out as possible. All sources thus agree on the way down to a
//! LID, and neighbouring LIDs come down by different ways, as with d-mod-k in a full tree, but on any graph. Where
//! no next hop leads to the trunk, the port with the fewest routes is taken.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::Previous;
use super::graph::Graph;
use super::legs::{Bits, Cell, Legs};
use crate::tables::{Lft, Tables};
use crate::topology::{SwitchIdx, Topology};

/// Longest trunk. Trees need one node per level above the leaves; more only costs time.
const TRUNK_MAX: usize = 6;

/// A choice among the slots of a switch: one bit each.
type Mask<const W: usize> = [u64; W];

/// Tables for all switches.
pub(crate) fn fill<C: Cell>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    class: &[u32],
    previous: &Previous,
) -> Tables {
    let trunks = Trunks::grow(topo, graph, legs, class);
    let most_slots = (0..graph.len())
        .map(|v| graph.slots(v).len())
        .max()
        .unwrap_or(0);
    let fresh = if most_slots <= 64 {
        rows::<C, 1>(topo, graph, legs, &trunks)
    } else {
        rows::<C, 4>(topo, graph, legs, &trunks)
    };
    drop(trunks);
    settle(topo, graph, legs, fresh, previous)
}

/// The trunk of each end port LID, by place in the list of all LIDs by switch.
struct Trunks {
    first: Vec<usize>,
    nodes: Vec<u32>,
    /// Place of each switch's first LID.
    base: Vec<usize>,
}

impl Trunks {
    fn grow<C: Cell>(topo: &Topology, graph: &Graph, legs: &Legs<C>, class: &[u32]) -> Self {
        let n = graph.len();
        let mut base = Vec::with_capacity(n);
        let mut lids = 0;
        for s in topo.switches() {
            base.push(lids);
            lids += topo.destinations_on(s).len();
        }
        // Trunks through each channel (by slot of its lower end) and each switch.
        let mut on_channel = vec![0u64; graph.num_slots()];
        let mut on_switch = vec![0u64; n];
        let mut grown: Vec<(usize, Vec<u32>)> = Vec::with_capacity(lids);
        for &dest in &graph.by_lid {
            for (i, d) in topo.destinations_on(SwitchIdx::at(dest)).iter().enumerate() {
                let mut trunk = Vec::new();
                let mut tip = dest;
                while d.port != PortNum::ZERO && trunk.len() < TRUNK_MAX {
                    let hops = trunk.len() + 1;
                    let best = graph
                        .slots(tip)
                        .iter()
                        .enumerate()
                        .filter(|(_, s)| {
                            class[s.peer] <= class[tip]
                                && legs.cell(s.peer, dest).hops() == hops
                                && legs.may_go(s.peer, tip, dest)
                        })
                        .min_by_key(|&(k, s)| {
                            let channel = on_channel[graph.first_slot(tip) + k];
                            // In 1/256 of a trunk per cable.
                            let load = channel * 256 / graph.ports(*s).len() as u64;
                            (load, on_switch[s.peer], class[s.peer], k)
                        });
                    let Some((k, slot)) = best else { break };
                    on_channel[graph.first_slot(tip) + k] += 1;
                    on_switch[slot.peer] += 1;
                    tip = slot.peer;
                    trunk.push(SwitchIdx::at(tip).0);
                }
                grown.push((base[dest] + i, trunk));
            }
        }
        grown.sort_unstable_by_key(|&(place, _)| place);
        let (mut first, mut nodes) = (vec![0], Vec::new());
        for (_, trunk) in grown {
            nodes.extend(trunk);
            first.push(nodes.len());
        }
        Self { first, nodes, base }
    }

    /// The trunk of the `i`th LID on a switch, from the switch outwards.
    fn of(&self, dest: usize, i: usize) -> &[u32] {
        let place = self.base[dest] + i;
        &self.nodes[self.first[place]..self.first[place + 1]]
    }
}

/// Tables from nothing but the graph.
fn rows<C: Cell, const W: usize>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    trunks: &Trunks,
) -> Vec<Lft> {
    (0..graph.len())
        .into_par_iter()
        .map_init(
            || vec![[0; W]; graph.len()],
            |next, v| {
                next.fill([0; W]);
                for (k, &slot) in graph.slots(v).iter().enumerate() {
                    let (word, bit) = (k / 64, k % 64);
                    legs.next_hops(v, slot, |d, may| next[d][word] |= u64::from(may) << bit);
                }
                row(topo, graph, legs, trunks, v, next)
            },
        )
        .collect()
}

/// The table of one switch. `next[d]` holds the slots that may be the next hop to switch `d`.
fn row<C: Cell, const W: usize>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    trunks: &Trunks,
    v: usize,
    next: &[Mask<W>],
) -> Lft {
    let mut lft = Lft::drop_all(topo.top_lid());
    let cells = legs.row(v);
    let mut load = [0u32; 256];
    for &dest in &graph.by_lid {
        let lids = topo.destinations_on(SwitchIdx::at(dest));
        if dest == v {
            lids.iter().for_each(|d| lft.set(d.lid, d.port));
            continue;
        }
        let all = next[dest];
        let hops = cells[dest].hops();
        for (i, d) in lids.iter().enumerate() {
            let choice = trunks
                .of(dest, i)
                .iter()
                .enumerate()
                .rev()
                .filter(|&(i, &node)| cells[node as usize].hops() + i + 1 == hops)
                .map(|(_, &node)| both(all, next[node as usize]))
                .find(|m| m.iter().any(|&word| word != 0))
                .unwrap_or(all);
            let port = least_loaded(graph, v, choice, &load);
            load[usize::from(port)] += u32::from(d.port != PortNum::ZERO);
            lft.set(d.lid, PortNum(port));
        }
    }
    lft
}

#[inline(always)]
fn both<const W: usize>(a: Mask<W>, b: Mask<W>) -> Mask<W> {
    std::array::from_fn(|w| a[w] & b[w])
}

/// The port with the fewest routes among those of the chosen slots; the lowest of several. Dropping it is what is left
/// when there is no slot, which a connected graph excludes.
#[inline(always)]
fn least_loaded<const W: usize>(graph: &Graph, v: usize, choice: Mask<W>, load: &[u32; 256]) -> u8 {
    let slots = graph.slots(v);
    let (mut best, mut fewest) = (PortNum::DROP.raw(), u32::MAX);
    for (w, &word) in choice.iter().enumerate() {
        for bit in Bits(word) {
            for &port in graph.ports(slots[w * 64 + bit]) {
                if load[usize::from(port)] < fewest {
                    fewest = load[usize::from(port)];
                    best = port;
                }
            }
        }
    }
    best
}

/// Keeps what is installed where it is still right.
///
/// After a loss every entry that still is a legal shortest next hop stays; the others take the fresh choice. After a
/// gain (a cable that no installed table uses in either direction, but the fresh tables would) the fresh tables are
/// taken whole: otherwise a repaired cable would idle for ever. The fresh tables depend on nothing but the
/// graph, so a cable lost and repaired leads back to the tables before the loss.
fn settle<C: Cell>(
    topo: &Topology,
    graph: &Graph,
    legs: &Legs<C>,
    fresh: Vec<Lft>,
    previous: &Previous,
) -> Tables {
    let keep = !gained(topo, graph, &fresh, previous);
    fresh
        .into_par_iter()
        .enumerate()
        .map(|(v, mut lft)| {
            let Some(old) = previous.get(v) else {
                return Arc::new(lft);
            };
            if keep {
                let mut peer_of = [None; 256];
                for slot in graph.slots(v) {
                    for &p in graph.ports(*slot) {
                        peer_of[usize::from(p)] = Some(slot.peer);
                    }
                }
                for d in topo.destinations() {
                    let was = old.get(d.lid);
                    if d.switch.index() != v
                        && was != lft.get(d.lid)
                        && peer_of[was.index()]
                            .is_some_and(|peer| legs.may_go(v, peer, d.switch.index()))
                    {
                        lft.set(d.lid, was);
                    }
                }
            }
            if **old == lft {
                Arc::clone(old)
            } else {
                Arc::new(lft)
            }
        })
        .collect()
}

/// Whether the fresh tables use a cable between two known switches that is idle both ways now.
fn gained(topo: &Topology, graph: &Graph, fresh: &[Lft], previous: &Previous) -> bool {
    if previous.lfts.is_empty() {
        return false;
    }
    let used: Vec<(Mask<4>, Mask<4>)> = fresh
        .par_iter()
        .enumerate()
        .map(|(v, lft)| {
            (
                ports_used(lft),
                previous.get(v).map_or([0; 4], |old| ports_used(old)),
            )
        })
        .collect();
    let has = |mask: &Mask<4>, p: PortNum| mask[p.index() / 64] >> (p.index() % 64) & 1 == 1;
    (0..graph.len()).any(|v| {
        topo.links(SwitchIdx::at(v)).iter().any(|l| {
            has(&used[v].0, l.port)
                && !has(&used[v].1, l.port)
                && !has(&used[l.peer.index()].1, l.peer_port)
        })
    })
}

fn ports_used(lft: &Lft) -> Mask<4> {
    let mut seen = [false; 256];
    for &p in lft.entries() {
        seen[usize::from(p)] = true;
    }
    let mut mask = [0; 4];
    for (p, _) in seen.iter().enumerate().filter(|(_, s)| **s) {
        mask[p / 64] |= 1 << (p % 64);
    }
    mask
}
