// Runs Pinata's own client against our double of Pinata: the double must accept what the client
// sends, and return what it understands.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PinataSDK } from "pinata";

const { PINATA_ORIGIN: origin, PINATA_JWT: pinataJwt } = process.env;

// The client accepts only https gateways; this name stands for the double, which has no TLS.
const gateway = "gateway.test";
const fetchDirectly = globalThis.fetch;
before(() => {
  globalThis.fetch = (url, options) =>
    fetchDirectly(String(url).replace(`https://${gateway}`, origin), options);
});
after(() => {
  globalThis.fetch = fetchDirectly;
});

const open = (jwt = pinataJwt) =>
  new PinataSDK({
    pinataJwt: jwt,
    pinataGateway: gateway,
    endpointUrl: `${origin}/api/v3`,
    uploadUrl: `${origin}/uploads/v3`,
  });
const pinata = open();
const document = (text) => new File([text], "document.txt", { type: "text/plain" });
const HELLO = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";

for (const network of ["private", "public"]) {
  test(`a ${network} file is uploaded, listed, labelled and deleted`, async () => {
    const files = pinata.files[network];
    const group = await pinata.groups[network].create({ name: `group of ${network} files` });
    const uploaded = await pinata.upload[network]
      .file(document("hello world"))
      .name("greeting")
      .keyvalues({ owner: "a" })
      .group(group.id);
    assert.equal(uploaded.cid, HELLO);
    assert.equal(uploaded.network, network);
    assert.deepEqual(uploaded.keyvalues, { owner: "a" });
    assert.equal(uploaded.group_id, group.id);

    await files.update({ id: uploaded.id, name: "welcome", keyvalues: { status: "pending" } });
    const found = await files.get(uploaded.id);
    assert.equal(found.name, "welcome");
    assert.deepEqual(found.keyvalues, { owner: "a", status: "pending" });

    for (const filtered of [
      files.list().cid(HELLO),
      files.list().name("welcome"),
      files.list().group(group.id),
      files.list().keyvalues({ owner: "a", status: "pending" }),
    ]) {
      assert.deepEqual((await filtered).files.map((each) => each.id), [uploaded.id]);
    }
    assert.deepEqual((await files.list().keyvalues({ owner: "b" })).files, []);

    const [deleted] = await files.delete([uploaded.id]);
    assert.deepEqual(deleted, { id: uploaded.id, status: "OK" });
    assert.deepEqual((await files.list()).files, []);
  });
}

test("a long list is paged, each file once", async () => {
  for (let number = 0; number < 7; number += 1) {
    await pinata.upload.private.file(document(`number ${number}`)).keyvalues({ kind: "numbered" });
  }
  const names = [];
  for await (const each of pinata.files.private.list().keyvalues({ kind: "numbered" }).limit(3)) {
    names.push(each.cid);
  }
  assert.equal(names.length, 7);
  assert.equal(new Set(names).size, 7);
});

test("a private file is only readable through a signed link", async () => {
  const { cid } = await pinata.upload.private.file(document("for a few"));
  const link = await pinata.gateways.private.createAccessLink({ cid, expires: 30 });
  assert.equal(await (await fetch(link)).text(), "for a few");
  assert.equal((await fetch(link.replace("X-Signature=", "X-Signature=0"))).status, 401);
  assert.equal((await fetch(`${origin}/files/${cid}`)).status, 401);
  assert.equal((await fetch(`${origin}/ipfs/${cid}`)).status, 403);
  const read = await pinata.gateways.private.get(cid);
  assert.equal(await read.data.text(), "for a few");
});

test("a public file is read by its cid", async () => {
  const { cid } = await pinata.upload.public.file(document("for everybody"));
  const read = await pinata.gateways.public.get(cid);
  assert.equal(await read.data.text(), "for everybody");
});

test("groups are created, found by name, joined, left and deleted", async () => {
  const groups = pinata.groups.private;
  const group = await groups.create({ name: "imprint 1" });
  await groups.create({ name: "imprint 12" });
  assert.equal((await groups.list().name("imprint 1")).groups.length, 2);
  assert.equal((await groups.get({ groupId: group.id })).name, "imprint 1");
  const { id } = await pinata.upload.private.file(document("a member"));
  await groups.addFiles({ groupId: group.id, files: [id] });
  assert.equal((await pinata.files.private.get(id)).group_id, group.id);
  await groups.removeFiles({ groupId: group.id, files: [id] });
  assert.equal((await pinata.files.private.get(id)).group_id, null);
  await groups.delete({ groupId: group.id });
  await assert.rejects(groups.get({ groupId: group.id }));
});

test("a wrong key is refused as the client expects", async () => {
  const stranger = open("another key");
  await assert.rejects(async () => stranger.upload.private.file(document("x")), {
    name: "AuthenticationError",
    statusCode: 401,
  });
  await assert.rejects(async () => stranger.files.private.list(), { statusCode: 401 });
});

test("the client finds what the store of this project wrote", async () => {
  const stored = await pinata.files.private.list().keyvalues({ imprint_private: HELLO });
  assert.equal(stored.files.length, Number(process.env.STORED ?? 0));
});
