// Prints the cids that the JavaScript importer computes for files: node cids.mjs FILE…
import { readFile } from "node:fs/promises";
import { BlackHoleBlockstore } from "blockstore-core/black-hole";
import { importBytes } from "ipfs-unixfs-importer";
import { fixedSize } from "ipfs-unixfs-importer/chunker";
import { balanced } from "ipfs-unixfs-importer/layout";

for (const path of process.argv.slice(2)) {
  const { cid } = await importBytes(await readFile(path), new BlackHoleBlockstore(), {
    cidVersion: 1,
    rawLeaves: true,
    reduceSingleLeafToSelf: true,
    chunker: fixedSize({ chunkSize: 262_144 }),
    layout: balanced({ maxChildrenPerNode: 174 }),
  });
  console.log(cid.toString());
}
