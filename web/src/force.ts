// A layout of fabrics without a known structure: pivots give each switch its place by its distances
// to a few switches far apart (Brandes and Pich, "Eigensolver methods for progressive
// multidimensional scaling of large data", 2006), then switches that are too near repel each other.

import type { Point, Positions } from "./layout";
import type { Model } from "./model";

const PIVOTS = 40;
const POWER_STEPS = 60;
/** Up to this number of switches, the places are improved by forces. */
const FORCES_MAX = 800;
const FORCE_STEPS = 120;

export function forceLayout(model: Model): Positions {
  const positions: Positions = new Map();
  const guids = [...model.nodes.values()].filter((node) => node.kind === "switch").map((node) => node.guid).sort();
  const index = new Map(guids.map((guid, i) => [guid, i]));
  const adjacent = guids.map((guid) => {
    const others = model.neighbours(guid).flatMap((other) => index.get(other) ?? []);
    return [...new Set(others)];
  });
  const points = pivotPlaces(adjacent);
  if (guids.length <= FORCES_MAX) improve(points, adjacent);
  points.forEach((point, i) => positions.set(guids[i]!, { x: point.x * 2, y: point.y }));
  for (const guid of guids) {
    const at = positions.get(guid)!;
    const hosts = model.hostsOf.get(guid) ?? [];
    const outward = Math.atan2(at.y, at.x);
    hosts.forEach((host, i) => {
      const angle = outward + (i - (hosts.length - 1) / 2) * (Math.PI / Math.max(hosts.length, 4));
      positions.set(host, { x: at.x + 0.5 * Math.cos(angle), y: at.y + 0.5 * Math.sin(angle) });
    });
  }
  return positions;
}

function distances(adjacent: number[][], from: number): Float64Array {
  const found = new Float64Array(adjacent.length).fill(-1);
  found[from] = 0;
  const queue = [from];
  for (let head = 0; head < queue.length; head += 1) {
    const at = queue[head]!;
    for (const next of adjacent[at]!) {
      if (found[next]! < 0) {
        found[next] = found[at]! + 1;
        queue.push(next);
      }
    }
  }
  // Another part of the fabric is far away.
  const far = found.reduce((a, b) => Math.max(a, b), 0) + 2;
  return found.map((distance) => (distance < 0 ? far : distance));
}

function pivotPlaces(adjacent: number[][]): Point[] {
  const n = adjacent.length;
  if (n === 0) return [];
  const columns: Float64Array[] = [];
  const nearest = new Float64Array(n).fill(Infinity);
  let pivot = 0;
  for (let k = 0; k < Math.min(PIVOTS, n); k += 1) {
    const to = distances(adjacent, pivot);
    for (let i = 0; i < n; i += 1) nearest[i] = Math.min(nearest[i]!, to[i]!);
    columns.push(to.map((distance) => distance * distance));
    pivot = nearest.reduce((best, distance, i) => (distance > nearest[best]! ? i : best), 0);
  }
  const k = columns.length;
  const rowMean = new Float64Array(n);
  let mean = 0;
  for (const column of columns) column.forEach((value, i) => (rowMean[i] = rowMean[i]! + value / k));
  rowMean.forEach((value) => (mean += value / n));
  const centred = columns.map((column) => {
    const own = column.reduce((a, b) => a + b, 0) / n;
    return column.map((value, i) => -0.5 * (value - own - rowMean[i]! + mean));
  });
  const axes: Float64Array[] = [];
  const coordinate = (seed: number): Float64Array => {
    let vector = Float64Array.from({ length: k }, (_, i) => Math.sin((i + 1) * seed));
    let projected = new Float64Array(n);
    for (let step = 0; step < POWER_STEPS; step += 1) {
      for (const axis of axes) {
        const dot = axis.reduce((sum, value, i) => sum + value * vector[i]!, 0);
        vector = vector.map((value, i) => value - dot * axis[i]!);
      }
      projected = new Float64Array(n);
      centred.forEach((column, j) => column.forEach((value, i) => (projected[i] = projected[i]! + value * vector[j]!)));
      vector = Float64Array.from(centred, (column) => column.reduce((sum, value, i) => sum + value * projected[i]!, 0));
      const length = Math.hypot(...vector) || 1;
      vector = vector.map((value) => value / length);
    }
    axes.push(vector);
    return projected;
  };
  const xs = coordinate(1);
  const ys = coordinate(2.3);
  const scale = (values: Float64Array) => Math.sqrt(n) / (values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1);
  const sx = scale(xs);
  const sy = scale(ys);
  // Switches with the same distances to all pivots must not be at the same place.
  return Array.from(xs, (x, i) => ({ x: x * sx + Math.cos(i * 2.4) * 0.3, y: ys[i]! * sy + Math.sin(i * 2.4) * 0.3 }));
}

function improve(points: Point[], adjacent: number[][]) {
  for (let step = 0; step < FORCE_STEPS; step += 1) {
    const reach = 0.6 * (1 - step / FORCE_STEPS);
    const moves = points.map(() => ({ x: 0, y: 0 }));
    for (let i = 0; i < points.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const dx = points[i]!.x - points[j]!.x;
        const dy = points[i]!.y - points[j]!.y;
        const force = 1 / (dx * dx + dy * dy + 0.01);
        moves[i]!.x += dx * force;
        moves[i]!.y += dy * force;
        moves[j]!.x -= dx * force;
        moves[j]!.y -= dy * force;
      }
      for (const j of adjacent[i]!) {
        const dx = points[j]!.x - points[i]!.x;
        const dy = points[j]!.y - points[i]!.y;
        const force = Math.hypot(dx, dy) * 0.35;
        moves[i]!.x += dx * force;
        moves[i]!.y += dy * force;
      }
    }
    points.forEach((point, i) => {
      const { x, y } = moves[i]!;
      const length = Math.hypot(x, y) || 1;
      point.x += (x / length) * Math.min(length, reach);
      point.y += (y / length) * Math.min(length, reach);
    });
  }
}
