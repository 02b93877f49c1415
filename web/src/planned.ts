// What a plan changes, by link and host, and what it marks in the drawing.

import { linkName, type Model } from "./model";
import type { MarkKind, Marks } from "./paint";
import type { Plan, PlannedEffect, WrittenNode } from "./types";

export const EFFECT_TEXTS: Record<PlannedEffect, string> = {
  "lid-changed": "another LID",
  "link-changed": "another MTU or number of VLs",
  "p-key-removed": "loses P_Keys",
  "m-key-changed": "another M_Key",
  "lmc-changed": "another LMC",
  "lid-assigned": "first LID",
  activated: "becomes Active",
  "p-key-added": "gains P_Keys",
  "sm-lid-changed": "another SM LID",
  reregistered: "ClientReregister",
};

/** Effects that interrupt traffic, or change who may communicate or configure. */
const ALARMS: ReadonlySet<PlannedEffect> = new Set(["lid-changed", "link-changed", "p-key-removed", "m-key-changed", "lmc-changed"]);
const OF_LINKS: ReadonlySet<PlannedEffect> = new Set(["link-changed", "activated"]);

export interface Affected {
  name: string;
  /** What the address of the page shows: a node or the end of a link. */
  target: string;
  effects: PlannedEffect[];
}

export function isAlarm(effect: PlannedEffect): boolean {
  return ALARMS.has(effect);
}

/** Those with an alarm first, otherwise by name. */
function inOrder(affected: Iterable<Affected>): Affected[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  const rank = ({ effects }: Affected) => (effects.some(isAlarm) ? 0 : 1);
  return [...affected].sort((a, b) => rank(a) - rank(b) || compare(a.name, b.name));
}

/** The links that become Active or get other settings. Without a model, a link is named by one end. */
export function affectedLinks(plan: Plan, model: Model | undefined): Affected[] {
  const links = new Map<string, Affected>();
  for (const node of plan.nodes ?? []) {
    for (const { effect, ports } of node.effects ?? []) {
      if (!OF_LINKS.has(effect)) continue;
      for (const port of ports.filter((one) => one > 0)) {
        const index = model?.linkAt(node.guid, port);
        const target = `${node.guid}/${port}`;
        const key = index === undefined ? target : String(index);
        const name = index === undefined ? `${node.name || node.guid}/${port}` : linkName(model!.links[index]!);
        const link = links.get(key) ?? { name, target, effects: [] };
        if (!link.effects.includes(effect)) link.effects.push(effect);
        links.set(key, link);
      }
    }
  }
  return inOrder(links.values());
}

/** The hosts at whose ports something changes. */
export function affectedHosts(plan: Plan): Affected[] {
  const hosts = (plan.nodes ?? []).filter((node) => node.kind !== "switch" && node.effects);
  return inOrder(hosts.map((node) => ({
    name: node.name || node.guid,
    target: node.guid,
    effects: node.effects!.map(({ effect }) => effect),
  })));
}

export function setsOf(node: WrittenNode): number {
  return node.sets.reduce((sum, { count }) => sum + count, 0);
}

export function planMarks(plan: Plan, model: Model): Marks {
  const nodes = new Map<string, MarkKind>();
  const links = new Map<number, MarkKind>();
  for (const node of plan.nodes ?? []) {
    const effects = node.effects ?? [];
    nodes.set(node.guid, effects.some(({ effect }) => isAlarm(effect)) ? "interrupted" : "written");
  }
  for (const { target, effects } of affectedLinks(plan, model)) {
    const { link } = model.find(target);
    if (link !== undefined) links.set(link, effects.some(isAlarm) ? "interrupted" : "written");
  }
  return { title: "plan", nodes, links };
}
