import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { type Address, SELECTORS } from "imprint-press";
import { ElementDouble, standInForPage } from "../../../page/page-double.ts";

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
const body = new ElementDouble("body");
Object.assign(globalThis.document, {
  body,
  createElement: (tag: string) => new ElementDouble(tag),
  dispatchEvent: () => true,
  querySelector: () => null,
});
const held = new Set<string>();
const locks = {
  async request(name: string, _: object, take: (lock: object | null) => Promise<void>) {
    if (held.has(name)) return take(null);
    held.add(name);
    return take({}).finally(() => held.delete(name));
  },
};
Object.assign(globalThis, { window: new EventTarget(), dispatchEvent: () => true });
Object.defineProperty(globalThis, "navigator", { value: { onLine: true, locks } });
const { walletOfProvider } = await import("imprint-press");
const { disconnect, useDevelopmentAccount } = await import("../../../wallet/connection.ts");
const { orderKey } = await import("../store.ts");
const { openOrder } = await import("./index.ts");

const word = (number: bigint) => number.toString(16).padStart(64, "0");

/** A wallet with atomic batches. `prices` are those on the chain. */
const world = {
  prices: {} as Record<number, bigint>,
  values: [] as bigint[],
  /** Why the wallet does not tell the status of a batch. */
  status: null as { code: number; message: string } | null,
  /** Resolves when the wallet's owner confirms. */
  confirmed: Promise.resolve(),
};

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
        await world.confirmed;
        world.values = (first?.calls ?? []).map(({ value }) => BigInt(value));
        return { id: "0x77" };
      case "wallet_getCallsStatus":
        if (world.status) throw world.status;
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

/** Order the posts in a dialog, as the reader of this page. */
async function order(): Promise<ElementDouble> {
  useDevelopmentAccount({
    address: ANN,
    wallet: walletOfProvider(provider as never, ANN),
    provider: provider as never,
    name: "Test Wallet",
    icon: null,
  });
  await openOrder(ITEMS, false, { kind: "order", receiver: "" });
  return body.querySelector("dialog") ?? assert.fail();
}

async function says(dialog: ElementDouble, words: string): Promise<void> {
  for (let turn = 0; turn < 200 && !dialog.textContent.includes(words); turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  assert.ok(dialog.textContent.includes(words), dialog.textContent);
}

beforeEach(() => {
  disconnect();
  page.memory.clear();
  body.replaceChildren();
  Object.assign(world, { prices: { 1: 5n, 2: 7n }, values: [], confirmed: Promise.resolve() });
  world.status = null;
});

test("a batch pays the prices that the buyer confirmed, whatever the chain says by then", async () => {
  await says(await order(), "Open your library");
  assert.deepEqual(world.values, [5n, 7n]);
  assert.equal(page.memory.get(orderKey(ANN)), undefined);
});

test("a batch that the wallet has taken is followed later, and not sent again", async () => {
  world.status = { code: 4900, message: "The wallet is disconnected." };
  const dialog = await order();
  await says(dialog, "lost its connection");
  assert.match(page.memory.get(orderKey(ANN)) ?? "", /"batch":"0x77"/);
  dialog.close();
  Object.assign(world, { status: null, values: [] });
  await openOrder(ITEMS, false, { kind: "continue" });
  await says(body.querySelector("dialog") ?? assert.fail(), "Open your library");
  assert.deepEqual(world.values, []);
  assert.equal(page.memory.get(orderKey(ANN)), undefined);
});

test("an order whose dialog was closed is shown again, and another one can follow", async () => {
  let confirm = () => {};
  world.confirmed = new Promise((resolve) => {
    confirm = resolve;
  });
  const dialog = await order();
  await says(dialog, "Confirm the purchase in Test Wallet");
  dialog.close();
  assert.equal(body.querySelector("dialog"), null);
  await openOrder(ITEMS, false, { kind: "continue" });
  assert.equal(body.querySelector("dialog"), dialog);
  assert.ok(dialog.open);
  confirm();
  await says(dialog, "Open your library");
  dialog.close();
  world.prices = { 1: 5n, 2: 7n };
  const next = await order();
  assert.notEqual(next, dialog);
  await says(next, "Open your library");
});
