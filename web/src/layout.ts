// Where nodes are drawn, by the detected structure. The same fabric has the same drawing after a
// reload: nothing is random, and nodes are placed in an order that follows from the structure.

import { forceLayout } from "./force";
import type { Model } from "./model";
import type { Shown } from "./shown";
import type { SwitchPlace } from "./types";

export interface Point {
  x: number;
  y: number;
}

export type Positions = Map<string, Point>;

/** Width of a drawing divided by its height. */
const ASPECT = 1.35;

/** Width of a collapsed subtree, in leaves. */
const COLLAPSED = 2;

export function layOut(model: Model, shown: Shown): Positions {
  const positions: Positions = new Map();
  switch (model.structure?.kind) {
    case "tree":
      layOutTree(model, positions, shown);
      break;
    case "grid":
      layOutGrid(model, positions);
      break;
    case "dragonfly":
      layOutDragonfly(model, positions);
      break;
    default:
      for (const [guid, point] of forceLayout(model)) positions.set(guid, point);
  }
  placeOthers(model, positions);
  return positions;
}

/** Number of columns in which the hosts of a switch are drawn. */
function hostColumns(count: number): number {
  return Math.max(1, Math.ceil(Math.sqrt(count / 3)));
}

/** Leaves in a row, their hosts below them, other levels above the leaves that they lead to. */
function layOutTree(model: Model, positions: Positions, shown: Shown) {
  const places = model.structure!.switches.filter((place) => model.nodes.has(place.guid));
  const levels = new Map<number, SwitchPlace[]>();
  for (const place of places) {
    const level = place.level ?? 0;
    const row = levels.get(level);
    if (row) row.push(place);
    else levels.set(level, [place]);
  }
  let x = 0;
  let group: number | undefined;
  const span = new Map<number, [number, number]>();
  let rows = 1;
  const leaves = levels.get(0) ?? [];
  const leavesOf = new Map<number | undefined, number>();
  for (const leaf of leaves) leavesOf.set(leaf.group, (leavesOf.get(leaf.group) ?? 0) + 1);
  for (const leaf of leaves) {
    const hosts = shown.drawsHostsOf(leaf.guid) ? (model.hostsOf.get(leaf.guid) ?? []).length : 0;
    const columns = hostColumns(hosts);
    rows = Math.max(rows, Math.ceil(hosts / columns));
    // A gap between subtrees.
    if (leaf.group !== group) x += 2;
    group = leaf.group;
    const width = shown.blockOf(leaf.guid) !== undefined ? COLLAPSED / leavesOf.get(group)! : columns + 1;
    positions.set(leaf.guid, { x: x + width / 2, y: 0 });
    if (group !== undefined) {
      const [from] = span.get(group) ?? [x];
      span.set(group, [from, x + width]);
    }
    x += width;
  }
  const drawn = [...levels.values()].map((row) => row.filter((place) => shown.blockOf(place.guid) === undefined).length);
  const width = Math.max(x, ...drawn, 4);
  const above = Math.max(...levels.keys(), 0);
  // The hosts take one part of the height, each level another.
  const step = width / ASPECT / (above + 1);
  for (const [level, row] of levels) {
    if (level === 0) continue;
    const inGroup = new Map<number | undefined, SwitchPlace[]>();
    for (const place of row) {
      const members = inGroup.get(place.group);
      if (members) members.push(place);
      else inGroup.set(place.group, [place]);
    }
    for (const [of, members] of inGroup) {
      const [from, to] = (of !== undefined && span.get(of)) || [0, width];
      members.forEach((place, i) => {
        positions.set(place.guid, { x: from + ((i + 0.5) * (to - from)) / members.length, y: level * step });
      });
    }
  }
  const line = Math.min(1, (step * 0.7) / rows);
  for (const place of places) {
    const at = positions.get(place.guid)!;
    const hosts = model.hostsOf.get(place.guid) ?? [];
    const columns = place.level ? hosts.length : hostColumns(hosts.length);
    hosts.forEach((guid, i) => {
      const column = i % columns;
      const y = place.level ? at.y - step * 0.12 : -(step * 0.25 + Math.floor(i / columns) * line);
      positions.set(guid, { x: at.x + (column - (columns - 1) / 2) * (place.level ? 0.4 : 1), y });
    });
  }
}

/** The first two dimensions as a plane; a third one to the upper right, further ones as copies. */
function layOutGrid(model: Model, positions: Positions) {
  const structure = model.structure!;
  const sizes = structure.dimensions.map((dimension) => dimension.size);
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]!);
  const depth = sizes[order[2] ?? -1] ?? 1;
  const shift = 1 / (depth + 1);
  const plane = { x: (sizes[order[0]!] ?? 1) + 1, y: (sizes[order[1] ?? -1] ?? 1) + 1 };
  for (const { guid, coordinates = [] } of structure.switches) {
    const along = (rank: number) => coordinates[order[rank] ?? -1] ?? 0;
    const z = along(2);
    let x = along(0) + z * shift;
    let y = -along(1) + z * shift;
    let scale = { x: plane.x, y: plane.y };
    for (let rank = 3; rank < order.length; rank += 1) {
      const size = sizes[order[rank]!]!;
      if (rank % 2 === 1) {
        x += along(rank) * scale.x;
        scale = { ...scale, x: scale.x * (size + 0.5) };
      } else {
        y -= along(rank) * scale.y;
        scale = { ...scale, y: scale.y * (size + 0.5) };
      }
    }
    positions.set(guid, { x, y });
  }
  const radius = sizes.length > 2 ? shift * 0.35 : 0.3;
  for (const guid of model.places.keys()) placeAround(model, positions, guid, radius, -Math.PI / 2, Math.PI / 2);
}

/** Groups on a circle, the switches of a group on a smaller one, leaves outside of spines. */
function layOutDragonfly(model: Model, positions: Positions) {
  const structure = model.structure!;
  const groups = new Map<number, SwitchPlace[]>();
  for (const place of structure.switches) {
    const of = groups.get(place.group ?? 0);
    if (of) of.push(place);
    else groups.set(place.group ?? 0, [place]);
  }
  const count = groups.size;
  const radius = 10;
  const own = Math.min(4, (Math.PI * radius * 0.55) / Math.max(count, 3));
  let i = 0;
  for (const members of groups.values()) {
    const angle = (2 * Math.PI * i) / count + Math.PI / 2;
    const centre = { x: ASPECT * radius * Math.cos(angle), y: radius * Math.sin(angle) };
    const byLevel = [members.filter((place) => !place.level), members.filter((place) => place.level)];
    byLevel.forEach((row, level) => {
      const distance = level === 1 ? own * 0.45 : own;
      row.forEach((place, j) => {
        const at = angle + (2 * Math.PI * j) / row.length;
        const point = { x: centre.x + distance * Math.cos(at), y: centre.y + distance * Math.sin(at) };
        positions.set(place.guid, point);
        placeAround(model, positions, place.guid, own * 0.28, at, Math.PI * 0.8);
      });
    });
    i += 1;
  }
}

/** The hosts of a switch on an arc around it. */
function placeAround(model: Model, positions: Positions, guid: string, radius: number, towards: number, arc: number) {
  const at = positions.get(guid);
  const hosts = model.hostsOf.get(guid) ?? [];
  if (!at) return;
  const ring = Math.max(6, Math.ceil(Math.sqrt(hosts.length) * 3));
  hosts.forEach((host, i) => {
    const row = Math.floor(i / ring);
    const inRow = Math.min(ring, hosts.length - row * ring);
    const angle = towards + ((i % ring) - (inRow - 1) / 2) * (arc / Math.max(inRow, 2));
    const distance = radius * (1 + row * 0.35);
    positions.set(host, { x: at.x + distance * Math.cos(angle), y: at.y + distance * Math.sin(angle) });
  });
}

/** Nodes that are not in the structure: beside a neighbour, otherwise in a row below. */
function placeOthers(model: Model, positions: Positions) {
  let xs = [...positions.values()].map((point) => point.x);
  let ys = [...positions.values()].map((point) => point.y);
  if (xs.length === 0) xs = [0];
  if (ys.length === 0) ys = [0];
  const left = xs.reduce((a, b) => Math.min(a, b));
  const bottom = ys.reduce((a, b) => Math.min(a, b));
  const unit = Math.max(1, xs.reduce((a, b) => Math.max(a, b)) - left) / 40;
  let alone = 0;
  for (const guid of model.nodes.keys()) {
    if (positions.has(guid)) continue;
    const near = model.neighbours(guid).map((other) => positions.get(other)).find((point) => point !== undefined);
    if (near) {
      positions.set(guid, { x: near.x + unit, y: near.y - unit });
    } else {
      positions.set(guid, { x: left + alone * unit, y: bottom - 2 * unit });
      alone += 1;
    }
  }
}

/** How far points are from their nearest neighbours: a tenth of them is nearer to one. */
export function usualDistance(points: Point[]): number {
  if (points.length < 2) return Infinity;
  const left = points.reduce((least, { x }) => Math.min(least, x), Infinity);
  const right = points.reduce((most, { x }) => Math.max(most, x), -Infinity);
  const bottom = points.reduce((least, { y }) => Math.min(least, y), Infinity);
  const top = points.reduce((most, { y }) => Math.max(most, y), -Infinity);
  // Cells with few points each. Points in a line have narrow ones.
  const cell = Math.max(Math.sqrt(((right - left) * (top - bottom)) / points.length), (right - left + top - bottom) / points.length);
  const cells = new Map<string, Point[]>();
  const at = ({ x, y }: Point, dx = 0, dy = 0) => `${Math.floor((x - left) / cell) + dx} ${Math.floor((y - bottom) / cell) + dy}`;
  for (const point of points) {
    const own = cells.get(at(point));
    if (own) own.push(point);
    else cells.set(at(point), [point]);
  }
  const nearest = points.map((point) => {
    let distance = 2 * cell;
    for (const dx of [-1, 0, 1]) {
      for (const dy of [-1, 0, 1]) {
        for (const other of cells.get(at(point, dx, dy)) ?? []) {
          if (other !== point) distance = Math.min(distance, Math.hypot(other.x - point.x, other.y - point.y));
        }
      }
    }
    return distance;
  });
  nearest.sort((a, b) => a - b);
  return nearest[Math.floor(nearest.length / 10)]!;
}
