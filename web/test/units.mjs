// Tests of what needs no browser: node test/units.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const sources = ["layout", "model", "planned", "search", "shown", "view"].map((name) => `export * from "./src/${name}";`).join("\n");
const root = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({
  stdin: { contents: sources, resolveDir: root, loader: "ts" },
  bundle: true,
  format: "esm",
  write: false,
});
const page = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

/** Positions with a detail. */
const layOut = (model, detail = "hosts", open = []) => page.layOut(model, new page.Shown(model, detail, new Set(open)));

const node = (guid, kind, lid) => ({ guid, name: guid, location: guid, kind, lids: [lid], ports: 8, ports_linked: 8, state: "present" });
const link = (a, b, port) => ({
  a: { guid: a, name: a, port }, b: { guid: b, name: b, port: port + 1 },
  state: "up", rate: "4xHDR", possible_rate: "4xHDR", mbps: 200_000, times_down: 0,
});

/** Two subtrees of two leaves and two spines each, with two hosts on each leaf, below `roots` roots. */
function tree(roots) {
  const switches = [];
  const nodes = [];
  const links = [];
  let lid = 1;
  const add = (guid, kind) => nodes.push(node(guid, kind, (lid += 1)));
  for (let i = 0; i < roots; i += 1) add(`root-${i}`, "switch");
  for (const group of [0, 1]) {
    for (const i of [0, 1]) {
      add(`leaf-${group}-${i}`, "switch");
      add(`spine-${group}-${i}`, "switch");
      switches.push({ guid: `leaf-${group}-${i}`, level: 0, group }, { guid: `spine-${group}-${i}`, level: 1, group });
      for (const j of [0, 1]) links.push(link(`leaf-${group}-${i}`, `spine-${group}-${j}`, 10 + j));
      for (let j = 0; j < roots; j += 1) links.push(link(`spine-${group}-${i}`, `root-${j}`, 20 + j));
      for (const j of [0, 1]) {
        add(`host-${group}-${i}-${j} mlx5_0`, "ca");
        links.push(link(`leaf-${group}-${i}`, `host-${group}-${i}-${j} mlx5_0`, 1 + j));
      }
    }
  }
  for (let i = 0; i < roots; i += 1) switches.push({ guid: `root-${i}`, level: 2 });
  return new page.Model(nodes, links, { kind: "tree", summary: "", levels: 3, groups: 2, dimensions: [], switches });
}

test("search finds names, patterns, host lists, LIDs and GUIDs", () => {
  const model = tree(2);
  const found = (text) => page.search(model, text).sort();
  assert.deepEqual(found("leaf-*-0"), ["leaf-0-0", "leaf-1-0"]);
  assert.deepEqual(found("LEAF-0"), ["leaf-0-0", "leaf-0-1"]);
  assert.deepEqual(found("host-[0-1]-1-[0,1]"), ["host-0-1-0 mlx5_0", "host-0-1-1 mlx5_0", "host-1-1-0 mlx5_0", "host-1-1-1 mlx5_0"]);
  assert.deepEqual(found("root-0, spine-1-1"), ["root-0", "spine-1-1"]);
  assert.deepEqual(found("2"), ["root-0"]);
  assert.deepEqual(found("nothing"), []);
  assert.deepEqual([...page.hostList("gpu[08-10]")], ["gpu08", "gpu09", "gpu10"]);
  assert.equal(page.hostList("gpu[0-999999]"), undefined);
});

test("a tree is drawn by levels, its subtrees side by side", () => {
  const model = tree(2);
  const at = layOut(model);
  assert.equal(at.size, model.nodes.size);
  const y = (guid) => at.get(guid).y;
  assert.ok(y("root-0") > y("spine-0-0") && y("spine-0-0") > y("leaf-0-0") && y("leaf-0-0") > y("host-0-0-0 mlx5_0"));
  assert.equal(y("leaf-0-0"), y("leaf-1-1"));
  const x = (guid) => at.get(guid).x;
  for (const left of ["leaf-0-1", "spine-0-1", "host-0-1-1 mlx5_0"]) {
    for (const right of ["leaf-1-0", "spine-1-0", "host-1-0-0 mlx5_0"]) assert.ok(x(left) < x(right), `${left} ${right}`);
  }
  assert.deepEqual(layOut(tree(2)), at, "the same drawing after a reload");
});

test("a switch that is gone stays at its place", () => {
  for (const guid of ["spine-0-1", "leaf-1-0", "root-1"]) {
    const whole = tree(3);
    const { nodes, links, structure } = { nodes: [...whole.nodes.values()], links: whole.links, structure: whole.structure };
    const left = { ...structure, switches: structure.switches.filter((place) => place.guid !== guid) };
    const model = new page.Model(nodes, links, left);
    assert.deepEqual(layOut(model).get(guid), layOut(whole).get(guid), guid);
  }
});

test("groups, switches and roots collapse, and open", () => {
  const model = tree(30);
  const keys = (detail, open = []) => {
    const shown = new page.Shown(model, detail, new Set(open));
    const { items, bundles, itemOf } = page.view(model, layOut(model, detail, open), shown);
    assert.equal(itemOf.size, model.nodes.size, "each node has an item");
    for (const { a, b } of bundles.values()) assert.ok(items.has(a) && items.has(b));
    const hosts = [...items.values()].reduce((sum, item) => sum + item.hosts, 0);
    const drawn = [...items.values()].filter((item) => item.kind === "host").length;
    assert.equal(hosts + drawn, 8, "no host is lost");
    return [...items.keys()].sort();
  };
  assert.deepEqual(keys("groups"), ["group 0", "group 1", "roots"]);
  assert.deepEqual(keys("groups", ["group 1"]), ["group 0", "leaf-1-0", "leaf-1-1", "roots", "spine-1-0", "spine-1-1"]);
  assert.equal(keys("switches").length, 38);
  assert.equal(keys("switches", ["leaf-0-0"]).length, 40);
  assert.equal(keys("hosts").length, 46);
  assert.equal(keys("hosts", ["leaf-0-0"]).length, 44);
});

test("a fabric without a structure has each switch at a place of its own", () => {
  const nodes = Array.from({ length: 30 }, (_, i) => node(`s${String(i).padStart(2, "0")}`, "switch", i + 1));
  const links = nodes.slice(1).map((to, i) => link(nodes[Math.floor(i / 2)].guid, to.guid, 1));
  const model = new page.Model(nodes, links, undefined);
  const at = layOut(model);
  const places = [...at.values()];
  places.forEach((a, i) => places.slice(i + 1).forEach((b) => assert.ok(Math.hypot(a.x - b.x, a.y - b.y) > 0.05)));
  assert.ok(places.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)));
  assert.deepEqual(layOut(new page.Model(nodes, links, undefined)), at, "the same drawing after a reload");
});

test("a grid is drawn by coordinates", () => {
  const guid = (x, y) => `s${x}${y}`;
  const nodes = [];
  const links = [];
  const switches = [];
  for (const x of [0, 1, 2]) {
    for (const y of [0, 1, 2]) {
      nodes.push(node(guid(x, y), "switch", nodes.length + 1));
      switches.push({ guid: guid(x, y), coordinates: [x, y] });
      if (x < 2) links.push(link(guid(x, y), guid(x + 1, y), 1));
      if (y < 2) links.push(link(guid(x, y), guid(x, y + 1), 3));
    }
  }
  const dimensions = [{ kind: "path", size: 3 }, { kind: "path", size: 3 }];
  const at = layOut(new page.Model(nodes, links, { kind: "grid", summary: "", levels: 0, groups: 0, dimensions, switches }));
  assert.equal(at.get("s00").y, at.get("s20").y);
  assert.equal(at.get("s00").x, at.get("s02").x);
  assert.ok(at.get("s00").x < at.get("s10").x && at.get("s10").x < at.get("s20").x);
});

test("the usual distance is that of neighbours", () => {
  const grid = Array.from({ length: 400 }, (_, i) => ({ x: i % 20, y: Math.floor(i / 20) }));
  assert.equal(page.usualDistance(grid), 1);
  const row = Array.from({ length: 50 }, (_, i) => ({ x: i * 3, y: 7 }));
  assert.equal(page.usualDistance(row), 3);
  assert.equal(page.usualDistance([{ x: 0, y: 0 }]), Infinity);
});

test("names of nodes and links are found", () => {
  const model = tree(2);
  assert.deepEqual(model.find("leaf-0-0"), { node: "leaf-0-0" });
  const { link: index } = model.find("leaf-0-0/10 - spine-0-0/11");
  assert.equal(page.linkTarget(model, model.links[index]), "leaf-0-0/10");
  assert.deepEqual(model.find("absent"), {});
  assert.equal(model.homeOf.get("host-0-0-1 mlx5_0"), "leaf-0-0");
});

test("a plan names links by both ends, and those with alarms first", () => {
  const model = tree(2);
  const at = (guid, effect, port) => ({ guid, name: guid, kind: guid.startsWith("host") ? "ca" : "switch", sets: [{ attribute: "PortInfo", count: 1 }], effects: [{ effect, ports: [port] }] });
  const plan = {
    nodes: [
      at("leaf-0-0", "activated", 10),
      at("spine-0-0", "activated", 11),
      at("leaf-1-0", "link-changed", 10),
      at("host-0-0-0 mlx5_0", "p-key-removed", 2),
      at("host-0-0-1 mlx5_0", "reregistered", 3),
      { guid: "root-0", name: "root-0", kind: "switch", sets: [{ attribute: "LinearForwardingTable", count: 2 }, { attribute: "SwitchInfo", count: 1 }] },
    ],
  };
  const links = page.affectedLinks(plan, model);
  assert.deepEqual(links.map(({ name }) => name), ["leaf-1-0/10 – spine-1-0/11", "leaf-0-0/10 – spine-0-0/11"]);
  assert.deepEqual(page.affectedLinks(plan, undefined).map(({ name }) => name), ["leaf-1-0/10", "leaf-0-0/10", "spine-0-0/11"]);
  assert.deepEqual(page.affectedHosts(plan).map(({ target, effects }) => [target, ...effects]), [
    ["host-0-0-0 mlx5_0", "p-key-removed"],
    ["host-0-0-1 mlx5_0", "reregistered"],
  ]);
  const marks = page.planMarks(plan, model);
  assert.equal(marks.nodes.get("host-0-0-0 mlx5_0"), "interrupted");
  assert.equal(marks.nodes.get("root-0"), "written");
  assert.deepEqual([...marks.links.values()].sort(), ["interrupted", "written"]);
  assert.equal(page.setsOf(plan.nodes[5]), 3);
});
