// What the tests of the page share: Chromium, complaints of the page, and axe-core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const WAIT_MS = 15_000;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs `check` with a page for a link, and ends the process with status 1 and the reason if it fails. `directory` gets the profile of the
 * browser, and a picture after a failure. Chromium is Debian's.
 */
export async function withPage(link, directory, check) {
  const context = await chromium.launchPersistentContext(`${directory}/profile`, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1280, height: 800 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(WAIT_MS);
  // Errors of scripts, violations of the content security policy, and requests to other servers.
  const complaints = [];
  const { origin } = new URL(link);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && asked !== origin) complaints.push(`request to ${request.url()}`);
  });
  try {
    await check(page, origin);
    assert.deepEqual(complaints, []);
  } catch (error) {
    await page.screenshot({ path: `${directory}/failure.png` });
    console.error(String(error), complaints);
    process.exitCode = 1;
  }
  await context.close();
}

/** Opens the link in a new page: without a reload, only the part behind # would change. */
export async function open(page, link) {
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("heading", { name: "Health" }).waitFor();
}

/** Goes to a view. */
export async function show(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
}

/** Fails if axe-core has serious findings. */
export async function checkAccessibility(page, where) {
  // The content security policy allows no scripts but those of the page.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const text = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  assert.deepEqual(text, [], `accessibility of ${where}`);
}
