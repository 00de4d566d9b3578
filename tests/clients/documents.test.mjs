// Runs the code of the docs about the client, in the environment of a page.
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as client from "imprint-press";
import * as utils from "viem/utils";
import { imprint, node, openUnlocked, origin } from "./world.mjs";

const packages = { "imprint-press": client, "viem/utils": utils };
const AsyncFunction = (async () => {}).constructor;

/** The blocks of JavaScript in a page, for the service of this test. */
async function readBlocks(page) {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  return blocks.map((code) => code.replaceAll("http://127.0.0.1:8000", imprint.url));
}

/** The names that a block declares, after running it with these names in scope. */
async function run(code, around) {
  const body = code.replace(/^import (\{.*?\}) from "(.*?)";$/gms, 'const $1 = packages["$2"];');
  const declared = [...code.matchAll(/^(?:const|let) (\w+) =/gm)].map(([, name]) => name);
  const given = { packages, ...around };
  const block = new AsyncFunction(...Object.keys(given), `{ ${body}\nreturn { ${declared} }; }`);
  return block(...Object.values(given));
}

/** What a page has in scope: a wallet, its origin, and what the text before a block mentions. */
async function openPage() {
  const wallet = openUnlocked(6);
  const content = "# Hello";
  const { cid } = await imprint.createDraft(wallet, content);
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const unixSeconds = imprint.now();
  const { address } = wallet;
  const [domainSeparator, hashOfMessage] = [utils.keccak256("0x01"), utils.keccak256("0x02")];
  const window = { ethereum: node };
  return { window, address, location: { origin }, unixSeconds, cid, content, avatar: "none", privateKey, publicKey, domainSeparator, hashOfMessage };
}

test("the code for front ends runs, from the first block to the last", async () => {
  const blocks = await readBlocks("docs/front-ends.md");
  assert.equal(blocks.length, 9);
  const page = await openPage();
  for (const block of blocks) Object.assign(page, await run(block, page));
  assert.equal(page.session.address, page.address.toLowerCase());
  assert.equal(page.typedData.message.cid, page.cid);
  assert.equal(page.draft.keyvalues.owner, page.address.toLowerCase());
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  assert.ok(await crypto.subtle.verify(algorithm, page.publicKey, page.signature, page.bytes));
  assert.equal(page.imprint.session, null);
  await assert.rejects(page.writing.save("After."), client.WalletNeeded);
});

test("the code of the README runs", async () => {
  const [block, ...others] = await readBlocks("README.md");
  assert.deepEqual(others, []);
  const said = [];
  await run(block, { console: { log: (line) => said.push(line) } });
  assert.deepEqual(said, ["# Hello, again"]);
});
