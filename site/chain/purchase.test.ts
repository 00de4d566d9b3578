import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advancePurchase,
  beginPurchase,
  isBegun,
  isSamePurchase,
  type PurchaseEvent,
  purchaseKey,
} from "./purchase.ts";

const ASKED: PurchaseEvent = { type: "asked", nonce: 3 };
const SENT: PurchaseEvent = { type: "sent", transaction: "0x01" };
const MINED: PurchaseEvent = { type: "mined" };
const after = (...events: PurchaseEvent[]) =>
  events.reduce(advancePurchase, beginPurchase("7", "0xab", 10n));

test("a purchase is requested, sent, mined, and then entitles the buyer to the text", () => {
  assert.deepEqual(
    [after(ASKED), after(ASKED, SENT), after(ASKED, SENT, MINED)].map(({ step }) => step),
    ["transaction", "mined", "entitled"],
  );
});

test("a purchase that may have been sent is not started a second time", () => {
  assert.throws(() => after(ASKED, ASKED), TypeError);
  assert.throws(() => after(ASKED, SENT, ASKED), TypeError);
});

test("only a declined or finished purchase counts as not started", () => {
  for (const begun of [after(ASKED), after(ASKED, SENT), after(ASKED, SENT, MINED)])
    assert.equal(isBegun(begun), true);
  assert.equal(isBegun(after(ASKED, { type: "declined" })), false);
  assert.equal(isBegun(after(ASKED, SENT, { type: "ended" })), false);
});

test("a holder of the post is entitled, whatever is known of the transaction", () => {
  for (const purchase of [after(MINED), after(ASKED, MINED), after(ASKED, SENT, MINED)])
    assert.equal(purchase.step, "entitled");
});

test("two purchases are the same only at the same step", () => {
  assert.equal(isSamePurchase(after(ASKED), after(ASKED)), true);
  assert.equal(isSamePurchase(after(ASKED, SENT), after(ASKED)), false);
  assert.equal(isSamePurchase(after(ASKED), null), false);
});

test("the storage key of a purchase ignores the case of the account's address", () => {
  assert.equal(purchaseKey("7", "0xAb"), purchaseKey("7", "0xab"));
});
