// The client compared with the description of the service: every operation has a method, every code
// a name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CODES, Imprint, POST_LIMITS, ProviderError, Unreachable, documentCid } from "imprint-press";
import { toFunctionSelector } from "viem";
import { createPost, imprint, openLocal, openStranger } from "./world.mjs";

const { paths, components } = await imprint.getOpenapi();

/** Deliveries are for providers. */
const isForClients = ({ tags }) => !tags.includes("Deliveries");

const operations = Object.values(paths).flatMap((methods) => Object.values(methods)).filter(isForClients);

test("every operation of the description has a method of its name", () => {
  assert.ok(operations.length > 40);
  const missing = operations.map(({ operationId }) => operationId).filter((name) => !(name in Imprint.prototype));
  assert.deepEqual(missing, []);
});

test("the client knows exactly the service's refusal codes", () => {
  assert.deepEqual([...CODES].sort(), [...components.schemas.ProblemCode.enum].sort());
});

test("reads without arguments return what they promise", async () => {
  for (const [name, wanted] of [
    ["getFeedAtom", /<feed/],
  ]) {
    assert.match(await imprint[name](), wanted, name);
  }
  assert.equal((await imprint.checkHealth()).status, "alive");
  assert.equal((await imprint.getMarketplace()).address, imprint.facts.chain.marketplace.toLowerCase());
});

const POST = {
  title: "t".repeat(POST_LIMITS.titleBytes),
  description: "d".repeat(POST_LIMITS.descriptionBytes),
  price: POST_LIMITS.priceWei,
  hashtags: Array.from({ length: POST_LIMITS.hashtags }, (_, number) => `tag${number}`),
};

/**
 * Create a post of a document that is stored nowhere, since the contract accepts each cid once.
 */
async function create(post) {
  const cid = await documentCid(crypto.getRandomValues(new Uint8Array(16)));
  return createPost(openLocal(9), { ...post, cid, thumbnailCid: cid });
}

test("the contract accepts a post at its limits", async () => {
  assert.match(await create(POST), /^[0-9]+$/);
});

for (const [what, beyond, error] of [
  ["title", { title: `${POST.title}t` }, "TitleTooLong(uint256,uint256)"],
  ["description", { description: `${POST.description}d` }, "DescriptionTooLong(uint256,uint256)"],
  ["price", { price: POST.price + 1n }, "PriceTooHigh(uint256,uint256)"],
  ["list of hashtags", { hashtags: [...POST.hashtags, "more"] }, "TooManyHashtags(uint256,uint256)"],
]) {
  test(`the contract refuses a ${what} above its limit`, async () => {
    const selector = toFunctionSelector(error);
    await assert.rejects(create({ ...POST, ...beyond }), (thrown) => {
      assert.ok(thrown instanceof ProviderError);
      assert.ok(String(thrown.data).startsWith(selector), thrown.message);
      return true;
    });
  });
}

test("derived clients share one clock", async () => {
  const client = await Imprint.connect(imprint.url);
  const { signal } = new AbortController();
  for (const each of [client.as(null), client.within(signal), client]) {
    each.setClock(1_000_000_000);
    assert.ok(Math.abs(client.as(null).within(signal).now() - 1_000_000_000) < 60);
    client.setClock(imprint.now());
  }
});

test("a login with a derived client does not affect the original", async () => {
  const client = await Imprint.connect(imprint.url);
  const session = await client.login(openStranger());
  const other = client.within(new AbortController().signal);
  assert.equal(other.session, session);
  assert.equal(await other.login(openStranger()), other.session);
  assert.equal(client.session, session);
  await other.logout();
  assert.deepEqual([other.session, client.session], [null, session]);
});

test("waiting for a post ends with its signal, and with that of the client", async () => {
  const reason = new Error("Enough.");
  const { cid } = await imprint.createDraft(openStranger(), "Never published.");
  const wait = (client, given) => client.waitForPost(cid, { everyMs: 2 ** 30, ...given });
  const [own, given] = [new AbortController(), new AbortController()];
  const waiting = [wait(imprint, { signal: given.signal }), wait(imprint.within(own.signal), {})];
  setTimeout(() => [own, given].forEach((each) => each.abort(reason)), 100);
  await Promise.all(waiting.map((each) => assert.rejects(each, reason)));
});

test("an address without a listener is unreachable", async () => {
  await assert.rejects(Imprint.connect("http://127.0.0.1:1"), Unreachable);
});

test("a request is aborted by its signal, with the signal's reason", async () => {
  const reason = new Error("Enough.");
  await assert.rejects(imprint.within(AbortSignal.abort(reason)).checkHealth(), reason);
});
