//! Detection of dragonflies: groups of densely connected switches, and global links between groups.
//!
//! In a dragonfly, the switches of a group are a full mesh; in a dragonfly+, they are leaves and
//! spines, and global links connect spines. Full meshes are found by density. Local links of a
//! dragonfly+ lead to a switch with end ports, or are in more squares than global links.

use std::cmp::Reverse;
use std::fmt;

use petgraph::unionfind::UnionFind;

use super::grid::{Grid, grid};
use super::simple_graph::SimpleGraph;
use crate::hints::Hints;
use crate::topology::Topology;

/// Rounds in which switches move between groups.
const MOVE_ROUNDS: usize = 2;

/// How switches are assigned to groups.
#[derive(Debug, Clone, Copy)]
enum GroupRule {
    /// By density: links in many triangles first.
    Triangles,
    /// Local links lead to a leaf: a switch with more end ports than each of its neighbours.
    EndPorts,
    /// Local links are in more squares than the maximum divided by `share`.
    Squares { share: usize },
}

/// The rules in the order of trial. Squares are for fabrics whose leaves have no end ports; the
/// larger share is for groups in which many links are missing.
const GROUP_RULES: [GroupRule; 4] = [
    GroupRule::Triangles,
    GroupRule::EndPorts,
    GroupRule::Squares { share: 2 },
    GroupRule::Squares { share: 5 },
];

/// How the switches of a group are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// Each to all others: a dragonfly.
    FullMesh,
    /// Each leaf to all spines: a dragonfly+.
    LeafSpine,
}

/// A dragonfly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dragonfly {
    /// How the switches of groups are connected.
    pub kind: GroupKind,
    /// Number of groups.
    pub groups: usize,
    /// Group of each switch.
    pub group_of: Vec<usize>,
    /// Whether each switch is a leaf of a dragonfly+.
    pub is_leaf: Vec<bool>,
    /// Number of pairs of neighbouring switches in different groups.
    pub global_links: usize,
    /// Number of pairs of switches of one group that are not neighbours, but would be in a complete
    /// group.
    pub lost_local_links: usize,
    /// Number of pairs of groups without a global link.
    pub unlinked_groups: usize,
}

impl Dragonfly {
    /// Whether no local link is missing and all groups have links to each other.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.lost_local_links == 0 && self.unlinked_groups == 0
    }
}

impl fmt::Display for Dragonfly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, structure) = match self.kind {
            GroupKind::FullMesh => ("dragonfly", "full mesh"),
            GroupKind::LeafSpine => ("dragonfly+", "leaves and spines"),
        };
        write!(
            f,
            "{name}: {} groups ({structure}), {} switches, {} global links",
            self.groups,
            self.group_of.len(),
            self.global_links
        )?;
        if !self.is_complete() {
            write!(
                f,
                "; missing: {} local links, links between {} pairs of groups",
                self.lost_local_links, self.unlinked_groups
            )?;
        }
        Ok(())
    }
}

/// Why a fabric is not a dragonfly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DragonflyMismatch {
    /// The switches are not connected.
    #[error("the switches are not connected")]
    Disconnected,
    /// No part of the fabric is densely connected.
    #[error("no groups: links form neither triangles nor squares")]
    NoGroups,
    /// Too few groups.
    #[error("{0} groups, at least 3 required")]
    FewGroups(usize),
    /// A group has one switch, or fewer than two thirds of the switches of the largest group.
    #[error("groups differ in size")]
    GroupSizes,
    /// Leaves and spines of a group both have global links.
    #[error("leaves and spines have global links")]
    GlobalLinks,
    /// Fewer than 60 % of the pairs of groups have global links.
    #[error("only {linked} of {group_pairs} pairs of groups have global links")]
    FewGlobalLinks {
        /// Pairs of groups with global links.
        linked: usize,
        group_pairs: usize,
    },
    /// The fabric is a grid.
    #[error("it is a {0}")]
    Grid(Box<Grid>),
    /// Groups are neither full meshes nor leaves and spines.
    #[error("groups are neither full meshes nor leaves and spines")]
    GroupKind,
    /// Groups have fewer than 60 % of the links of their kind.
    #[error("groups have too few links")]
    SparseGroups,
}

/// Detects a dragonfly that is not a grid as well.
///
/// # Errors
/// The fabric is not a dragonfly.
pub fn dragonfly(topo: &Topology) -> Result<Dragonfly, DragonflyMismatch> {
    let dragonfly = find_groups(topo)?;
    match grid(topo, &Hints::default()) {
        Ok(grid) => Err(DragonflyMismatch::Grid(Box::new(grid))),
        Err(_) => Ok(dragonfly),
    }
}

/// Detects the groups of a dragonfly. The fabric may be a grid: the rows of a HyperX of two
/// dimensions are groups.
pub(crate) fn find_groups(topo: &Topology) -> Result<Dragonfly, DragonflyMismatch> {
    let g = SimpleGraph::new(topo);
    if topo.graph().check_connected().is_err() {
        return Err(DragonflyMismatch::Disconnected);
    }
    let mut error = DragonflyMismatch::NoGroups;
    for rule in GROUP_RULES {
        let Some(pieces) = rule.pieces(&g, topo) else {
            continue;
        };
        match check_structure(&g, rule.kind(), pieces) {
            Ok(dragonfly) => return Ok(dragonfly),
            Err(mismatch) if error == DragonflyMismatch::NoGroups => error = mismatch,
            Err(_) => {}
        }
    }
    Err(error)
}

impl GroupRule {
    const fn kind(self) -> GroupKind {
        match self {
            Self::Triangles => GroupKind::FullMesh,
            Self::EndPorts | Self::Squares { .. } => GroupKind::LeafSpine,
        }
    }

    /// Sets of switches of one group each; `None` if the rule does not apply.
    fn pieces(self, g: &SimpleGraph, topo: &Topology) -> Option<UnionFind<usize>> {
        match self {
            Self::Triangles => dense_pieces(g, &triangles(g)),
            Self::Squares { share } => {
                let squares = squares(g);
                let most = squares.iter().max().copied().filter(|&most| most > 0)?;
                Some(connected_pieces(g, |e| squares[e] > most / share))
            }
            Self::EndPorts => {
                let end_ports = |v: usize| topo.graph().hosts[g.switch[v]];
                let is_leaf = |v: usize| {
                    let mut neighbours = g.neighbours(v).iter();
                    neighbours.all(|&(p, _)| end_ports(p) < end_ports(v))
                };
                let leaf: Vec<bool> = (0..g.len()).map(is_leaf).collect();
                let is_local = |e: usize| leaf[g.edges[e].0] || leaf[g.edges[e].1];
                leaf.contains(&true).then(|| connected_pieces(g, is_local))
            }
        }
    }
}

/// Sets that are connected by local links.
fn connected_pieces(g: &SimpleGraph, is_local: impl Fn(usize) -> bool) -> UnionFind<usize> {
    let mut sets = UnionFind::new(g.len());
    for (e, &(a, b)) in g.edges.iter().enumerate() {
        if is_local(e) {
            sets.union(a, b);
        }
    }
    sets
}

/// Sets in which more than half of the pairs are neighbours; `None` without triangles. The links in
/// most triangles are considered first. Global links may form triangles too, but these are smaller
/// and come later, when the switches at both ends belong to groups.
fn dense_pieces(g: &SimpleGraph, triangles: &[usize]) -> Option<UnionFind<usize>> {
    let mut by_triangles: Vec<usize> = (0..g.edges.len()).filter(|&e| triangles[e] > 0).collect();
    by_triangles.sort_by_key(|&e| Reverse(triangles[e]));
    let mut sets = UnionFind::new(g.len());
    let mut members: Vec<Vec<usize>> = (0..g.len()).map(|v| vec![v]).collect();
    for &e in &by_triangles {
        let (a, b) = g.edges[e];
        let mut small = sets.find_mut(a);
        let mut large = sets.find_mut(b);
        if small == large {
            continue;
        }
        if members[small].len() > members[large].len() {
            std::mem::swap(&mut small, &mut large);
        }
        let links: usize = members[small]
            .iter()
            .flat_map(|&v| g.neighbours(v))
            .filter(|&&(p, _)| sets.find(p) == large)
            .count();
        if 2 * links > members[small].len() * members[large].len() {
            sets.union(small, large);
            let mut moved = std::mem::take(&mut members[small]);
            moved.append(&mut members[large]);
            members[sets.find_mut(a)] = moved;
        }
    }
    (!by_triangles.is_empty()).then_some(sets)
}

/// Checks the structure of a fabric whose groups consist of these sets.
fn check_structure(
    g: &SimpleGraph,
    kind: GroupKind,
    pieces: UnionFind<usize>,
) -> Result<Dragonfly, DragonflyMismatch> {
    let (group, size) = groups(g, kind, pieces);
    let groups = size.len();
    let largest = size.iter().max().copied().unwrap_or(0);
    if groups < 3 {
        return Err(DragonflyMismatch::FewGroups(groups));
    }
    if size.iter().any(|&s| 3 * s < 2 * largest || s < 2) {
        return Err(DragonflyMismatch::GroupSizes);
    }
    let (is_leaf, lost_local_links) = check_groups(g, kind, &group, &size)?;
    let mut pairs = Vec::new();
    let mut global_links = 0;
    for &(a, b) in &g.edges {
        if group[a] != group[b] {
            global_links += 1;
            pairs.push((group[a].min(group[b]), group[a].max(group[b])));
            if kind == GroupKind::LeafSpine && (is_leaf[a] || is_leaf[b]) {
                return Err(DragonflyMismatch::GlobalLinks);
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let group_pairs = groups * (groups - 1) / 2;
    if pairs.len() * 5 < group_pairs * 3 {
        return Err(DragonflyMismatch::FewGlobalLinks {
            linked: pairs.len(),
            group_pairs,
        });
    }
    let mut group_of = vec![0; g.len()];
    let mut is_leaf_switch = vec![false; g.len()];
    for (v, &s) in g.switch.iter().enumerate() {
        group_of[s] = group[v];
        is_leaf_switch[s] = is_leaf[v];
    }
    Ok(Dragonfly {
        kind,
        groups,
        group_of,
        is_leaf: is_leaf_switch,
        global_links,
        lost_local_links,
        unlinked_groups: group_pairs - pairs.len(),
    })
}

/// The group of each vertex, and the size of each group.
fn groups(
    g: &SimpleGraph,
    kind: GroupKind,
    mut sets: UnionFind<usize>,
) -> (Vec<usize>, Vec<usize>) {
    // In a small group, a lost link removes most triangles or squares of its neighbours. Sets that
    // are connected to each other as densely as within themselves are one group.
    let (piece, size) = number_sets(g.len(), &sets);
    let largest = size.iter().max().copied().unwrap_or(0);
    let mut group_links: Vec<(usize, usize)> = g
        .edges
        .iter()
        .map(|&(a, b)| (piece[a].min(piece[b]), piece[a].max(piece[b])))
        .filter(|&(p, q)| p != q && size[p].min(size[q]) < largest)
        .collect();
    group_links.sort_unstable();
    let mut first = vec![0; size.len()];
    (0..g.len()).rev().for_each(|v| first[piece[v]] = v);
    for equal_pairs in group_links.chunk_by(|x, y| x == y) {
        let (p, q) = equal_pairs[0];
        if 2 * equal_pairs.len() > size[p] * size[q] && size[p] + size[q] <= largest {
            sets.union(first[p], first[q]);
        }
    }
    let (mut group, _) = number_sets(g.len(), &sets);
    if kind == GroupKind::FullMesh {
        move_to_densest(g, &mut group);
    }
    let mut first = vec![None; g.len()];
    let mut sets = UnionFind::new(g.len());
    for v in 0..g.len() {
        sets.union(v, *first[group[v]].get_or_insert(v));
    }
    number_sets(g.len(), &sets)
}

/// Moves each switch to the group with most links to it: a switch that lost most of its local links
/// may be in a set of its own, or with the other ends of its global links. Of groups with equally
/// many links, the smallest is the one that lacks a switch.
fn move_to_densest(g: &SimpleGraph, group: &mut [usize]) {
    let mut links = vec![0; g.len()];
    let mut size = vec![0; g.len()];
    group.iter().for_each(|&q| size[q] += 1);
    for _ in 0..MOVE_ROUNDS {
        for v in 0..g.len() {
            for &(p, _) in g.neighbours(v) {
                links[group[p]] += 1;
            }
            let densest = g.neighbours(v).iter().map(|&(p, _)| group[p]);
            if let Some(best) = densest.max_by_key(|&q| (links[q], Reverse((size[q], q))))
                && links[best] > links[group[v]]
            {
                links[group[v]] = 0;
                size[group[v]] -= 1;
                size[best] += 1;
                group[v] = best;
            }
            for &(p, _) in g.neighbours(v) {
                links[group[p]] = 0;
            }
        }
    }
}

/// Sets, numbered by their lowest members: set of each member, and size of each set.
fn number_sets(n: usize, sets: &UnionFind<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut number = vec![usize::MAX; n];
    let mut size: Vec<usize> = Vec::new();
    let group_of = (0..n)
        .map(|v| {
            let root = sets.find(v);
            if number[root] == usize::MAX {
                number[root] = size.len();
                size.push(0);
            }
            size[number[root]] += 1;
            number[root]
        })
        .collect();
    (group_of, size)
}

/// Checks the links within groups. Returns which switches are leaves, if groups have leaves and
/// spines, and the number of missing links.
fn check_groups(
    g: &SimpleGraph,
    kind: GroupKind,
    group: &[usize],
    size: &[usize],
) -> Result<(Vec<bool>, usize), DragonflyMismatch> {
    let local: Vec<(usize, usize)> = g
        .edges
        .iter()
        .copied()
        .filter(|&(a, b)| group[a] == group[b])
        .collect();
    let mut leaf = vec![false; g.len()];
    let expected_links: usize = match kind {
        GroupKind::FullMesh => size.iter().map(|s| s * (s - 1) / 2).sum(),
        GroupKind::LeafSpine => {
            let global = |v: usize| g.neighbours(v).iter().any(|&(p, _)| group[p] != group[v]);
            // Switches with global links are spines; so are switches two hops from one.
            // `Some(true)` is a leaf.
            let mut is_leaf: Vec<Option<bool>> =
                (0..g.len()).map(|v| global(v).then_some(false)).collect();
            let mut stack: Vec<usize> = (0..g.len()).filter(|&v| is_leaf[v].is_some()).collect();
            while let Some(v) = stack.pop() {
                for &(p, _) in g
                    .neighbours(v)
                    .iter()
                    .filter(|&&(p, _)| group[p] == group[v])
                {
                    let opposite = is_leaf[v].map(|c| !c);
                    if is_leaf[p].is_none() {
                        is_leaf[p] = opposite;
                        stack.push(p);
                    } else if is_leaf[p] != opposite {
                        return Err(DragonflyMismatch::GroupKind);
                    }
                }
            }
            leaf = is_leaf.iter().map(|c| *c == Some(true)).collect();
            let mut leaves = vec![0usize; size.len()];
            (0..g.len())
                .filter(|&v| leaf[v])
                .for_each(|v| leaves[group[v]] += 1);
            leaves.iter().zip(size).map(|(l, s)| l * (s - l)).sum()
        }
    };
    if local.len() * 5 < expected_links * 3 {
        return Err(DragonflyMismatch::SparseGroups);
    }
    Ok((leaf, expected_links.saturating_sub(local.len())))
}

/// Number of triangles that contain each edge.
fn triangles(g: &SimpleGraph) -> Vec<usize> {
    let mut neighbour_of = vec![usize::MAX; g.len()];
    let mut count = vec![0; g.edges.len()];
    for v in 0..g.len() {
        g.neighbours(v)
            .iter()
            .for_each(|&(p, _)| neighbour_of[p] = v);
        for &(p, e) in g.neighbours(v).iter().filter(|&&(p, _)| p > v) {
            count[e] = g
                .neighbours(p)
                .iter()
                .filter(|&&(q, _)| neighbour_of[q] == v)
                .count();
        }
    }
    count
}

/// Number of squares that contain each edge.
fn squares(g: &SimpleGraph) -> Vec<usize> {
    let mut count = vec![0; g.edges.len()];
    let mut paths = vec![0usize; g.len()];
    for a in 0..g.len() {
        for &(c, _) in g.neighbours(a) {
            g.neighbours(c).iter().for_each(|&(b, _)| paths[b] += 1);
        }
        for &(c, e) in g.neighbours(a) {
            let other_neighbors = g.neighbours(c).iter().filter(|&&(b, _)| b != a);
            // All squares of an edge are counted from both of its ends.
            count[e] += other_neighbors.map(|&(b, _)| paths[b] - 1).sum::<usize>();
        }
        for &(c, _) in g.neighbours(a) {
            g.neighbours(c).iter().for_each(|&(b, _)| paths[b] = 0);
        }
    }
    count
}
