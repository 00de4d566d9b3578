// Posts: published on the chain by the wallet, discovered by the service, read by entitled readers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buyPost, cover, createPost, imprint, makePost, openLocal, openStranger, openUnlocked, refusalOf, signIn } from "./world.mjs";

for (const [how, open] of [
  ["a private key", openLocal],
  ["a node's account", openUnlocked],
]) {
  test(`a post that ${how} publishes is read by a buyer with the same`, async () => {
    const [author, reader] = [open(5), open(6)];
    const price = 10n ** 15n;
    const { postId, file } = await makePost(author, { content: "Words for sale.", price, hashtags: ["sale"] });
    assert.equal(file.post_id, postId);
    assert.deepEqual(file.hashtags, ["sale"]);
    assert.match(file.tx_hash, /^0x[0-9a-f]{64}$/);

    const signedIn = await signIn(reader);
    const refusal = await refusalOf(signedIn.readPost(postId));
    assert.deepEqual([refusal.status, refusal.code], [403, "not_entitled"]);

    await buyPost(reader, postId, price);
    const read = await signedIn.readPost(postId);
    assert.equal(read.content, "Words for sale.");
    assert.equal(read.file.cid, file.cid);
  });
}

test("an author reads without buying", async () => {
  const author = openLocal(5);
  const { postId } = await makePost(author, { content: "My own words." });
  assert.equal((await (await signIn(author)).readPost(postId)).content, "My own words.");
});

test("a free post is read by everybody, with a session and without", async () => {
  const { postId } = await makePost(openLocal(5), { content: "Words for all.", price: 0n });
  assert.equal((await imprint.readFreePost(postId)).content, "Words for all.");
  const signedIn = await signIn(openStranger());
  assert.equal((await signedIn.readPost(postId)).content, "Words for all.");
});

test("a paid post is not free", async () => {
  const { postId } = await makePost(openLocal(5));
  const refusal = await refusalOf(imprint.readFreePost(postId));
  assert.deepEqual([refusal.status, refusal.code], [403, "not_free"]);
});

test("a session reads only for its own address", async () => {
  const reader = openStranger();
  const { postId } = await makePost(openLocal(5));
  const signedIn = await signIn(reader);
  const author = openLocal(5).address;
  const refusal = await refusalOf(signedIn.readPost(postId, author));
  assert.deepEqual([refusal.status, refusal.code], [403, "subject_mismatch"]);
});

test("a post is no longer a draft", async () => {
  const author = openLocal(5);
  const { file } = await makePost(author);
  const signedIn = await signIn(author);
  assert.equal((await refusalOf(signedIn.readDraft(file.cid))).code, "not_found");
  for (const attempt of [
    () => imprint.updateDraft(author, file.cid, "Other words."),
    () => imprint.publishDraft(author, file.cid, { thumbnail: cover, hashtags: [] }),
  ]) {
    const refusal = await refusalOf(attempt());
    assert.deepEqual([refusal.status, refusal.code], [409, "not_pending"]);
  }
  const refusal = await refusalOf(imprint.deleteDraft(author, file.cid));
  assert.deepEqual([refusal.status, refusal.code], [409, "already_onchain"]);
});

test("a stranger who publishes a draft's cid gains nothing, and its owner loses nothing", async () => {
  const owner = openStranger();
  const draft = await imprint.createDraft(owner, "Private words.");
  const thief = openLocal(7);
  const stolen = { cid: draft.cid, title: "Stolen", thumbnailCid: draft.cid };
  const postId = await createPost(thief, stolen);
  await makePost(openLocal(8)); // deliveries come in order: when this one has, so has the other
  assert.equal((await refusalOf(imprint.readFreePost(postId))).code, "not_found");
  assert.equal((await refusalOf((await signIn(thief)).readPost(postId))).code, "not_found");
  assert.equal((await imprint.updateDraft(owner, draft.cid, "Still mine.")).keyvalues.status, "pending");
});

test("a post that nobody created is not found", async () => {
  assert.equal((await refusalOf(imprint.readFreePost(2n ** 255n))).code, "not_found");
});
