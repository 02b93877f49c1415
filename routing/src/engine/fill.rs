//! Which of the possible next hops is taken: the part that balances load. Shared by engines that
//! route by [`HopMatrix`].
//!
//! On trees the destinations are dealt among the columns ([`DmodcAssignment`]): a closed form, a row at a time, in parallel. On
//! other graphs, or where the operator says how load is to be counted, paths are spread by the load that is
//! there already ([`super::load_balance`]); so are the LIDs that cross the busiest cables of a tree that is not whole. Either way an entry is a legal next hop of [`HopMatrix`], and fresh tables depend on nothing
//! but the graph; [`settle`] then keeps what is installed where that is as good.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::cell::HopCell;
use super::dmodc_assignment::{DmodcAssignment, TRUNK_END};
use super::graph::Graph;
use super::hop_matrix::{Bits, HopMatrix};
use super::{Previous, Request, load_balance};
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::work::BudgetExceeded;

/// In tables of more entries than this, overloaded cables are not looked for: it would take seconds.
const RELIEVED_ENTRIES: usize = 60_000_000;

/// A choice among the slots of a switch: one bit each.
type Mask<const W: usize> = [u64; W];

/// Tables for all switches: dealt, or spread if there is no assignment.
pub(crate) fn fill<C: HopCell>(
    request: &Request<'_>,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    assignment: Option<&DmodcAssignment>,
) -> Result<Tables, BudgetExceeded> {
    let (topo, hints) = (request.topo, request.hints);
    let fresh = match assignment {
        Some(assignment) => {
            let mut fresh = if graph.most_slots() <= 64 {
                rows::<C, 1>(topo, graph, matrix, assignment)
            } else {
                rows::<C, 4>(topo, graph, matrix, assignment)
            };
            let small = graph.len() * topo.destinations().len() <= RELIEVED_ENTRIES;
            if small {
                let may_move = |d: &Destination| assignment.may_move(d);
                load_balance::relieve_overloaded_links(
                    topo,
                    graph,
                    matrix,
                    hints,
                    may_move,
                    &mut fresh,
                    request.budget,
                )?;
            }
            fresh
        }
        None => load_balance::balanced_tables(topo, graph, matrix, hints, request.budget)?,
    };
    Ok(settle(topo, graph, matrix, fresh, request.previous))
}

/// Tables from nothing but the graph.
fn rows<C: HopCell, const W: usize>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    assignment: &DmodcAssignment,
) -> Vec<Lft> {
    (0..graph.len())
        .into_par_iter()
        .map_init(
            || vec![[0; W]; graph.len()],
            |next, v| {
                next.fill([0; W]);
                for (k, &slot) in graph.slots(v).iter().enumerate() {
                    let (word, bit) = (k / 64, k % 64);
                    matrix.next_hops(v, slot, |d, may| next[d][word] |= u64::from(may) << bit);
                }
                row(topo, graph, matrix, assignment, v, next)
            },
        )
        .collect()
}

/// The table of one switch. `next[d]` holds the slots that may be the next hop to switch `d`.
fn row<C: HopCell, const W: usize>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    assignment: &DmodcAssignment,
    v: usize,
    next: &[Mask<W>],
) -> Lft {
    let mut entries = Lft::drop_all(topo.top_lid()).into_entries();
    let cells = matrix.row(v);
    let ports: Vec<(usize, &[u8])> = graph
        .slots(v)
        .iter()
        .map(|&slot| (slot.peer, graph.ports(slot)))
        .collect();
    for (rank, &dest) in graph.by_lid.iter().enumerate() {
        let lids = topo.destinations_on(SwitchIdx::at(dest));
        if dest == v {
            local(lids, &mut entries);
            continue;
        }
        let all = &next[dest];
        let ways = count(all);
        if ways == 1
            && let Some((_, [port])) = nth(all, 0).map(|k| ports[k])
        {
            lids.iter()
                .for_each(|d| entries[usize::from(d.lid.raw())] = *port);
            continue;
        }
        let hops = cells[dest].hops();
        let (trunks, length) = assignment.trunks(dest, lids.len());
        for (i, (d, trunk)) in lids.iter().zip(trunks.chunks_exact(length)).enumerate() {
            let entry = &mut entries[usize::from(d.lid.raw())];
            if d.port == PortNum::ZERO {
                // Management packets do not count as load: any next hop.
                let turn = u32::try_from(rank).unwrap_or(0);
                let slot = nth(all, turn % ways.max(1));
                *entry = slot.map_or(PortNum::DROP.raw(), |k| ports[k].1[rank % ports[k].1.len()]);
                continue;
            }
            // As far out as the trunk can be met.
            let (mut choice, mut met) = (*all, false);
            for (depth, &node) in trunk.iter().enumerate().rev() {
                if node == TRUNK_END || cells[node as usize].hops() + depth + 1 != hops {
                    continue;
                }
                let towards = std::array::from_fn(|w| all[w] & next[node as usize][w]);
                if towards != [0; W] {
                    (choice, met) = (towards, true);
                    if let Some(&(_, [port])) = only(&choice).and_then(|k| ports.get(k)) {
                        *entry = *port;
                    }
                    break;
                }
            }
            if *entry != PortNum::DROP.raw() {
                continue;
            }
            let lid = assignment.lid(dest, i);
            let meant = assignment
                .preferred_slot(v, &lid)
                .filter(|&k| met && has(&choice, k));
            let slot =
                meant.or_else(|| nth(&choice, assignment.alternative(v, &lid, count(&choice))));
            // Dropping the packet is what is left when there is no slot, which a connected graph excludes.
            *entry = slot.map_or(PortNum::DROP.raw(), |k| {
                let (peer, ports) = ports[k];
                ports[assignment.link(v, peer, &lid, ports.len())]
            });
        }
    }
    Lft::from_entries(entries)
}

/// The entries for a switch's own LIDs.
pub(crate) fn local(lids: &[Destination], entries: &mut [u8]) {
    lids.iter()
        .for_each(|d| entries[usize::from(d.lid.raw())] = d.port.raw());
}

fn count<const W: usize>(mask: &Mask<W>) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

/// The only slot of a mask.
#[inline(always)]
fn only<const W: usize>(mask: &Mask<W>) -> Option<usize> {
    let (w, word) = mask.iter().enumerate().find(|(_, word)| **word != 0)?;
    let single = word & (word - 1) == 0 && mask[w + 1..].iter().all(|word| *word == 0);
    single.then(|| w * 64 + word.trailing_zeros() as usize)
}

fn has<const W: usize>(mask: &Mask<W>, slot: usize) -> bool {
    mask[slot / 64] >> (slot % 64) & 1 == 1
}

/// The slot with so many of the mask before it.
#[inline(always)]
fn nth<const W: usize>(mask: &Mask<W>, n: u32) -> Option<usize> {
    let mut before = n;
    for (w, &word) in mask.iter().enumerate() {
        if before < word.count_ones() {
            return Bits(word).nth(before as usize).map(|bit| w * 64 + bit);
        }
        before -= word.count_ones();
    }
    None
}

/// Keeps what is installed where it is still right.
///
/// After a loss every entry that still is a legal shortest next hop stays; the others take the
/// fresh choice. After a gain (a cable that no installed table uses in either direction, but the
/// fresh tables would) the fresh tables are taken whole: otherwise a repaired cable would idle for
/// ever. The fresh tables depend on nothing but the graph, so a cable lost and repaired leads back
/// to the tables before the loss.
fn settle<C: HopCell>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
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
                            .is_some_and(|peer| matrix.is_next_hop(v, peer, d.switch.index()))
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
    (0..graph.len()).any(|v| {
        topo.links(SwitchIdx::at(v)).iter().any(|l| {
            has(&used[v].0, l.port.index())
                && !has(&used[v].1, l.port.index())
                && !has(&used[l.peer.index()].1, l.peer_port.index())
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
