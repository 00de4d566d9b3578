import assert from "node:assert/strict";
import { test } from "node:test";
import { Unreachable } from "./problems.js";
import { httpProvider, ProviderError } from "./wallet.js";

const RPC_URL = "http://127.0.0.1/secret-key";
const ask = (responding: () => Promise<Response>) =>
  httpProvider(RPC_URL, responding).request({ method: "eth_chainId" });

test("a node is asked by JSON-RPC", async () => {
  const asked: unknown[] = [];
  const node = httpProvider(RPC_URL, async (url, init) => {
    asked.push(url, JSON.parse(String(init?.body)));
    return Response.json({ jsonrpc: "2.0", id: 1, result: null });
  });
  assert.equal(await node.request({ method: "eth_call", params: [1] }), null);
  assert.deepEqual(asked, [RPC_URL, { jsonrpc: "2.0", id: 1, method: "eth_call", params: [1] }]);
});

test("what a node refuses has its code and data, whatever the status", async () => {
  const error = { code: 3, message: "execution reverted", data: "0x08c379a0" };
  for (const status of [200, 400, 500]) {
    await assert.rejects(
      ask(async () => Response.json({ error }, { status })),
      (thrown) => {
        assert.ok(thrown instanceof ProviderError);
        assert.deepEqual([thrown.code, thrown.message, thrown.data], Object.values(error));
        return true;
      },
    );
  }
});

test("a node that does not respond is unreachable, and its address is not told", async () => {
  const cause = new TypeError(`fetch failed: ${RPC_URL}`);
  await assert.rejects(
    ask(async () => Promise.reject(cause)),
    (thrown) => {
      assert.ok(thrown instanceof Unreachable);
      assert.deepEqual([thrown.status, thrown.cause], [null, cause]);
      assert.doesNotMatch(thrown.message, /secret-key/);
      return true;
    },
  );
});

test("what responds in place of a node is unreachable, with its status", async () => {
  for (const body of ["<html>", "", "null", "[]", "7", '"no"', '{"message": "no"}']) {
    await assert.rejects(
      ask(async () => new Response(body, { status: 502 })),
      (thrown) => thrown instanceof Unreachable && thrown.status === 502,
      body,
    );
  }
});
