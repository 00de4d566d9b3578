import assert from "node:assert/strict";
import { test } from "node:test";
import { type Provider, Refusal, Unreachable } from "imprint-press";
import { standInForPage } from "../page/page-double.ts";

standInForPage({ chain: { id: 31337, marketplace: "0x01" }, features: [] });
Object.defineProperty(globalThis, "navigator", { value: { onLine: true } });
const { chainOf, estimateFee, RETRY_PORTS } = await import("./node.ts");

const ACCOUNT = "0x00000000000000000000000000000000000000aa";
const { nameSilent } = RETRY_PORTS;

const refusal = (status: number) =>
  new Refusal({ code: "overloaded", detail: "", status } as ConstructorParameters<
    typeof Refusal
  >[0]);

/** A node that responds to each method with one value. */
const node = (values: Record<string, unknown>): Provider => ({
  request: async ({ method }) => values[method],
});

test("a request to an unavailable node is retried, even if the wallet wraps the error", () => {
  assert.equal(nameSilent(new Unreachable("no")), "The service");
  assert.equal(nameSilent(refusal(503)), "The service");
  assert.equal(nameSilent(refusal(429)), "The service");
  const nodes = [
    { code: -32005, message: "limit exceeded" },
    { code: 4900, message: "disconnected" },
    { code: -32603, message: "Failed to fetch" },
    { code: -32603, message: "Internal JSON-RPC error.", data: { message: "request timed out" } },
  ];
  for (const error of nodes) assert.equal(nameSilent(error), "The network");
});

test("a refusal is not retried", () => {
  const refusals = [refusal(403), { code: 4001 }, { code: 3, message: "execution reverted" }, null];
  for (const error of refusals) assert.equal(nameSilent(error), null);
});

test("a wallet on another chain is not asked about transactions", async () => {
  const on = (eth_chainId: string) => chainOf(ACCOUNT, () => node({ eth_chainId }));
  await on("0x7a69").check();
  await assert.rejects(on("0x1").check(), { name: "WrongChain" });
});

test("transactions are counted, and the nonce of one is found by its hash", async () => {
  const found = { eth_getTransactionCount: "0x5", eth_getTransactionByHash: { nonce: "0x4" } };
  const chain = chainOf(ACCOUNT, () => node(found));
  assert.equal(await chain.countTransactions("pending"), 5);
  assert.equal(await chain.findNonce("0x01"), 4);
  const empty = chainOf(ACCOUNT, () => node({ eth_getTransactionByHash: null }));
  assert.equal(await empty.findNonce("0x01"), null);
});

test("a fee is the gas of the call at the current price", async () => {
  const provider = node({ eth_estimateGas: "0x10", eth_gasPrice: "0x3" });
  assert.equal(await estimateFee(provider, ACCOUNT, { to: ACCOUNT, data: "0x" }), 48n);
});
