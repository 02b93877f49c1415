// Uses the page as a person does: node test/page.mjs LINK DIRECTORY
//
// LINK is of `ferrosm demo fat-tree:4 --web`. Prints what it checked; exit status 1 with the reason if something is wrong.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { checkAccessibility as checkPage, open, show as goTo, withPage } from "./browser.mjs";

const [link, directory] = process.argv.slice(2);

await withPage(link, directory, async (page, origin) => {
  const checkAccessibility = (where) => checkPage(page, where);
  const show = (hash) => goTo(page, hash);
  await page.goto(`${origin}/`);
  await page.getByText("ferrosm web login", { exact: true }).waitFor();
  await checkAccessibility("the way in");

  await open(page, link);
  assert.equal(new URL(page.url()).hash, "#/overview", "the link is no longer in the address");
  await page.getByText("OK", { exact: true }).waitFor();
  await page.getByText("20 switches, 16 hosts, 48 links; routes by").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByText("sweep complete").first().waitFor();
  console.log("overview: health, sizes, live events");
  await checkAccessibility("the overview");

  await show("#/fabric");
  await page.getByRole("heading", { name: "tree: 3 levels" }).waitFor();
  const drawing = page.getByRole("application");
  await drawing.waitFor();
  const [dark, light] = await drawnColors(page);
  assert.ok(dark > 200 && light > 1000, `something is drawn: ${dark} and ${light} pixels`);
  await checkAccessibility("the fabric");
  await page.getByLabel("Path from").fill("host-0-0-0");
  await page.getByLabel("to", { exact: true }).fill("host-3-1-1");
  await page.getByRole("button", { name: "Show path" }).click();
  await page.getByRole("heading", { name: /host-0-0-0.* → host-3-1-1/ }).waitFor();
  assert.equal(await page.locator(".panel tbody tr").count(), 5, "hops");
  console.log("fabric: structure, drawing, path");

  await page.getByLabel("Search by name").fill("leaf-[0-3]-0");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("heading", { name: "4 found" }).waitFor();
  await page.getByRole("button", { name: "leaf-2-0" }).click();
  await page.getByRole("heading", { name: "leaf-2-0" }).waitFor();
  await page.getByText("Ports, as read").click();
  await page.getByText("LinkUp").first().waitFor();
  await page.getByRole("button", { name: "What if it is lost?" }).click();
  await page.getByText("2 host ports: host-2-0-0").waitFor();
  await page.getByRole("button", { name: "N-1" }).click();
  await page.getByText(/[0-9]+ of [0-9]+ would cut off hosts/).waitFor();
  await page.getByRole("combobox", { name: "Colour" }).selectOption("load");
  await page.getByRole("button", { name: "Close details" }).click();
  await page.getByText(/busiest link [0-9]+ routes/).waitFor();
  console.log("fabric: search, what-if, N-1, load");

  await show("#/fabric?show=host-1-0-0 mlx5_0");
  await page.getByText("Partitions and groups").click();
  await page.getByText("Default").waitFor();

  await show("#/fabric?show=spine-1-0");
  await page.getByRole("button", { name: "Drain…" }).click();
  await page.getByText("no host is cut off").waitFor();
  await checkAccessibility("the plan of a drain");
  await page.getByLabel("Reason").fill("T-4711");
  await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
  await page.getByText("complete", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await show("#/maintenance");
  await page.getByText("T-4711").waitFor();
  await page.getByRole("button", { name: "Undrain" }).click();
  await page.getByText("Nothing is out of service").waitFor();
  console.log("maintenance: plan, drain, undrain");

  await show("#/plan");
  await page.getByRole("button", { name: "Make the plan" }).click();
  await page.getByRole("heading", { name: /Nodes that are written to: [1-9]/ }).waitFor();
  await page.getByRole("heading", { name: "Hosts concerned: 16" }).waitFor();
  await page.getByText("no traffic is interrupted").waitFor();
  await checkAccessibility("the plan of a start");
  await page.getByRole("link", { name: "Show it on the drawing" }).click();
  await page.getByText(/Marked in the drawing: [1-9][0-9]* nodes/).click();
  await page.getByRole("heading", { name: /written to: [1-9]/ }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "host-3-1-1 mlx5_0" }).waitFor();
  await checkAccessibility("the plan on the drawing");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save SVG" }).click();
  const svg = readFileSync(await (await saved).path(), "utf8");
  assert.ok(svg.includes("<svg") && svg.includes("leaf-0-0"), svg.slice(0, 200));
  console.log("plan of a start: tables, drawing, text; drawing as SVG");

  for (const [hash, text] of [
    ["#/nodes", "36 nodes"],
    ["#/links", "48 links"],
    ["#/alarms", "No alarm"],
    ["#/events", "New events appear"],
    ["#/partitions", "0x7fff"],
    ["#/limits", "lids"],
    ["#/groups", "Multicast groups"],
  ]) {
    await show(hash);
    await page.getByText(text).first().waitFor();
    await checkAccessibility(hash);
  }
  await show("#/fabric?show=leaf-0-0/3");
  await page.getByRole("button", { name: "Limit…" }).click();
  await page.getByLabel("Highest rate in Gb/s").fill("100");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("the link goes down for a moment").waitFor();
  await checkAccessibility("the preview of limits");
  await page.getByLabel("Reason").fill("T-4712");
  await page.getByRole("dialog").getByRole("button", { name: "Set", exact: true }).click();
  await page.getByText("complete", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByText(/leaf-0-0\/3: at most width/).waitFor();
  await show("#/limits");
  await page.getByText("T-4712").waitFor();
  await page.getByText("applied", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Unset…" }).click();
  await page.getByLabel("Reason").fill("T-4712 is done");
  await page.getByRole("dialog").getByRole("button", { name: "Unset", exact: true }).click();
  await page.getByText("complete", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByText("No port has limits").waitFor();
  console.log("limits of ports: preview, set, unset");

  await page.getByRole("button", { name: "Dark" }).click();
  await show("#/overview");
  await page.getByRole("heading", { name: "Health" }).waitFor();
  await checkAccessibility("the dark overview");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("Open this page with a link").waitFor();
  console.log("lists, dark, log out");
});

/** Numbers of pixels in a picture of the drawing, by brightness: nodes, and what is between them. */
async function drawnColors(page) {
  await page.waitForTimeout(300);
  const picture = await page.locator(".drawing .canvas").screenshot();
  return page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    const drawn = canvas.getContext("2d");
    drawn.drawImage(image, 0, 0);
    const { data } = drawn.getImageData(0, 0, canvas.width, canvas.height);
    let dark = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] + data[i + 1] + data[i + 2] < 500) dark += 1;
    return [dark, data.length / 4 - dark];
  }, picture.toString("base64"));
}
