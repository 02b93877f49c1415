//! Classes of parallel links of a grid, from its squares and triangles.
//!
//! In a product of paths, rings and full meshes (a ring of four counts as two dimensions of two),
//! every triangle lies in one full dimension, and opposite sides of every four-cycle are parallel
//! in one dimension, even if parts are missing. Links that are joined by triangles or as opposite
//! sides of squares form *classes*, each within one dimension: a full dimension is one class; the
//! links between two adjacent layers of a ring or path are one. Two classes that meet in a square
//! are in different dimensions. Missing links can only split classes.

use super::mismatch::GridMismatch;
use crate::structure::simple_graph::SimpleGraph;

/// The classes of a graph.
#[derive(Debug)]
pub(super) struct Classes {
    /// Class of each edge.
    pub(super) by_edge: Vec<usize>,
    /// Whether the edge, from its lower to its upper vertex, is opposite to the direction of its
    /// class.
    pub(super) reversed: Vec<bool>,
    /// Whether a class has triangles: it is (part of) a full dimension, without a direction.
    pub(super) full: Vec<bool>,
    /// Index in `crossing` of the first entry of each class, and the total.
    crossing_base: Vec<usize>,
    /// By class: classes known to be in other dimensions.
    crossing: Vec<usize>,
}

impl Classes {
    /// Computes the classes.
    pub(super) fn new(g: &SimpleGraph) -> Result<Self, GridMismatch> {
        let mut sets = DirectedEdgeSets::new(g.edges.len());
        let mut in_triangle = vec![false; g.edges.len()];
        for (e, &(a, b)) in g.edges.iter().enumerate() {
            for (to_a, to_b) in common(g, a, b) {
                for side in [to_a, to_b] {
                    sets.join(e, side, false);
                    in_triangle[side] = true;
                }
                in_triangle[e] = true;
            }
        }
        let squares = squares(g, &mut sets, &in_triangle)?;
        let mut number = vec![usize::MAX; g.edges.len()];
        let mut by_edge = Vec::new();
        let mut reversed = Vec::new();
        let mut full = Vec::new();
        let mut conflicting = Vec::new();
        for (e, &triangle) in in_triangle.iter().enumerate() {
            let (root, is_reversed) = sets.find(e);
            if number[root] == usize::MAX {
                number[root] = full.len();
                full.push(false);
                conflicting.push(sets.conflicting[root]);
            }
            full[number[root]] |= triangle;
            by_edge.push(number[root]);
            reversed.push(is_reversed);
        }
        if full
            .iter()
            .zip(&conflicting)
            .any(|(full, conflicting)| !full && *conflicting)
        {
            return Err(GridMismatch::Contradiction);
        }
        let mut pairs = Vec::new();
        for (e, f) in squares {
            let c = by_edge[e];
            let d = by_edge[f];
            if c != d {
                pairs.extend([(c, d), (d, c)]);
            } else if !full[c] {
                return Err(GridMismatch::CrossedSquares);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Ok(Self {
            by_edge,
            reversed,
            crossing_base: (0..=full.len())
                .map(|c| pairs.partition_point(|p| p.0 < c))
                .collect(),
            full,
            crossing: pairs.into_iter().map(|(_, d)| d).collect(),
        })
    }

    /// Classes known to be in other dimensions than `class`.
    pub(super) fn crossing(&self, class: usize) -> &[usize] {
        &self.crossing[self.crossing_base[class]..self.crossing_base[class + 1]]
    }

    /// Whether two classes are known to be in different dimensions.
    pub(super) fn cross(&self, a: usize, b: usize) -> bool {
        self.crossing(a).binary_search(&b).is_ok()
    }

    /// Classes of a list that pairwise cross, chosen greedily in order.
    pub(super) fn clique(&self, candidates: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        for c in candidates {
            if chosen.iter().all(|&d| self.cross(c, d)) {
                chosen.push(c);
            }
        }
        chosen
    }
}

/// Edges from two vertices to each of their common neighbours.
fn common(g: &SimpleGraph, a: usize, b: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut left = g.neighbours(a);
    let mut right = g.neighbours(b);
    std::iter::from_fn(move || {
        while let (Some(&(p, e)), Some(&(q, f))) = (left.first(), right.first()) {
            if p <= q {
                left = &left[1..];
            }
            if q <= p {
                right = &right[1..];
            }
            if p == q {
                return Some((e, f));
            }
        }
        None
    })
}

/// Joins the opposite sides of all squares without a diagonal; returns two adjacent sides of each
/// square.
fn squares(
    g: &SimpleGraph,
    sets: &mut DirectedEdgeSets,
    in_triangle: &[bool],
) -> Result<Vec<(usize, usize)>, GridMismatch> {
    let mut squares = Vec::new();
    let mut is_neighbour = vec![false; g.len()];
    let mut wedges: Vec<(usize, usize, usize, usize)> = Vec::new();
    for a in 0..g.len() {
        for &(c, _) in g.neighbours(a) {
            is_neighbour[c] = true;
        }
        wedges.clear();
        for &(c, to_c) in g.neighbours(a) {
            let beyond = g
                .neighbours(c)
                .iter()
                .filter(|&&(b, _)| b > a && !is_neighbour[b]);
            wedges.extend(beyond.map(|&(b, to_b)| (b, c, to_c, to_b)));
        }
        for &(c, _) in g.neighbours(a) {
            is_neighbour[c] = false;
        }
        // All paths of two links from a to one vertex b are adjacent in this order.
        wedges.sort_unstable();
        for paths in wedges.chunk_by(|x, y| x.0 == y.0) {
            if let [(b, c, ac, cb), (_, d, ad, db)] = *paths {
                // From a to b over c or d: the first side of each path is parallel to the second
                // side of the other.
                sets.join(ac, db, (a > c) != (d > b));
                sets.join(ad, cb, (a > d) != (c > b));
                squares.push((ac, ad));
            } else if let [first, rest @ ..] = paths
                && rest.len() >= 2
            {
                // Three or more common neighbours: only in a full dimension without the link from a
                // to b.
                if !paths.iter().any(|w| in_triangle[w.2] || in_triangle[w.3]) {
                    return Err(GridMismatch::SharedNeighbours);
                }
                sets.join(first.2, first.3, false);
                for w in rest {
                    sets.join(first.2, w.2, false);
                    sets.join(first.2, w.3, false);
                }
            }
        }
    }
    Ok(squares)
}

/// Disjoint sets of edges, each with a direction relative to the root of its set (union-find with
/// parity).
struct DirectedEdgeSets {
    parent: Vec<usize>,
    /// Whether an edge is opposite to its parent.
    reversed: Vec<bool>,
    /// By root: two edges of the set were joined once in the same and once in opposite direction.
    conflicting: Vec<bool>,
}

impl DirectedEdgeSets {
    fn new(n: usize) -> Self {
        Self {
            parent: (0..n).collect(),
            reversed: vec![false; n],
            conflicting: vec![false; n],
        }
    }

    /// The root, and whether the edge is opposite to it.
    fn find(&mut self, e: usize) -> (usize, bool) {
        let mut root = e;
        let mut is_reversed = false;
        while self.parent[root] != root {
            is_reversed ^= self.reversed[root];
            root = self.parent[root];
        }
        let mut at = e;
        let mut to_root = is_reversed;
        while self.parent[at] != root && at != root {
            let next = self.parent[at];
            let step = self.reversed[at];
            self.parent[at] = root;
            self.reversed[at] = to_root;
            to_root ^= step;
            at = next;
        }
        (root, is_reversed)
    }

    /// Joins the sets of two edges, which have the same direction or opposite directions.
    fn join(&mut self, e: usize, f: usize, is_opposite: bool) {
        let (a, x) = self.find(e);
        let (b, y) = self.find(f);
        let is_reversed = x ^ y ^ is_opposite;
        if a == b {
            self.conflicting[a] |= is_reversed;
        } else {
            // The lower root stays, independently of the order of joins.
            let low = a.min(b);
            let high = a.max(b);
            self.parent[high] = low;
            self.reversed[high] = is_reversed;
            self.conflicting[low] |= self.conflicting[high];
        }
    }
}
