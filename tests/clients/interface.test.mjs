// The client beside the description of the service: every operation has a method, every code a name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CODES, Imprint, POST_LIMITS, Unreachable } from "imprint-press";
import { imprint } from "./world.mjs";

const { paths, components } = await imprint.getOpenapi();

/** Deliveries are for providers, and pages are for browsers. */
function isForClients({ tags, responses }) {
  const kinds = Object.keys(responses["200"]?.content ?? { "application/json": {} });
  return !tags.includes("Deliveries") && kinds.some((kind) => kind !== "text/html");
}

const operations = Object.values(paths)
  .flatMap((methods) => Object.values(methods))
  .filter((operation) => operation.operationId && isForClients(operation));

test("every operation of the description has a method of its name", () => {
  assert.ok(operations.length > 40);
  const missing = operations.map(({ operationId }) => operationId).filter((name) => !(name in Imprint.prototype));
  assert.deepEqual(missing, []);
});

test("the client knows exactly the codes that the service may refuse with", () => {
  assert.deepEqual([...CODES].sort(), [...components.schemas.ProblemCode.enum].sort());
});

test("reads that need nothing give what they say", async () => {
  for (const [name, wanted] of [
    ["getFeedAtom", /<feed/],
    ["getLlmsText", /^# /],
    ["getRobotsText", /User-agent/],
    ["getSitemap", /<sitemapindex/],
    ["getDocs", /<html/],
  ]) {
    assert.match(await imprint[name](), wanted, name);
  }
  assert.equal((await imprint.checkHealth()).status, "alive");
  assert.equal((await imprint.getMarketplace()).address, imprint.facts.chain.marketplace.toLowerCase());
});

test("the limits of a post are those of the contract", async () => {
  const { abi } = await imprint.getMarketplace();
  assert.ok(abi.some(({ name }) => name === "createPost"));
  assert.equal(POST_LIMITS.hashtags, imprint.facts.limits.hashtags);
});

test("an address where nothing listens is unreachable", async () => {
  await assert.rejects(Imprint.connect("http://127.0.0.1:1"), Unreachable);
});

test("a request is ended by its signal, with the signal's reason", async () => {
  const reason = new Error("Enough.");
  await assert.rejects(imprint.within(AbortSignal.abort(reason)).checkHealth(), reason);
});
