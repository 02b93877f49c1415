//! Which of the possible next hops is taken: the part that balances load. Shared by engines that
//! route by [`Legs`].
//!
//! Counting routes per switch is not enough: in a tree of three levels a middle switch is only
//! handed the destinations that the leaves below chose to send through it, and a balance over all
//! destinations says nothing about those. So each LID of an end port gets a *trunk*, a chain of
//! switches that grows from the LID's own switch towards the centre of the fabric, over the
//! channels that carry the fewest trunks so far. Every other switch then prefers, among its
//! shortest legal next hops, one that meets the trunk as far out as possible. All sources thus
//! agree on the way down to a LID, and neighbouring LIDs come down by different ways, as with
//! d-mod-k in a full tree, but on any graph. Where no next hop leads to the trunk, the port with
//! the fewest routes is taken.

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
    let mut entries = Lft::drop_all(topo.top_lid()).into_entries();
    let cells = legs.row(v);
    let mut load = Load::new(graph, v);
    for (rank, &dest) in graph.by_lid.iter().enumerate() {
        let lids = topo.destinations_on(SwitchIdx::at(dest));
        if dest == v {
            lids.iter()
                .for_each(|d| entries[usize::from(d.lid.raw())] = d.port.raw());
            continue;
        }
        let all = next[dest];
        let hops = cells[dest].hops();
        let mut balance = Balance {
            all,
            lowest: [0; W],
        };
        for (i, d) in lids.iter().enumerate() {
            let entry = &mut entries[usize::from(d.lid.raw())];
            if d.port == PortNum::ZERO {
                // Management packets do not count as load: any next hop, the same from everywhere.
                *entry = load.port_of(after(all, rank));
                continue;
            }
            let trunk = trunks.of(dest, i);
            let met = (0..trunk.len()).rev().find_map(|i| {
                let node = trunk[i] as usize;
                if cells[node].hops() + i + 1 != hops {
                    return None;
                }
                let choice: Mask<W> = std::array::from_fn(|w| all[w] & next[node][w]);
                load.lightest(&choice)
            });
            let slot = met.or_else(|| balance.pick(&load));
            if let Some(slot) = slot {
                balance.lowest[slot / 64] &= !(1 << (slot % 64));
            }
            *entry = load.port_of(slot);
            load.add(slot);
        }
    }
    Lft::from_entries(entries)
}

/// Routes that a switch sends over each neighbour, and which cable is next where there are several.
struct Load<'a> {
    ports: Vec<&'a [u8]>,
    routes: Vec<usize>,
}

impl<'a> Load<'a> {
    fn new(graph: &'a Graph, v: usize) -> Self {
        let ports: Vec<&[u8]> = graph
            .slots(v)
            .iter()
            .map(|&slot| graph.ports(slot))
            .collect();
        Self {
            routes: vec![0; ports.len()],
            ports,
        }
    }

    /// The port that takes the next route to a slot. Dropping the packet is what is left when there
    /// is no slot, which a connected graph excludes.
    fn port_of(&self, slot: Option<usize>) -> u8 {
        slot.map_or(PortNum::DROP.raw(), |k| {
            self.ports[k][self.routes[k] % self.ports[k].len()]
        })
    }

    fn add(&mut self, slot: Option<usize>) {
        if let Some(k) = slot {
            self.routes[k] += 1;
        }
    }

    /// Routes per cable, rounded down.
    fn per_cable(&self, slot: usize) -> usize {
        match self.ports[slot].len() {
            1 => self.routes[slot],
            cables => self.routes[slot] / cables,
        }
    }

    /// The slot with the fewest routes per cable, the first of several.
    fn lightest<const W: usize>(&self, choice: &Mask<W>) -> Option<usize> {
        let mut slots = slots_in(choice);
        let first = slots.next()?;
        match slots.next() {
            None => Some(first),
            Some(_) => slots_in(choice).min_by_key(|&k| self.per_cable(k)),
        }
    }
}

/// Finds the lightest of the same slots again and again without looking at all of them each time.
struct Balance<const W: usize> {
    all: Mask<W>,
    /// Slots that are known to be as light as any.
    lowest: Mask<W>,
}

impl<const W: usize> Balance<W> {
    fn pick(&mut self, load: &Load<'_>) -> Option<usize> {
        if let Some(slot) = slots_in(&self.lowest).next() {
            return Some(slot);
        }
        let least = slots_in(&self.all).map(|k| load.per_cable(k)).min()?;
        for k in slots_in(&self.all).filter(|&k| load.per_cable(k) == least) {
            self.lowest[k / 64] |= 1 << (k % 64);
        }
        slots_in(&self.lowest).next()
    }
}

/// Slots of a mask, ascending.
#[inline(always)]
fn slots_in<const W: usize>(mask: &Mask<W>) -> impl Iterator<Item = usize> + '_ {
    mask.iter()
        .enumerate()
        .flat_map(|(w, &word)| Bits(word).map(move |bit| w * 64 + bit))
}

/// One slot of a mask, another for another `turn`.
fn after<const W: usize>(mask: Mask<W>, turn: usize) -> Option<usize> {
    let count: u32 = mask.iter().map(|word| word.count_ones()).sum();
    slots_in(&mask).nth(turn % (count as usize).max(1))
}

/// Keeps what is installed where it is still right.
///
/// After a loss every entry that still is a legal shortest next hop stays; the others take the
/// fresh choice. After a gain (a cable that no installed table uses in either direction, but the
/// fresh tables would) the fresh tables are taken whole: otherwise a repaired cable would idle for
/// ever. The fresh tables depend on nothing but the graph, so a cable lost and repaired leads back
/// to the tables before the loss.
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
