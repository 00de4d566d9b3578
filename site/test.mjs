// Bundles every `*.test.ts` of the site, and runs it with Node's test runner.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const found = await readdir(HERE, { recursive: true });
const tests = found.filter((name) => !name.includes("node_modules") && /\.test\.tsx?$/.test(name));
const folder = await mkdtemp(join(tmpdir(), "imprint-site-"));
try {
  await build({
    absWorkingDir: HERE,
    entryPoints: tests,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    // viem as modules, as in the browser.
    mainFields: ["module", "main"],
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    loader: { ".md": "text" },
    logLevel: "warning",
    alias: {
      viem: join(HERE, "../clients/typescript/node_modules/viem"),
      // As modules too: its export for Node is not one.
      yaml: join(HERE, "node_modules/yaml/browser/index.js"),
    },
  });
  const made = await readdir(folder, { recursive: true });
  const files = made.filter((name) => name.endsWith(".mjs")).map((name) => join(folder, name));
  const { status } = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  await rm(folder, { recursive: true });
}
