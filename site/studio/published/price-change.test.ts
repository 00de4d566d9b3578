import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advancePrice,
  beginPriceChange,
  type PriceChange,
  type PriceEvent,
  type PricePorts,
  PriceRunner,
} from "./price-change.ts";

const ASKED: PriceEvent = { type: "asked", nonce: 4 };
const SENT: PriceEvent = { type: "sent", transaction: "0x01" };
const MINED: PriceEvent = { type: "mined" };
const after = (...events: PriceEvent[]) => events.reduce(advancePrice, beginPriceChange("3", 5n));

test("a change is requested, sent, mined and listed", () => {
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

test("a price that is already on the chain needs no transaction", () => {
  assert.equal(after(MINED).step, "listed");
  assert.equal(after(ASKED, MINED).step, "listed");
});

/** A marketplace in memory with the price 1, which changes once a transaction is sent. */
function make(other: Partial<PricePorts> = {}, begun = beginPriceChange("3", 5n)) {
  const kept: PriceChange[] = [];
  const market = { price: 1n, sent: 0 };
  const ports: PricePorts = {
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
    isLocked: async () => false,
    isFree: async () => undefined,
    explain: (error) => ({ sentence: String(error), actions: ["retry"] }),
    nameSilent: () => null,
    pause: async () => undefined,
    ...other,
  };
  return { runner: new PriceRunner(begun, ports), kept, market };
}

test("a change is stored before the wallet is asked, and at every later step", async () => {
  const { runner, kept } = make();
  await runner.run();
  assert.equal(runner.failure.value, null);
  assert.deepEqual(
    kept.map(({ step, asked }) => `${step} ${asked ? "asked" : ""}`.trim()),
    ["transaction asked", "mined asked", "listed asked", "done asked"],
  );
});

test("a reload between the prompt and the hash sends nothing again", async () => {
  const asked: PriceChange = { ...beginPriceChange("3", 5n), asked: { nonce: 4 } };
  const { runner, market } = make({}, asked);
  market.sent = 1;
  market.price = 5n;
  await runner.run();
  assert.equal(runner.change.value.step, "done");
  assert.equal(market.sent, 1);
});

test("a lost prompt is repeated only when the author says so", async () => {
  const asked: PriceChange = { ...beginPriceChange("3", 5n), asked: { nonce: 4 } };
  const { runner, market } = make({}, asked);
  await runner.run();
  assert.deepEqual(runner.failure.value?.actions, ["retry", "ask-again"]);
  assert.equal(market.sent, 0);
  await runner.askAgain();
  assert.equal(runner.change.value.step, "done");
  assert.equal(market.sent, 1);
});

test("a rejected change sends nothing and can be restarted", async () => {
  const { runner } = make({
    send: async () => {
      throw new Error("rejected");
    },
  });
  await runner.run();
  assert.match(runner.failure.value?.sentence ?? "", /rejected/);
  assert.equal(runner.change.value.asked, null);
});

test("a change that another tab has already made is adopted", async () => {
  let isLocked = true;
  const done: PriceChange = { ...beginPriceChange("3", 5n), step: "done", asked: { nonce: 4 } };
  const { runner, market } = make({
    lock: async () => (isLocked ? null : () => undefined),
    isLocked: async () => isLocked,
    isFree: async () => {
      isLocked = false;
    },
    recall: () => done,
  });
  await runner.run();
  assert.equal(runner.change.value.step, "done");
  assert.equal(market.sent, 0);
});

test("a change by another tab is shown as such, and followed to its end", async () => {
  let free: () => void = () => undefined;
  const freed = new Promise<void>((resolve) => {
    free = resolve;
  });
  const sent: PriceChange = { ...beginPriceChange("3", 5n), step: "mined", asked: { nonce: 4 } };
  let kept: PriceChange = { ...sent, transaction: "0x11" };
  let isLocked = true;
  const { runner, market } = make(
    {
      lock: async () => (isLocked ? null : () => undefined),
      isLocked: async () => isLocked,
      isFree: () => freed,
      recall: () => kept,
    },
    kept,
  );
  const attended = runner.attend();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(runner.isElsewhere.value, true);
  kept = { ...kept, step: "done" };
  isLocked = false;
  free();
  await attended;
  assert.equal(runner.isElsewhere.value, false);
  assert.equal(runner.change.value.step, "done");
  assert.equal(market.sent, 0);
});

test("a tab that takes over a change never asks the wallet automatically", async () => {
  const { runner, market } = make();
  await runner.attend();
  assert.equal(runner.change.value.step, "transaction");
  assert.equal(market.sent, 0);
});

test("a transaction that another tab has sent is followed when the author retries", async () => {
  const asked: PriceChange = { ...beginPriceChange("3", 5n), asked: { nonce: 4 } };
  let kept: PriceChange = asked;
  const { runner, market } = make({ recall: () => kept, keep: (change) => (kept = change) }, asked);
  kept = { ...asked, step: "mined", transaction: "0x11" };
  await runner.askAgain();
  assert.equal(runner.change.value.step, "done");
  assert.equal(runner.change.value.transaction, "0x11");
  assert.equal(market.sent, 0);
});
