// Changes appear as they happen, and earlier times can be seen: node test/live.mjs LINK DIRECTORY
//
// LINK is of a service on `fat-tree:4` without problems. When this prints `ready`, the link at port 3 of leaf-0-0 must go down.
import assert from "node:assert/strict";
import { open, show, withPage } from "./browser.mjs";

const [link, directory] = process.argv.slice(2);

await withPage(link, directory, async (page) => {
  await open(page, link);
  await page.getByText("OK", { exact: true }).waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await show(page, "#/links");
  await page.getByText("48 links").waitFor();
  await page.getByText("only those that are not up").click();
  await page.getByText("0 links").waitFor();
  console.log("ready");
  await page.getByText("1 links").waitFor();
  await page.getByRole("link", { name: "leaf-0-0/3" }).waitFor();
  await page.getByRole("link", { name: "Alarms 1" }).waitFor();
  console.log("live");

  await page.getByRole("link", { name: "leaf-0-0/3" }).click();
  await page.getByRole("heading", { name: "leaf-0-0/3" }).waitFor();
  await page.getByRole("slider").focus();
  await page.keyboard.press("Home");
  await page.getByText("The fabric as of").waitFor();
  await show(page, "#/links");
  await page.getByText("48 links").waitFor();
  assert.equal(await page.locator(".pill.error").count(), 0, "no link was down then");
  await page.getByRole("button", { name: "Show it now" }).click();
  await page.getByText("down", { exact: true }).first().waitFor();
  console.log("earlier times");
});
