// Takes the pictures of the documents: node test/pictures.mjs LINK
//
// LINK is of `ferrosm demo fat-tree:8 --web`. Writes docs/page.png and docs/page-plan.png.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, show, withPage } from "./browser.mjs";

const docs = new URL("../../docs", import.meta.url).pathname;
const directory = mkdtempSync(join(tmpdir(), "ferrosm-pictures-"));

await withPage(process.argv[2], directory, async (page) => {
  const take = async (name) => {
    // The drawing has moved, and no pointer is on it.
    await page.mouse.move(0, 0);
    await page.waitForTimeout(1000);
    await page.screenshot({ path: `${docs}/${name}.png` });
  };
  await page.setViewportSize({ width: 1200, height: 720 });
  await open(page, process.argv[2]);
  await show(page, "#/fabric");
  await page.getByLabel("Path from").fill("host-0-0-0");
  await page.getByLabel("to", { exact: true }).fill("host-6-3-1");
  await page.getByRole("button", { name: "Show path" }).click();
  await page.getByRole("heading", { name: /host-0-0-0.* → host-6-3-1/ }).waitFor();
  await page.getByRole("button", { name: "Show everything" }).click();
  await take("page");

  await show(page, "#/plan");
  await page.getByRole("button", { name: "Make the plan" }).click();
  await page.getByRole("heading", { name: "Sets by attribute" }).waitFor();
  await take("page-plan");
});
rmSync(directory, { recursive: true, force: true });
