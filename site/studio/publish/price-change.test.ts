import assert from "node:assert/strict";
import { test } from "node:test";
import { advancePrice, beginPriceChange, type PriceEvent, priceStates } from "./price-change.ts";

const SENT: PriceEvent = { type: "sent", transaction: "0x01" };
const after = (...events: PriceEvent[]) => events.reduce(advancePrice, beginPriceChange("3", 5n));

test("a change is sent, mined and listed", () => {
  assert.equal(after(SENT).transaction, "0x01");
  assert.equal(after(SENT, { type: "mined" }).step, "listed");
  assert.equal(after(SENT, { type: "mined" }, { type: "listed" }).step, "done");
});

test("a transaction that failed is sent again, one that was sent is not", () => {
  assert.equal(after(SENT, { type: "ended" }).step, "transaction");
  assert.equal(after(SENT, { type: "ended" }).transaction, null);
  assert.throws(() => after(SENT, SENT), TypeError);
});

test("a price that the service shows ends the change from every step", () => {
  assert.equal(after({ type: "listed" }).step, "done");
  assert.equal(after(SENT, { type: "listed" }).step, "done");
  assert.throws(() => after({ type: "listed" }, { type: "listed" }), TypeError);
});

test("the present step fails or goes on", () => {
  assert.deepEqual(priceStates(after(SENT), true), ["done", "failed", "ahead"]);
  assert.deepEqual(priceStates(after(), false), ["now", "ahead", "ahead"]);
});
