// Finds a circle of imports between modules of the site or of the client, type imports included.
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const FOLDERS = [HERE, join(HERE, "../clients/typescript/src")];
const IMPORT = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

const imports = new Map();
for (const folder of FOLDERS) {
  for (const name of await readdir(folder, { recursive: true })) {
    if (name.includes("node_modules") || !/\.tsx?$/.test(name)) continue;
    const path = join(folder, name);
    const targets = [...(await readFile(path, "utf8")).matchAll(IMPORT)].map(([, target]) =>
      join(dirname(path), target.replace(/\.js$/, ".ts")),
    );
    imports.set(path, targets);
  }
}

const free = new Set();

/**
 * The first import cycle that a module leads to; null if there is none. `above` led to the module.
 */
function findCircle(path, above = []) {
  if (free.has(path)) return null;
  if (above.includes(path)) return [...above.slice(above.indexOf(path)), path];
  for (const target of imports.get(path) ?? []) {
    const circle = findCircle(target, [...above, path]);
    if (circle) return circle;
  }
  free.add(path);
  return null;
}

for (const path of imports.keys()) {
  const circle = findCircle(path);
  if (!circle) continue;
  console.error(`Circle: ${circle.map((each) => relative(HERE, each)).join(" → ")}`);
  process.exit(1);
}
console.log(`${imports.size} modules import each other without a circle.`);
