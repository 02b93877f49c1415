// What is drawn of the fabric: groups and switches that are collapsed are one item each.

import type { Model } from "./model";
import type { Point, Positions } from "./layout";
import { ROOTS, groupWord, type Shown } from "./shown";
import type { FabricNode } from "./types";

export interface Item {
  key: string;
  /** `block`: a collapsed group, or the switches of the highest level. */
  kind: "block" | "switch" | "host";
  label: string;
  /** All nodes that it stands for. */
  nodes: string[];
  /** Hosts that are drawn with it, as a number. */
  hosts: number;
  at: Point;
}

export interface Bundle {
  key: string;
  a: string;
  b: string;
  /** Indices of links. */
  links: number[];
}

export interface View {
  items: Map<string, Item>;
  bundles: Map<string, Bundle>;
  /** The item that stands for a node. */
  itemOf: Map<string, string>;
}

/** Blocks that have room in a row. */
const BLOCKS_IN_ROW = 10;
/** Many blocks side by side are drawn in several rows, so that they and their names have room. */
function stagger(blocks: Item[]) {
  const ys = blocks.map((block) => block.at.y);
  const isOneRow = ys.every((y) => Math.abs(y - ys[0]!) < 1e-6);
  const rows = Math.ceil(blocks.length / BLOCKS_IN_ROW);
  if (!isOneRow || rows < 2) return;
  const xs = blocks.map((block) => block.at.x);
  const height = (Math.max(...xs) - Math.min(...xs)) / 10;
  blocks.sort((a, b) => a.at.x - b.at.x).forEach((block, i) => {
    block.at.y -= (i % rows) * height;
  });
}

/** The name of a host without that of its only adapter: `gpu01` of `gpu01 mlx5_0`. */
function shortName({ name, guid }: FabricNode): string {
  return name.replace(/ (mlx[45]_0|HCA-1)$/, "") || guid;
}

/** The view of what is shown. */
export function view(model: Model, positions: Positions, shown: Shown): View {
  const items = new Map<string, Item>();
  const itemOf = new Map<string, string>();
  const add = (key: string, kind: Item["kind"], label: string, guid: string) => {
    let item = items.get(key);
    if (!item) {
      item = { key, kind, label, nodes: [], hosts: 0, at: { x: 0, y: 0 } };
      items.set(key, item);
    }
    item.nodes.push(guid);
    itemOf.set(guid, key);
  };
  for (const guid of model.switches()) {
    const block = shown.blockOf(guid);
    if (block !== undefined) {
      const label = block === ROOTS ? `${shown.roots} roots` : `${groupWord(model)} ${model.places.get(guid)!.group}`;
      add(block, "block", label, guid);
    } else {
      add(guid, "switch", model.name(guid), guid);
    }
  }
  for (const node of model.nodes.values()) {
    if (itemOf.has(node.guid)) continue;
    const home = model.homeOf.get(node.guid);
    const at = home === undefined ? undefined : itemOf.get(home);
    const item = at === undefined ? undefined : items.get(at);
    const isDrawn = item === undefined || (item.kind === "switch" && shown.drawsHostsOf(home!));
    if (isDrawn) {
      add(node.guid, "host", shortName(node), node.guid);
    } else {
      itemOf.set(node.guid, item.key);
      item.hosts += 1;
    }
  }
  for (const item of items.values()) {
    for (const guid of item.nodes) {
      const point = positions.get(guid) ?? { x: 0, y: 0 };
      item.at.x += point.x / item.nodes.length;
      item.at.y += point.y / item.nodes.length;
    }
  }
  stagger([...items.values()].filter((item) => item.kind === "block" && item.key !== ROOTS));
  const bundles = new Map<string, Bundle>();
  model.links.forEach((link, index) => {
    const ends = [itemOf.get(link.a.guid)!, itemOf.get(link.b.guid)!];
    if (ends[0] === ends[1]) return;
    const [a, b] = ends.sort() as [string, string];
    const key = `${a} ${b}`;
    const bundle = bundles.get(key);
    if (bundle) bundle.links.push(index);
    else bundles.set(key, { key, a, b, links: [index] });
  });
  return { items, bundles, itemOf };
}
