import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advance,
  beginProgress,
  canBeChanged,
  needsAuthor,
  nextTask,
  type Progress,
  type ProgressEvent,
} from "./progress.ts";

const ADDRESS = "0x00000000000000000000000000000000000000aa";
const HASH = "0x01";
const DETAILS = { title: "A title", description: "", price: "0", hashtags: ["essay"] };
const SAVED: ProgressEvent = { type: "saved", cid: "bafy1" };
const UPLOADED: ProgressEvent = { type: "uploaded", thumbnailCid: "bafythumb" };
const ASKED: ProgressEvent = { type: "asked", nonce: 7 };
const SENT: ProgressEvent = { type: "sent", transaction: HASH };
const FOUND: ProgressEvent = { type: "found", postId: "12" };

const after = (...events: ProgressEvent[]): Progress =>
  events.reduce(advance, beginProgress(ADDRESS, "key", DETAILS));

test("each step leads to the next task", () => {
  assert.equal(nextTask(after()), "save");
  assert.equal(nextTask(after(SAVED)), "upload");
  assert.equal(nextTask(after(SAVED, UPLOADED)), "send");
  assert.equal(nextTask(after(SAVED, UPLOADED, ASKED, SENT)), "follow");
  assert.equal(nextTask(after(SAVED, UPLOADED, ASKED, SENT, FOUND)), "wait");
  assert.equal(nextTask(after(SAVED, UPLOADED, ASKED, SENT, FOUND, { type: "listed" })), null);
});

test("a transaction without the wallet's response is searched for, not requested again", () => {
  const asked = after(SAVED, UPLOADED, ASKED);
  assert.equal(nextTask(asked), "search");
  assert.throws(() => advance(asked, ASKED), TypeError);
});

test("a wallet that declined is asked again for the same text and picture", () => {
  const again = after(SAVED, UPLOADED, ASKED, { type: "declined" });
  assert.equal(nextTask(again), "send");
  assert.equal(again.cid, "bafy1");
  assert.equal(again.thumbnailCid, "bafythumb");
});

test("a failed transaction leads back to the wallet and forgets its hash", () => {
  const again = after(SAVED, UPLOADED, ASKED, SENT, { type: "ended" });
  assert.equal(nextTask(again), "send");
  assert.equal(again.transaction, null);
});

test("a text that was replaced before the wallet was asked is saved and uploaded again", () => {
  const again = after(SAVED, UPLOADED, { type: "replaced" });
  assert.equal(nextTask(again), "save");
  assert.equal(again.cid, null);
  assert.equal(again.thumbnailCid, null);
});

test("nothing goes back to another text while a transaction may be on its way", () => {
  for (const progress of [after(SAVED, UPLOADED, ASKED), after(SAVED, UPLOADED, ASKED, SENT)]) {
    assert.throws(() => advance(progress, { type: "replaced" }), TypeError);
    assert.throws(() => advance(progress, { type: "taken" }), TypeError);
    assert.throws(() => advance(progress, { type: "asked", nonce: 8 }), TypeError);
    assert.equal(canBeChanged(progress), false);
  }
});

test("a hash without a request to the wallet is refused", () => {
  assert.throws(() => after(SAVED, UPLOADED, SENT), TypeError);
});

test("only the first save may give the draft another key", () => {
  assert.equal(after({ type: "renamed", draftKey: "group" }).draftKey, "group");
  assert.throws(() => after(SAVED, { type: "renamed", draftKey: "group" }), TypeError);
});

test("a post that is already on the chain is found from any step", () => {
  const ways: ProgressEvent[][] = [
    [],
    [SAVED],
    [SAVED, UPLOADED],
    [SAVED, UPLOADED, ASKED],
    [SAVED, UPLOADED, ASKED, SENT],
  ];
  for (const way of ways) {
    const found = advance(after(...way), FOUND);
    assert.equal(found.step, "listed");
    assert.equal(found.postId, "12");
  }
});

test("only tasks that ask the wallet wait for the author after a reload", () => {
  assert.deepEqual((["save", "upload", "send"] as const).map(needsAuthor), [true, true, true]);
  assert.deepEqual((["search", "follow", "wait"] as const).map(needsAuthor), [false, false, false]);
});
