// Places of switches that are gone, as their neighbours show them: they stay where they were drawn.

import type { Structure, SwitchPlace } from "./types";

/** What a switch has links with. */
export interface Surroundings {
  guid: string;
  neighbours: SwitchPlace[];
  hasHosts: boolean;
}

/** The structure with the places of switches that are not in it. */
export function withAbsent(structure: Structure, absent: Surroundings[]): Structure {
  const switches = [...structure.switches];
  for (const surroundings of absent) {
    const place = placeOf(structure, surroundings);
    if (!place) continue;
    const isBeside = (other: SwitchPlace) => other.level === place.level && other.group === place.group;
    const next = switches.findIndex((other) => isBeside(other) && other.guid > place.guid);
    const last = switches.findLastIndex(isBeside);
    switches.splice(next >= 0 ? next : last >= 0 ? last + 1 : switches.length, 0, place);
  }
  return { ...structure, switches };
}

function placeOf(structure: Structure, { guid, neighbours, hasHosts }: Surroundings): SwitchPlace | undefined {
  if (neighbours.length === 0) return undefined;
  switch (structure.kind) {
    case "tree": {
      const levels = neighbours.map((place) => place.level ?? 0);
      const low = Math.min(...levels);
      const high = Math.max(...levels);
      const level = low < high ? Math.round((low + high) / 2) : hasHosts || low === structure.levels - 1 ? low - 1 : low + 1;
      // The highest level is in no subtree.
      const group = level >= structure.levels - 1 ? undefined : mostCommon(neighbours.flatMap((place) => place.group ?? []));
      return level < 0 ? undefined : { guid, level, group };
    }
    case "grid": {
      const coordinates = structure.dimensions.map((_, i) => mostCommon(neighbours.map((place) => place.coordinates?.[i] ?? 0))!);
      const isFree = !structure.switches.some((place) => place.coordinates?.every((at, i) => at === coordinates[i]));
      return isFree ? { guid, coordinates } : undefined;
    }
    case "dragonfly":
      return { guid, group: mostCommon(neighbours.flatMap((place) => place.group ?? [])), level: structure.levels > 0 ? Number(!hasHosts) : undefined };
    case "unknown":
      return undefined;
  }
}

function mostCommon(values: number[]): number | undefined {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0];
}
