//! A layout of fabrics without a known structure: pivots give each box its place by its distances
//! to a few boxes far apart (Brandes and Pich, "Eigensolver methods for progressive
//! multidimensional scaling of large data", 2006), then boxes that are too near repel each other.

use std::collections::VecDeque;

use super::picture::DrawnPoint;

const PIVOTS_MAX: usize = 40;
const POWER_STEPS: usize = 60;
/// Boxes up to which the places are improved by forces.
const FORCES_MAX: usize = 800;
const FORCE_STEPS: usize = 120;

/// A place for each box, by the boxes next to it.
pub(super) fn places(adjacent: &[Vec<usize>]) -> Vec<DrawnPoint> {
    let mut points = pivot_places(adjacent);
    if points.len() <= FORCES_MAX {
        improve(&mut points, adjacent);
    }
    points
}

/// Links to each box from one. Another part of the fabric is far away.
fn distances(adjacent: &[Vec<usize>], from: usize) -> Vec<f64> {
    let mut found: Vec<Option<f64>> = vec![None; adjacent.len()];
    found[from] = Some(0.0);
    let mut queue = VecDeque::from([(from, 0.0)]);
    let mut far = 0.0;
    while let Some((at, distance)) = queue.pop_front() {
        far = distance;
        for next in &adjacent[at] {
            if found[*next].is_none() {
                found[*next] = Some(distance + 1.0);
                queue.push_back((*next, distance + 1.0));
            }
        }
    }
    found
        .into_iter()
        .map(|distance| distance.unwrap_or(far + 2.0))
        .collect()
}

#[allow(clippy::cast_precision_loss, reason = "numbers of boxes are small")]
fn pivot_places(adjacent: &[Vec<usize>]) -> Vec<DrawnPoint> {
    let n = adjacent.len();
    if n == 0 {
        return Vec::new();
    }
    let count = n as f64;
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut nearest = vec![f64::INFINITY; n];
    let mut pivot = 0;
    for _ in 0..PIVOTS_MAX.min(n) {
        let to = distances(adjacent, pivot);
        for (least, distance) in nearest.iter_mut().zip(&to) {
            *least = least.min(*distance);
        }
        columns.push(to.iter().map(|distance| distance * distance).collect());
        let mut farthest = 0;
        for (i, distance) in nearest.iter().enumerate() {
            if *distance > nearest[farthest] {
                farthest = i;
            }
        }
        pivot = farthest;
    }
    let k = columns.len() as f64;
    let row_mean: Vec<f64> = (0..n)
        .map(|i| columns.iter().map(|column| column[i]).sum::<f64>() / k)
        .collect();
    let mean = row_mean.iter().sum::<f64>() / count;
    for column in &mut columns {
        let own = column.iter().sum::<f64>() / count;
        for (value, row) in column.iter_mut().zip(&row_mean) {
            *value = -0.5 * (*value - own - row + mean);
        }
    }
    let mut axes: Vec<Vec<f64>> = Vec::new();
    let xs = principal(&columns, 1.0, &mut axes);
    let ys = principal(&columns, 2.3, &mut axes);
    let scale = |values: &[f64]| {
        let most = values
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        count.sqrt() / if most > 0.0 { most } else { 1.0 }
    };
    let [across, down] = [scale(&xs), scale(&ys)];
    // Boxes with the same distances to all pivots must not be at the same place.
    let turn = |i: usize| i as f64 * 2.4;
    (0..n)
        .map(|i| DrawnPoint {
            x: xs[i] * across + turn(i).cos() * 0.3,
            y: ys[i] * down + turn(i).sin() * 0.3,
        })
        .collect()
}

/// Coordinates along the next principal axis, by power iteration.
#[allow(clippy::cast_precision_loss, reason = "numbers of boxes are small")]
fn principal(columns: &[Vec<f64>], seed: f64, axes: &mut Vec<Vec<f64>>) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let mut vector: Vec<f64> = (0..columns.len())
        .map(|i| ((i + 1) as f64 * seed).sin())
        .collect();
    let mut projected = vec![0.0; columns[0].len()];
    for _ in 0..POWER_STEPS {
        for axis in axes.iter() {
            let along = dot(axis, &vector);
            for (value, part) in vector.iter_mut().zip(axis) {
                *value -= along * part;
            }
        }
        projected.fill(0.0);
        for (column, factor) in columns.iter().zip(&vector) {
            for (sum, value) in projected.iter_mut().zip(column) {
                *sum += value * factor;
            }
        }
        vector = columns
            .iter()
            .map(|column| dot(column, &projected))
            .collect();
        let length = dot(&vector, &vector).sqrt();
        if length > 0.0 {
            for value in &mut vector {
                *value /= length;
            }
        }
    }
    axes.push(vector);
    projected
}

#[allow(clippy::cast_precision_loss, reason = "numbers of steps are small")]
fn improve(points: &mut [DrawnPoint], adjacent: &[Vec<usize>]) {
    for step in 0..FORCE_STEPS {
        let reach = 0.6 * (1.0 - step as f64 / FORCE_STEPS as f64);
        let mut moves = vec![DrawnPoint::default(); points.len()];
        for i in 0..points.len() {
            for j in 0..i {
                let dx = points[i].x - points[j].x;
                let dy = points[i].y - points[j].y;
                let force = 1.0 / (dx * dx + dy * dy + 0.01);
                moves[i].x += dx * force;
                moves[i].y += dy * force;
                moves[j].x -= dx * force;
                moves[j].y -= dy * force;
            }
            for j in &adjacent[i] {
                let dx = points[*j].x - points[i].x;
                let dy = points[*j].y - points[i].y;
                let force = dx.hypot(dy) * 0.35;
                moves[i].x += dx * force;
                moves[i].y += dy * force;
            }
        }
        for (point, wanted) in points.iter_mut().zip(&moves) {
            let length = wanted.x.hypot(wanted.y).max(f64::MIN_POSITIVE);
            point.x += wanted.x / length * length.min(reach);
            point.y += wanted.y / length * length.min(reach);
        }
    }
}
