// The fabric: nodes and links with their indices. Immutable.

import { withAbsent } from "./absent";
import type { FabricNode, Link, Structure, SwitchPlace } from "./types";

export class Model {
  readonly nodes = new Map<string, FabricNode>();
  private readonly byName = new Map<string, string>();
  readonly structure: Structure | undefined;
  readonly places = new Map<string, SwitchPlace>();
  /** Indices in `links`, by node. */
  readonly linksOf = new Map<string, number[]>();
  /** The switch next to which a host is drawn: that of its first link. */
  readonly homeOf = new Map<string, string>();
  /** Hosts, by the switch next to which they are drawn. */
  readonly hostsOf = new Map<string, string[]>();

  constructor(
    nodes: FabricNode[],
    readonly links: Link[],
    detected: Structure | undefined,
  ) {
    for (const node of nodes) this.nodes.set(node.guid, node);
    links.forEach((link, index) => {
      for (const { guid, name } of [link.a, link.b]) {
        // A link that is down may lead to a node that is no longer expected.
        if (!this.nodes.has(guid)) {
          this.nodes.set(guid, { guid, name, location: name, kind: "ca", lids: [], ports: 0, ports_linked: 0, state: "absent" });
        }
        const of = this.linksOf.get(guid);
        if (of) of.push(index);
        else this.linksOf.set(guid, [index]);
      }
    });
    for (const node of this.nodes.values()) {
      if (!this.byName.has(node.name)) this.byName.set(node.name, node.guid);
      if (node.kind === "switch") continue;
      const home = this.neighbours(node.guid).find((guid) => this.nodes.get(guid)?.kind === "switch");
      if (home === undefined) continue;
      this.homeOf.set(node.guid, home);
      const hosts = this.hostsOf.get(home);
      if (hosts) hosts.push(node.guid);
      else this.hostsOf.set(home, [node.guid]);
    }
    this.structure = detected && this.completed(detected);
    for (const place of this.structure?.switches ?? []) this.places.set(place.guid, place);
  }

  /** The detected structure, with the switches that are gone. */
  private completed(detected: Structure): Structure {
    const places = new Map(detected.switches.map((place) => [place.guid, place]));
    const absent = [...this.nodes.values()].filter((node) => node.kind === "switch" && !places.has(node.guid));
    return withAbsent(detected, absent.map(({ guid }) => ({
      guid,
      neighbours: this.neighbours(guid).flatMap((other) => places.get(other) ?? []),
      hasHosts: this.hostsOf.has(guid),
    })));
  }

  neighbours(guid: string): string[] {
    return (this.linksOf.get(guid) ?? []).map((index) => this.otherEnd(index, guid));
  }

  otherEnd(index: number, guid: string): string {
    const link = this.links[index]!;
    return link.a.guid === guid ? link.b.guid : link.a.guid;
  }

  /** The switches: those of the structure in its order, then others. */
  switches(): string[] {
    const known = [...this.places.keys()].filter((guid) => this.nodes.has(guid));
    const others = [...this.nodes.values()].filter((node) => node.kind === "switch" && !this.places.has(node.guid));
    return [...known, ...others.map((node) => node.guid)];
  }

  name(guid: string): string {
    return this.nodes.get(guid)?.name || guid;
  }

  /** The link at a port of a node. */
  linkAt(guid: string, port: number): number | undefined {
    return this.linksOf.get(guid)?.find((index) => {
      const { a, b } = this.links[index]!;
      return (a.guid === guid && a.port === port) || (b.guid === guid && b.port === port);
    });
  }

  /** The node or link that an alarm or the API names: `spine-0-1`, `leaf-2-0/5`, a GUID. */
  find(text: string): { node?: string; link?: number } {
    const [one] = text.split(" - ");
    const name = one!.trim();
    if (this.nodes.has(name)) return { node: name };
    const named = this.byName.get(name);
    if (named !== undefined) return { node: named };
    const slash = name.lastIndexOf("/");
    if (slash < 0) return {};
    const port = Number(name.slice(slash + 1));
    const { node } = this.find(name.slice(0, slash));
    return node === undefined ? {} : { link: this.linkAt(node, port) };
  }
}

export function linkName(link: Link): string {
  return `${link.a.name || link.a.guid}/${link.a.port} – ${link.b.name || link.b.guid}/${link.b.port}`;
}

/** The end of a link that commands name it by: a port of a switch. */
export function linkTarget(model: Model, link: Link): string {
  const end = model.nodes.get(link.a.guid)?.kind === "switch" ? link.a : link.b;
  return `${end.name || end.guid}/${end.port}`;
}
