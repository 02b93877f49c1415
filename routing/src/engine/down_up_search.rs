//! Ways down and up again, on vls of their own: for end ports above the leaves of a tree.
//!
//! Two roots of a tree have no way up and down it between them. On one vl such pairs must all turn at one leaf (the few
//! that come before some roots in the order), because turns at several leaves wait for each other in a circle. With an
//! aggregation node in every switch this one leaf carries most of the fabric's pairs of switches.
//!
//! On a vl of their own they may turn at any leaf: what first descends and then climbs has no circle, as what first
//! climbs and then descends has none. Switches of one level in the middle of a tree need more: down, up, and down again to
//! their own level. All those of one level share a vl: what they descend on first is below the level, what they descend
//! on last is above it, so nothing waits in a circle there either. The vl belongs to the pair of switches, the same in both
//! directions.
//!
//! Where a tree is broken, some pairs have neither: they, and those that they pass, keep to the one order on vl 0. It
//! decides no balance; it says which next hops are legal, for [`super::hop_matrix::HopMatrix`].

use std::cmp::Reverse;

use fixedbitset::FixedBitSet;
use rayon::prelude::*;

use super::cell::HopCell;
use super::down_up_pairs::{DownUpPairs, NO_TRANSIT};
use super::graph::Graph;
use super::hop_matrix::HopMatrix;
use crate::structure::tree::Tree;

/// The ways from all switches to one destination.
struct Column<C> {
    /// Those that go down first, from the bottom: hops, and whether their ways may end in a descent.
    down_up: Vec<(usize, C, bool)>,
    /// Those whose ways are not to be met.
    no_transit: Vec<usize>,
}

/// What all ways from a switch to a destination are like.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    climbs: bool,
    descends: bool,
    up_down: bool,
}

impl Shape {
    /// Of the destination itself.
    const HERE: Self = Self {
        climbs: true,
        descends: true,
        up_down: true,
    };
    const NONE: Self = Self {
        climbs: false,
        descends: false,
        up_down: false,
    };

    /// With one more way, by a neighbour with this shape.
    fn and(self, up: bool, next: Self) -> Self {
        Self {
            climbs: self.climbs && up && next.climbs,
            descends: self.descends && !up && next.descends,
            up_down: self.up_down && if up { next.up_down } else { next.descends },
        }
    }
}

/// Finds them, if end ports above the leaves are so many that it matters and there are the vls, and enters them in
/// `matrix`. `busy` is a load that some cable has in any case.
pub(crate) fn find_down_up_pairs<C: HopCell>(
    graph: &Graph,
    tree: &Tree,
    vls: u8,
    busy: u64,
    matrix: &mut HopMatrix<C>,
) {
    let n = graph.len();
    let above: Vec<usize> = (0..n).filter(|&v| tree.rank[v] > 0).collect();
    let with_hosts = above.iter().filter(|&&v| graph.hosts[v] > 0).count();
    if vls < 2 || with_hosts < 2 {
        return;
    }
    let mut down: Vec<usize> = (0..n).collect();
    down.sort_by_key(|&v| {
        let neighbours = Reverse(graph.slots(v).len());
        let rank = Reverse(tree.rank[v]);
        (rank, tree.hanging[v], neighbours, graph.lid_rank[v])
    });
    let mut place = vec![0; n];
    for (i, &v) in down.iter().enumerate() {
        place[v] = i;
    }
    let without: Vec<Vec<usize>> = above
        .par_chunks(64)
        .flat_map_iter(|dests| pairs_without_up_down_path(graph, tree, &down, &place, dests))
        .collect();
    if 4 * turning_pairs(graph, &above, &without) <= busy * max_leaf_degree(graph, tree) {
        return;
    }
    let Some((columns, wanted)) = symmetric_columns(graph, tree, &place, matrix, &above, without)
    else {
        return;
    };
    let mut this = DownUpPairs {
        n,
        place,
        vl: vec![0; n * n],
        vls: 2,
        pairs: 0,
    };
    // The vl of a level comes after that of plain down_up, for levels that need one.
    let descending = above.iter().zip(&columns);
    let mut levels: Vec<u32> = descending
        .filter(|(_, column)| column.down_up.iter().any(|v| v.2))
        .map(|(&d, _)| tree.rank[d])
        .collect();
    levels.sort_unstable();
    levels.dedup();
    this.vls = u8::try_from(levels.len() + 2).unwrap_or(u8::MAX);
    if this.vls > vls || wanted == 0 {
        return;
    }
    let number = |d: usize| levels.binary_search(&tree.rank[d]).unwrap_or(0) + 2;
    for (&d, column) in above.iter().zip(&columns) {
        for &v in &column.no_transit {
            this.vl[v * n + d] = NO_TRANSIT;
        }
    }
    for (&d, column) in above.iter().zip(&columns) {
        for &(v, cell, descends) in &column.down_up {
            let vl = if descends { number(d) } else { 1 };
            let vl = u8::try_from(vl).unwrap_or(u8::MAX);
            // Either direction decides for both.
            for at in [v * n + d, d * n + v] {
                this.vl[at] = this.vl[at].max(vl);
            }
            this.pairs += usize::from(v < d);
            matrix.set(v, d, cell);
        }
    }
    matrix.down_up = Some(this);
}

/// For each of up to 64 destinations, the switches above the leaves that have no way up and down to it.
fn pairs_without_up_down_path(
    graph: &Graph,
    tree: &Tree,
    down: &[usize],
    place: &[usize],
    dests: &[usize],
) -> Vec<Vec<usize>> {
    let mut mask = vec![0u64; graph.len()];
    for (bit, &d) in dests.iter().enumerate() {
        mask[d] |= 1 << bit;
    }
    let mut spread = |v: usize, below: bool| {
        let peers = graph.slots(v).iter().map(|s| s.peer);
        mask[v] |= peers
            .filter(|&p| (place[p] > place[v]) == below)
            .fold(0, |m, p| m | mask[p]);
    };
    down.iter().rev().for_each(|&v| spread(v, true));
    down.iter().for_each(|&v| spread(v, false));
    let bits = 0..dests.len();
    bits.map(|bit| {
        let above = down.iter().copied().filter(|&v| tree.rank[v] > 0);
        above.filter(|&v| mask[v] >> bit & 1 == 0).collect()
    })
    .collect()
}

/// Pairs of end ports that would all have to turn at one leaf.
fn turning_pairs(graph: &Graph, above: &[usize], without: &[Vec<usize>]) -> u64 {
    let hosts = |v: usize| u64::from(graph.hosts[v]);
    let pairs = above.iter().zip(without);
    pairs
        .map(|(&d, from)| hosts(d) * from.iter().map(|&v| hosts(v)).sum::<u64>())
        .sum()
}

fn max_leaf_degree(graph: &Graph, tree: &Tree) -> u64 {
    let leaves = (0..graph.len()).filter(|&v| tree.rank[v] == 0);
    let most = leaves.map(|v| graph.slots(v).len() as u64).max();
    most.unwrap_or(1)
}

/// The columns of all switches above the leaves, once every pair goes down first in both directions or in none, and how
/// many do. `None`: too many broken pairs to come to an end soon.
fn symmetric_columns<C: HopCell>(
    graph: &Graph,
    tree: &Tree,
    place: &[usize],
    matrix: &HopMatrix<C>,
    above: &[usize],
    without: Vec<Vec<usize>>,
) -> Option<(Vec<Column<C>>, usize)> {
    let mut row = vec![usize::MAX; graph.len()];
    for (i, &v) in above.iter().enumerate() {
        row[v] = i;
    }
    let mut wanted: Vec<FixedBitSet> = without
        .into_iter()
        .map(|from| {
            let mut set = FixedBitSet::with_capacity(graph.len());
            set.extend(from);
            set
        })
        .collect();
    let without: Vec<FixedBitSet> = wanted.clone();
    let mut columns: Vec<Column<C>> = Vec::new();
    columns.resize_with(above.len(), || Column {
        down_up: Vec::new(),
        no_transit: Vec::new(),
    });
    let mut dirty: Vec<usize> = (0..above.len()).collect();
    for _ in 0..ROUNDS {
        let fresh: Vec<(usize, Column<C>)> = dirty
            .par_iter()
            .map(|&i| {
                let without = &without[i];
                let from = wanted[i].clone();
                (
                    i,
                    column(graph, tree, place, matrix, above[i], without, from),
                )
            })
            .collect();
        let mut next: Vec<usize> = Vec::new();
        for (i, column) in fresh {
            let mut left = FixedBitSet::with_capacity(graph.len());
            left.extend(column.down_up.iter().map(|v| v.0));
            for v in wanted[i].difference(&left).collect::<Vec<_>>() {
                let back = &mut wanted[row[v]];
                if back.contains(above[i]) {
                    back.set(above[i], false);
                    next.push(row[v]);
                }
            }
            // What another column took back in this round stays so.
            if !left.is_subset(&wanted[i]) {
                next.push(i);
            }
            wanted[i].intersect_with(&left);
            columns[i] = column;
        }
        if next.is_empty() {
            let pairs = wanted.iter().map(|set| set.count_ones(..)).sum();
            return Some((columns, pairs));
        }
        next.sort_unstable();
        next.dedup();
        dirty = next;
    }
    None
}

/// The ways to one destination. Of `from`, those go down first that can and that no other switch sends by; `without` are
/// all that have no way up and down.
fn column<C: HopCell>(
    graph: &Graph,
    tree: &Tree,
    place: &[usize],
    matrix: &HopMatrix<C>,
    dest: usize,
    without: &FixedBitSet,
    mut from: FixedBitSet,
) -> Column<C> {
    let n = graph.len();
    let mut column = Column {
        down_up: Vec::new(),
        no_transit: Vec::new(),
    };
    if without.is_clear() {
        return column;
    }
    let mut near: Vec<usize> = (0..n).filter(|&v| v != dest).collect();
    near.sort_by_cached_key(|&v| (matrix.cell(v, dest).hops(), graph.lid_rank[v]));
    let mut shape = vec![Shape::NONE; n];
    loop {
        // What others send by goes where they think it goes.
        for &v in near.iter().rev() {
            if from[v] {
                continue;
            }
            for slot in graph.slots(v) {
                if from[slot.peer] && matrix.is_next_hop(v, slot.peer, dest) {
                    from.set(slot.peer, false);
                }
            }
        }
        shape.fill(Shape::NONE);
        shape[dest] = Shape::HERE;
        for &v in &near {
            if from[v] {
                continue;
            }
            let legal = graph.slots(v).iter().map(|s| s.peer);
            let legal = legal.filter(|&p| matrix.is_next_hop(v, p, dest));
            shape[v] = legal.fold(Shape::HERE, |own, p| own.and(place[p] < place[v], shape[p]));
        }
        let mut lowest_first: Vec<usize> = from.ones().collect();
        lowest_first.sort_unstable_by_key(|&v| Reverse(place[v]));
        let mut hops = vec![C::FAR; n];
        let mut lost = false;
        column.down_up.clear();
        for v in lowest_first {
            let below = || {
                let peers = graph.slots(v).iter().map(|s| s.peer);
                let peers = peers.filter(|&p| place[p] > place[v]);
                peers.filter_map(|p| {
                    let cell = if from[p] {
                        hops[p]
                    } else if shape[p].up_down {
                        matrix.cell(p, dest).down()
                    } else {
                        C::FAR
                    };
                    (cell != C::FAR).then(|| (p, cell.farther()))
                })
            };
            let nearest = below().map(|(_, hops)| hops).min();
            let ways = below().filter(|&(_, hops)| Some(hops) == nearest);
            let climbs = ways.map(|(p, _)| p).all(|p| shape[p].climbs);
            let level = tree.rank[v] == tree.rank[dest] && tree.level_cables == 0;
            match nearest {
                Some(nearest) if climbs || level => {
                    hops[v] = nearest;
                    shape[v].climbs = climbs;
                    column.down_up.push((v, nearest, !climbs));
                }
                _ => {
                    from.set(v, false);
                    lost = true;
                }
            }
        }
        if !lost {
            break;
        }
    }
    let no_transit = (0..n).filter(|&v| v != dest && !from[v] && !shape[v].up_down);
    column.no_transit.extend(no_transit);
    column
}

/// How often the two directions are compared. What keeps to vl 0 is met by few.
const ROUNDS: usize = 64;
