//! The axes x, y and z of a torus, from the detected dimensions and from `torus-2QoS.conf`.
//!
//! Detection reports a ring of four switches as two dimensions of size two; here it becomes a ring
//! again. The file also defines which dimension is x, which direction is up, and where the dateline
//! is: between the last position and the first, which is at a given offset from the seed.

use std::cmp::Reverse;

use super::coordinates::{Axis, GridCoordinates};
use crate::hints::{TorusHint, TorusSeed};
use crate::messages::{HintError, RouteError, ShapeError};
use crate::structure::grid::{DimKind, Grid};
use crate::topology::{SwitchIdx, Topology};

/// Maximum number of axes: an SL has three dateline bits and one QoS level bit.
const AXES: usize = 3;

const NAMES: [&str; AXES] = ["x", "y", "z"];

/// Dimensions that form an axis, with its direction and origin.
#[derive(Debug, Clone, Copy)]
struct AxisPart {
    dims: Dims,
    axis: Axis,
    backwards: bool,
    origin: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dims {
    /// No dimension: a single position.
    None,
    One(usize),
    /// A ring of four: two dimensions of size two.
    Two(usize, usize),
}

impl AxisPart {
    fn new(grid: &Grid, dims: Dims) -> Result<Self, RouteError> {
        let (kind, size) = match dims {
            Dims::None => (DimKind::Path, 1),
            Dims::Two(..) => (DimKind::Ring, 4),
            Dims::One(d) => match (grid.dims[d].kind, grid.dims[d].size) {
                (DimKind::Full, 3) => (DimKind::Ring, 3),
                (DimKind::Full, size) => {
                    return Err(ShapeError::FullMesh(size).into());
                }
                other => other,
            },
        };
        Ok(Self {
            dims,
            axis: Axis { kind, size },
            backwards: false,
            origin: 0,
        })
    }

    /// Coordinate as in the grid.
    fn raw(&self, coords: &[usize]) -> usize {
        match self.dims {
            Dims::None => 0,
            Dims::One(d) => coords[d],
            Dims::Two(d, e) => match (coords[d], coords[e]) {
                (0, 0) => 0,
                (_, 0) => 1,
                (0, _) => 3,
                (_, _) => 2,
            },
        }
    }

    fn along(&self, coords: &[usize]) -> usize {
        let x = self.raw(coords);
        let size = self.axis.size;
        match (self.axis.kind == DimKind::Ring, self.backwards) {
            (true, false) => (x + size - self.origin) % size,
            (true, true) => (self.origin + size - x) % size,
            (false, false) => x,
            (false, true) => size - 1 - x,
        }
    }
}

/// Positions of all switches along up to three axes: all interpretations, the most likely first.
/// There is more than one only if more than two dimensions of size two form rings of four and no
/// file says which belong together.
pub(crate) fn interpretations(
    topo: &Topology,
    grid: &Grid,
    hint: Option<&TorusHint>,
) -> Result<Vec<GridCoordinates>, RouteError> {
    let pairings = match hint {
        None => detected_axes(topo, grid)?,
        Some(hint) => vec![axes_from_hint(grid, hint)?],
    };
    let coordinates = |parts: Vec<AxisPart>| {
        let axes = parts.iter().map(|p| p.axis).collect();
        let along = |s| parts.iter().map(|p| p.along(grid.coords(s))).collect();
        GridCoordinates::new(axes, topo.switches().map(along), grid.is_complete())
    };
    Ok(pairings.into_iter().map(coordinates).collect())
}

/// Pairs of dimensions of size two become rings of four, because a ring tolerates a lost link. The
/// graph does not show which dimensions belong together. Both ports of a ring lead along both of
/// its dimensions, so port numbers decide if one pairing is clearly ahead; otherwise the switches
/// of a ring are assumed to have adjacent LIDs.
fn detected_axes(topo: &Topology, grid: &Grid) -> Result<Vec<Vec<AxisPart>>, RouteError> {
    let (dims_of_two, other_dims): (Vec<usize>, Vec<usize>) =
        (0..grid.dims.len()).partition(|&d| grid.dims[d].size == 2);
    if dims_of_two.len().div_ceil(2) + other_dims.len() > AXES {
        let grid = Box::new(grid.clone());
        return Err(ShapeError::TooManyDimensions { max: AXES, grid }.into());
    }
    let mut pairings = all_pairings(&dims_of_two, dims_of_two.len() % 2 == 1);
    if pairings.len() > 1 {
        let ports = ports_along(topo, grid);
        let shared = |pairing: &[Dims]| -> usize {
            let along = |d: usize, e: usize| ports[d].iter().zip(&ports[e]);
            pairs(pairing)
                .flat_map(|(d, e)| along(d, e))
                .map(|(a, b)| a.min(b))
                .sum()
        };
        let lid_rank = dims_by_lid(topo, grid);
        let lid_distance = |pairing: &[Dims]| -> usize {
            pairs(pairing)
                .map(|(d, e)| lid_rank[d].abs_diff(lid_rank[e]))
                .sum()
        };
        pairings.sort_by_key(|pairing| (Reverse(shared(pairing)), lid_distance(pairing)));
        if 2 * shared(&pairings[0]) < 3 * shared(&pairings[1]) {
            pairings.sort_by_key(|pairing| lid_distance(pairing));
        }
    }
    let parts = |mut pairing: Vec<Dims>| {
        pairing.extend(other_dims.iter().map(|&d| Dims::One(d)));
        pairing.sort_by_key(|dims| match *dims {
            Dims::None => usize::MAX,
            Dims::One(d) | Dims::Two(d, _) => d,
        });
        pairing
            .into_iter()
            .map(|d| AxisPart::new(grid, d))
            .collect()
    };
    pairings.into_iter().map(parts).collect()
}

/// All possibilities to pair these dimensions, with one left over if their number is odd.
fn all_pairings(dims: &[usize], leaves_one_single: bool) -> Vec<Vec<Dims>> {
    let Some((&first, rest)) = dims.split_first() else {
        return vec![Vec::new()];
    };
    let mut pairings = Vec::new();
    for (i, &second) in rest.iter().enumerate() {
        let remaining = [&rest[..i], &rest[i + 1..]].concat();
        pairings.extend(all_pairings(&remaining, leaves_one_single).into_iter().map(
            |mut pairing| {
                pairing.push(Dims::Two(first, second));
                pairing
            },
        ));
    }
    if leaves_one_single {
        pairings.extend(all_pairings(rest, false).into_iter().map(|mut pairing| {
            pairing.push(Dims::One(first));
            pairing
        }));
    }
    pairings
}

fn pairs(pairing: &[Dims]) -> impl Iterator<Item = (usize, usize)> + '_ {
    pairing.iter().filter_map(|dims| match *dims {
        Dims::Two(d, e) => Some((d, e)),
        Dims::None | Dims::One(_) => None,
    })
}

/// Position of each dimension in the order of the lowest LID whose coordinate differs from the
/// first switch's.
fn dims_by_lid(topo: &Topology, grid: &Grid) -> Vec<usize> {
    let switches = topo.by_lid();
    let first_difference = |d: usize| {
        let coordinate = |s: &SwitchIdx| grid.coords(*s)[d];
        let first = switches.first().map(coordinate);
        switches.iter().position(|s| Some(coordinate(s)) != first)
    };
    let mut order: Vec<usize> = (0..grid.dims.len()).collect();
    order.sort_by_key(|&d| (first_difference(d), d));
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &d)| rank[d] = i);
    rank
}

/// Number of links of each port number along each dimension.
fn ports_along(topo: &Topology, grid: &Grid) -> Vec<[usize; 256]> {
    let mut count = vec![[0; 256]; grid.dims.len()];
    for s in topo.switches() {
        for link in topo.links(s) {
            let coords = grid.coords(s);
            let peer_coords = grid.coords(link.peer);
            if let Some(d) = (0..coords.len()).find(|&d| coords[d] != peer_coords[d]) {
                count[d][link.port.index()] += 1;
            }
        }
    }
    count
}

/// Axes from the file, if they agree with the fabric.
fn axes_from_hint(grid: &Grid, hint: &TorusHint) -> Result<Vec<AxisPart>, RouteError> {
    let seed = hint
        .seeds
        .iter()
        .find(|s| s.links.iter().any(Option::is_some));
    let mut is_free = vec![true; grid.dims.len()];
    let mut parts = [Dims::None; AXES];
    // Axes with seed links first, because these determine the dimension.
    for (i, part) in parts.iter_mut().enumerate() {
        let up = dim_of(grid, seed, 2 * i)?;
        let down = dim_of(grid, seed, 2 * i + 1)?;
        *part = match (up, down) {
            _ if hint.radix[i] <= 1 => Dims::None,
            (Some(d), Some(e)) if d != e => Dims::Two(d, e),
            (Some(d), _) | (None, Some(d)) => Dims::One(d),
            (None, None) => Dims::None,
        };
        claim_dims(&mut is_free, *part)?;
    }
    for (i, part) in parts.iter_mut().enumerate() {
        let radix = usize::from(hint.radix[i]);
        let size = |d: usize| grid.dims[d].size;
        let mut spare = (0..is_free.len()).filter(|&d| is_free[d]);
        *part = match *part {
            _ if radix <= 1 => Dims::None,
            Dims::One(d) if radix == 4 && size(d) == 2 => match spare.find(|&e| size(e) == 2) {
                Some(e) => {
                    is_free[e] = false;
                    Dims::Two(d, e)
                }
                None => Dims::One(d),
            },
            Dims::None => {
                let spare: Vec<usize> = spare.collect();
                let dims_of_two: Vec<usize> =
                    spare.iter().copied().filter(|&d| size(d) == 2).collect();
                let chosen = match (spare.iter().find(|&&d| size(d) == radix), &dims_of_two[..]) {
                    (Some(&d), _) => Dims::One(d),
                    (None, [d, e, ..]) if radix == 4 => Dims::Two(*d, *e),
                    _ => return Err(torus_mismatch(grid, hint)),
                };
                claim_dims(&mut is_free, chosen)?;
                chosen
            }
            other @ (Dims::One(_) | Dims::Two(..)) => other,
        };
    }
    if is_free.contains(&true) {
        return Err(torus_mismatch(grid, hint));
    }
    let mut axis_parts = Vec::with_capacity(AXES);
    for (i, dims) in parts.into_iter().enumerate() {
        let mut part = AxisPart::new(grid, dims)?;
        if part.axis.size != usize::from(hint.radix[i].max(1)) {
            return Err(torus_mismatch(grid, hint));
        }
        orient(grid, &mut part, seed, i)?;
        axis_parts.push(part);
    }
    Ok(axis_parts)
}

fn torus_mismatch(grid: &Grid, hint: &TorusHint) -> RouteError {
    let radix = hint.radix;
    let grid = Box::new(grid.clone());
    HintError::TorusMismatch { radix, grid }.into()
}

fn claim_dims(is_free: &mut [bool], dims: Dims) -> Result<(), RouteError> {
    let used: &[usize] = match &dims {
        Dims::None => &[],
        Dims::One(d) => &[*d],
        Dims::Two(d, e) => &[*d, *e],
    };
    for &d in used {
        if !std::mem::replace(&mut is_free[d], false) {
            return Err(HintError::DuplicateDimension.into());
        }
    }
    Ok(())
}

/// The dimension along which a seed link lies.
fn dim_of(grid: &Grid, seed: Option<&TorusSeed>, link: usize) -> Result<Option<usize>, RouteError> {
    let Some((from, to)) = seed.and_then(|s| s.links[link]) else {
        return Ok(None);
    };
    let a = grid.coords(from);
    let b = grid.coords(to);
    let mut differing = (0..a.len()).filter(|&d| a[d] != b[d]);
    match (differing.next(), differing.next()) {
        (Some(d), None) => Ok(Some(d)),
        _ => Err(HintError::NotNeighbours(NAMES[link / 2]).into()),
    }
}

/// Sets direction and origin of an axis from the seed.
fn orient(
    grid: &Grid,
    part: &mut AxisPart,
    seed: Option<&TorusSeed>,
    axis: usize,
) -> Result<(), RouteError> {
    let Some(seed) = seed else { return Ok(()) };
    let size = part.axis.size;
    let raw = |s: SwitchIdx| part.raw(grid.coords(s));
    let leads_up = |(from, to): (SwitchIdx, SwitchIdx)| raw(to) == (raw(from) + 1) % size;
    let up = seed.links[2 * axis];
    let down = seed.links[2 * axis + 1];
    let backwards = match (up, down) {
        (Some(up), _) => !leads_up(up),
        (None, Some(down)) => size > 2 && leads_up(down),
        (None, None) => false,
    };
    if let (Some(up), Some(down)) = (up, down)
        && up.0 != down.0
    {
        return Err(HintError::SeedOrigins.into());
    }
    let common = seed.links.iter().flatten().next().map(|l| l.0);
    let ring = i64::try_from(size).unwrap_or(1);
    let dateline = i64::from(seed.dateline[axis]) * if backwards { -1 } else { 1 };
    let start = common.and_then(|s| i64::try_from(raw(s)).ok()).unwrap_or(0);
    part.origin = usize::try_from((start + dateline).rem_euclid(ring)).unwrap_or(0);
    part.backwards = backwards;
    Ok(())
}
