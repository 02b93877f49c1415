//! Where boxes and hosts are on the page.

use core::f64::consts::PI;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::structure::StructureKind;

use super::boxes::{Boxes, SwitchBox};
use super::distances;
use super::picture::{DrawnPoint, PAGE_HEIGHT, PAGE_WIDTH};
use crate::whole_fabric::FabricIndex;

/// Space around the drawing.
const MARGIN: f64 = 50.0;
/// Space for the title above.
const TOP: f64 = 130.0;
/// Space for the legend below.
const BOTTOM: f64 = 90.0;
/// Room below the leaves of a tree for their names.
const LEAF_NAMES: f64 = 140.0;
/// Most groups in a row.
const GROUPS_IN_ROW_MAX: usize = 16;
/// Width of a dragonfly divided by its height.
const ASPECT: f64 = 1.35;

/// Places on the page.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Of each box.
    pub(super) boxes: Vec<DrawnPoint>,
    /// Of each host that is drawn.
    pub(super) hosts: BTreeMap<usize, DrawnPoint>,
    /// Distance between neighbours that nearly all boxes have.
    pub(super) spacing: f64,
    /// The same for hosts.
    pub(super) host_spacing: f64,
    /// Whether links that pass by boxes are curves.
    pub(super) is_grid: bool,
    /// Room for names below the boxes of the lowest level; 0: none.
    pub(super) room_below: f64,
}

impl Layout {
    pub(super) fn new(index: &FabricIndex<'_>, boxes: &Boxes) -> Self {
        let structure = &index.fabric.structure;
        let mut layout = match structure.kind {
            StructureKind::Tree if boxes.is_grouped => grouped_tree(boxes),
            StructureKind::Tree => tree(boxes),
            StructureKind::Grid if !boxes.is_grouped => {
                let sizes: Vec<usize> = structure.dimensions.iter().map(|d| d.size).collect();
                around(boxes, grid(boxes, &sizes), true)
            }
            StructureKind::Dragonfly if !boxes.is_grouped => around(boxes, dragonfly(boxes), true),
            StructureKind::Dragonfly => around(boxes, circle(boxes.boxes.len()), false),
            StructureKind::Grid | StructureKind::Unknown => {
                around(boxes, distances::places(&adjacent(boxes)), true)
            }
        };
        layout.is_grid = structure.kind == StructureKind::Grid && !boxes.is_grouped;
        layout.spacing = usual_distance(&layout.boxes);
        let hosts: Vec<DrawnPoint> = layout.hosts.values().copied().collect();
        layout.host_spacing = usual_distance(&hosts);
        layout
    }
}

fn adjacent(boxes: &Boxes) -> Vec<Vec<usize>> {
    let mut adjacent = vec![Vec::new(); boxes.boxes.len()];
    for bundle in &boxes.bundles {
        let [a, b] = bundle.ends;
        adjacent[a].push(b);
        adjacent[b].push(a);
    }
    adjacent
}

#[allow(clippy::cast_precision_loss, reason = "numbers of boxes are small")]
pub(super) const fn real(count: usize) -> f64 {
    count as f64
}

/// Number of columns in which the hosts of a leaf are drawn.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive number"
)]
fn host_columns(count: usize) -> usize {
    ((real(count) / 3.0).sqrt().ceil() as usize).max(1)
}

/// Leaves in a row, their hosts below them, other levels above the leaves that they lead to.
fn tree(boxes: &Boxes) -> Layout {
    let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, own) in boxes.boxes.iter().enumerate() {
        rows.entry(own.level).or_default().push(i);
    }
    let columns_of = |own: &SwitchBox| match boxes.draws_hosts {
        true => host_columns(own.hosts.len()),
        false => 1,
    };
    let leaves = rows.get(&0).cloned().unwrap_or_default();
    let mut x = 0.0;
    let mut group = leaves.first().and_then(|leaf| boxes.boxes[*leaf].group);
    let mut span: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let mut across: BTreeMap<usize, f64> = BTreeMap::new();
    let mut host_rows = 1;
    for leaf in &leaves {
        let own = &boxes.boxes[*leaf];
        let columns = columns_of(own);
        host_rows = host_rows.max(own.hosts.len().div_ceil(columns));
        // A gap between subtrees.
        if own.group != group {
            x += 2.0;
        }
        group = own.group;
        let width = real(columns) + 1.0;
        across.insert(*leaf, x + width / 2.0);
        if let Some(group) = group {
            let (from, _) = span.get(&group).copied().unwrap_or((x, x));
            span.insert(group, (from, x + width));
        }
        x += width;
    }
    let widest = rows.values().map(Vec::len).max().unwrap_or(1);
    let total = if x > 0.0 { x } else { real(widest) };
    let unit = (PAGE_WIDTH - 2.0 * MARGIN) / total;
    let above = rows.keys().max().copied().unwrap_or(0);
    let room_for_hosts = match boxes.draws_hosts {
        true => 150.0,
        false => 0.0,
    };
    let leaf_y = PAGE_HEIGHT - BOTTOM - room_for_hosts - LEAF_NAMES;
    let step = (leaf_y - TOP) / real(above.max(1));
    let mut layout = Layout {
        boxes: vec![DrawnPoint::default(); boxes.boxes.len()],
        room_below: LEAF_NAMES,
        ..Layout::default()
    };
    for (level, row) in &rows {
        let y = leaf_y - real(*level) * step;
        let mut in_group: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for i in row {
            in_group.entry(boxes.boxes[*i].group).or_default().push(*i);
        }
        for (of, members) in in_group {
            let own_span = of.and_then(|of| span.get(&of).copied());
            let (from, to) = own_span.unwrap_or((0.0, total));
            for (j, i) in members.iter().enumerate() {
                let spread = from + (real(j) + 0.5) * (to - from) / real(members.len());
                let at = across.get(i).copied().unwrap_or(spread);
                layout.boxes[*i] = DrawnPoint {
                    x: MARGIN + at * unit,
                    y,
                };
            }
        }
    }
    if boxes.draws_hosts {
        let line = (room_for_hosts / real(host_rows))
            .min(unit.max(6.0))
            .min(16.0);
        for (i, own) in boxes.boxes.iter().enumerate() {
            let at = layout.boxes[i];
            let is_leaf = own.level == 0;
            let columns = if is_leaf {
                columns_of(own)
            } else {
                own.hosts.len().max(1)
            };
            for (j, host) in own.hosts.iter().enumerate() {
                let column = real(j % columns) - (real(columns) - 1.0) / 2.0;
                let point = match is_leaf {
                    true => DrawnPoint {
                        x: at.x + column * unit.min(16.0),
                        y: at.y + LEAF_NAMES + real(j / columns) * line,
                    },
                    false => DrawnPoint {
                        x: at.x + column * 6.0,
                        y: at.y + 24.0,
                    },
                };
                layout.hosts.insert(*host, point);
            }
        }
    }
    layout
}

/// The groups of a tree in rows, and above them the switches that connect groups.
fn grouped_tree(boxes: &Boxes) -> Layout {
    let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, own) in boxes.boxes.iter().enumerate() {
        rows.entry(own.level).or_default().push(i);
    }
    // From the top; rows with many boxes are folded.
    let folded: Vec<Vec<usize>> = rows
        .into_values()
        .rev()
        .flat_map(|row| {
            let num_rows = row.len().div_ceil(GROUPS_IN_ROW_MAX).max(1);
            let in_row = row.len().div_ceil(num_rows).max(1);
            row.chunks(in_row)
                .map(<[usize]>::to_vec)
                .collect::<Vec<_>>()
        })
        .collect();
    let mut layout = Layout {
        boxes: vec![DrawnPoint::default(); boxes.boxes.len()],
        ..Layout::default()
    };
    let height = PAGE_HEIGHT - TOP - BOTTOM;
    for (r, row) in folded.iter().enumerate() {
        for (j, i) in row.iter().enumerate() {
            let width = PAGE_WIDTH - 2.0 * MARGIN;
            layout.boxes[*i] = DrawnPoint {
                x: MARGIN + (real(j) + 0.5) * width / real(row.len()),
                y: TOP + (real(r) + 0.5) * height / real(folded.len()),
            };
        }
    }
    layout
}

/// The first two dimensions as a plane; a third one to the upper right, further ones as copies.
fn grid(boxes: &Boxes, sizes: &[usize]) -> Vec<DrawnPoint> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|i| core::cmp::Reverse(sizes[*i]));
    let size = |rank: usize| order.get(rank).map_or(1, |i| sizes[*i]);
    let shift = 1.0 / (real(size(2)) + 1.0);
    let place = |own: &SwitchBox| {
        let along = |rank: usize| {
            let coordinate = order.get(rank).and_then(|i| own.coordinates.get(*i));
            real(coordinate.copied().unwrap_or(0))
        };
        let mut at = DrawnPoint {
            x: along(0) + along(2) * shift,
            y: along(1) - along(2) * shift,
        };
        let mut across = real(size(0)) + 1.0;
        let mut down = real(size(1)) + 1.0;
        for rank in 3..order.len() {
            if rank % 2 == 1 {
                at.x += along(rank) * across;
                across *= real(size(rank)) + 0.5;
            } else {
                at.y += along(rank) * down;
                down *= real(size(rank)) + 0.5;
            }
        }
        at
    };
    boxes.boxes.iter().map(place).collect()
}

/// Places on a circle.
fn circle(count: usize) -> Vec<DrawnPoint> {
    let angle = |i: usize| 2.0 * PI * real(i) / real(count.max(1)) - PI / 2.0;
    (0..count)
        .map(|i| DrawnPoint {
            x: ASPECT * angle(i).cos(),
            y: angle(i).sin(),
        })
        .collect()
}

/// Groups on a circle, the switches of a group on a smaller one, leaves outside of spines.
fn dragonfly(boxes: &Boxes) -> Vec<DrawnPoint> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, own) in boxes.boxes.iter().enumerate() {
        groups.entry(own.group.unwrap_or(0)).or_default().push(i);
    }
    let count = groups.len();
    let radius = 10.0;
    let own_radius = (PI * radius * 0.55 / real(count.max(3))).min(4.0);
    let centers = circle(count);
    let mut points = vec![DrawnPoint::default(); boxes.boxes.len()];
    for (members, center) in groups.values().zip(&centers) {
        let angle = center.y.atan2(center.x / ASPECT);
        let (leaves, spines): (Vec<usize>, Vec<usize>) =
            members.iter().partition(|i| boxes.boxes[**i].level == 0);
        for (row, distance) in [(leaves, own_radius), (spines, own_radius * 0.45)] {
            for (j, i) in row.iter().enumerate() {
                let at = angle + 2.0 * PI * real(j) / real(row.len());
                points[*i] = DrawnPoint {
                    x: center.x * radius + distance * at.cos(),
                    y: center.y * radius + distance * at.sin(),
                };
            }
        }
    }
    points
}

/// Scales places to the page, with the hosts of each box on arcs around it.
fn around(boxes: &Boxes, places: Vec<DrawnPoint>, keeps_aspect: bool) -> Layout {
    let mut layout = Layout {
        boxes: fitted(places, keeps_aspect),
        ..Layout::default()
    };
    if !boxes.draws_hosts {
        return layout;
    }
    let spacing = usual_distance(&layout.boxes).min(200.0);
    let middle = DrawnPoint {
        x: PAGE_WIDTH / 2.0,
        y: (TOP + PAGE_HEIGHT - BOTTOM) / 2.0,
    };
    for (own, at) in boxes.boxes.iter().zip(&layout.boxes) {
        let outward = (at.y - middle.y).atan2(at.x - middle.x);
        let in_ring = (real(own.hosts.len()).sqrt() * 3.0).ceil().max(6.0);
        for (j, host) in own.hosts.iter().enumerate() {
            let ring = (real(j) / in_ring).floor();
            let start = ring * in_ring;
            let num_in_ring = in_ring.min(real(own.hosts.len()) - start);
            let turn =
                (real(j) - start - (num_in_ring - 1.0) / 2.0) * (0.8 * PI / num_in_ring.max(2.0));
            let distance = spacing * 0.36 * (1.0 + ring * 0.3);
            layout.hosts.insert(
                *host,
                DrawnPoint {
                    x: at.x + distance * (outward + turn).cos(),
                    y: at.y + distance * (outward + turn).sin(),
                },
            );
        }
    }
    layout
}

/// Places scaled to the page.
fn fitted(places: Vec<DrawnPoint>, keeps_aspect: bool) -> Vec<DrawnPoint> {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, most), value| (least.min(value), most.max(value)),
        )
    };
    let (left, right) = range(&mut places.iter().map(|at| at.x));
    let (top, bottom) = range(&mut places.iter().map(|at| at.y));
    // Room for hosts and names around the outermost boxes.
    let edge = MARGIN + 50.0;
    let width = PAGE_WIDTH - 2.0 * edge;
    let height = PAGE_HEIGHT - TOP - BOTTOM - 80.0;
    let scale_of = |room: f64, used: f64| {
        if used > 0.0 {
            room / used
        } else {
            f64::INFINITY
        }
    };
    let mut widening = scale_of(width, right - left);
    let mut heightening = scale_of(height, bottom - top);
    if keeps_aspect {
        // A row in the middle of the page is better than a grid that is not square.
        (widening, heightening) = (
            widening.min(heightening * 1.6),
            heightening.min(widening * 1.6),
        );
    }
    let finite = |scale: f64| if scale.is_finite() { scale } else { 0.0 };
    let across = finite(widening);
    let down = finite(heightening);
    let center = |at: DrawnPoint| DrawnPoint {
        x: PAGE_WIDTH / 2.0 + (at.x - f64::midpoint(left, right)) * across,
        y: (TOP + PAGE_HEIGHT - BOTTOM) / 2.0 + (at.y - f64::midpoint(top, bottom)) * down,
    };
    places.into_iter().map(center).collect()
}

/// How far points are from their nearest neighbours: a tenth of them is nearer to one.
fn usual_distance(points: &[DrawnPoint]) -> f64 {
    if points.len() < 2 {
        return 300.0;
    }
    // Cells with few points each.
    let cell = (PAGE_WIDTH * PAGE_HEIGHT / real(points.len()))
        .sqrt()
        .max(1.0);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a number of cells on the page"
    )]
    let key = |at: DrawnPoint| ((at.x / cell).floor() as i32, (at.y / cell).floor() as i32);
    let mut cells: BTreeMap<(i32, i32), Vec<DrawnPoint>> = BTreeMap::new();
    for point in points {
        cells.entry(key(*point)).or_default().push(*point);
    }
    let mut nearest: Vec<f64> = Vec::with_capacity(points.len());
    let distinct: BTreeSet<(u64, u64)> = points
        .iter()
        .map(|at| (at.x.to_bits(), at.y.to_bits()))
        .collect();
    if distinct.len() < 2 {
        return 300.0;
    }
    for point in points {
        let (column, row) = key(*point);
        let near = (column - 1..=column + 1).flat_map(|c| (row - 1..=row + 1).map(move |r| (c, r)));
        let others = near.filter_map(|at| cells.get(&at)).flatten();
        let distances = others
            .map(|other| (other.x - point.x).hypot(other.y - point.y))
            .filter(|distance| *distance > 0.0);
        nearest.push(distances.fold(2.0 * cell, f64::min));
    }
    nearest.sort_by(f64::total_cmp);
    nearest[nearest.len() / 10]
}
