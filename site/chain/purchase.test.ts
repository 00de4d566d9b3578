import assert from "node:assert/strict";
import { test } from "node:test";
import { advance, type Purchase, resume } from "./purchase.ts";

const ASKED = { type: "asked", postId: "7", account: "0xab", price: "10", nonce: 3 } as const;
const asked = advance(null, ASKED) as Purchase;
const sent = advance(asked, { type: "sent", hash: "0x01" }) as Purchase;
const mined = advance(sent, { type: "mined" }) as Purchase;
const nothing = { balance: 0n, nonce: 3, isSettled: true };

test("a purchase goes from asked over sent and mined to entitled", () => {
  assert.deepEqual(
    [asked, sent, mined, advance(mined, { type: "entitled" })].map((each) => each?.step),
    ["asked", "sent", "mined", "entitled"],
  );
});

test("a purchase that was sent is not begun a second time", () => {
  assert.equal(advance(sent, { ...ASKED, nonce: 4 }), sent);
});

test("a declined purchase is gone, a mined one is not", () => {
  assert.equal(advance(asked, { type: "ended" }), null);
  assert.equal(advance(mined, { type: "ended" }), mined);
});

test("no event makes a purchase out of none but asking", () => {
  assert.equal(advance(null, { type: "sent", hash: "0x01" }), null);
});

test("after a reload a sent transaction is followed", () => {
  assert.equal(resume(sent, nothing), "follow");
});

test("after a reload while the wallet asked, an unsent purchase is asked anew", () => {
  assert.equal(resume(asked, nothing), "ask");
});

test("after a reload while the wallet asked, one that it sent since is waited for", () => {
  assert.equal(resume(asked, { ...nothing, nonce: 4 }), "wait");
});

test("who holds the token reads, whatever was remembered", () => {
  assert.equal(resume(asked, { ...nothing, balance: 1n }), "read");
});
