import assert from "node:assert/strict";
import { test } from "node:test";
import { documentCid } from "imprint-press";
import { ElementDouble, standInForPage } from "../page/page-double.ts";

standInForPage({ chain: { id: 31337, marketplace: "0x01" }, signing_forms: ["imprint-2"] });
Object.assign(globalThis.document, { createElement: (tag: string) => new ElementDouble(tag) });
Object.assign(globalThis, { window: new EventTarget(), isSecureContext: true, fetch: respond });
const { showProof } = await import("./proof.ts");

const BYTES = new TextEncoder().encode("The ink is dry.");

/** The service, which cannot read its index at the moment. */
async function respond(url: string): Promise<Response> {
  if (url.endsWith("/document")) return new Response(BYTES);
  const problem = { code: "unavailable", status: 503, detail: "", title: "", type: "" };
  return Response.json(problem, { status: 503 });
}

/** Check a post with this CID in the browser, and return the element with the result. */
async function verify(cid: string): Promise<ElementDouble> {
  const place = new ElementDouble();
  const dataset = { id: "7", cid, author: "0xA1", free: "true", hosted: "true" };
  showProof({ dataset } as never, place as never);
  place.querySelector("button")?.click();
  const result = place.querySelector(".proof-result") ?? assert.fail();
  // Hashing takes place in another thread.
  for (let turn = 0; turn < 5000 && !result.dataset.kind; turn += 1)
    await new Promise((resolve) => setTimeout(resolve, 1));
  return result;
}

test("the bytes are verified even if the service cannot send the proof for the chain", async () => {
  const result = await verify(await documentCid(BYTES));
  assert.equal(result.dataset.kind, "good", result.textContent);
  assert.match(result.textContent, /^Verified: .* this browser hasn’t checked/);
});

test("bytes that do not match are reported even without a proof", async () => {
  const result = await verify(await documentCid(new Uint8Array(1)));
  assert.equal(result.dataset.kind, "bad");
  assert.match(result.textContent, /bytes that don’t match/);
});
