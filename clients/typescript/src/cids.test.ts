import assert from "node:assert/strict";
import { test } from "node:test";
import { documentCid, verifyDocument } from "./cids.js";

// Computed with ipfs-unixfs-importer, whose cids are those of `ipfs add --cid-version=1`.
const VECTORS: [number, string][] = [
  [0, "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"],
  [14, "bafkreiflcb7rxvrs2pb7lrzevgoqet37vibt6m6ao2ldqs3ajp7hrlbvfu"],
  [262144, "bafkreibruh455iawsviqslif5c7uurdcfdemh22mtnytyzvnzn75kpejxy"],
  [262145, "bafybeiexg2oqkfnj56l7fcmawswqbijt5shq4b5rg6a546uwpkqqzwjioi"],
  [700000, "bafybeiat65mgaomregcezwr6uzau6iumvujm3xlrtud36wlbpivuexuu24"],
  [45613057, "bafybeib4y7ghw2rq7bracc4xwtxrbzo7cfvagdpte2tmrkgwl6dyard3cm"],
];

for (const [size, cid] of VECTORS) {
  test(`${size} bytes have the cid that IPFS gives them`, async () => {
    const bytes = new Uint8Array(size).map((_, at) => at % 251);
    assert.equal(await documentCid(bytes), cid);
  });
}

test("changing one byte changes the cid", async () => {
  const bytes = new TextEncoder().encode("Words for all.");
  const cid = await documentCid(bytes);
  assert.equal(await verifyDocument(bytes, cid), true);
  bytes[0] = 0;
  assert.equal(await verifyDocument(bytes, cid), false);
});
