// What is collapsed in a drawing: groups to blocks, hosts into their switches.

import type { Model } from "./model";

export type Detail = "groups" | "switches" | "hosts";

/** Nodes up to which hosts are drawn at first. */
const HOSTS_DRAWN_MAX = 700;
/** Switches up to which they are drawn one by one at first. */
const SWITCHES_DRAWN_MAX = 400;
/** Switches of the highest level up to which they are not collapsed with groups. */
const ROOTS_DRAWN_MAX = 24;

/** Key of the block of the highest level. */
export const ROOTS = "roots";

export class Shown {
  private readonly hasGroups: boolean;
  /** Switches of a tree that are in no subtree. */
  readonly roots: number;

  /** `open` has the keys of blocks and switches that are shown the other way than `detail` says. */
  constructor(
    private readonly model: Model,
    private readonly detail: Detail,
    private readonly open: ReadonlySet<string>,
  ) {
    this.hasGroups = hasGroups(model);
    const { structure } = model;
    this.roots = structure?.kind === "tree" ? structure.switches.filter((place) => place.group === undefined).length : 0;
  }

  /** The collapsed block to which a switch belongs; `undefined` if it is drawn itself. */
  blockOf(guid: string): string | undefined {
    const place = this.model.places.get(guid);
    if (!place || !this.hasGroups) return undefined;
    const key = place.group !== undefined ? `group ${place.group}` : ROOTS;
    if (key === ROOTS && this.roots <= ROOTS_DRAWN_MAX) return undefined;
    return (this.detail === "groups") !== this.open.has(key) ? key : undefined;
  }

  drawsHostsOf(guid: string): boolean {
    return (this.detail === "hosts") !== this.open.has(guid);
  }
}

export function hasGroups(model: Model): boolean {
  return (model.structure?.groups ?? 0) > 1;
}

/** The detail with which a fabric is readable. */
export function usualDetail(model: Model): Detail {
  if (model.nodes.size <= HOSTS_DRAWN_MAX) return "hosts";
  const switches = [...model.nodes.values()].filter((node) => node.kind === "switch").length;
  return switches <= SWITCHES_DRAWN_MAX || !hasGroups(model) ? "switches" : "groups";
}

/** What is called a group in this structure. */
export function groupWord(model: Model): string {
  return model.structure?.kind === "tree" ? "subtree" : "group";
}
