import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "imprint-press";
import { Patience } from "./patience.ts";
import { type Chain, followTransaction, searchTransaction } from "./sent-transaction.ts";

const RECEIPT: Receipt = { status: "success", blockNumber: 9, logs: [] };
const SENT = { hash: "0x01", nonce: 4 } as const;

/** A chain that knows nothing, and patience that takes no time and counts its pauses. */
function make(other: Partial<Chain> = {}) {
  const pauses: number[] = [];
  const patience = new Patience({
    nameSilent: () => null,
    pause: async (seconds) => void pauses.push(seconds),
  });
  const chain: Chain = {
    check: async () => undefined,
    countTransactions: async () => 4,
    findReceipt: async () => null,
    findNonce: async () => null,
    ...other,
  };
  return { chain, patience, pauses };
}

test("a receipt that comes late is found", async () => {
  let looks = 0;
  const { chain, patience } = make({
    findNonce: async () => 4,
    findReceipt: async () => (++looks > 30 ? RECEIPT : null),
  });
  assert.deepEqual(await followTransaction(chain, patience, SENT), {
    kind: "mined",
    receipt: RECEIPT,
  });
});

test("a node that lags behind for a few looks has lost nothing", async () => {
  let looks = 0;
  const { chain, patience } = make({
    countTransactions: async () => 5,
    findReceipt: async () => (++looks > 5 ? RECEIPT : null),
  });
  assert.equal((await followTransaction(chain, patience, SENT)).kind, "mined");
});

test("a number that another transaction has used means a replacement", async () => {
  const { chain, patience } = make({ countTransactions: async () => 5 });
  assert.equal((await followTransaction(chain, patience, SENT)).kind, "replaced");
});

test("the number counts that the transaction has, not the one that was expected", async () => {
  let looks = 0;
  const { chain, patience } = make({
    countTransactions: async () => 5,
    findNonce: async () => (++looks === 1 ? 7 : null),
  });
  assert.equal((await followTransaction(chain, patience, SENT)).kind, "unknown");
});

test("a transaction without a trace is given minutes before it counts as unknown", async () => {
  const { chain, patience, pauses } = make();
  assert.equal((await followTransaction(chain, patience, SENT)).kind, "unknown");
  assert.ok(pauses.reduce((sum, seconds) => sum + seconds) > 180);
});

test("one that waits for very long is still pending", async () => {
  const { chain, patience } = make({ findNonce: async () => 4 });
  assert.equal((await followTransaction(chain, patience, SENT)).kind, "pending");
});

test("another chain is never asked", async () => {
  const { chain, patience } = make({
    check: async () => {
      throw new Error("another chain");
    },
    findReceipt: async () => RECEIPT,
  });
  await assert.rejects(followTransaction(chain, patience, SENT), /another chain/);
});

test("a lost response is judged by the numbers of the account's transactions", async () => {
  const never = async () => false;
  const counts = (latest: number, pending: number) =>
    make({ countTransactions: async (which) => (which === "latest" ? latest : pending) });
  const search = ({ chain, patience }: ReturnType<typeof make>, isDone = never) =>
    searchTransaction(chain, patience, 4, isDone);
  assert.equal(await search(counts(4, 4)), "unsent");
  assert.equal(await search(counts(5, 5)), "other");
  assert.equal(await search(counts(4, 5)), "pending");
  assert.equal(await search(counts(5, 5), async () => true), "done");
});
