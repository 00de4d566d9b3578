import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provider } from "imprint-press";
import { Dropped, followTransaction, Replaced, StillPending } from "./transaction.ts";

const HASH = "0x01";
const SEEN = { from: "0xab", nonce: "0x3" };
const MINED = { status: "0x1", blockNumber: "0x5", logs: [] };
const pause = async () => {};

/** A node that gives one value after the other for a method, the last one for ever. */
function node(values: Record<string, unknown[]>): Provider {
  return {
    async request({ method }) {
      const left = values[method] ?? [null];
      const value = left.length > 1 ? left.shift() : left[0];
      if (value instanceof Error) throw value;
      return value;
    },
  };
}

test("a transaction is followed until it is mined", async () => {
  const provider = node({
    eth_getTransactionReceipt: [null, null, MINED],
    eth_getTransactionByHash: [SEEN],
  });
  assert.equal((await followTransaction(provider, HASH, { pause })).blockNumber, 5);
});

test("a node that fails now and then is waited out", async () => {
  const provider = node({
    eth_getTransactionReceipt: [new Error("down"), new Error("down"), MINED],
  });
  assert.equal((await followTransaction(provider, HASH, { pause })).status, "success");
});

test("a transaction whose nonce another one used is replaced", async () => {
  const provider = node({
    eth_getTransactionByHash: [SEEN, null],
    eth_getTransactionCount: ["0x4"],
  });
  await assert.rejects(followTransaction(provider, HASH, { pause }), Replaced);
});

test("a transaction that no node knows is dropped", async () => {
  await assert.rejects(followTransaction(node({}), HASH, { pause }), Dropped);
});

test("following ends after a number of looks", async () => {
  const provider = node({ eth_getTransactionByHash: [SEEN] });
  await assert.rejects(followTransaction(provider, HASH, { pause, most: 3 }), StillPending);
});
