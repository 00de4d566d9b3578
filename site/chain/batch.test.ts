import assert from "node:assert/strict";
import { test } from "node:test";
import type { Address, Hex, Provider } from "imprint-press";
import { BatchDropped, canBatch, followBatch, sendBatch } from "./batch.ts";

const ANN: Address = "0x00000000000000000000000000000000000000a1";
const CALL = { to: ANN, data: "0x01" as Hex, value: 16n };

const responding = (results: Record<string, unknown[]>, asked: unknown[] = []): Provider => ({
  request: async ({ method, params }) => {
    asked.push([method, params]);
    const [next, ...later] = results[method] ?? [];
    if (next === undefined) throw Object.assign(new Error("unknown method"), { code: 4200 });
    if (later.length > 0) results[method] = later;
    return next;
  },
});

const noPause = async () => undefined;

for (const [name, capabilities, expected] of [
  [
    "that announces atomic batches on this chain can",
    { "0x7a69": { atomic: { status: "supported" } } },
    true,
  ],
  ["that announces them on all chains can", { "0x0": { atomic: { status: "supported" } } }, true],
  [
    "that would upgrade the account first cannot",
    { "0x7a69": { atomic: { status: "ready" } } },
    false,
  ],
  [
    "that announces them on another chain cannot",
    { "0x1": { atomic: { status: "supported" } } },
    false,
  ],
  ["that does not know the method cannot", undefined, false],
] as const)
  test(`a wallet ${name} send a batch`, async () => {
    const wallet = responding(capabilities ? { wallet_getCapabilities: [capabilities] } : {});
    assert.equal(await canBatch(wallet, ANN, 31337), expected);
  });

test("a batch is sent atomically, and followed until its transaction is known", async () => {
  const asked: unknown[] = [];
  const statuses = [{ status: 100 }, { status: 200, receipts: [{ transactionHash: "0x0a" }] }];
  const wallet = responding(
    { wallet_sendCalls: [{ id: "0x77" }], wallet_getCallsStatus: statuses },
    asked,
  );
  assert.equal(await sendBatch(wallet, ANN, [CALL, CALL], 31337), "0x77");
  assert.equal(await followBatch(wallet, "0x77", noPause), "0x0a");
  const call = { to: ANN, data: "0x01", value: "0x10" };
  const batch = { version: "2.0.0", from: ANN, chainId: "0x7a69", atomicRequired: true };
  assert.deepEqual(asked, [
    ["wallet_sendCalls", [{ ...batch, calls: [call, call] }]],
    ["wallet_getCallsStatus", ["0x77"]],
    ["wallet_getCallsStatus", ["0x77"]],
  ]);
});

test("a dropped batch is reported, and a reverted one still has its transaction", async () => {
  const dropped = responding({ wallet_getCallsStatus: [{ status: 400 }] });
  await assert.rejects(followBatch(dropped, "0x77", noPause), BatchDropped);
  const status = { status: 500, receipts: [{ transactionHash: "0x0b" }] };
  const reverted = responding({ wallet_getCallsStatus: [status] });
  assert.equal(await followBatch(reverted, "0x77", noPause), "0x0b");
});

test("wallets of earlier versions of the standard return the id alone", async () => {
  const wallet = responding({ wallet_sendCalls: ["0x77"] });
  assert.equal(await sendBatch(wallet, ANN, [CALL], 1), "0x77");
});
