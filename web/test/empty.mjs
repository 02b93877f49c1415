// A fabric without a switch says what to do: node test/empty.mjs LINK DIRECTORY
//
// LINK is of `ferrosm demo back-to-back --web`.
import { checkAccessibility, open, show, withPage } from "./browser.mjs";

const [link, directory] = process.argv.slice(2);

await withPage(link, directory, async (page) => {
  await open(page, link);
  await page.getByRole("heading", { name: "The fabric has no switch" }).waitFor();
  await page.getByText("a larger fabric needs a switch").waitFor();
  await checkAccessibility(page, "the overview of an empty fabric");
  await show(page, "#/fabric");
  await page.getByRole("application").waitFor();
  await show(page, "#/nodes");
  await page.getByText("2 nodes").waitFor();
  console.log("advice");
});
