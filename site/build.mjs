// Builds the scripts, styles and fonts of the pages into files that are named by their content.
//
//   node build.mjs           writes them, and removes old files
//   node build.mjs --check   compares the committed files with a new build, byte for byte
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const OUTPUT = join(HERE, "../src/imprint/web/site/assets");

/**
 * The files that pages load, by the name that templates use. Scripts that an entry imports on
 * demand become separate files.
 */
const ENTRIES = {
  "theme.js": "page/theme.ts",
  "reader.js": "reader/main.ts",
  "studio.js": "studio/main.tsx",
  "docs.js": "docs/main.ts",
  "site.css": "styles/site.css",
  "studio.css": "styles/studio.css",
  "docs.css": "styles/docs.css",
};

const FILES = [".woff2", ".svg"];

/**
 * Modules that viem imports on demand in functions that are not used here. esbuild would emit files
 * for them, and keep everything they reach in the shared ones.
 */
const UNUSED = ["@noble/curves/*", "*/utils/ccip.js"];

async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: HERE,
    entryPoints: Object.entries(ENTRIES).map(([name, source]) => ({
      in: source,
      out: name.replace(/\.\w+$/, ""),
    })),
    outdir: OUTPUT,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    metafile: true,
    write: false,
    legalComments: "none",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ...Object.fromEntries(FILES.map((ending) => [ending, "file"])), ".md": "text" },
    // One copy of viem, whichever of the two folders imports it.
    alias: { viem: join(HERE, "../clients/typescript/node_modules/viem") },
    external: UNUSED,
  });
  for (const [path, { imports }] of Object.entries(metafile.outputs))
    for (const { path: missing, external, kind } of imports)
      if (external && kind !== "url-token")
        throw new Error(`${basename(path)} needs ${missing}, which is left out as unused.`);
  const files = new Map(
    outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]),
  );
  const manifest = {};
  for (const [name, source] of Object.entries(ENTRIES)) {
    const [path] = Object.entries(metafile.outputs).find(([, made]) => made.entryPoint === source);
    manifest[name] = basename(path);
  }
  // Fonts and pictures that style sheets name: pages preload some of them.
  for (const [path, { inputs }] of Object.entries(metafile.outputs)) {
    const [source, ...others] = Object.keys(inputs);
    if (source && others.length === 0 && FILES.some((ending) => source.endsWith(ending))) {
      manifest[basename(source)] = basename(path);
    }
  }
  files.set("manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  return files;
}

async function committed() {
  await mkdir(OUTPUT, { recursive: true });
  const names = await readdir(OUTPUT);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(OUTPUT, name))])),
  );
}

const made = await bundle();
const there = await committed();
if (process.argv.includes("--check")) {
  const names = new Set([...made.keys(), ...there.keys()]);
  const different = [...names].filter(
    (name) => !made.get(name)?.equals(there.get(name) ?? Buffer.alloc(0)),
  );
  if (different.length > 0) {
    console.error(`Not what the sources make: ${different.join(", ")}. Run make site.`);
    process.exit(1);
  }
  console.log(`${made.size} assets are what the sources make.`);
} else {
  for (const name of there.keys()) if (!made.has(name)) await rm(join(OUTPUT, name));
  for (const [name, content] of made) await writeFile(join(OUTPUT, name), content);
  console.log(`${made.size} assets written.`);
}
