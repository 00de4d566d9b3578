// Paying over HTTP: the published x402 clients as they are, and Imprint's own call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSIWxClientHook } from "@x402/extensions/sign-in-with-x";
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch";
import { Imprint, InvalidOffer, Refusal, TooExpensive, balanceOf, walletOfAccount } from "imprint-press";
import { ImprintSubscribeScheme } from "imprint-press/x402";
import { keccak256 } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { MNEMONIC, buyPost, eventually, imprint, makePost, node, openLocal } from "./world.mjs";

const PRICE = 10n ** 15n;
const { id: chainId, marketplace } = imprint.facts.chain;
const accountOf = (addressIndex) => mnemonicToAccount(MNEMONIC, { addressIndex });
const addressOf = (postId, end = "/content") => `${imprint.url}/posts/${postId}${end}`;
const holds = async (wallet, postId) => (await balanceOf(node, marketplace, wallet.address, postId)) > 0n;

/** A wallet that counts what it signs and sends. */
function watch(wallet) {
  const seen = { messages: [], calls: [] };
  const watched = {
    ...wallet,
    signMessage: (message) => (seen.messages.push(message), wallet.signMessage(message)),
    sendTransaction: (call) => (seen.calls.push(call), wallet.sendTransaction(call)),
  };
  return { wallet: watched, seen };
}

/** A wallet whose transactions reach the node only when they are released. */
function openSlow(addressIndex, onSent = () => {}) {
  const held = [];
  const request = async ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return node.request({ method, params });
    held.push(params[0]);
    onSent();
    return keccak256(params[0]);
  };
  const release = () => Promise.all(held.splice(0).map((raw) => node.request({ method: "eth_sendRawTransaction", params: [raw] })));
  return { ...watch(walletOfAccount(accountOf(addressIndex), { request })), release };
}

/** The client of a service whose offers are changed on the way. */
function tampered(change) {
  const fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    const header = response.headers.get("PAYMENT-REQUIRED");
    if (!header) return response;
    const offer = JSON.parse(Buffer.from(header, "base64").toString());
    change(offer.accepts[0], offer);
    const headers = new Headers(response.headers);
    headers.set("PAYMENT-REQUIRED", Buffer.from(JSON.stringify(offer)).toString("base64"));
    return new Response(await response.text(), { status: 402, headers });
  };
  return new Imprint(imprint.url, imprint.facts, { fetch });
}

const openScheme = (wallet, options = {}) =>
  new ImprintSubscribeScheme({ service: imprint.url, chainId, marketplace, wallet, node, max: PRICE, ...options });

/** `@x402/fetch` with the scheme; payments in the coin of the chain are allowed. */
function openPaying(scheme) {
  const client = new x402Client().register(scheme.network, scheme);
  client.setSpendControls({ allowedAssets: [{ network: scheme.network, asset: "native" }] });
  return wrapFetchWithPayment(fetch, client);
}

test("a holder reads with the published client, which only signs", async () => {
  const { postId } = await makePost(openLocal(1));
  await buyPost(openLocal(2), postId, PRICE);
  const client = new x402HTTPClient(new x402Client()).onPaymentRequired(createSIWxClientHook(accountOf(2)));
  const reading = wrapFetchWithPayment(fetch, client);
  const response = await reading(addressOf(postId));
  assert.equal(response.status, 200);
  assert.equal((await response.json()).content, "Words for sale.");
  await eventually(() => imprint.showPost(postId));
  assert.match(await (await reading(addressOf(postId, ".md"))).text(), /Words for sale\./);
});

test("the published client buys a post with the scheme, and reads it", async () => {
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen } = watch(openLocal(3));
  const scheme = openScheme(wallet);
  const response = await openPaying(scheme)(addressOf(postId));
  assert.equal(response.status, 200);
  assert.equal((await response.json()).content, "Words for sale.");
  const paid = JSON.parse(Buffer.from(response.headers.get("PAYMENT-RESPONSE"), "base64").toString());
  assert.deepEqual([paid.success, paid.payer, paid.amount], [true, wallet.address.toLowerCase(), String(PRICE)]);
  assert.deepEqual(seen.calls.map(({ to, value, chainId }) => [to, value, chainId]), [[marketplace, PRICE, chainId]]);

  await eventually(() => imprint.showPost(postId));
  assert.equal((await openPaying(scheme)(addressOf(postId, ".md"))).status, 200);
  // Another process does not know the purchase, but asks the node.
  assert.equal((await openPaying(openScheme(wallet))(addressOf(postId))).status, 200);
  assert.equal(seen.calls.length, 1);
});

test("the published client refuses the coin of the chain unless it is allowed", async () => {
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen } = watch(openLocal(3));
  const scheme = openScheme(wallet);
  const paying = wrapFetchWithPayment(fetch, new x402Client().register(scheme.network, scheme));
  await assert.rejects(paying(addressOf(postId)), /spendControls/);
  assert.deepEqual(seen, { messages: [], calls: [] });
});

test("the scheme spends its limit on all posts together, and not more", async () => {
  const posts = [await makePost(openLocal(1)), await makePost(openLocal(1), { content: "More words." })];
  const { wallet, seen } = watch(openLocal(3));
  const paying = openPaying(openScheme(wallet, { max: 2n * PRICE - 1n }));
  const outcomes = await Promise.allSettled(posts.map(({ postId }) => paying(addressOf(postId))));
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.match(outcomes.find(({ reason }) => reason).reason.message, /may be paid/);
  assert.equal(seen.calls.length, 1);
});

test("the scheme continues a pending purchase, and does not repeat it", async () => {
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen, release } = openSlow(4);
  const paying = openPaying(openScheme(wallet, { waitMs: 100 }));
  const pending = await paying(addressOf(postId));
  assert.equal(pending.status, 402);
  assert.equal(pending.headers.get("Retry-After"), "2");
  await release();
  assert.equal((await paying(addressOf(postId))).status, 200);
  assert.equal(seen.calls.length, 1);
});

test("one call pays and reads, and a second one only reads", async () => {
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen } = watch(openLocal(5));
  const refusal = await imprint.read(postId, { wallet }).catch((error) => error);
  assert.ok(refusal instanceof Refusal);
  assert.equal(refusal.code, "payment_required");
  await assert.rejects(imprint.read(postId, { wallet, pay: true, max: PRICE - 1n }), TooExpensive);
  await assert.rejects(imprint.read(postId, { wallet, pay: true }), TypeError);
  assert.equal(seen.calls.length, 0);

  assert.equal((await imprint.read(postId, { wallet, pay: true, max: PRICE })).content, "Words for sale.");
  assert.equal((await imprint.read(postId, { wallet })).content, "Words for sale.");
  assert.equal((await imprint.read(postId, { wallet, pay: true, max: 0n })).content, "Words for sale.");
  assert.equal(seen.calls.length, 1);
  assert.equal(imprint.session, null);
});

test("a free post is read without a signature", async () => {
  const { postId } = await makePost(openLocal(1), { price: 0n, content: "For all." });
  const { wallet, seen } = watch(openLocal(5));
  assert.equal((await imprint.read(postId, { wallet, pay: true, max: 0n })).content, "For all.");
  assert.equal((await imprint.read(postId)).content, "For all.");
  assert.deepEqual(seen, { messages: [], calls: [] });
});

test("a read that ended while its purchase was pending is continued", async () => {
  const { postId } = await makePost(openLocal(1));
  const ending = new AbortController();
  const { wallet, seen, release } = openSlow(6, () => setTimeout(() => ending.abort(), 100));
  const client = new Imprint(imprint.url, imprint.facts);
  const impatient = { wallet, pay: true, max: PRICE, signal: ending.signal };
  await assert.rejects(client.read(postId, impatient), { name: "AbortError" });
  assert.equal(seen.calls.length, 1);
  await release();
  assert.equal((await client.read(postId, { wallet, pay: true, max: PRICE })).content, "Words for sale.");
  assert.equal(seen.calls.length, 1);
});

test("a client that is asked to pay again does not", async () => {
  const greedy = { onRequest: null };
  const offering = (input) => (greedy.onRequest(), fetch(input));
  greedy.client = new Imprint(imprint.url, imprint.facts, { fetch: offering });
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen } = watch(openLocal(7));
  for (const requests of [5, 5]) {
    const ending = new AbortController();
    let left = requests;
    // A new offer for every request, whatever the client sends.
    greedy.onRequest = () => (left -= 1) || ending.abort();
    const read = greedy.client.read(postId, { wallet, pay: true, max: PRICE, signal: ending.signal });
    await assert.rejects(read, { name: "AbortError" });
  }
  assert.equal(seen.calls.length, 1);
  assert.ok(await holds(wallet, postId));
});

const OTHER = "0x000000000000000000000000000000000000dead";
const TAMPERED = {
  "another contract as receiver": (entry) => { entry.payTo = OTHER; },
  "a call of another contract": (entry) => { entry.extra.call.to = OTHER; },
  "another call": (entry) => { entry.extra.call.data = entry.extra.call.data.replace(/^0x......../, "0xa9059cbb"); },
  "a call for another post": (entry) => { entry.extra.call.data = entry.extra.call.data.replace(/..$/, "ff"); },
  "another post": (entry) => { entry.extra.call.args = ["999"]; },
  "a value above the amount": (entry) => { entry.extra.call.value = String(2n * PRICE); },
  "an amount that is no number": (entry) => { entry.amount = entry.extra.call.value = "1e3"; },
  "a negative amount": (entry) => { entry.amount = entry.extra.call.value = "-1"; },
  "another chain": (entry) => { entry.network = "eip155:1"; },
  "another asset": (entry) => { entry.asset = OTHER; },
  "another flow": (entry) => { entry.extra.paymentFlow = "escrow"; },
  "no call": (entry) => { delete entry.extra.call; },
  "no terms": (entry) => { entry.extra = null; },
  "a login": (entry) => { entry.extra.signIn.uri = imprint.url; },
  "a proof for another post": (entry) => { entry.extra.signIn.uri = addressOf("999"); },
  "a proof for another service": (entry) => { entry.extra.signIn.uri = entry.extra.signIn.uri.replace(/\/\/[^/]*/, "//bank.example"); },
  "the domain of another service": (entry) => { entry.extra.signIn.domain = "bank.example"; },
  "a statement of two lines": (entry) => { entry.extra.signIn.statement = "Read.\n\nURI: https://bank.example"; },
  "a nonce with a line break": (entry) => { entry.extra.signIn.nonce += "\nResources:"; },
  "a time with a line break": (entry) => { entry.extra.signIn.expirationTime += "\nResources:"; },
  "no sign-in": (entry) => { delete entry.extra.signIn; },
  "no entry": (_, offer) => { offer.accepts = []; },
};

test("an offer that was tampered with is neither signed nor paid", async (context) => {
  const { postId } = await makePost(openLocal(1));
  const { wallet, seen } = watch(openLocal(8));
  const original = JSON.parse(
    Buffer.from((await fetch(addressOf(postId))).headers.get("PAYMENT-REQUIRED"), "base64").toString(),
  );
  for (const [name, change] of Object.entries(TAMPERED))
    await context.test(name, async () => {
      const read = tampered(change).read(postId, { wallet, pay: true, max: 10n * PRICE });
      await assert.rejects(read, InvalidOffer);
      const offer = structuredClone(original);
      change(offer.accepts[0], offer);
      await assert.rejects(openScheme(wallet).createPaymentPayload(2, offer.accepts[0]), InvalidOffer);
      assert.deepEqual(seen, { messages: [], calls: [] });
    });
  assert.equal(await holds(wallet, postId), false);
});

test("a wallet that pays on another chain refuses", async () => {
  const { postId } = await makePost(openLocal(1));
  const elsewhere = { request: (args) => (args.method === "eth_chainId" ? "0x1" : node.request(args)) };
  const wallet = walletOfAccount(accountOf(8), elsewhere);
  await assert.rejects(imprint.read(postId, { wallet, pay: true, max: PRICE }), { name: "ProviderError" });
  assert.equal(await holds(wallet, postId), false);
});
