import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type Address, type Hex, SELECTORS } from "imprint-press";
import { type Purchase, purchaseKey } from "../../chain/purchase.ts";
import { ElementDouble, standInForPage } from "../../page/page-double.ts";
import type { Wish } from "./reducer.ts";

const CHAIN = 31337;
const PRICE = 10n ** 16n;
const AUTHOR = "0x00000000000000000000000000000000000000f6";
const ANN = "0x00000000000000000000000000000000000000A1";
const BOB = "0x00000000000000000000000000000000000000B2";
const FACTS = {
  service: "http://127.0.0.1:8000",
  chain: { id: CHAIN, marketplace: "0x00000000000000000000000000000000000000bb" },
  signing_forms: ["imprint-2"],
  features: [],
};

const page = standInForPage(FACTS);
const text = new ElementDouble();
const readFacts = globalThis.document.getElementById.bind(globalThis.document);
Object.assign(globalThis.document, {
  getElementById: (id: string) => (id === "facts" ? readFacts(id) : text),
  createElement: (tag: string) => new ElementDouble(tag),
  dispatchEvent: () => true,
  body: { appendChild: (child: ElementDouble) => child },
});
const locks = new Set<string>();
const lent = {
  /** A lock is free unless another tab has it; waiting for one never ends here. */
  request: async (name: string, ...[, take]: ((lock: unknown) => Promise<void>)[]) =>
    take ? take(locks.has(name) ? null : {}) : new Promise(() => undefined),
};
Object.defineProperty(globalThis, "navigator", { value: { onLine: true, locks: lent } });
Object.assign(globalThis, { window: new EventTarget(), fetch: respond });
const { keepSession } = await import("../../page/session.ts");
const { disconnect, useDevelopmentAccount } = await import("../../wallet/connection.ts");
const { walletOfProvider } = await import("imprint-press");
const { openGate } = await import("./index.ts");

/** The wallet, the chain and the service of one test. */
const world = {
  /** A different post for each test, as the gates of earlier tests still follow the account. */
  post: 1,
  holders: new Set<string>(),
  sent: [] as string[],
  /** What a method does before the wallet responds. */
  before: {} as Partial<Record<string, () => unknown>>,
  price: PRICE,
  funds: 10n * PRICE,
};

const word = (number: bigint) => number.toString(16).padStart(64, "0");
const failure = (code: number) => Object.assign(new Error("odd"), { code });

const provider = {
  async request({ method, params = [] }: { method: string; params?: unknown[] }) {
    await world.before[method]?.();
    const [call] = params as { from: Hex; data: string }[];
    switch (method) {
      case "eth_chainId":
        return `0x${CHAIN.toString(16)}`;
      case "eth_getBalance":
        return `0x${world.funds.toString(16)}`;
      case "eth_getTransactionCount":
        return "0x4";
      case "eth_sendTransaction":
        world.sent.push(call?.from ?? "");
        hold(call?.from ?? "");
        return "0x01";
      case "eth_getTransactionReceipt":
        return { status: "0x1", blockNumber: "0x9", logs: [] };
      case "eth_call":
        if (call?.data.startsWith(SELECTORS.getPostInfo))
          return `0x${word(BigInt(AUTHOR)) + word(0n).repeat(4) + word(world.price)}`;
        return `0x${word(holds(`0x${call?.data.slice(34, 74)}`, call?.data.slice(74)) ? 1n : 0n)}`;
      default:
        return "0x02";
    }
  },
};

const hold = (address: string) => world.holders.add(`${world.post} ${address.toLowerCase()}`);
const holds = (address: string, post = "0") =>
  world.holders.has(`${Number(`0x${post}`)} ${address.toLowerCase()}`);

/** The service: it signs everybody in, and returns the text to holders. */
async function respond(url: string, init: RequestInit): Promise<Response> {
  await world.before[new URL(url).pathname]?.();
  if (url.endsWith("/auth/login")) {
    const { address } = JSON.parse(String(init.body)) as { address: Address };
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    return Response.json({ address, token: address, expiresAt });
  }
  const token = new Headers(init.headers).get("Authorization")?.slice("Bearer ".length) ?? "";
  const [, , post] = new URL(url).pathname.split("/");
  if (holds(token, Number(post).toString(16))) return new Response("The secret.");
  const problem = { code: "not_entitled", status: 403, detail: "", title: "", type: "" };
  return Response.json(problem, { status: 403 });
}

const connect = (address: Address) =>
  useDevelopmentAccount({
    address,
    wallet: walletOfProvider(provider as never, address),
    provider: provider as never,
    name: "Test Wallet",
    icon: null,
  });

/** Open the page of the post with an account of the wallet. */
async function visit(address: Address | null, wish: Wish | null = null) {
  if (address) connect(address);
  const place = new ElementDouble();
  const heading = new ElementDouble("h2");
  heading.textContent = "Keep reading for 0.01 ETH";
  place.append(heading);
  const offer = { place, words: [heading], price: PRICE };
  const post = { dataset: { id: `${world.post}`, author: AUTHOR } };
  await openGate(post as never, offer as never, wish);
  return place;
}

const kept = (address: Address): Purchase | null =>
  JSON.parse(page.memory.get(purchaseKey(`${world.post}`, address)) ?? "null");

function press(place: ElementDouble, label: string): void {
  const found = place.querySelectorAll("button").find((each) => each.textContent === label);
  assert.ok(found, place.textContent);
  found.click();
}

async function until(isThere: () => boolean, place: ElementDouble): Promise<void> {
  for (let turn = 0; turn < 200 && !isThere(); turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isThere(), place.textContent);
}

const says = (place: ElementDouble, words: string) =>
  until(() => place.textContent.includes(words), place);

afterEach(() => {
  disconnect();
  keepSession(null);
  page.memory.clear();
  locks.clear();
  text.replaceChildren();
  const post = world.post + 1;
  Object.assign(world, { post, holders: new Set(), sent: [], before: {}, price: PRICE });
});

test("a purchase is stored before the wallet is asked, and forgotten when the text is open", async () => {
  const place = await visit(ANN);
  await says(place, "Buy and read");
  world.before.eth_sendTransaction = () => assert.deepEqual(kept(ANN)?.asked, { nonce: 4 });
  press(place, "Buy and read");
  await until(() => text.textContent === "The secret.", place);
  assert.deepEqual(world.sent, [ANN]);
  assert.equal(kept(ANN), null);
  assert.equal(place.textContent, "You own this");
  assert.equal(place.attributes.get("class"), "gate-open");
});

test("an account that cannot pay is told so before the wallet is asked", async () => {
  world.funds = PRICE;
  const place = await visit(ANN, { kind: "buy" });
  await says(place, "You need 0.01 ETH plus a small network fee; this account has 0.01 ETH.");
  assert.deepEqual(world.sent, []);
  assert.equal(kept(ANN), null);
  world.funds = 10n * PRICE;
});

test("a declined purchase leaves nothing, and the offer says so", async () => {
  const place = await visit(ANN, { kind: "buy" });
  world.before.eth_sendTransaction = () => {
    throw failure(4001);
  };
  await says(place, "You declined in your wallet. Nothing was sent.");
  assert.equal(kept(ANN), null);
  press(place, "Buy and read");
});

test("a wallet that loses its response is not asked again after a reload", async () => {
  const place = await visit(ANN, { kind: "buy" });
  world.before.eth_sendTransaction = () => {
    throw failure(-32603);
  };
  await says(place, "Purchase not completed");
  assert.deepEqual(kept(ANN)?.asked, { nonce: 4 });
  const again = await visit(ANN);
  await says(again, "We’re not sure the payment went through");
  assert.deepEqual(world.sent, []);
});

test("a purchase stays with its account if the account changes during the prompt", async () => {
  const place = await visit(ANN, { kind: "buy" });
  world.before.eth_sendTransaction = () => void connect(BOB);
  await says(place, "The account in your wallet changed");
  assert.equal(kept(ANN)?.transaction, "0x01");
  assert.equal(kept(BOB), null);
  connect(ANN);
  await says(place, "Sign in and read");
  press(place, "Sign in and read");
  await until(() => text.textContent === "The secret.", place);
  assert.deepEqual(world.sent, [ANN]);
});

test("a changed price is shown, and nothing is sent", async () => {
  world.price = 2n * PRICE;
  const place = await visit(ANN, { kind: "buy" });
  await says(place, "The author changed the price from 0.01 ETH to 0.02 ETH. Nothing was sent.");
  assert.match(place.textContent, /^Keep reading for 0.02 ETH/);
  assert.deepEqual(world.sent, []);
});

test("the gate waits for another tab that is buying", async () => {
  locks.add(purchaseKey(`${world.post}`, ANN));
  const place = await visit(ANN, { kind: "buy" });
  await says(place, "You’re buying this post in another tab");
  assert.deepEqual(world.sent, []);
});

test("a text that arrives after signing out is not shown", async () => {
  hold(ANN);
  world.before[`/p/${world.post}/text`] = () => {
    keepSession(null);
    disconnect();
  };
  const place = await visit(ANN, { kind: "open" });
  await says(place, "The account in your wallet changed");
  assert.equal(text.textContent, "");
});

test("an open text is closed for the next account", async () => {
  hold(ANN);
  const place = await visit(ANN, { kind: "open" });
  await until(() => text.textContent === "The secret.", place);
  connect(BOB);
  assert.equal(text.textContent, "");
  assert.ok(text.hidden);
  await says(place, "Buy and read");
});
