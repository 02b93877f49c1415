//! Detection of tori, meshes, hypercubes and HyperX: dimensions, and coordinates of every switch.
//!
//! Uses the simple graph only, without parallel links, port numbers and end ports. A grid is a
//! product of paths, rings and full meshes of switches; links and some switches may be missing.
//! `classes` finds parallel links, `lattice` computes coordinates along rings and paths, `full`
//! along full dimensions. Finally, every link is checked against the coordinates, so that the
//! result is a grid even if coordinates were guessed.
//!
//! A ring of four switches is also a square of two dimensions of two. It counts as two dimensions,
//! which need no additional VL against credit loops; engines that need rings join the dimensions.

mod classes;
mod full;
mod lattice;
mod mismatch;

use std::collections::BTreeMap;
use std::fmt;

use ferrosm_mad::ids::PortNum;

pub use mismatch::GridMismatch;

use super::simple_graph::SimpleGraph;
use crate::hints::Hints;
use crate::topology::{SwitchIdx, Topology};

/// How the switches along a dimension are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DimKind {
    /// Each to the next; two switches or more.
    Path,
    /// Each to the next, and the last to the first; five switches or more.
    Ring,
    /// Each to all others; three switches or more.
    Full,
}

/// One dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim {
    /// How its switches are connected.
    pub kind: DimKind,
    /// Number of switches along it.
    pub size: usize,
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DimKind::Path => "path",
            DimKind::Ring => "ring",
            DimKind::Full => "full mesh",
        };
        write!(f, "{kind} of {}", self.size)
    }
}

/// Family of grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// At least one ring.
    Torus,
    /// Paths only.
    Mesh,
    /// Two switches in each dimension.
    Hypercube,
    /// At least one full dimension, and no ring.
    HyperX,
}

/// A fabric with coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Dimensions, in the order of the port numbers of most switches.
    pub dims: Vec<Dim>,
    /// Number of positions without a switch.
    pub lost_switches: usize,
    /// Number of pairs of neighbouring switches without a link.
    pub lost_links: usize,
    coords: Vec<usize>,
    at: Vec<Option<SwitchIdx>>,
}

impl Grid {
    /// Coordinates of a switch, one for each dimension.
    #[must_use]
    pub fn coords(&self, s: SwitchIdx) -> &[usize] {
        &self.coords[s.index() * self.dims.len()..][..self.dims.len()]
    }

    /// The switch at these coordinates.
    #[must_use]
    pub fn switch_at(&self, coords: &[usize]) -> Option<SwitchIdx> {
        let inside = coords.iter().zip(&self.dims).all(|(&x, dim)| x < dim.size);
        if !inside || coords.len() != self.dims.len() {
            return None;
        }
        self.at[position_index(&self.dims, coords)]
    }

    /// All positions in order, the first dimension fastest.
    #[must_use]
    pub fn positions(&self) -> &[Option<SwitchIdx>] {
        &self.at
    }

    /// Whether no switch and no link is missing.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.lost_switches == 0 && self.lost_links == 0
    }

    /// Family of the grid. A single switch is a mesh.
    #[must_use]
    pub fn family(&self) -> Family {
        let any = |kind| self.dims.iter().any(|d| d.kind == kind);
        if any(DimKind::Ring) {
            Family::Torus
        } else if any(DimKind::Full) {
            Family::HyperX
        } else if self.dims.iter().all(|d| d.size == 2) {
            Family::Hypercube
        } else {
            Family::Mesh
        }
    }

    /// Number of rings, in which dimension-order routing on one VL has credit loops.
    #[must_use]
    pub fn rings(&self) -> usize {
        self.dims.iter().filter(|d| d.kind == DimKind::Ring).count()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.family() {
            Family::Torus => "torus",
            Family::Mesh => "mesh",
            Family::Hypercube => "hypercube",
            Family::HyperX => "HyperX",
        };
        let dims: Vec<String> = self.dims.iter().map(Dim::to_string).collect();
        write!(f, "{name}: {}", dims.join(", "))?;
        if !self.is_complete() {
            write!(
                f,
                "; missing: {} switches, {} links between neighbours",
                self.lost_switches, self.lost_links
            )?;
        }
        Ok(())
    }
}

/// Index of coordinates among all positions.
fn position_index(dims: &[Dim], coords: &[usize]) -> usize {
    dims.iter()
        .zip(coords)
        .rev()
        .fold(0, |at, (dim, x)| at * dim.size + x)
}

/// Detects a grid.
///
/// # Errors
/// The fabric is not a grid, or too much of it is missing.
pub fn grid(topo: &Topology, hints: &Hints) -> Result<Grid, GridMismatch> {
    let g = SimpleGraph::new(topo);
    if topo.graph().check_connected().is_err() {
        return Err(GridMismatch::Disconnected);
    }
    let classes = classes::Classes::new(&g)?;
    let (nodes, node_of) = full::contract_full_dimensions(&g, &classes);
    let full = full::layers(&g, &classes);
    let attempt = |i| {
        let lattice = lattice::grow(&g, nodes, &node_of, &classes, i)?;
        let (dims, coords) = assemble(&g, &node_of, &lattice, &full)?;
        complete_and_check(&g, dims, coords)
    };
    let mut grid = attempt(0).or_else(|e| {
        (1..lattice::ATTEMPTS)
            .find_map(|i| attempt(i).ok())
            .ok_or(e)
    })?;
    renumber(&g, &mut grid);
    sort_dims(topo, hints, &mut grid);
    Ok(grid)
}

/// Coordinates by vertex, all dimensions together.
fn assemble(
    g: &SimpleGraph,
    node_of: &[usize],
    lattice: &lattice::Lattice,
    full: &full::Layers,
) -> Result<(Vec<Dim>, Vec<Option<usize>>), GridMismatch> {
    let lattice_dims: Vec<(i32, Dim)> = (0..lattice.dims)
        .map(|d| {
            let along = || lattice.at.iter().skip(d).step_by(lattice.dims);
            let first = along().min().copied().unwrap_or(0);
            let last = along().max().copied().unwrap_or(0);
            let (low, kind, size) = match lattice.period[d] {
                Some(n) => (0, DimKind::Ring, n),
                None => (first, DimKind::Path, last - first + 1),
            };
            (
                low,
                Dim {
                    kind,
                    size: usize::try_from(size).unwrap_or(0),
                },
            )
        })
        .collect();
    let full_dims = full.sizes.iter().map(|&size| Dim {
        kind: DimKind::Full,
        size,
    });
    let dims: Vec<Dim> = lattice_dims.iter().map(|l| l.1).chain(full_dims).collect();
    let positions = dims
        .iter()
        .try_fold(1usize, |product, d| product.checked_mul(d.size));
    if positions.is_none_or(|positions| positions > 2 * g.len()) {
        return Err(GridMismatch::Sparse);
    }
    let mut coords = Vec::with_capacity(g.len() * dims.len());
    for (v, node) in node_of.iter().enumerate() {
        let position = &lattice.at[node * lattice.dims..][..lattice.dims];
        let along = position.iter().zip(&lattice_dims);
        coords.extend(along.map(|(x, (low, _))| usize::try_from(x - low).ok()));
        coords.extend_from_slice(&full.component_of[v * full.sizes.len()..][..full.sizes.len()]);
    }
    Ok((dims, coords))
}

/// Whether two positions are neighbours.
fn adjacent(dims: &[Dim], a: &[usize], b: &[usize]) -> bool {
    let mut differing = dims
        .iter()
        .zip(a.iter().zip(b))
        .filter(|(_, (x, y))| x != y);
    let first = differing.next();
    let second = differing.next();
    let (Some((dim, (x, y))), None) = (first, second) else {
        return false;
    };
    match dim.kind {
        DimKind::Full => true,
        DimKind::Path => x.abs_diff(*y) == 1,
        DimKind::Ring => [1, dim.size - 1].contains(&x.abs_diff(*y)),
    }
}

/// Calls `visit` with every neighbour position.
fn for_each_neighbour(dims: &[Dim], at: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut other = at.to_vec();
    for (d, dim) in dims.iter().enumerate() {
        for x in 0..dim.size {
            other[d] = x;
            if adjacent(dims, at, &other) {
                visit(&other);
            }
        }
        other[d] = at[d];
    }
}

/// Completes coordinates that full dimensions left open, and checks the grid: one switch per
/// position, links only between neighbours, not too much missing.
fn complete_and_check(
    g: &SimpleGraph,
    dims: Vec<Dim>,
    open: Vec<Option<usize>>,
) -> Result<Grid, GridMismatch> {
    let width = dims.len();
    let positions: usize = dims.iter().map(|d| d.size).product();
    let mut at: Vec<Option<usize>> = vec![None; positions];
    let mut coords = vec![0; g.len() * width];
    let mut remaining = Vec::new();
    for v in 0..g.len() {
        let known: Option<Vec<usize>> = open[v * width..][..width].iter().copied().collect();
        let Some(known) = known else {
            remaining.push(v);
            continue;
        };
        if at[position_index(&dims, &known)].replace(v).is_some() {
            return Err(GridMismatch::DuplicatePosition);
        }
        coords[v * width..][..width].copy_from_slice(&known);
    }
    while !remaining.is_empty() {
        let before = remaining.len();
        let mut next = Vec::new();
        for v in std::mem::take(&mut remaining) {
            let placed: Vec<&[usize]> = g
                .neighbours(v)
                .iter()
                .map(|&(p, _)| (p, &coords[p * width..][..width]))
                .filter(|(p, c)| at[position_index(&dims, c)] == Some(*p))
                .map(|(_, c)| c)
                .collect();
            let mut free: Option<Vec<usize>> = None;
            if let Some((first, rest)) = placed.split_first() {
                for_each_neighbour(&dims, first, |c| {
                    let fits = rest.iter().all(|r| adjacent(&dims, r, c));
                    if free.is_none() && fits && at[position_index(&dims, c)].is_none() {
                        free = Some(c.to_vec());
                    }
                });
            }
            match free {
                Some(c) => {
                    at[position_index(&dims, &c)] = Some(v);
                    coords[v * width..][..width].copy_from_slice(&c);
                }
                None => next.push(v),
            }
        }
        if next.len() == before {
            return Err(GridMismatch::NoPosition);
        }
        remaining = next;
    }
    for &(a, b) in &g.edges {
        if !adjacent(
            &dims,
            &coords[a * width..][..width],
            &coords[b * width..][..width],
        ) {
            return Err(GridMismatch::LinkAcrossGrid);
        }
    }
    let mut neighbours = 0;
    for v in 0..g.len() {
        for_each_neighbour(&dims, &coords[v * width..][..width], |c| {
            neighbours += usize::from(at[position_index(&dims, c)].is_some());
        });
    }
    let links = neighbours / 2;
    let lost_switches = positions - g.len();
    if lost_switches * 4 > positions || g.edges.len() * 5 < links * 3 {
        return Err(GridMismatch::Incomplete {
            positions,
            lost_switches,
            links,
            lost_links: links - g.edges.len(),
        });
    }
    let mut by_switch = vec![0; coords.len()];
    for (v, &s) in g.switch.iter().enumerate() {
        by_switch[s * width..][..width].copy_from_slice(&coords[v * width..][..width]);
    }
    Ok(Grid {
        dims,
        lost_switches,
        lost_links: links - g.edges.len(),
        coords: by_switch,
        at: at
            .into_iter()
            .map(|v| v.map(|v| SwitchIdx::from_index(g.switch[v])))
            .collect(),
    })
}

/// Renumbers the coordinates of each dimension by LIDs, so that they do not depend on the start of
/// the search and survive the loss of a link.
fn renumber(g: &SimpleGraph, grid: &mut Grid) {
    for (d, dim) in grid.dims.clone().into_iter().enumerate() {
        let along: Vec<usize> = g
            .switch
            .iter()
            .map(|&s| grid.coords[s * grid.dims.len() + d])
            .collect();
        let n = dim.size;
        let first = along.first().copied().unwrap_or(0);
        let new_number: Vec<usize> = match dim.kind {
            DimKind::Full => {
                let mut order: Vec<usize> = along.clone();
                let mut seen = vec![false; n];
                order.retain(|&x| !std::mem::replace(&mut seen[x], true));
                order.extend((0..n).filter(|&x| !seen[x]));
                let mut number = vec![0; n];
                order.iter().enumerate().for_each(|(i, &x)| number[x] = i);
                number
            }
            DimKind::Ring => {
                let from_first = |x: usize| (x + n - first) % n;
                let backwards = along
                    .iter()
                    .map(|&x| from_first(x))
                    .find(|&x| x != 0 && 2 * x != n)
                    .is_some_and(|x| 2 * x > n);
                (0..n)
                    .map(from_first)
                    .map(|x| if backwards { (n - x) % n } else { x })
                    .collect()
            }
            DimKind::Path => {
                let backwards = along
                    .iter()
                    .find(|&&x| 2 * x + 1 != n)
                    .is_some_and(|&x| 2 * x + 1 > n);
                (0..n)
                    .map(|x| if backwards { n - 1 - x } else { x })
                    .collect()
            }
        };
        let width = grid.dims.len();
        for x in grid.coords.iter_mut().skip(d).step_by(width) {
            *x = new_number[*x];
        }
    }
    index_switches(grid);
}

/// Computes `at` from `coords`.
fn index_switches(grid: &mut Grid) {
    grid.at.fill(None);
    let width = grid.dims.len();
    let count = grid.at.len() - grid.lost_switches;
    for s in 0..count {
        let c = &grid.coords[s * width..][..width];
        grid.at[position_index(&grid.dims, c)] = Some(SwitchIdx::from_index(s));
    }
}

/// Sorts the dimensions by the lowest port along each, as in the cabling rule of dimension-order
/// routing, if nine of ten switches agree; else by LIDs. Both orders survive the loss of a link.
fn sort_dims(topo: &Topology, hints: &Hints, grid: &mut Grid) {
    let width = grid.dims.len();
    let mut votes: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut voters = 0;
    for s in topo.switches() {
        let order = hints.port_order.iter().find(|(t, _)| *t == s);
        let rank = |port: PortNum| {
            let ports = order.map_or(&[][..], |(_, ports)| ports);
            let listed = ports.iter().position(|&p| p == port);
            listed.unwrap_or_else(|| ports.len() + port.index())
        };
        let mut lowest: Vec<Option<usize>> = vec![None; width];
        for link in topo.links(s) {
            let coords = grid.coords(s);
            let peer_coords = grid.coords(link.peer);
            if let Some(d) = (0..width).find(|&d| coords[d] != peer_coords[d]) {
                let rank = rank(link.port);
                lowest[d] = Some(lowest[d].map_or(rank, |low| low.min(rank)));
            }
        }
        if lowest.iter().all(Option::is_some) {
            let mut vote: Vec<usize> = (0..width).collect();
            vote.sort_by_key(|&d| lowest[d]);
            *votes.entry(vote).or_default() += 1;
            voters += 1;
        }
    }
    let agreed = votes
        .into_iter()
        .find(|(_, count)| 10 * count >= 9 * voters);
    let switches = topo.by_lid();
    let first_along = |d: usize| {
        switches
            .iter()
            .position(|&s| grid.coords(s)[d] != grid.coords(switches[0])[d])
    };
    let by_lid = || {
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by_key(|&d| (first_along(d), grid.dims[d].size));
        order
    };
    let order = agreed.map_or_else(by_lid, |(vote, _)| vote);
    let coords = grid
        .coords
        .chunks(width.max(1))
        .flat_map(|c| order.iter().map(|&d| c[d]))
        .collect();
    grid.dims = order.iter().map(|&d| grid.dims[d]).collect();
    grid.coords = coords;
    index_switches(grid);
}
