//! Selects one of the legal next hops for every entry: load balancing for engines that use a
//! [`HopMatrix`].
//!
//! On trees, [`DmodcAssignment`] assigns destinations to columns in closed form, one row at a time
//! in parallel. On other graphs, or if hints define how load is counted, `load_balance`
//! distributes paths by the current load. It also moves LIDs off overloaded links of an incomplete
//! tree. Every entry is a legal next hop of the [`HopMatrix`], and fresh tables depend on the graph
//! alone. [`keep_installed_entries`] then keeps installed entries that are still legal.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::dmodc_assignment::{DmodcAssignment, TRUNK_END};
use super::load_balance;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::{HopMatrix, SetBits};
use crate::request::{PreviousRouting, RoutingRequest};
use crate::tables::{Lft, Tables};
use crate::topology::graph::Graph;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::work::BudgetExceeded;

/// Maximum number of table entries for which overloaded links are relieved; beyond this it takes
/// seconds.
const RELIEVED_ENTRIES: usize = 60_000_000;

/// A set of slots of a switch, one bit each.
type Mask<const W: usize> = [u64; W];

/// Tables of all switches: by the Dmodc assignment, or by load if there is none.
pub(crate) fn fill<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    assignment: Option<&DmodcAssignment>,
) -> Result<Tables, BudgetExceeded> {
    let topo = request.topo;
    let hints = request.hints;
    let new_tables = match assignment {
        Some(assignment) => {
            let mut new_tables = if graph.most_slots() <= 64 {
                dmodc_tables::<C, 1>(topo, graph, matrix, assignment)
            } else {
                dmodc_tables::<C, 4>(topo, graph, matrix, assignment)
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
                    &mut new_tables,
                    request.budget,
                )?;
            }
            new_tables
        }
        None => load_balance::balanced_tables(topo, graph, matrix, hints, request.budget)?,
    };
    Ok(keep_installed_entries(
        topo,
        graph,
        matrix,
        new_tables,
        request.previous,
    ))
}

/// Fresh tables by the Dmodc assignment.
fn dmodc_tables<C: HopCell, const W: usize>(
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
                    let word = k / 64;
                    let bit = k % 64;
                    matrix.next_hops(v, slot, |d, is_next_hop| {
                        next[d][word] |= u64::from(is_next_hop) << bit
                    });
                }
                dmodc_table(topo, graph, matrix, assignment, v, next)
            },
        )
        .collect()
}

/// Fresh table of one switch. `next[d]` has the slots that are legal next hops to switch `d`.
fn dmodc_table<C: HopCell, const W: usize>(
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
        let lids = topo.destinations_on(SwitchIdx::from_index(dest));
        if dest == v {
            write_own_lids(lids, &mut entries);
            continue;
        }
        let candidates = &next[dest];
        let legal = count_slots(candidates);
        if legal == 1
            && let Some((_, [port])) = nth_slot(candidates, 0).map(|k| ports[k])
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
                // Management packets do not count as load: any legal next hop.
                let index = u32::try_from(rank).unwrap_or(0);
                let slot = nth_slot(candidates, index % legal.max(1));
                *entry = slot.map_or(PortNum::DROP.raw(), |k| ports[k].1[rank % ports[k].1.len()]);
                continue;
            }
            // Join the trunk as far from the destination as possible.
            let mut choice = *candidates;
            let mut has_common = false;
            for (depth, &node) in trunk.iter().enumerate().rev() {
                if node == TRUNK_END || cells[node as usize].hops() + depth + 1 != hops {
                    continue;
                }
                let towards = std::array::from_fn(|w| candidates[w] & next[node as usize][w]);
                if towards != [0; W] {
                    (choice, has_common) = (towards, true);
                    if let Some(&(_, [port])) = single_slot(&choice).and_then(|k| ports.get(k)) {
                        *entry = *port;
                    }
                    break;
                }
            }
            if *entry != PortNum::DROP.raw() {
                continue;
            }
            let lid = assignment.lid(dest, i);
            let preferred = assignment
                .preferred_slot(v, &lid)
                .filter(|&k| has_common && contains_slot(&choice, k));
            let slot = preferred.or_else(|| {
                nth_slot(
                    &choice,
                    assignment.alternative(v, &lid, count_slots(&choice)),
                )
            });
            // An empty choice cannot occur on a connected graph; drop the packet then.
            *entry = slot.map_or(PortNum::DROP.raw(), |k| {
                let (peer, ports) = ports[k];
                ports[assignment.link(v, peer, &lid, ports.len())]
            });
        }
    }
    Lft::from_entries(entries)
}

/// Writes the entries of a switch's own LIDs.
pub(crate) fn write_own_lids(lids: &[Destination], entries: &mut [u8]) {
    lids.iter()
        .for_each(|d| entries[usize::from(d.lid.raw())] = d.port.raw());
}

fn count_slots<const W: usize>(mask: &Mask<W>) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

/// The slot of a mask with exactly one.
#[inline(always)]
fn single_slot<const W: usize>(mask: &Mask<W>) -> Option<usize> {
    let (w, word) = mask.iter().enumerate().find(|(_, word)| **word != 0)?;
    let single = word & (word - 1) == 0 && mask[w + 1..].iter().all(|word| *word == 0);
    single.then(|| w * 64 + word.trailing_zeros() as usize)
}

fn contains_slot<const W: usize>(mask: &Mask<W>, slot: usize) -> bool {
    mask[slot / 64] >> (slot % 64) & 1 == 1
}

/// The `n`-th slot of a mask, from 0.
#[inline(always)]
fn nth_slot<const W: usize>(mask: &Mask<W>, n: u32) -> Option<usize> {
    let mut skipped = n;
    for (w, &word) in mask.iter().enumerate() {
        if skipped < word.count_ones() {
            return SetBits(word).nth(skipped as usize).map(|bit| w * 64 + bit);
        }
        skipped -= word.count_ones();
    }
    None
}

/// Keeps installed entries that are still legal.
///
/// After a loss, every entry that is still a legal next hop stays in use; the others take the fresh
/// choice. After a gain (a link that the fresh tables use and that no installed table uses in
/// either direction) the fresh tables are installed as a whole, so that a restored link does not
/// stay idle. Fresh tables depend on the graph alone, so losing and restoring a link leads back to
/// the original tables.
fn keep_installed_entries<C: HopCell>(
    topo: &Topology,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    new_tables: Vec<Lft>,
    previous: &PreviousRouting,
) -> Tables {
    let keeps_entries = !uses_idle_link(topo, graph, &new_tables, previous);
    new_tables
        .into_par_iter()
        .enumerate()
        .map(|(v, mut lft)| {
            let Some(old) = previous.table_of(v) else {
                return Arc::new(lft);
            };
            if keeps_entries {
                let mut peer_of = [None; 256];
                for slot in graph.slots(v) {
                    for &p in graph.ports(*slot) {
                        peer_of[usize::from(p)] = Some(slot.peer);
                    }
                }
                for d in topo.destinations() {
                    let installed = old.get(d.lid);
                    if d.switch.index() != v
                        && installed != lft.get(d.lid)
                        && peer_of[installed.index()]
                            .is_some_and(|peer| matrix.is_next_hop(v, peer, d.switch.index()))
                    {
                        lft.set(d.lid, installed);
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

/// Whether the fresh tables use a link that no installed table uses in either direction.
fn uses_idle_link(
    topo: &Topology,
    graph: &Graph,
    new_tables: &[Lft],
    previous: &PreviousRouting,
) -> bool {
    if previous.lfts.is_empty() {
        return false;
    }
    let used: Vec<(Mask<4>, Mask<4>)> = new_tables
        .par_iter()
        .enumerate()
        .map(|(v, lft)| {
            (
                ports_used(lft),
                previous.table_of(v).map_or([0; 4], |old| ports_used(old)),
            )
        })
        .collect();
    (0..graph.len()).any(|v| {
        topo.links(SwitchIdx::from_index(v)).iter().any(|l| {
            contains_slot(&used[v].0, l.port.index())
                && !contains_slot(&used[v].1, l.port.index())
                && !contains_slot(&used[l.peer.index()].1, l.peer_port.index())
        })
    })
}

fn ports_used(lft: &Lft) -> Mask<4> {
    let mut is_seen = [false; 256];
    for &p in lft.entries() {
        is_seen[usize::from(p)] = true;
    }
    let mut mask = [0; 4];
    for (p, _) in is_seen.iter().enumerate().filter(|(_, s)| **s) {
        mask[p / 64] |= 1 << (p % 64);
    }
    mask
}
