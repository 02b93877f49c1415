// Search for nodes: by name, pattern, host list, GUID or LID.

import type { Model } from "./model";

const FOUND_MAX = 5000;
/** Most names in a host list. */
const NAMES_MAX = 100_000;

/** The GUIDs of the nodes that a text names; several are separated by commas. */
export function search(model: Model, text: string): string[] {
  const found = new Set<string>();
  for (const part of splitList(text)) {
    const matches = matcher(part);
    for (const node of model.nodes.values()) {
      if (found.size >= FOUND_MAX) break;
      if (matches(node.name, node.guid, node.lids)) found.add(node.guid);
    }
  }
  return [...found];
}

/** Splits at commas that are not in brackets. */
export function splitList(text: string): string[] {
  const parts = text.split(/,(?![^[]*\])/);
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function matcher(part: string): (name: string, guid: string, lids: number[]) => boolean {
  const lower = part.toLowerCase();
  if (/^0x[0-9a-f]{5,}$/.test(lower)) {
    const digits = lower.slice(2).padStart(16, "0");
    return (_, guid) => guid.toLowerCase().slice(2).padStart(16, "0") === digits;
  }
  if (/^[0-9]+$/.test(lower)) {
    const lid = Number(lower);
    return (name, _, lids) => lids.includes(lid) || name.toLowerCase().includes(lower);
  }
  const names = hostList(lower);
  if (names) {
    return (name) => {
      const own = name.toLowerCase();
      // `gpu01 mlx5_0` is a port of the host gpu01.
      return names.has(own) || names.has(own.split(" ")[0]!);
    };
  }
  if (lower.includes("*")) {
    const pattern = new RegExp(`^${lower.split("*").map(escape).join(".*")}$`);
    return (name) => pattern.test(name.toLowerCase());
  }
  return (name) => name.toLowerCase().includes(lower);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The names of a host list such as `gpu[01-04,9]`; `undefined` if it is none. */
export function hostList(text: string): Set<string> | undefined {
  if (!/\[[0-9,-]+\]/.test(text)) return undefined;
  let names = [""];
  for (const part of text.split(/(\[[0-9,-]+\])/)) {
    const list = /^\[(.*)\]$/.exec(part)?.[1];
    const numbers: string[] = list === undefined ? [part] : [];
    for (const range of list?.split(",") ?? []) {
      const [first = "", last = first] = range.split("-");
      for (let i = Number(first); i <= Number(last) && numbers.length <= NAMES_MAX; i += 1) {
        numbers.push(String(i).padStart(first.length, "0"));
      }
    }
    if (names.length * numbers.length > NAMES_MAX) return undefined;
    names = names.flatMap((name) => numbers.map((number) => name + number));
  }
  return new Set(names);
}
