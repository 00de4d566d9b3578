// A client that trusts no gateway fetches documents of free posts, and checks every block itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { trustlessGatewayBlockBroker } from "@helia/trustless-gateway-client";
import { multiaddr } from "@multiformats/multiaddr";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { imprint, makePost, openLocal } from "./world.mjs";

const quiet = Object.assign(() => {}, { enabled: false, error() {}, trace() {}, newScope: () => quiet });
const { hostname, port, protocol } = new URL(imprint.url);
const host = /^[0-9.]+$/.test(hostname) ? "ip4" : "dns";
const address = multiaddr(`/${host}/${hostname}/tcp/${port}/${protocol.slice(0, -1)}`);

/** The gateway of the service under test, as the only provider of everything. */
const routing = {
  async *findProviders() {
    yield { multiaddrs: [address], router: "test" };
  },
};
const broker = trustlessGatewayBlockBroker({ allowInsecure: true, allowLocal: true })({ routing, logger: { forComponent: () => quiet } });

/** A block that has the hash in its cid; rejects any other. */
function fetchBlock(cid) {
  const wanted = CID.parse(cid);
  const validateFn = async (block) => {
    const { digest } = await sha256.digest(block);
    assert.deepEqual(digest, wanted.multihash.digest);
  };
  return broker.retrieve(wanted, { validateFn });
}

test("the document of a free post is a block that proves itself", async () => {
  const { file } = await makePost(openLocal(1), { content: "# Free\n\nFor all.", price: 0n });
  const block = await fetchBlock(file.cid);
  assert.equal(JSON.parse(new TextDecoder().decode(block)).content, "# Free\n\nFor all.");
});

test("the document of a paid post and a draft are blocks of nobody", async () => {
  const { file } = await makePost(openLocal(2));
  const { cid } = await imprint.createDraft(openLocal(2), "A draft.");
  for (const each of [file.cid, cid]) await assert.rejects(fetchBlock(each), /Unable to fetch raw block/);
});
