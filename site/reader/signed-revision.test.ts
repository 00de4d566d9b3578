import assert from "node:assert/strict";
import { test } from "node:test";
import { getPublicKey, signAsync } from "@noble/secp256k1";
import { buildRevision, digestOf, hashBytes, hashText } from "imprint-press";
import { verifyRevision } from "./signed-revision.ts";

const key = new Uint8Array(32).fill(17);
const author = `0x${hashBytes(getPublicKey(key, false).slice(1)).slice(-40)}` as const;
const facts = {
  service: "https://imprint.example",
  signing: { name: "Imprint", version: "1", chainId: 8453 },
};
const post = { cid: "bafkreidocument", author };

async function sign(content: string) {
  const values = { postId: "7", cid: post.cid, contentHash: hashText(content), note: "A typo." };
  const salt = buildRevision(facts, values, 1_768_469_400);
  const digest = Uint8Array.from(Buffer.from(digestOf(salt).slice(2), "hex"));
  const signed = await signAsync(digest, key, { prehash: false, format: "recovered" });
  const hex = Buffer.from(signed.slice(1)).toString("hex");
  const signature = `0x${hex}${(27 + (signed[0] ?? 0)).toString(16)}`;
  const proof = { address: author, salt: salt as never, signature };
  return { content, proof };
}

test("a correction that its author signed is verified", async () => {
  assert.equal(await verifyRevision(await sign("The ink is dry."), post), true);
});

test("a signature does not cover another text, document or author", async () => {
  const signed = await sign("The ink is dry.");
  assert.equal(await verifyRevision({ ...signed, content: "The ink is wet." }, post), false);
  assert.equal(await verifyRevision(signed, { ...post, cid: "bafkreiother" }), false);
  assert.equal(await verifyRevision(signed, { ...post, author: `0x${"22".repeat(20)}` }), false);
  assert.equal(await verifyRevision({ content: "The ink is dry." }, post), false);
});

test("a signature that the author's key did not make may be a contract wallet's", async () => {
  const { content, proof } = await sign("The ink is dry.");
  const other = await sign("Something else.");
  const forged = { ...proof, signature: other.proof.signature };
  assert.equal(await verifyRevision({ content, proof: forged }, post), null);
  assert.equal(
    await verifyRevision({ content, proof: { ...proof, signature: "0x12" } }, post),
    null,
  );
});
