import assert from "node:assert/strict";
import { test } from "node:test";
import { buyPostCall } from "../marketplace.js";
import { Refusal, Reverted, TooExpensive } from "../problems.js";
import type { Address, Hex, Problem } from "../records.js";
import type { Call, Wallet } from "../wallet.js";
import type { Offer, Seller } from "./offers.js";
import { LimitedBuyer, readPaid } from "./purchases.js";

const ADDRESS: Address = `0x${"1".repeat(40)}`;
const SELLER: Seller = { service: "https://press.example", chainId: 1, marketplace: ADDRESS };

const offerOf = (postId: string, price: bigint) => ({ postId, price }) as Offer;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;

/** A buyer with 10 wei, and what its wallet sends; the node knows balances and receipts. */
function open({ balance = 0, status = 1, fails = false } = {}) {
  const calls: Call[] = [];
  const said = { balance, status };
  const wallet = {
    address: ADDRESS,
    sendTransaction: async (call: Call) => {
      calls.push(call);
      if (fails) throw new Error("The wallet is locked.");
      return hashOf(calls.length);
    },
  } as Wallet;
  const node = {
    request: async ({ method }: { method: string }) =>
      method === "eth_call"
        ? hashOf(said.balance)
        : { status: `0x${said.status}`, blockNumber: "0x1", logs: [] },
  };
  return { buyer: new LimitedBuyer(SELLER, wallet, node, 10n), calls, said };
}

const { signal } = new AbortController();

test("concurrent purchases share the limit, and each post is bought once", async () => {
  const { buyer, calls } = open();
  const offers = [offerOf("7", 6n), offerOf("7", 6n), offerOf("8", 6n)];
  const [first, second, third] = await Promise.allSettled(offers.map((offer) => buyer.buy(offer)));
  assert.deepEqual([first, second], Array(2).fill({ status: "fulfilled", value: hashOf(1) }));
  assert.ok(third?.status === "rejected" && third.reason instanceof TooExpensive);
  assert.equal(await buyer.buy(offerOf("8", 4n)), hashOf(2));
  assert.deepEqual(
    calls.map(({ value, chainId }) => [value, chainId]),
    [
      [6n, 1],
      [4n, 1],
    ],
  );
});

test("a reverted purchase returns its price to the limit once, and can be repeated", async () => {
  const { buyer, said } = open({ status: 0 });
  const offer = offerOf("7", 6n);
  const sent = (await buyer.buy(offer)) as Hex;
  const confirming = [buyer.confirm(offer, sent, signal), buyer.confirm(offer, sent, signal)];
  for (const each of confirming) await assert.rejects(each, Reverted);
  said.status = 1;
  assert.equal(await buyer.buy(offerOf("7", 10n)), hashOf(2));
  await buyer.confirm(offer, hashOf(2), signal);
  await assert.rejects(buyer.buy(offerOf("8", 1n)), TooExpensive);
});

test("a reverted purchase gives back its own price, and not that of a later offer", async () => {
  const { buyer } = open({ status: 0 });
  const sent = (await buyer.buy(offerOf("7", 1n))) as Hex;
  const later = offerOf("7", 100n);
  assert.equal(await buyer.buy(later), sent);
  await assert.rejects(buyer.confirm(later, sent, signal), Reverted);
  await assert.rejects(buyer.buy(offerOf("8", 11n)), TooExpensive);
});

test("no price stays reserved if the wallet fails to send or holds the token", async () => {
  const locked = open({ fails: true });
  for (let attempt = 0; attempt < 2; attempt += 1)
    await assert.rejects(locked.buyer.buy(offerOf("7", 10n)), /locked/);
  const holding = open({ balance: 1 });
  assert.equal(await holding.buyer.buy(offerOf("7", 10n)), null);
  assert.equal(await holding.buyer.buy(offerOf("8", 10n)), null);
  assert.equal(holding.calls.length, 0);
});

/** A service that refuses the first proof after the purchase, and makes offers at these times. */
function sell(...times: string[]) {
  const messages: string[] = [];
  const signMessage = async (message: string): Promise<Hex> => {
    messages.push(message);
    return "0x01";
  };
  const wallet = { address: ADDRESS, signMessage } as Wallet;
  const node = { request: async () => hashOf(1) };
  const { data } = buyPostCall(ADDRESS, "7", 1n);
  const request = async (headers: HeadersInit) => {
    const isSigned = Object.keys(headers).length > 0;
    if (isSigned && times.length === 0) return Response.json({ content: "Words." });
    if (isSigned && times.length === 1)
      throw new Refusal(
        { code: "signature_stale", status: 401, detail: "Stale." } as Problem,
        null,
      );
    const signIn = {
      domain: "press.example",
      uri: "https://press.example/posts/7/content",
      version: "1",
      nonce: "0123456789abcdef",
      issuedAt: times.shift(),
      expirationTime: "2026-11-18T10:05:00Z",
      statement: "Sign in to read post 7.",
    };
    const call = { to: ADDRESS, data, value: "1", args: ["7"] };
    const entry = {
      scheme: "imprint-subscribe",
      network: "eip155:1",
      amount: "1",
      asset: "native",
      payTo: ADDRESS,
      extra: { paymentFlow: "upfront", call, signIn },
    };
    const offer = btoa(JSON.stringify({ accepts: [entry] }));
    return new Response("{}", { status: 402, headers: { "PAYMENT-REQUIRED": offer } });
  };
  const buyer = new LimitedBuyer(SELLER, wallet, node, 10n);
  return { read: () => readPaid(request, SELLER, "7", wallet, buyer, signal), messages };
}

test("a read signs again once its proof has expired by the service's clock", async () => {
  const issued = "2026-11-18T10:00:00Z";
  const { read, messages } = sell(issued, issued, "2026-11-18T10:05:00Z");
  assert.equal((await read()).content, "Words.");
  assert.equal(messages.length, 2);
  assert.match(messages[1] ?? "", /^Issued At: 2026-11-18T10:05:00Z$/m);
});

test("a proof that has not expired is not signed again", async () => {
  const issued = "2026-11-18T10:00:00Z";
  const { read, messages } = sell(issued, issued, issued);
  await assert.rejects(read(), /Stale/);
  assert.equal(messages.length, 1);
});
