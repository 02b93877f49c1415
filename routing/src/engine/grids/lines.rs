//! Next hops within one line of switches along an axis.
//!
//! A whole ring is gone round the shorter way. Where it is broken, it is a path, gone along whatever the way. In a full
//! mesh without some of its cables, two hops lead around one: never through a switch that comes after both ends in the
//! order of the line, so that packets do not turn from down to up in it, and circles cannot close.

use crate::structure::grid::DimKind;

use super::super::graph::Graph;
use super::frame::Frame;

/// What keeps circles from closing in whole rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rings {
    /// Lanes, changed at the dateline between the last place and the first.
    Datelines,
    /// No packet goes through the first switch of the ring: longer ways, no lanes.
    Cut,
}

/// Next hops of all lines along one axis.
#[derive(Debug)]
pub(crate) struct Lines {
    size: usize,
    /// Slot by line, own place, place to go to.
    next: Vec<u8>,
}

/// No way within the line.
pub(crate) const NONE: u8 = u8::MAX;

/// Rings in which opposite places send to each other round the ring, half of the pairs each way: then all cables carry the
/// same. Two lanes allow that for two pairs each way, so for rings of up to eight. In rings of other even sizes opposite
/// places use the same way there and back.
const fn splits_opposite_pairs(size: usize) -> bool {
    size == 4 || size == 8
}

/// The lane of the packets between two places of a ring, the same both ways: 1 for those that cross the dateline on the shorter
/// way. Of ways that are as long, every other pair crosses it.
///
/// In a ring that is shared out, packets between opposite places cross it in one direction and not in the other. On either
/// lane of either direction all dependencies then come from one such pair and from shorter ways: those at the
/// dateline from the shorter ways on lane 1, all others from those on lane 0. A pair leaves out the dependencies at its own two
/// places. So lane 0 may have the pairs with a place at the dateline (the first, upwards; the last, downwards), since
/// the dependency there stays unused; lane 1 may have any one pair.
pub(crate) fn crosses_dateline(size: usize, a: usize, b: usize) -> bool {
    let inner = 2 * a.abs_diff(b);
    if inner == size && splits_opposite_pairs(size) {
        return a.min(b) != 0 && a.min(b) != size / 2 - 1;
    }
    inner > size || (inner == size && a.min(b) % 2 == 1)
}

/// Whether that way leads to higher places (and from the last to the first).
fn forward(size: usize, a: usize, b: usize) -> bool {
    if 2 * a.abs_diff(b) == size && splits_opposite_pairs(size) {
        return a.min(b).is_multiple_of(2);
    }
    (a < b) != crosses_dateline(size, a, b)
}

impl Lines {
    /// With `past_gaps` the tables also lead towards missing switches, up to the switch before.
    pub(crate) fn new(
        graph: &Graph,
        frame: &Frame,
        axis: usize,
        rings: Rings,
        past_gaps: bool,
    ) -> Self {
        let size = frame.axes[axis].size;
        let mut next = Vec::with_capacity(frame.lines(axis) * size * size);
        for line in 0..frame.lines(axis) {
            let members: Vec<Option<usize>> = (0..size).map(|x| frame.at(axis, line, x)).collect();
            let one = if frame.axes[axis].kind == DimKind::Full {
                full(graph, &members)
            } else {
                let ring = frame.axes[axis].kind == DimKind::Ring;
                chain(graph, &members, ring, rings, past_gaps)
            };
            next.extend(one);
        }
        Self { size, next }
    }

    /// The slot by which a switch at place `a` of a line leads to place `b`.
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
    let found = graph.slots(from).iter().position(|s| s.peer == to);
    found.and_then(|k| u8::try_from(k).ok()).unwrap_or(NONE)
}

/// A path or ring, whole or broken.
fn chain(
    graph: &Graph,
    members: &[Option<usize>],
    ring: bool,
    rings: Rings,
    past_gaps: bool,
) -> Vec<u8> {
    let size = members.len();
    let beside = |x: usize, up: bool| match (up, ring) {
        (true, true) => Some((x + 1) % size),
        (false, true) => Some((x + size - 1) % size),
        (true, false) => (x + 1 < size).then_some(x + 1),
        (false, false) => x.checked_sub(1),
    };
    let hop =
        |x: usize, up: bool| beside(x, up).map_or(NONE, |y| slot(graph, members[x], members[y]));
    let (ups, downs): (Vec<u8>, Vec<u8>) = (0..size).map(|x| (hop(x, true), hop(x, false))).unzip();
    let mut next = vec![NONE; size * size];
    if ring && !ups.contains(&NONE) {
        for a in 0..size {
            for b in (0..size).filter(|&b| b != a) {
                let through = rings == Rings::Datelines || a == 0 || b == 0;
                let up = if through { forward(size, a, b) } else { a < b };
                next[a * size + b] = if up { ups[a] } else { downs[a] };
            }
        }
        return next;
    }
    for a in (0..size).filter(|&a| members[a].is_some()) {
        for (up, hops) in [(true, &ups), (false, &downs)] {
            let mut x = a;
            while hops[x] != NONE {
                let Some(y) = beside(x, up).filter(|&y| y != a) else {
                    break;
                };
                next[a * size + y] = hops[a];
                x = y;
            }
            let gap = beside(x, up).filter(|&y| members[y].is_none());
            if let Some(gap) = gap.filter(|_| past_gaps && x != a) {
                let place = &mut next[a * size + gap];
                if *place == NONE || forward(size, a, gap) == up {
                    *place = hops[a];
                }
            }
        }
        // Next to a missing switch, the packet has to leave the line.
        for gap in [beside(a, true), beside(a, false)].into_iter().flatten() {
            if members[gap].is_none() {
                next[a * size + gap] = NONE;
            }
        }
    }
    next
}

/// A full mesh, whole or not.
fn full(graph: &Graph, members: &[Option<usize>]) -> Vec<u8> {
    let size = members.len();
    let mut next = vec![NONE; size * size];
    for a in 0..size {
        for b in (0..size).filter(|&b| b != a) {
            next[a * size + b] = slot(graph, members[a], members[b]);
        }
    }
    let direct = next.clone();
    let linked = |a: usize, b: usize| direct[a * size + b] != NONE;
    let degree: Vec<usize> = (0..size)
        .map(|a| (0..size).filter(|&b| linked(a, b)).count())
        .collect();
    let after = |a: usize, b: usize| (degree[a], b) < (degree[b], a);
    for a in 0..size {
        for b in (0..size).filter(|&b| b != a && !linked(a, b)) {
            let ways: Vec<usize> = (0..size)
                .filter(|&c| linked(a, c) && linked(c, b) && !(after(c, a) && after(c, b)))
                .collect();
            // The same way back.
            if let Some(&c) = ways.get((a + b) % ways.len().max(1)) {
                next[a * size + b] = direct[a * size + c];
            }
        }
    }
    next
}
