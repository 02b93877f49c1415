//! Coordinates in ring and path dimensions.
//!
//! From a node with the most dimensions, nodes are placed in an unbounded lattice. The dimension of
//! a link follows from its class of parallel links: a class that crosses all dimensions but one
//! belongs to that one. A link to a node that already has other coordinates closes a ring. If
//! nothing more can be deduced, a free position is guessed; the caller checks the result against
//! every link. A node is a switch, or a set of switches contracted over full dimensions.

use std::collections::BTreeMap;

use super::classes::Classes;
use super::mismatch::GridMismatch;
use crate::structure::simple_graph::SimpleGraph;

/// Maximum number of dimensions.
const DIMS_MAX: usize = 16;

/// Number of different attempts of [`grow`].
pub(super) const ATTEMPTS: usize = 24;

/// Coordinates of the nodes.
#[derive(Debug)]
pub(super) struct Lattice {
    /// Number of dimensions.
    pub(super) dims: usize,
    /// Length of each ring dimension; `None` for a path.
    pub(super) period: Vec<Option<i32>>,
    /// Coordinates, node by node.
    pub(super) at: Vec<i32>,
}

/// One direction of a link between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    from: usize,
    to: usize,
    class: usize,
    /// Whether it is opposite to the direction of its class.
    is_reversed: bool,
}

impl Step {
    fn sign(&self, class_sign: i32) -> i32 {
        if self.is_reversed {
            -class_sign
        } else {
            class_sign
        }
    }
}

struct Growth<'a> {
    classes: &'a Classes,
    steps: Vec<Step>,
    base: Vec<usize>,
    dims: usize,
    /// Dimension and sign of each class, if known.
    direction: Vec<Option<(usize, i32)>>,
    /// Mask of the dimensions that each class crosses.
    crossed: Vec<u32>,
    placed: Vec<bool>,
    at: Vec<i32>,
    period: Vec<Option<i32>>,
    node_at: BTreeMap<Vec<i32>, usize>,
    attempt: usize,
}

/// Places all nodes. `node_of`: node of each vertex. Each `attempt` uses a different start and
/// different guesses.
pub(super) fn grow(
    g: &SimpleGraph,
    nodes: usize,
    node_of: &[usize],
    classes: &Classes,
    attempt: usize,
) -> Result<Lattice, GridMismatch> {
    let mut steps = Vec::new();
    for (e, &(a, b)) in g.edges.iter().enumerate() {
        let from = node_of[a];
        let to = node_of[b];
        let class = classes.by_edge[e];
        let is_reversed = classes.reversed[e];
        if !classes.full[class] && from != to {
            steps.push(Step {
                from,
                to,
                class,
                is_reversed,
            });
            steps.push(Step {
                from: to,
                to: from,
                class,
                is_reversed: !is_reversed,
            });
        }
    }
    steps.sort_unstable();
    steps.dedup();
    let base: Vec<usize> = (0..=nodes)
        .map(|v| steps.partition_point(|s| s.from < v))
        .collect();
    let clique = |v: usize| {
        let mut own_steps: Vec<usize> = steps[base[v]..base[v + 1]]
            .iter()
            .map(|s| s.class)
            .collect();
        own_steps.dedup();
        classes.clique(own_steps.into_iter())
    };
    let mut starts: Vec<(usize, Vec<usize>)> = Vec::new();
    for v in 0..nodes {
        let clique_of_start = clique(v);
        let max_len = starts.first().map_or(0, |(_, best)| best.len());
        if starts.is_empty() || clique_of_start.len() > max_len {
            starts.clear();
        }
        if starts.is_empty() || clique_of_start.len() == max_len {
            starts.push((v, clique_of_start));
        }
    }
    let choice = attempt * starts.len() / ATTEMPTS;
    let (origin, axes) = starts.into_iter().nth(choice).unwrap_or_default();
    let dims = axes.len();
    if dims > DIMS_MAX {
        return Err(GridMismatch::Dimensions(dims));
    }
    let mut growth = Growth {
        classes,
        steps,
        base,
        dims,
        direction: vec![None; classes.full.len()],
        crossed: vec![0; classes.full.len()],
        placed: vec![false; nodes],
        at: vec![0; nodes * dims],
        period: vec![None; dims],
        node_at: BTreeMap::new(),
        attempt,
    };
    if nodes > 0 {
        for (dim, &class) in axes.iter().enumerate() {
            growth.assign_class(class, dim, 1);
        }
        growth.place_node(origin, vec![0; dims])?;
        growth.run()?;
    }
    Ok(Lattice {
        dims,
        period: growth.period,
        at: growth.at,
    })
}

impl Growth<'_> {
    fn run(&mut self) -> Result<(), GridMismatch> {
        while self.node_at.len() < self.placed.len() {
            let before = self.node_at.len();
            let deduced = self.place_neighbours()?
                | self.assign_by_both_ends()?
                | self.assign_by_elimination();
            if !deduced
                && self.node_at.len() == before
                && !self.place_single(false)?
                && !self.place_single(true)?
            {
                return Err(GridMismatch::NoSquares);
            }
        }
        // The last links may close rings.
        self.place_neighbours()?;
        while self.assign_by_both_ends()? {
            self.place_neighbours()?;
        }
        Ok(())
    }

    fn steps_of(&self, v: usize) -> std::ops::Range<usize> {
        self.base[v]..self.base[v + 1]
    }

    fn position(&self, v: usize) -> &[i32] {
        &self.at[v * self.dims..][..self.dims]
    }

    fn wrapped(&self, mut position: Vec<i32>) -> Vec<i32> {
        for (x, period) in position.iter_mut().zip(&self.period) {
            if let Some(n) = period {
                *x = x.rem_euclid(*n);
            }
        }
        position
    }

    /// The position next to a node.
    fn neighbour_position(&self, v: usize, dim: usize, sign: i32) -> Vec<i32> {
        let mut position = self.position(v).to_vec();
        position[dim] += sign;
        self.wrapped(position)
    }

    fn place_node(&mut self, v: usize, position: Vec<i32>) -> Result<(), GridMismatch> {
        self.placed[v] = true;
        self.at[v * self.dims..][..self.dims].copy_from_slice(&position);
        match self.node_at.insert(position, v) {
            Some(_) => Err(GridMismatch::DuplicatePosition),
            None => Ok(()),
        }
    }

    fn assign_class(&mut self, class: usize, dim: usize, sign: i32) {
        self.direction[class] = Some((dim, sign));
        for &other in self.classes.crossing(class) {
            self.crossed[other] |= 1 << dim;
        }
    }

    /// Closes a dimension to a ring.
    fn close_ring(&mut self, dim: usize, length: i32) -> Result<(), GridMismatch> {
        if length < 3 {
            return Err(GridMismatch::ShortRing);
        }
        self.period[dim] = Some(length);
        self.node_at.clear();
        for v in 0..self.placed.len() {
            if self.placed[v] {
                let position = self.wrapped(self.position(v).to_vec());
                self.place_node(v, position)?;
            }
        }
        Ok(())
    }

    /// Places all neighbours in known directions; closes rings.
    fn place_neighbours(&mut self) -> Result<bool, GridMismatch> {
        let mut stack: Vec<usize> = (0..self.placed.len()).filter(|&v| self.placed[v]).collect();
        let mut progress = false;
        while let Some(v) = stack.pop() {
            for i in self.steps_of(v) {
                let step = self.steps[i];
                let Some((dim, sign)) = self.direction[step.class] else {
                    continue;
                };
                let target = self.neighbour_position(v, dim, step.sign(sign));
                if !self.placed[step.to] {
                    self.place_node(step.to, target)?;
                    stack.push(step.to);
                    progress = true;
                    continue;
                }
                let differing = self.differing_dims(&target, step.to);
                match differing[..] {
                    [] => {}
                    [(dim, offset)] if self.period[dim].is_none() => {
                        self.close_ring(dim, offset.abs())?;
                        progress = true;
                    }
                    _ => {
                        return Err(GridMismatch::TwistedRing);
                    }
                }
            }
        }
        Ok(progress)
    }

    /// Dimensions in which a position differs from that of a node.
    fn differing_dims(&self, from: &[i32], v: usize) -> Vec<(usize, i32)> {
        self.position(v)
            .iter()
            .zip(from)
            .zip(&self.period)
            .enumerate()
            .filter_map(|(dim, ((to, from), period))| {
                let offset = match period {
                    Some(n) => {
                        let offset = (to - from).rem_euclid(*n);
                        if offset > n / 2 { offset - n } else { offset }
                    }
                    None => to - from,
                };
                (offset != 0).then_some((dim, offset))
            })
            .collect()
    }

    /// Assigns classes of which a link connects two placed nodes.
    fn assign_by_both_ends(&mut self) -> Result<bool, GridMismatch> {
        let mut progress = false;
        for i in 0..self.steps.len() {
            let step = self.steps[i];
            if self.direction[step.class].is_some()
                || !self.placed[step.from]
                || !self.placed[step.to]
            {
                continue;
            }
            let [(dim, offset)] = self.differing_dims(self.position(step.from), step.to)[..] else {
                return Err(GridMismatch::LinkAcrossGrid);
            };
            if offset.abs() != 1 {
                if self.period[dim].is_some() {
                    return Err(GridMismatch::LinkAcrossRing);
                }
                self.close_ring(dim, offset.abs() + 1)?;
            }
            let sign = if offset.abs() == 1 {
                offset
            } else {
                -offset.signum()
            };
            self.assign_class(step.class, dim, step.sign(sign));
            progress = true;
        }
        Ok(progress)
    }

    /// Assigns classes that cross all dimensions but one, by the free side of a placed node.
    fn assign_by_elimination(&mut self) -> bool {
        let all_dims = (1u32 << self.dims) - 1;
        let mut progress = false;
        for i in 0..self.steps.len() {
            let step = self.steps[i];
            let remaining = all_dims & !self.crossed[step.class];
            if self.direction[step.class].is_some()
                || !self.placed[step.from]
                || remaining.count_ones() != 1
            {
                continue;
            }
            let dim = remaining.trailing_zeros() as usize;
            let is_occupied = |sign| {
                self.node_at
                    .contains_key(&self.neighbour_position(step.from, dim, sign))
            };
            let sign = match (is_occupied(-1), is_occupied(1)) {
                (true, false) => 1,
                (false, true) => -1,
                _ => continue,
            };
            self.assign_class(step.class, dim, step.sign(sign));
            progress = true;
        }
        progress
    }

    /// Places one node next to its placed neighbours: a node with one free position or, as a guess,
    /// a node with the fewest.
    fn place_single(&mut self, guess: bool) -> Result<bool, GridMismatch> {
        let mut best: Option<(usize, usize, Vec<i32>)> = None;
        for v in 0..self.placed.len() {
            if self.placed[v] {
                continue;
            }
            let Some(mut positions) = self.free_positions(v) else {
                continue;
            };
            if guess {
                // Prefer positions within the known extent of the grid.
                positions.sort_by_key(|(outside, _)| *outside);
            }
            let count = positions.len();
            let choice = if guess {
                self.attempt % count.max(1)
            } else {
                0
            };
            let Some((_, first)) = positions.into_iter().nth(choice) else {
                return Err(GridMismatch::NoFreePosition);
            };
            if count == 1 {
                best = Some((1, v, first));
                break;
            }
            if guess && best.as_ref().is_none_or(|b| count < b.0) {
                best = Some((count, v, first));
            }
        }
        let Some((_, v, position)) = best else {
            return Ok(false);
        };
        self.place_node(v, position)?;
        Ok(true)
    }

    /// Free positions next to all placed neighbours of a node, each with whether it is outside of
    /// the known extent; `None` without placed neighbours.
    fn free_positions(&self, v: usize) -> Option<Vec<(bool, Vec<i32>)>> {
        let mut positions: Option<Vec<Vec<i32>>> = None;
        for i in self.steps_of(v) {
            let step = self.steps[i];
            if !self.placed[step.to] {
                continue;
            }
            let crossed = self.crossed[step.class];
            let dims = (0..self.dims).filter(|&d| crossed >> d & 1 == 0);
            let neighbors: Vec<Vec<i32>> = dims
                .flat_map(|d| [-1, 1].map(|sign| self.neighbour_position(step.to, d, sign)))
                .filter(|p| !self.node_at.contains_key(p))
                .collect();
            positions = Some(match positions {
                None => neighbors,
                Some(before) => before
                    .into_iter()
                    .filter(|p| neighbors.contains(p))
                    .collect(),
            });
        }
        let outside = |p: &[i32]| {
            (0..self.dims).any(|d| {
                let mut known = (0..self.placed.len())
                    .filter(|&w| self.placed[w])
                    .map(|w| self.at[w * self.dims + d]);
                !known.any(|x| x == p[d])
            })
        };
        let rated = |p: Vec<i32>| (outside(&p), p);
        Some(positions?.into_iter().map(rated).collect())
    }
}
