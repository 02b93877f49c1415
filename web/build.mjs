// Builds web/dist from web/src. `scripts/web` runs it; see there.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const read = (name) => readFileSync(here + name);

/** The files that the bundle depends on, in order. */
function inputs() {
  const sources = readdirSync(`${here}src`).sort().map((name) => `src/${name}`);
  return ["build.mjs", "package-lock.json", "package.json", ...sources, "tsconfig.json"];
}

/** CRC-32 of texts one after the other, in 8 hexadecimal digits. */
function crc32(texts) {
  let crc = 0xffffffff;
  for (const text of texts) {
    for (const byte of text) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

/** The licences of the packages in the bundle. */
function licenses(files) {
  const packages = new Set(files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []));
  const texts = [...packages].sort().map((name) => {
    const { version, license } = JSON.parse(read(`node_modules/${name}/package.json`));
    const file = readdirSync(`${here}node_modules/${name}`).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence text`);
    return `${name} ${version} (${license})\n\n${read(`node_modules/${name}/${file}`)}`;
  });
  return texts.join("\n----\n\n");
}

mkdirSync(`${here}dist`, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  charset: "utf8",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
  metafile: true,
});
writeFileSync(`${here}dist/licenses.txt`, licenses(Object.keys(metafile.inputs)));
for (const name of ["index.html", "icon.svg"]) writeFileSync(`${here}dist/${name}`, read(`src/${name}`));

// The test `tidy::page` computes the same: whether the bundle is of these sources, and unchanged.
const built = ["app.css", "app.js", "icon.svg", "index.html", "licenses.txt"];
const lines = [
  `${crc32(inputs().flatMap((name) => [Buffer.from(`${name}\n`), read(name)]))}  sources`,
  ...built.map((name) => `${crc32([read(`dist/${name}`)])}  ${name}`),
];
writeFileSync(`${here}dist/checksums.txt`, `${lines.join("\n")}\n`);
