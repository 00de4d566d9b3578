import assert from "node:assert/strict";
import { test } from "node:test";
import { standInForPage } from "../page/page-double.ts";

const RPC = "http://127.0.0.1:8545";
const EXPLORER = "https://explorer.example";
const COIN = { symbol: "XDAI", decimals: 18 };
const CHAIN = { id: 31337, name: "Gnosis", coin: COIN, rpc_url: RPC, explorer_url: EXPLORER };
standInForPage({ chain: CHAIN, features: [] });
const { switchChain } = await import("./chains.ts");
const { WrongChain } = await import("./failures.ts");

const UNKNOWN = Object.assign(new Error("Unrecognized chain ID."), { code: 4902 });
const WRAPPED = Object.assign(new Error("Internal error"), {
  code: -32603,
  data: { originalError: { code: 4902 } },
});

interface Habits {
  chain?: number;
  /** The error it throws when asked to switch to an unknown chain. */
  unknown?: Error;
  /** Whether it agrees to switch, but stays on its chain. */
  stays?: boolean;
  /** Whether it adds a chain without switching to it. */
  addsOnly?: boolean;
}

/** A wallet, and its requests except for the chain id. */
function wallet({ chain = 1, unknown, stays = false, addsOnly = false }: Habits) {
  const asked: string[] = [];
  let isKnown = unknown === undefined;
  const provider = {
    async request({ method, params }: { method: string; params?: unknown }) {
      if (method === "eth_chainId") return `0x${chain.toString(16)}`;
      asked.push(method);
      const [{ chainId }] = params as [{ chainId: string }];
      const isAdding = method === "wallet_addEthereumChain";
      if (isAdding) {
        isKnown = true;
        assert.deepEqual(params, [
          {
            chainId,
            chainName: "Gnosis",
            rpcUrls: [RPC],
            nativeCurrency: { name: "XDAI", ...COIN },
            blockExplorerUrls: [EXPLORER],
          },
        ]);
      } else if (!isKnown) throw unknown;
      if (!stays && !(isAdding && addsOnly)) chain = Number(chainId);
      return null;
    },
  };
  return { provider, asked };
}

const SWITCH = "wallet_switchEthereumChain";
const ADD = "wallet_addEthereumChain";

test("a wallet on the right chain is asked nothing", async () => {
  const { provider, asked } = wallet({ chain: 31337 });
  await switchChain(provider);
  assert.deepEqual(asked, []);
});

test("a wallet on another chain is asked to switch", async () => {
  const { provider, asked } = wallet({});
  await switchChain(provider);
  assert.deepEqual(asked, [SWITCH]);
});

test("a chain that the wallet does not know is added, however it reports that", async () => {
  for (const unknown of [UNKNOWN, WRAPPED]) {
    const { provider, asked } = wallet({ unknown });
    await switchChain(provider);
    assert.deepEqual(asked, [SWITCH, ADD]);
  }
});

test("a wallet that adds a chain without switching is asked to switch", async () => {
  const { provider, asked } = wallet({ unknown: UNKNOWN, addsOnly: true });
  await switchChain(provider);
  assert.deepEqual(asked, [SWITCH, ADD, SWITCH]);
});

test("a wallet that stays on another chain is distinguished from one that switched", async () => {
  await assert.rejects(switchChain(wallet({ stays: true }).provider), WrongChain);
});

test("a refusal by the wallet's owner is passed on, and nothing is added", async () => {
  const refused = Object.assign(new Error("User rejected the request."), { code: 4001 });
  const { provider, asked } = wallet({ unknown: refused });
  await assert.rejects(switchChain(provider), refused);
  assert.deepEqual(asked, [SWITCH]);
});
