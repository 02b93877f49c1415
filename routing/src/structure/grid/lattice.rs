//! Coordinates in the dimensions that are rings and paths.
//!
//! Starting where most dimensions meet, nodes are placed in an unbounded lattice, one dimension after the other known
//! by its classes of parallel cables: a class that crosses all dimensions but one belongs to that one. Where a cable
//! leads to a node that is placed elsewhere already, the lattice closes to a ring. What is deduced holds for any part
//! of a grid; only where nothing can be deduced any more a free place is guessed. The caller checks the result against
//! every cable. A node here is a switch, or all switches that full dimensions join.

use std::collections::BTreeMap;

use crate::structure::plain::Plain;

use super::classes::Classes;
use super::mismatch::GridMismatch;

/// Most dimensions that there can be.
const DIMS_MAX: usize = 16;

/// How often [`grow`] may be tried.
pub(super) const ATTEMPTS: usize = 24;

/// Where the nodes are.
#[derive(Debug)]
pub(super) struct Lattice {
    /// Number of dimensions.
    pub(super) dims: usize,
    /// Length of each dimension that closes to a ring.
    pub(super) period: Vec<Option<i32>>,
    /// Coordinates, node by node.
    pub(super) at: Vec<i32>,
}

/// One direction of a cable between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    from: usize,
    to: usize,
    class: usize,
    /// Whether it goes against the direction of its class.
    against: bool,
}

impl Step {
    fn sign(&self, class_sign: i32) -> i32 {
        if self.against {
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
    /// Dimension and sign of each class, as far as known.
    direction: Vec<Option<(usize, i32)>>,
    /// Dimensions that each class crosses, one bit each.
    crossed: Vec<u32>,
    placed: Vec<bool>,
    at: Vec<i32>,
    period: Vec<Option<i32>>,
    who: BTreeMap<Vec<i32>, usize>,
    attempt: usize,
}

/// Places all nodes. `node_of` says which node each vertex belongs to. Each `attempt` begins elsewhere and guesses
/// something else.
pub(super) fn grow(
    g: &Plain,
    nodes: usize,
    node_of: &[usize],
    classes: &Classes,
    attempt: usize,
) -> Result<Lattice, GridMismatch> {
    let mut steps = Vec::new();
    for (e, &(a, b)) in g.edges.iter().enumerate() {
        let (from, to, class, against) = (node_of[a], node_of[b], classes.of[e], classes.turned[e]);
        if !classes.full[class] && from != to {
            steps.push(Step {
                from,
                to,
                class,
                against,
            });
            steps.push(Step {
                from: to,
                to: from,
                class,
                against: !against,
            });
        }
    }
    steps.sort_unstable();
    steps.dedup();
    let base: Vec<usize> = (0..=nodes)
        .map(|v| steps.partition_point(|s| s.from < v))
        .collect();
    let clique = |v: usize| {
        let mut here: Vec<usize> = steps[base[v]..base[v + 1]]
            .iter()
            .map(|s| s.class)
            .collect();
        here.dedup();
        classes.clique(here.into_iter())
    };
    let mut starts: Vec<(usize, Vec<usize>)> = Vec::new();
    for v in 0..nodes {
        let found = clique(v);
        let most = starts.first().map_or(0, |(_, best)| best.len());
        if starts.is_empty() || found.len() > most {
            starts.clear();
        }
        if starts.is_empty() || found.len() == most {
            starts.push((v, found));
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
        who: BTreeMap::new(),
        attempt,
    };
    if nodes > 0 {
        for (dim, &class) in axes.iter().enumerate() {
            growth.point(class, dim, 1);
        }
        growth.place(origin, vec![0; dims])?;
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
        while self.who.len() < self.placed.len() {
            let before = self.who.len();
            let deduced = self.spread()? | self.by_both_ends()? | self.by_elimination();
            if !deduced && self.who.len() == before && !self.single(false)? && !self.single(true)? {
                return Err(GridMismatch::Apart);
            }
        }
        // Rings may close with the last cables.
        self.spread()?;
        while self.by_both_ends()? {
            self.spread()?;
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

    /// The place next to a node.
    fn beside(&self, v: usize, dim: usize, sign: i32) -> Vec<i32> {
        let mut position = self.position(v).to_vec();
        position[dim] += sign;
        self.wrapped(position)
    }

    fn place(&mut self, v: usize, position: Vec<i32>) -> Result<(), GridMismatch> {
        self.placed[v] = true;
        self.at[v * self.dims..][..self.dims].copy_from_slice(&position);
        match self.who.insert(position, v) {
            Some(_) => Err(GridMismatch::SamePlace),
            None => Ok(()),
        }
    }

    fn point(&mut self, class: usize, dim: usize, sign: i32) {
        self.direction[class] = Some((dim, sign));
        for &other in self.classes.crossing(class) {
            self.crossed[other] |= 1 << dim;
        }
    }

    /// A dimension closes to a ring.
    fn close(&mut self, dim: usize, length: i32) -> Result<(), GridMismatch> {
        if length < 3 {
            return Err(GridMismatch::ShortRing);
        }
        self.period[dim] = Some(length);
        self.who.clear();
        for v in 0..self.placed.len() {
            if self.placed[v] {
                let position = self.wrapped(self.position(v).to_vec());
                self.place(v, position)?;
            }
        }
        Ok(())
    }

    /// Places every neighbour in a known direction; closes rings.
    fn spread(&mut self) -> Result<bool, GridMismatch> {
        let mut stack: Vec<usize> = (0..self.placed.len()).filter(|&v| self.placed[v]).collect();
        let mut moved = false;
        while let Some(v) = stack.pop() {
            for i in self.steps_of(v) {
                let step = self.steps[i];
                let Some((dim, sign)) = self.direction[step.class] else {
                    continue;
                };
                let target = self.beside(v, dim, step.sign(sign));
                if !self.placed[step.to] {
                    self.place(step.to, target)?;
                    stack.push(step.to);
                    moved = true;
                    continue;
                }
                let apart = self.apart(&target, step.to);
                match apart[..] {
                    [] => {}
                    [(dim, by)] if self.period[dim].is_none() => {
                        self.close(dim, by.abs())?;
                        moved = true;
                    }
                    _ => {
                        return Err(GridMismatch::Askew);
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Dimensions in which a place differs from where a node is.
    fn apart(&self, from: &[i32], v: usize) -> Vec<(usize, i32)> {
        let by = self
            .position(v)
            .iter()
            .zip(from)
            .zip(&self.period)
            .enumerate();
        by.filter_map(|(dim, ((to, from), period))| {
            let by = match period {
                Some(n) => {
                    let by = (to - from).rem_euclid(*n);
                    if by > n / 2 { by - n } else { by }
                }
                None => to - from,
            };
            (by != 0).then_some((dim, by))
        })
        .collect()
    }

    /// Classes one of whose cables joins two placed nodes.
    fn by_both_ends(&mut self) -> Result<bool, GridMismatch> {
        let mut moved = false;
        for i in 0..self.steps.len() {
            let step = self.steps[i];
            if self.direction[step.class].is_some()
                || !self.placed[step.from]
                || !self.placed[step.to]
            {
                continue;
            }
            let [(dim, by)] = self.apart(self.position(step.from), step.to)[..] else {
                return Err(GridMismatch::AcrossGrid);
            };
            if by.abs() != 1 {
                if self.period[dim].is_some() {
                    return Err(GridMismatch::AcrossRing);
                }
                self.close(dim, by.abs() + 1)?;
            }
            let sign = if by.abs() == 1 { by } else { -by.signum() };
            self.point(step.class, dim, step.sign(sign));
            moved = true;
        }
        Ok(moved)
    }

    /// Classes that cross all dimensions but one, on the free side of a placed node.
    fn by_elimination(&mut self) -> bool {
        let all = (1u32 << self.dims) - 1;
        let mut moved = false;
        for i in 0..self.steps.len() {
            let step = self.steps[i];
            let left = all & !self.crossed[step.class];
            if self.direction[step.class].is_some()
                || !self.placed[step.from]
                || left.count_ones() != 1
            {
                continue;
            }
            let dim = left.trailing_zeros() as usize;
            let taken = |sign| self.who.contains_key(&self.beside(step.from, dim, sign));
            let sign = match (taken(-1), taken(1)) {
                (true, false) => 1,
                (false, true) => -1,
                _ => continue,
            };
            self.point(step.class, dim, step.sign(sign));
            moved = true;
        }
        moved
    }

    /// Places one node between its placed neighbours: where only one place is free or, as a guess, at the first of
    /// the fewest.
    fn single(&mut self, guess: bool) -> Result<bool, GridMismatch> {
        let mut best: Option<(usize, usize, Vec<i32>)> = None;
        for v in 0..self.placed.len() {
            if self.placed[v] {
                continue;
            }
            let Some(mut places) = self.free_places(v) else {
                continue;
            };
            if guess {
                // Rather within what is known of the grid than at a new border.
                places.sort_by_key(|(outside, _)| *outside);
            }
            let count = places.len();
            let choice = if guess {
                self.attempt % count.max(1)
            } else {
                0
            };
            let Some((_, first)) = places.into_iter().nth(choice) else {
                return Err(GridMismatch::NoNeighbours);
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
        self.place(v, position)?;
        Ok(true)
    }

    /// Free places beside all placed neighbours of a node, with whether they lie outside of what is placed so far;
    /// `None` without placed neighbours.
    fn free_places(&self, v: usize) -> Option<Vec<(bool, Vec<i32>)>> {
        let mut places: Option<Vec<Vec<i32>>> = None;
        for i in self.steps_of(v) {
            let step = self.steps[i];
            if !self.placed[step.to] {
                continue;
            }
            let crossed = self.crossed[step.class];
            let dims = (0..self.dims).filter(|&d| crossed >> d & 1 == 0);
            let beside: Vec<Vec<i32>> = dims
                .flat_map(|d| [-1, 1].map(|sign| self.beside(step.to, d, sign)))
                .filter(|p| !self.who.contains_key(p))
                .collect();
            places = Some(match places {
                None => beside,
                Some(before) => before.into_iter().filter(|p| beside.contains(p)).collect(),
            });
        }
        let outside = |p: &[i32]| {
            (0..self.dims).any(|d| {
                let known = (0..self.placed.len()).filter(|&w| self.placed[w]);
                let mut known = known.map(|w| self.at[w * self.dims + d]);
                !known.any(|x| x == p[d])
            })
        };
        let rated = |p: Vec<i32>| (outside(&p), p);
        Some(places?.into_iter().map(rated).collect())
    }
}
