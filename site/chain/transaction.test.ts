import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "imprint-press";
import { Retries } from "./retries.ts";
import { type Chain, followTransaction, searchTransaction } from "./transaction.ts";

const RECEIPT: Receipt = { status: "success", blockNumber: 9, logs: [] };
const SENT = { hash: "0x01", nonce: 4 } as const;

/** A chain that knows nothing, and retries that take no time and count their pauses. */
function make(other: Partial<Chain> = {}) {
  const pauses: number[] = [];
  const retries = new Retries({
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
  return { chain, retries, pauses };
}

test("a late receipt is found", async () => {
  let polls = 0;
  const { chain, retries } = make({
    findNonce: async () => 4,
    findReceipt: async () => (++polls > 30 ? RECEIPT : null),
  });
  assert.deepEqual(await followTransaction(chain, retries, SENT), {
    kind: "mined",
    receipt: RECEIPT,
  });
});

test("a transaction is not lost if the node lags for a few polls", async () => {
  let polls = 0;
  const { chain, retries } = make({
    countTransactions: async () => 5,
    findReceipt: async () => (++polls > 5 ? RECEIPT : null),
  });
  assert.equal((await followTransaction(chain, retries, SENT)).kind, "mined");
});

test("a nonce used by another transaction means a replacement", async () => {
  const { chain, retries } = make({ countTransactions: async () => 5 });
  assert.equal((await followTransaction(chain, retries, SENT)).kind, "replaced");
});

test("the transaction's actual nonce counts, not the expected one", async () => {
  let polls = 0;
  const { chain, retries } = make({
    countTransactions: async () => 5,
    findNonce: async () => (++polls === 1 ? 7 : null),
  });
  assert.equal((await followTransaction(chain, retries, SENT)).kind, "unknown");
});

test("a transaction without a trace counts as unknown only after some minutes", async () => {
  const { chain, retries, pauses } = make();
  assert.equal((await followTransaction(chain, retries, SENT)).kind, "unknown");
  assert.ok(pauses.reduce((sum, seconds) => sum + seconds) > 180);
});

test("a transaction that waits for a very long time is still pending", async () => {
  const { chain, retries } = make({ findNonce: async () => 4 });
  assert.equal((await followTransaction(chain, retries, SENT)).kind, "pending");
});

test("a wallet on another chain is never asked about a transaction", async () => {
  const { chain, retries } = make({
    check: async () => {
      throw new Error("another chain");
    },
    findReceipt: async () => RECEIPT,
  });
  await assert.rejects(followTransaction(chain, retries, SENT), /another chain/);
});

test("a lost response is judged by the nonces of the account's transactions", async () => {
  const never = async () => false;
  const counts = (latest: number, pending: number) =>
    make({ countTransactions: async (which) => (which === "latest" ? latest : pending) });
  const search = ({ chain, retries }: ReturnType<typeof make>, isDone = never) =>
    searchTransaction(chain, retries, 4, isDone);
  assert.equal(await search(counts(4, 4)), "lost");
  assert.equal(await search(counts(5, 5)), "lost");
  assert.equal(await search(counts(4, 5)), "unsettled");
  assert.equal(await search(counts(5, 5), async () => true), "done");
});

test("an effect that a lagging node shows only at the second poll is found", async () => {
  const { chain, retries } = make({ countTransactions: async () => 5 });
  let polls = 0;
  const isDone = async () => ++polls > 1;
  assert.equal(await searchTransaction(chain, retries, 4, isDone), "done");
});
