import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action, Form } from "./records.js";
import { buildProfile, buildWrite, hashText } from "./typed-data.js";

const facts = {
  service: "https://press.example",
  signing: { name: "Imprint", version: "1", chainId: 31337 },
};
const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const values = {
  cid: "bafy",
  contentHash: hashText("Words."),
  thumbnailHash: hashText("Picture."),
  hashtags: "a,b",
  title: "Words",
};

/** The type in EIP-712 notation. */
function encodeType(form: Form, action: Action): string {
  const { types, primaryType } = buildWrite({ facts, form, address, now: 7 }, action, values);
  const members = types[primaryType]?.map(({ name, type }) => `${type} ${name}`);
  return `${primaryType}(${members?.join(",")})`;
}

for (const [form, action, type] of [
  ["imprint-1", "publish", "PublishFile(string action,string nonce,string timestamp)"],
  ["inkdao-1", "create", "CreateFile(string title,string nonce,address address,uint256 timestamp)"],
  ["inkdao-1", "delete", "DeleteFile(string cid,string nonce,address address,uint256 timestamp)"],
  [
    "imprint-2",
    "create",
    "CreateDraft(string service,bytes32 contentHash,string nonce,uint256 timestamp)",
  ],
  [
    "imprint-2",
    "update",
    "UpdateDraft(string service,string cid,bytes32 contentHash,string nonce,uint256 timestamp)",
  ],
  [
    "imprint-2",
    "publish",
    "PublishDraft(string service,string cid,bytes32 thumbnailHash,string hashtags,string nonce,uint256 timestamp)",
  ],
  ["imprint-2", "delete", "DeleteDraft(string service,string cid,string nonce,uint256 timestamp)"],
] as const) {
  test(`a ${action} in the form ${form} has the right type, and exactly its members`, () => {
    assert.equal(encodeType(form, action), type);
    const data = buildWrite({ facts, form, address, now: 7 }, action, values);
    const names = data.types[data.primaryType]?.map(({ name }) => name);
    assert.deepEqual(Object.keys(data.message), names);
    assert.ok(Object.values(data.message).every((value) => value !== undefined));
    assert.equal(Number(data.message.timestamp), 7);
  });
}

test("a profile has the right type, and exactly its members", () => {
  const texts = { name: "Ada", bio: "Writes.", links: "https://ada.example", avatar: "keep" };
  const { primaryType, types, message } = buildProfile(facts, texts, 7);
  const members = types[primaryType]?.map(({ name, type }) => `${type} ${name}`).join(",");
  assert.equal(
    `${primaryType}(${members})`,
    "UpdateProfile(string service,string name,string bio,string links,string avatar,string nonce,uint256 timestamp)",
  );
  const { nonce, ...signed } = message;
  assert.equal(typeof nonce, "string");
  assert.deepEqual(signed, { service: facts.service, ...texts, timestamp: 7 });
});

test("no nonce is used twice", () => {
  const build = () => buildWrite({ facts, form: "imprint-2", address, now: 7 }, "delete", values);
  assert.notEqual(build().message.nonce, build().message.nonce);
});
