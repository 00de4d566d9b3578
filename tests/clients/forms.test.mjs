// The three forms of a signed write, signed by viem and by ethers, with every action.
import assert from "node:assert/strict";
import { test } from "node:test";
import { id, keccak256 as ethersKeccak256 } from "ethers";
import { keccak256, stringToBytes } from "viem";
import { cover, imprint, openEthers, openStranger, openUnlocked, refusalOf } from "./world.mjs";

const EARLIER = "string cid,string nonce,address address,uint256 timestamp";
const FIRST = "string action,string nonce,string timestamp";
const TYPES = {
  "imprint-1": { create: `CreateFile(${FIRST})`, update: `UpdateFile(${FIRST})`, publish: `PublishFile(${FIRST})`, delete: `DeleteFile(${FIRST})` },
  "inkdao-1": {
    create: "CreateFile(string title,string nonce,address address,uint256 timestamp)",
    update: `UpdateFile(${EARLIER})`,
    publish: `PublishFile(${EARLIER})`,
    delete: `DeleteFile(${EARLIER})`,
  },
  "imprint-2": {
    create: "CreateDraft(string service,bytes32 contentHash,string nonce,uint256 timestamp)",
    update: "UpdateDraft(string service,string cid,bytes32 contentHash,string nonce,uint256 timestamp)",
    publish: "PublishDraft(string service,string cid,bytes32 thumbnailHash,string hashtags,string nonce,uint256 timestamp)",
    delete: "DeleteDraft(string service,string cid,string nonce,uint256 timestamp)",
  },
};
const ACTIONS = ["create", "update", "publish", "delete"];
const PATHS = { create: "/create/group", update: "/update/file", publish: "/publish/file", delete: "/delete/file" };
const WALLETS = [
  ["viem", openStranger],
  ["ethers", openEthers],
  ["a node's account", () => openUnlocked(7)],
];
const LONG = "Long words, 墨 🖋.\n".repeat(8_000);
const otherCover = new Blob([cover, new Uint8Array(1)]);

/** The content of a request, or of a signature. */
const requestOf = (action, cid, changes = {}) => ({
  action,
  cid,
  content: "Signed words, 墨.",
  image: cover,
  hashtags: "Ink, #essay",
  service: imprint.facts.service,
  ...changes,
});

async function sign(wallet, form, request, primary = true) {
  const [, primaryType, members] = TYPES[form][request.action].match(/^(\w+)\((.*)\)$/);
  const declared = members.split(",").map((member) => {
    const [type, name] = member.split(" ");
    return { name, type };
  });
  const seconds = imprint.now();
  const values = {
    ...request,
    title: "A title",
    address: wallet.address,
    contentHash: id(request.content),
    thumbnailHash: ethersKeccak256(new Uint8Array(await request.image.arrayBuffer())),
    nonce: crypto.randomUUID(),
    timestamp: form === "imprint-1" ? String(seconds) : seconds,
  };
  const salt = {
    domain: imprint.facts.signing,
    types: { [primaryType]: declared },
    message: Object.fromEntries(declared.map(({ name }) => [name, values[name]])),
  };
  const { address } = wallet;
  const signature = await wallet.signTypedData({ primaryType, ...salt });
  return { salt: primary ? { ...salt, primaryType } : salt, address, signature };
}

async function send(signed, { action, cid, content, image, hashtags }) {
  const path = cid ? `${PATHS[action]}?cid=${cid}` : PATHS[action];
  if (action !== "publish") return imprint.send(path, action === "delete" ? signed : { ...signed, content });
  const form = new FormData();
  form.set("file", image, "thumbnail");
  for (const [name, value] of Object.entries({ ...signed, salt: JSON.stringify(signed.salt) })) form.set(name, value);
  form.set("hashtags", hashtags);
  return imprint.send(path, form);
}

const prepare = async (wallet, action, changes) => {
  const draft = action === "create" ? {} : await imprint.createDraft(wallet, "The first words.");
  return requestOf(action, draft.cid, changes);
};

test("the service lists the three forms", () => {
  assert.deepEqual(imprint.facts.signing_forms, Object.keys(TYPES));
});

test("viem and ethers hash a text the same way", () => {
  assert.equal(keccak256(stringToBytes(LONG)), id(LONG));
});

for (const [who, open] of WALLETS) {
  for (const form of Object.keys(TYPES)) {
    for (const action of ACTIONS) {
      test(`${who} signs a ${action} in the form ${form}`, async () => {
        const wallet = open();
        const request = await prepare(wallet, action);
        const said = await send(await sign(wallet, form, request, form !== "inkdao-1"), request);
        assert.ok(said.updatedUpload ?? said.upload ?? said.thumbnailCid ?? said.deletedFile);
      });
    }
  }
}

for (const [what, action, sent] of [
  ["content of a create", "create", { content: "Swapped words." }],
  ["large content of a create", "create", { content: `${LONG}.` }],
  ["content of an update", "update", { content: "Swapped words." }],
  ["thumbnail", "publish", { image: otherCover }],
  ["list of hashtags", "publish", { hashtags: "ink,theft" }],
]) {
  test(`another ${what} than the signed one is refused, and the signed one is accepted afterwards`, async () => {
    for (const wallet of [openStranger(), openEthers()]) {
      const request = await prepare(wallet, action, what.startsWith("large") ? { content: LONG } : {});
      const signed = await sign(wallet, "imprint-2", request);
      const refusal = await refusalOf(send(signed, { ...request, ...sent }));
      assert.deepEqual([refusal.status, refusal.code], [401, "body_mismatch"]);
      await send(signed, request);
    }
  });
}

for (const action of ACTIONS.slice(1)) {
  test(`a ${action} signed for one draft is refused for another`, async () => {
    for (const form of ["inkdao-1", "imprint-2"]) {
      const wallet = openStranger();
      const [one, other] = [await prepare(wallet, action), await prepare(wallet, action)];
      const refusal = await refusalOf(send(await sign(wallet, form, one), { ...one, cid: other.cid }));
      assert.deepEqual([refusal.status, refusal.code], [401, "body_mismatch"]);
    }
  });
}

for (const action of ACTIONS) {
  test(`a ${action} signed for another service is refused`, async () => {
    const wallet = openEthers();
    const request = await prepare(wallet, action);
    const signed = await sign(wallet, "imprint-2", { ...request, service: "https://other.example" });
    const refusal = await refusalOf(send(signed, request));
    assert.deepEqual([refusal.status, refusal.code], [401, "body_mismatch"]);
  });
}

test("a client whose nonce was spent by another action can tell", async () => {
  const wallet = openStranger();
  const request = requestOf("create");
  const signed = await sign(wallet, "imprint-2", request);
  const { updatedUpload: draft } = await send(signed, request);
  const salt = imprint.buildWrite(wallet, "update", { cid: draft.cid, contentHash: id("Lost words.") });
  salt.message.nonce = signed.salt.message.nonce;
  const { address } = wallet;
  const body = { salt, address, signature: await wallet.signTypedData(salt) };
  const refusal = await refusalOf(send(body, requestOf("update", draft.cid, { content: "Lost words." })));
  assert.deepEqual([refusal.status, refusal.code, refusal.problem.action], [409, "nonce_used", "create"]);
});

test("a client whose clock is wrong learns the time", async () => {
  const wallet = openStranger();
  const salt = imprint.buildWrite(wallet, "create", { contentHash: id("Words.") });
  salt.message.timestamp -= 3600;
  const { address } = wallet;
  const body = { salt, address, signature: await wallet.signTypedData(salt) };
  const refusal = await refusalOf(send(body, requestOf("create", undefined, { content: "Words." })));
  assert.deepEqual([refusal.status, refusal.code], [401, "signature_stale"]);
  salt.message.timestamp = refusal.problem.now;
  body.signature = await wallet.signTypedData(salt);
  await send(body, requestOf("create", undefined, { content: "Words." }));
});
