import assert from "node:assert/strict";
import { test } from "node:test";
import { Unreachable } from "./problems.js";
import { httpProvider, ProviderError, walletOfAccount, walletOfProvider } from "./wallet.js";

const HERE = "0x00000000000000000000000000000000000000aa";
const RPC_URL = "http://127.0.0.1/secret-key";
const ask = (responding: () => Promise<Response>) =>
  httpProvider(RPC_URL, responding).request({ method: "eth_chainId" });

test("a node is called over JSON-RPC", async () => {
  const asked: unknown[] = [];
  const node = httpProvider(RPC_URL, async (url, init) => {
    asked.push(url, JSON.parse(String(init?.body)));
    return Response.json({ jsonrpc: "2.0", id: 1, result: null });
  });
  assert.equal(await node.request({ method: "eth_call", params: [1] }), null);
  assert.deepEqual(asked, [RPC_URL, { jsonrpc: "2.0", id: 1, method: "eth_call", params: [1] }]);
});

test("a node's refusal keeps its code and data, whatever the HTTP status", async () => {
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

test("a node that does not respond is reported as unreachable, without its URL", async () => {
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

test("a response that is not JSON-RPC is reported as unreachable, with its status", async () => {
  for (const body of ["<html>", "", "null", "[]", "7", '"no"', '{"message": "no"}']) {
    await assert.rejects(
      ask(async () => new Response(body, { status: 502 })),
      (thrown) => thrown instanceof Unreachable && thrown.status === 502,
      body,
    );
  }
});

test("a key offers the tip that its node suggests, and not the whole gas price", async () => {
  const results: Record<string, string> = {
    eth_gasPrice: "0x64",
    eth_maxPriorityFeePerGas: "0x2",
  };
  const signed: { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }[] = [];
  const account = {
    address: HERE,
    signMessage: async () => "0x" as const,
    signTypedData: async () => "0x" as const,
    signTransaction: async (transaction: (typeof signed)[0]) => {
      signed.push(transaction);
      return "0x" as const;
    },
  } as const;
  const request = async ({ method }: { method: string }) => results[method] ?? "0x5";
  await walletOfAccount(account, { request }).sendTransaction({ to: HERE, data: "0x" });
  const [fees] = signed;
  assert.deepEqual([fees?.maxFeePerGas, fees?.maxPriorityFeePerGas], [202n, 2n]);
});

/** A node on chain 5 that records its calls. */
function nodeOnFive() {
  const asked: { method: string; params?: unknown }[] = [];
  const request = async (args: { method: string; params?: unknown }) => {
    asked.push(args);
    return "0x5";
  };
  return { asked, request };
}

test("a browser's wallet is told which chain a transaction is for", async () => {
  const node = nodeOnFive();
  const wallet = walletOfProvider(node, HERE);
  await wallet.sendTransaction({ to: HERE, data: "0x", chainId: 31337 });
  await wallet.sendTransaction({ to: HERE, data: "0x" });
  const sent = { from: HERE, to: HERE, data: "0x", value: "0x0" };
  assert.deepEqual(
    node.asked.map(({ params }) => params),
    [[{ ...sent, chainId: "0x7a69" }], [sent]],
  );
});

test("a key signs no transaction for a chain other than its node's", async () => {
  const signed: { chainId: number }[] = [];
  const node = nodeOnFive();
  const account = {
    address: HERE,
    signMessage: async () => "0x" as const,
    signTypedData: async () => "0x" as const,
    signTransaction: async (transaction: { chainId: number }) => {
      signed.push(transaction);
      return "0x" as const;
    },
  } as const;
  const wallet = walletOfAccount(account, node);
  await assert.rejects(
    wallet.sendTransaction({ to: HERE, data: "0x", chainId: 6 }),
    (thrown) => thrown instanceof ProviderError && /chainId 6.* 5/.test(thrown.message),
  );
  assert.deepEqual(signed, []);
  await wallet.sendTransaction({ to: HERE, data: "0x", chainId: 5 });
  await wallet.sendTransaction({ to: HERE, data: "0x" });
  assert.deepEqual(
    signed.map(({ chainId }) => chainId),
    [5, 5],
  );
});
