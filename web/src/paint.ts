// Colours and sizes of what is drawn. Problems are also wider, so that colour is not the only sign.

import { linkName, type Model } from "./model";
import type { Link, LinkLoad } from "./types";
import type { Bundle, Item, View } from "./view";

/** Marked nodes up to which all names are shown, and no others. */
const NAMED_MAX = 24;

/** Bounds of the colours of load, as multiples of the mean. */
const LOAD_STEPS = [0.5, 0.9, 1.1, 1.5];

export type Coloring = "state" | "load" | "speed";

/** What is drawn on top of the fabric: a path, or what a loss would do. */
export interface Marks {
  title: string;
  /** Nodes and links that are drawn strongly; everything else is faint. */
  nodes: Map<string, MarkKind>;
  links: Map<number, MarkKind>;
}

/** Kinds of marks, the strongest first. */
const MARK_KINDS = ["lost", "interrupted", "cut-off", "at-risk", "path", "written", "found"] as const;

export type MarkKind = (typeof MARK_KINDS)[number];

export const MARK_TEXTS: Record<MarkKind, string> = {
  lost: "lost",
  interrupted: "interrupted, or loses P_Keys",
  "cut-off": "cut off",
  "at-risk": "without redundancy",
  path: "path",
  written: "written to",
  found: "found",
};

export interface Palette {
  text: string;
  background: string;
  switch: string;
  host: string;
  block: string;
  link: string;
  faint: string;
  faintNode: string;
  bad: string;
  warn: string;
  maintenance: string;
  path: string;
  cutOff: string;
  scale: string[];
}

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"),
    background: of("canvas"),
    switch: of("switch"),
    host: of("host"),
    block: of("block"),
    link: of("link"),
    faint: of("faint"),
    faintNode: of("faint-node"),
    bad: of("bad"),
    warn: of("warn"),
    maintenance: of("maintenance"),
    path: of("path"),
    cutOff: of("cut-off"),
    scale: [0, 1, 2, 3, 4].map((i) => of(`scale-${i}`)),
  };
}

export interface Legend {
  items: { color: string; text: string }[];
  text?: string;
}

/** Routes over each link, in the direction with more. */
export function linkLoads(model: Model, load: LinkLoad): Float64Array {
  const routes = new Float64Array(model.links.length);
  for (const item of load.items) {
    const index = model.linkAt(item.guid, item.port);
    if (index !== undefined) routes[index] = Math.max(routes[index]!, item.routes);
  }
  return routes;
}

export class Painter {
  private readonly loads: Float64Array | undefined;
  private readonly meanLoad: number;
  private readonly speeds: string[];

  constructor(
    private readonly model: Model,
    private readonly coloring: Coloring,
    private readonly load: LinkLoad | undefined,
    /** Nodes with an alarm. */
    private readonly troubled: ReadonlySet<string>,
    private readonly marks: Marks | undefined,
    readonly colors: Palette,
  ) {
    this.loads = coloring === "load" && load ? linkLoads(model, load) : undefined;
    this.meanLoad = load && load.items.length > 0 ? load.total / load.items.length : 0;
    const bySpeed = new Map<string, number>();
    for (const link of model.links) if (link.mbps > 0) bySpeed.set(link.rate, link.mbps);
    this.speeds = [...bySpeed.keys()].sort((a, b) => bySpeed.get(a)! - bySpeed.get(b)!);
  }

  node(item: Item): { color: string; strength: number; isMarked?: boolean } {
    const { colors } = this;
    if (this.marks) {
      const kinds = item.nodes.map((guid) => this.marks!.nodes.get(guid));
      const kind = MARK_KINDS.find((one) => kinds.includes(one));
      const isMarked = kind !== undefined;
      return { color: isMarked ? this.markColor(kind) : colors.faintNode, strength: isMarked ? 1.3 : 1, isMarked };
    }
    const nodes = item.nodes.map((guid) => this.model.nodes.get(guid)!);
    if (nodes.some((node) => node.state === "absent")) return { color: colors.bad, strength: 1.4 };
    if (nodes.some((node) => this.troubled.has(node.guid))) return { color: colors.warn, strength: 1.3 };
    const own = item.kind === "switch" ? colors.switch : item.kind === "host" ? colors.host : colors.block;
    return { color: own, strength: 1 };
  }

  bundle(bundle: Bundle): { color: string; size: number; isOnTop: boolean } {
    const { colors } = this;
    const thick = Math.min(1 + Math.log2(bundle.links.length) * 0.5, 5);
    if (this.marks) {
      const kinds = bundle.links.map((index) => this.marks!.links.get(index));
      const kind = MARK_KINDS.find((one) => kinds.includes(one));
      return kind
        ? { color: this.markColor(kind), size: Math.max(3, thick), isOnTop: true }
        : { color: colors.faint, size: 0.6, isOnTop: false };
    }
    const links = bundle.links.map((index) => this.model.links[index]!);
    if (this.coloring === "load") {
      const routes = bundle.links.reduce((most, index) => Math.max(most, this.loads?.[index] ?? 0), 0);
      const step = LOAD_STEPS.filter((from) => routes >= from * this.meanLoad).length;
      return { color: colors.scale[step]!, size: 0.8 + step * 0.6, isOnTop: step > 2 };
    }
    if (this.coloring === "speed") {
      const slowest = links.reduce<Link | undefined>((a, b) => (b.mbps > 0 && (!a || b.mbps < a.mbps) ? b : a), undefined);
      if (!slowest) return { color: colors.bad, size: 2, isOnTop: true };
      return { color: this.speedColor(slowest.rate), size: thick, isOnTop: false };
    }
    if (links.some((link) => link.maintenance)) return { color: colors.maintenance, size: thick + 1.5, isOnTop: true };
    if (links.some((link) => link.state === "down")) return { color: colors.bad, size: thick + 1.5, isOnTop: true };
    if (links.some((link) => link.state !== "up")) return { color: colors.warn, size: thick + 1.5, isOnTop: true };
    return { color: colors.link, size: thick, isOnTop: false };
  }

  private scale(share: number): string {
    return this.colors.scale[Math.min(4, Math.floor(share * 5))]!;
  }

  private speedColor(rate: string): string {
    const at = this.speeds.indexOf(rate);
    return this.scale(this.speeds.length < 2 ? 0.5 : at / (this.speeds.length - 1));
  }

  private markColor(kind: MarkKind): string {
    const { colors } = this;
    switch (kind) {
      case "lost":
      case "interrupted":
        return colors.bad;
      case "cut-off":
        return colors.cutOff;
      case "at-risk":
        return colors.warn;
      case "path":
      case "written":
      case "found":
        return colors.path;
    }
  }

  /** Whether so few nodes are marked that all of them can have their names. */
  namesMarked(): boolean {
    return this.marks !== undefined && this.marks.nodes.size > 0 && this.marks.nodes.size <= NAMED_MAX;
  }

  legend(): Legend {
    const { colors } = this;
    if (this.marks) {
      const kinds = new Set([...this.marks.nodes.values(), ...this.marks.links.values()]);
      return { items: [...kinds].map((kind) => ({ color: this.markColor(kind), text: MARK_TEXTS[kind] })) };
    }
    if (this.coloring === "load") {
      const bounds = LOAD_STEPS.map((step) => Math.ceil(step * this.meanLoad));
      const items = colors.scale.map((color, i) => ({
        color,
        text: i === 0 ? `fewer than ${bounds[0]} routes` : i === 4 ? `${bounds[3]} routes and more` : `from ${bounds[i - 1]}`,
      }));
      return { items, text: `mean ${Math.round(this.meanLoad)}, busiest link ${this.load?.busiest ?? 0} routes` };
    }
    if (this.coloring === "speed") {
      return { items: this.speeds.map((rate) => ({ color: this.speedColor(rate), text: rate })) };
    }
    return {
      items: [
        { color: colors.switch, text: "switch" },
        { color: colors.host, text: "host" },
        { color: colors.link, text: "link" },
        { color: colors.bad, text: "down or absent" },
        { color: colors.warn, text: "degraded, or has an alarm" },
        { color: colors.maintenance, text: "in maintenance" },
      ],
    };
  }
}

/** What a pointer on an item or link shows. */
export function itemText(model: Model, item: Item): string {
  const switches = item.nodes.length;
  if (item.kind === "block") return `${item.label}: ${switches} switches, ${item.hosts} hosts`;
  const node = model.nodes.get(item.nodes[0]!)!;
  const hosts = item.hosts > 0 ? `, ${item.hosts} hosts` : "";
  return `${item.label}: ${node.kind === "ca" ? "host" : node.kind}${node.state === "absent" ? ", absent" : ""}${hosts}`;
}

export function bundleText(model: Model, view: View, bundle: Bundle): string {
  if (bundle.links.length === 1) {
    const link = model.links[bundle.links[0]!]!;
    return `${linkName(link)}: ${link.state}${link.rate ? `, ${link.rate}` : ""}`;
  }
  const name = (key: string) => view.items.get(key)?.label ?? key;
  return `${name(bundle.a)} – ${name(bundle.b)}: ${bundle.links.length} links`;
}
