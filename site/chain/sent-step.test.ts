import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "imprint-press";
import { Retries } from "./retries.ts";
import { advanceSending, type Sending, SentStep, type SentStepPorts } from "./sent-step.ts";
import type { Chain } from "./transaction.ts";

const FRESH: Sending = { step: "transaction", asked: null, transaction: null };
const ASKED: Sending = { ...FRESH, asked: { nonce: 4 } };
const SENT: Sending = { step: "mined", asked: { nonce: 4 }, transaction: "0x01" };
const mined = (status: Receipt["status"]): Receipt => ({ status, blockNumber: 9, logs: [] });

/**
 * A wallet and a chain in memory. `events` lists everything that was stored and sent, in order.
 */
function make(begun = FRESH, other: Partial<SentStepPorts> = {}, chain: Partial<Chain> = {}) {
  const events: string[] = [];
  let sending = begun;
  const step = new SentStep({
    chain: {
      check: async () => undefined,
      countTransactions: async () => 4,
      findReceipt: async () => mined("success"),
      findNonce: async () => null,
      ...chain,
    },
    retries: new Retries({ nameSilent: () => null, pause: async () => undefined }),
    sending: () => sending,
    move(event) {
      sending = { ...sending, ...advanceSending(sending, event) };
      events.push(event.type);
    },
    call: () => ({ to: "0x00000000000000000000000000000000000000bb", data: "0x" }),
    switchChain: async () => undefined,
    async send() {
      events.push("send");
      return "0x01";
    },
    hasSentNothing: () => true,
    isDone: async () => false,
    ...other,
  });
  return { step, events, sending: () => sending };
}

test("the request is stored before asking the wallet, the hash before following it", async () => {
  const { step, events } = make();
  assert.deepEqual(await step.run(), { kind: "mined", receipt: mined("success") });
  assert.deepEqual(events, ["asked", "send", "sent"]);
});

test("a wallet whose response was lost is not asked again, and nothing is forgotten", async () => {
  const { step, events, sending } = make(ASKED);
  assert.deepEqual(await step.run(), { kind: "doubt", doubt: "lost" });
  assert.deepEqual(events, []);
  assert.equal(sending(), ASKED);
});

test("a batch of an earlier visit is followed by its id", async () => {
  const asked: Sending = { ...FRESH, asked: { nonce: 4, batch: "0x77" } };
  const { step, events } = make(asked, { followBatch: async () => "0x02" });
  assert.equal((await step.run()).kind, "mined");
  assert.deepEqual(events, ["sent"]);
  const forgotten = make(asked, { followBatch: async () => null });
  assert.deepEqual(await forgotten.step.run(), { kind: "doubt", doubt: "lost" });
  assert.deepEqual(forgotten.events, []);
  const dropped = make(asked, { followBatch: () => Promise.reject(new Error("dropped")) });
  await assert.rejects(dropped.step.run());
  assert.deepEqual([dropped.events, dropped.sending()], [["declined"], FRESH]);
});

test("the id of a batch is stored beside the nonce", () => {
  const change = advanceSending(ASKED, { type: "batched", batch: "0x77" });
  assert.deepEqual(change, { asked: { nonce: 4, batch: "0x77" } });
  assert.throws(() => advanceSending(FRESH, { type: "batched", batch: "0x77" }), TypeError);
});

test("other transactions of the account do not prove that this one was not sent", async () => {
  const { step, sending } = make(ASKED, {}, { countTransactions: async () => 5 });
  assert.deepEqual(await step.run(), { kind: "doubt", doubt: "lost" });
  assert.equal(sending(), ASKED);
});

test("a pending transaction of the account may be this one", async () => {
  const countTransactions: Chain["countTransactions"] = async (which) =>
    which === "latest" ? 4 : 5;
  const { step } = make(ASKED, {}, { countTransactions });
  assert.deepEqual(await step.run(), { kind: "doubt", doubt: "unsettled" });
});

test("a replaced, unknown or pending transaction remains stored", async () => {
  const ways: [string, Partial<Chain>][] = [
    ["replaced", { countTransactions: async () => 5 }],
    ["unknown", {}],
    ["pending", { findNonce: async () => 4 }],
  ];
  for (const [doubt, chain] of ways) {
    const { step, sending } = make(SENT, {}, { findReceipt: async () => null, ...chain });
    assert.deepEqual(await step.run(), { kind: "doubt", doubt });
    assert.equal(sending(), SENT);
  }
});

test("an interrupted step is done if another transaction has had the effect", async () => {
  for (const begun of [FRESH, ASKED, SENT]) {
    const { step, events } = make(
      begun,
      { isDone: async () => true },
      { countTransactions: async () => 5, findReceipt: async () => null },
    );
    assert.deepEqual(await step.run(), { kind: "done" });
    assert.deepEqual(events, []);
  }
});

test("a wallet that certainly sent nothing may be asked again; otherwise the transaction is searched for", async () => {
  const send = async () => {
    throw new Error("odd");
  };
  const declined = make(FRESH, { send });
  await assert.rejects(declined.step.run(), /odd/);
  assert.deepEqual(declined.sending(), FRESH);
  const doubtful = make(FRESH, { send, hasSentNothing: () => false });
  await assert.rejects(doubtful.step.run(), /odd/);
  assert.deepEqual(doubtful.sending(), ASKED);
});

test("a call that the contract would refuse is not sent", async () => {
  const { step, events } = make(FRESH, { findRefusal: async () => "Too long." });
  assert.deepEqual(await step.run(), { kind: "refused", sentence: "Too long." });
  assert.deepEqual(events, []);
});

test("a reverted transaction is reported, and can be sent again", async () => {
  const { step, sending } = make(SENT, {}, { findReceipt: async () => mined("reverted") });
  assert.deepEqual(await step.run(), { kind: "reverted" });
  assert.deepEqual(sending(), FRESH);
});

test("a requested or sent transaction is sent again only after its owner gives it up", async () => {
  for (const begun of [ASKED, SENT]) {
    const { step, events, sending } = make(begun);
    step.giveUp();
    assert.deepEqual(sending(), FRESH);
    await step.run();
    assert.deepEqual(events.slice(1), ["asked", "send", "sent"]);
  }
});

test("a second request to the wallet, or a hash without one, is refused", () => {
  assert.throws(() => advanceSending(ASKED, { type: "asked", nonce: 5 }), TypeError);
  assert.throws(() => advanceSending(FRESH, { type: "sent", transaction: "0x02" }), TypeError);
  assert.throws(() => advanceSending(FRESH, { type: "ended" }), TypeError);
});
