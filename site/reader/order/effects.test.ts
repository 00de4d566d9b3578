import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type Address, SELECTORS } from "imprint-press";
import { standInForPage } from "../../page/page-double.ts";
import type { OrderEvent } from "./reducer.ts";

const CHAIN = 31337;
const ANN: Address = "0x00000000000000000000000000000000000000A1";
const ITEMS = [
  { id: "1", title: "One", price: 5n },
  { id: "2", title: "Two", price: 7n },
];
const chain = {
  id: CHAIN,
  marketplace: "0x00000000000000000000000000000000000000bb",
  adapter: "0x00000000000000000000000000000000000000cc",
};
const page = standInForPage({ chain, features: [] });
Object.assign(globalThis.document, { dispatchEvent: () => true });
Object.assign(globalThis, { window: new EventTarget(), dispatchEvent: () => true });
Object.defineProperty(globalThis, "navigator", { value: { onLine: true } });
const { walletOfProvider } = await import("imprint-press");
const { disconnect, useDevelopmentAccount } = await import("../../wallet/connection.ts");
const { orderKey } = await import("../cart-store.ts");
const { runEffects } = await import("./effects.ts");
const { newOrder, reduce } = await import("./reducer.ts");

const word = (number: bigint) => number.toString(16).padStart(64, "0");

/** A wallet with atomic batches. `prices` are those on the chain. */
const world = { prices: { 1: 5n, 2: 7n } as Record<number, bigint>, values: [] as bigint[] };

const provider = {
  async request({ method, params = [] }: { method: string; params?: unknown[] }) {
    const [first] = params as { data: string; calls: { value: string }[] }[];
    switch (method) {
      case "eth_chainId":
        return `0x${CHAIN.toString(16)}`;
      case "eth_getBalance":
        return "0x64";
      case "eth_getTransactionCount":
        // The authors raise their prices when they have been confirmed.
        world.prices = { 1: 50n, 2: 70n };
        return "0x4";
      case "eth_getTransactionReceipt":
        return { status: "0x1", blockNumber: "0x9", logs: [] };
      case "wallet_getCapabilities":
        return { [`0x${CHAIN.toString(16)}`]: { atomic: { status: "supported" } } };
      case "wallet_sendCalls":
        world.values = (first?.calls ?? []).map(({ value }) => BigInt(value));
        return { id: "0x77" };
      case "wallet_getCallsStatus":
        return { status: 200, receipts: [{ transactionHash: "0x01" }] };
      case "eth_call": {
        const { data = "" } = first ?? {};
        const price = world.prices[Number(`0x${data.slice(10)}`)] ?? 0n;
        if (data.startsWith(SELECTORS.getPostInfo)) return `0x${word(0n).repeat(5) + word(price)}`;
        return `0x${word(0n)}`;
      }
      default:
        throw new Error(method);
    }
  },
};

/** Order the posts, and return the last state. */
async function order() {
  useDevelopmentAccount({
    address: ANN,
    wallet: walletOfProvider(provider as never, ANN),
    provider: provider as never,
    name: "Test Wallet",
    icon: null,
  });
  let state = newOrder(ITEMS, false);
  const run = runEffects({ state: () => state, tell: dispatch });
  function dispatch(event: OrderEvent): void {
    const [next, effects] = reduce(state, event);
    state = next;
    for (const each of effects) run(each, next.turn);
  }
  dispatch({ type: "clicked", wish: { kind: "order", receiver: "" } });
  for (let turn = 0; turn < 200 && state.phase.kind !== "idle"; turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  return state;
}

afterEach(() => {
  disconnect();
  page.memory.clear();
});

test("a batch pays the prices that the buyer confirmed, whatever the chain says by then", async () => {
  const { shown } = await order();
  assert.equal(shown.kind, "done", JSON.stringify(shown));
  assert.deepEqual(world.values, [5n, 7n]);
  assert.equal(page.memory.get(orderKey(ANN)), undefined);
});
