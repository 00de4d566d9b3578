import assert from "node:assert/strict";
import { test } from "node:test";
import { advancePrice, beginPriceChange, type PriceEvent } from "./price-change.ts";

const ASKED: PriceEvent = { type: "asked", nonce: 4 };
const SENT: PriceEvent = { type: "sent", transaction: "0x01" };
const MINED: PriceEvent = { type: "mined" };
const after = (...events: PriceEvent[]) => events.reduce(advancePrice, beginPriceChange("3", 5n));

test("a change is asked for, sent, mined and listed", () => {
  assert.deepEqual(after(ASKED).asked, { nonce: 4 });
  assert.equal(after(ASKED, SENT).transaction, "0x01");
  assert.equal(after(ASKED, SENT, MINED).step, "listed");
  assert.equal(after(ASKED, SENT, MINED, { type: "listed" }).step, "done");
});

test("the wallet is not asked twice, unless it sent nothing or the transaction ended", () => {
  assert.throws(() => after(ASKED, ASKED), TypeError);
  assert.throws(() => after(SENT), TypeError);
  assert.equal(after(ASKED, { type: "declined" }, ASKED).asked?.nonce, 4);
  assert.deepEqual(after(ASKED, SENT, { type: "ended" }), after());
});

test("a price that the chain has already needs no transaction", () => {
  assert.equal(after(MINED).step, "listed");
  assert.equal(after(ASKED, MINED).step, "listed");
});
