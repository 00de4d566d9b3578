import assert from "node:assert/strict";
import { test } from "node:test";
import { beginPriceChange, type PriceChange } from "./price-change.ts";
import { Repricing, type RepricingWorld } from "./repricing.ts";

/** A marketplace in memory with the price 1, which changes once a transaction is sent. */
function make(other: Partial<RepricingWorld> = {}, begun = beginPriceChange("3", 5n)) {
  const kept: PriceChange[] = [];
  const market = { price: 1n, sent: 0 };
  const world: RepricingWorld = {
    chain: {
      check: async () => undefined,
      countTransactions: async () => 4 + market.sent,
      findReceipt: async () => ({ status: "success", blockNumber: 9, logs: [] }),
      findNonce: async () => 4,
    },
    call: () => ({ to: "0x00000000000000000000000000000000000000bb", data: "0x" }),
    switchChain: async () => undefined,
    findRefusal: async () => null,
    async send() {
      market.sent += 1;
      market.price = 5n;
      return "0x11";
    },
    hasSentNothing: () => true,
    readPrice: async () => market.price,
    readListedPrice: async () => market.price.toString(),
    keep: (change) => kept.push(change),
    recall: () => kept.at(-1) ?? null,
    lock: async () => () => undefined,
    isFree: async () => undefined,
    explain: (error) => ({ sentence: String(error), actions: ["retry"] }),
    nameSilent: () => null,
    pause: async () => undefined,
    ...other,
  };
  return { repricing: new Repricing(begun, world), kept, market };
}

test("a change is kept before the wallet is asked, and at every step after", async () => {
  const { repricing, kept } = make();
  await repricing.run();
  assert.equal(repricing.failure.value, null);
  assert.deepEqual(
    kept.map(({ step, asked }) => `${step} ${asked ? "asked" : ""}`.trim()),
    ["transaction asked", "mined asked", "listed asked", "done asked"],
  );
});

test("a reload between the prompt and the hash sends nothing again", async () => {
  const asked: PriceChange = { ...beginPriceChange("3", 5n), asked: { nonce: 4 } };
  const { repricing, market } = make({}, asked);
  market.sent = 1;
  market.price = 5n;
  await repricing.run();
  assert.equal(repricing.change.value.step, "done");
  assert.equal(market.sent, 1);
});

test("a prompt that was lost is asked again only when the author says so", async () => {
  const asked: PriceChange = { ...beginPriceChange("3", 5n), asked: { nonce: 4 } };
  const { repricing, market } = make({}, asked);
  await repricing.run();
  assert.deepEqual(repricing.failure.value?.actions, ["retry", "ask-again"]);
  assert.equal(market.sent, 0);
  await repricing.askAgain();
  assert.equal(repricing.change.value.step, "done");
  assert.equal(market.sent, 1);
});

test("a rejected change sends nothing and can be begun again", async () => {
  const { repricing } = make({
    send: async () => {
      throw new Error("rejected");
    },
  });
  await repricing.run();
  assert.match(repricing.failure.value?.sentence ?? "", /rejected/);
  assert.equal(repricing.change.value.asked, null);
});

test("a change that another tab has made already is taken over", async () => {
  let isLocked = true;
  const done: PriceChange = { ...beginPriceChange("3", 5n), step: "done", asked: { nonce: 4 } };
  const { repricing, market } = make({
    lock: async () => (isLocked ? null : () => undefined),
    isFree: async () => {
      isLocked = false;
    },
    recall: () => done,
  });
  await repricing.run();
  assert.equal(repricing.change.value.step, "done");
  assert.equal(market.sent, 0);
});
