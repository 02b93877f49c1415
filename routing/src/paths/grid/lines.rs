//! Next hops within one line of switches along an axis.
//!
//! In a complete ring, packets take the shorter direction. A broken ring is a path, or the next hop
//! over a missing link is open, as in paths and full meshes ([`Gaps`]).

use super::coordinates::GridCoordinates;
use crate::structure::grid::DimKind;
use crate::topology::graph::Graph;

/// Prevention of credit loops in complete rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rings {
    /// VLs, changed at the dateline between the last position and the first.
    Datelines,
    /// No packet passes through the first switch of the ring: longer paths, no additional VLs.
    Cut,
}

/// Next hops at missing links and switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// The long way round a broken ring. Next hops also lead towards missing switches, up to the
    /// last switch before the gap.
    Around,
    /// None: a switch whose link in dimension order is missing has no next hop.
    Open,
}

/// Next hops of all lines along one axis.
#[derive(Debug)]
pub(crate) struct Lines {
    size: usize,
    /// Slot by line, position, and target position.
    next: Vec<u8>,
}

/// No path within the line.
pub(crate) const NONE: u8 = u8::MAX;

/// Whether packets between opposite positions of a ring are split between both directions, so that
/// all links have equal load. Two VLs permit this for two opposite pairs per direction, that is, in
/// rings of up to eight switches. In rings of other even sizes, packets of both directions between
/// opposite positions use the same half of the ring.
const fn splits_opposite_pairs(size: usize) -> bool {
    size == 4 || size == 8
}

/// The VL of packets between two positions of a ring, the same in both directions: 1 for paths that
/// cross the dateline in the shorter direction. If both directions are equally long, every other
/// pair crosses the dateline.
///
/// In a ring that splits opposite pairs, both directions of such a pair go the same way round, so
/// one of them crosses the dateline. Together they cause a dependency at every position but their
/// own two. On VL 0, shorter paths cause no dependency at the dateline. An opposite pair with a
/// position there (the first, upwards; the last, downwards) leaves that dependency unused, so VL 0
/// stays acyclic. On VL 1, shorter paths cause dependencies near the dateline only, so one opposite
/// pair per direction is possible.
pub(crate) fn crosses_dateline(size: usize, a: usize, b: usize) -> bool {
    let inner = 2 * a.abs_diff(b);
    if inner == size && splits_opposite_pairs(size) {
        return a.min(b) != 0 && a.min(b) != size / 2 - 1;
    }
    inner > size || (inner == size && a.min(b) % 2 == 1)
}

/// Whether the path leads to higher positions (or from the last to the first).
fn forward(size: usize, a: usize, b: usize) -> bool {
    if 2 * a.abs_diff(b) == size && splits_opposite_pairs(size) {
        return a.min(b).is_multiple_of(2);
    }
    (a < b) != crosses_dateline(size, a, b)
}

impl Lines {
    pub(crate) fn new(
        graph: &Graph,
        coordinates: &GridCoordinates,
        axis: usize,
        rings: Rings,
        gaps: Gaps,
    ) -> Self {
        let size = coordinates.axes[axis].size;
        let mut next = Vec::with_capacity(coordinates.lines(axis) * size * size);
        for line in 0..coordinates.lines(axis) {
            let members: Vec<Option<usize>> = (0..size)
                .map(|x| coordinates.switch_on_line(axis, line, x))
                .collect();
            let line_next = if coordinates.axes[axis].kind == DimKind::Full {
                full(graph, &members)
            } else {
                let ring = coordinates.axes[axis].kind == DimKind::Ring;
                chain(graph, &members, ring, rings, gaps)
            };
            next.extend(line_next);
        }
        Self { size, next }
    }

    /// Slot of the switch at position `a` of a line towards position `b`.
    #[inline(always)]
    pub(crate) fn next(&self, line: usize, a: usize, b: usize) -> u8 {
        self.next[(line * self.size + a) * self.size + b]
    }
}

/// The slot from one switch to another.
fn slot(graph: &Graph, from: Option<usize>, to: Option<usize>) -> u8 {
    let (Some(from), Some(to)) = (from, to) else {
        return NONE;
    };
    let slot = graph.slots(from).iter().position(|s| s.peer == to);
    slot.and_then(|k| u8::try_from(k).ok()).unwrap_or(NONE)
}

/// Next hops in a path or a ring, complete or broken.
fn chain(
    graph: &Graph,
    members: &[Option<usize>],
    ring: bool,
    rings: Rings,
    gaps: Gaps,
) -> Vec<u8> {
    let size = members.len();
    let neighbor = |x: usize, up: bool| match (up, ring) {
        (true, true) => Some((x + 1) % size),
        (false, true) => Some((x + size - 1) % size),
        (true, false) => (x + 1 < size).then_some(x + 1),
        (false, false) => x.checked_sub(1),
    };
    let hop =
        |x: usize, up: bool| neighbor(x, up).map_or(NONE, |y| slot(graph, members[x], members[y]));
    let (ups, downs): (Vec<u8>, Vec<u8>) = (0..size).map(|x| (hop(x, true), hop(x, false))).unzip();
    let mut next = vec![NONE; size * size];
    if gaps == Gaps::Open || (ring && !ups.contains(&NONE)) {
        for a in 0..size {
            for b in (0..size).filter(|&b| b != a) {
                let may_wrap = ring && (rings == Rings::Datelines || a == 0 || b == 0);
                let up = if may_wrap { forward(size, a, b) } else { a < b };
                next[a * size + b] = if up { ups[a] } else { downs[a] };
            }
        }
        return next;
    }
    for a in (0..size).filter(|&a| members[a].is_some()) {
        for (up, hops) in [(true, &ups), (false, &downs)] {
            let mut x = a;
            while hops[x] != NONE {
                let Some(y) = neighbor(x, up).filter(|&y| y != a) else {
                    break;
                };
                next[a * size + y] = hops[a];
                x = y;
            }
            let gap = neighbor(x, up).filter(|&y| members[y].is_none());
            if let Some(gap) = gap.filter(|_| x != a) {
                let position = &mut next[a * size + gap];
                if *position == NONE || forward(size, a, gap) == up {
                    *position = hops[a];
                }
            }
        }
        // Next to a missing switch, packets must leave the line.
        for gap in [neighbor(a, true), neighbor(a, false)]
            .into_iter()
            .flatten()
        {
            if members[gap].is_none() {
                next[a * size + gap] = NONE;
            }
        }
    }
    next
}

/// Next hops in a full mesh.
fn full(graph: &Graph, members: &[Option<usize>]) -> Vec<u8> {
    let size = members.len();
    let mut next = vec![NONE; size * size];
    for a in 0..size {
        for b in (0..size).filter(|&b| b != a) {
            next[a * size + b] = slot(graph, members[a], members[b]);
        }
    }
    next
}
