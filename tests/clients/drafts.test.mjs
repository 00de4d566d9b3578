// Drafts: written, read only by their owner, replaced and deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cover, imprint, openStranger, refusalOf, signFirst, signIn } from "./world.mjs";

test("a draft is read back unchanged", async () => {
  const wallet = openStranger();
  const content = "# Überschrift\n\n\tZeichen: “”, 墨, 🖋, \\u0000, \"quoted\"\r\n";
  const draft = await imprint.createDraft(wallet, content);
  const kept = await (await signIn(wallet)).readDraft(draft.cid);
  assert.equal(kept.content, content);
  assert.equal(kept.file.id, draft.id);
});

test("an update has a new cid in the same group, and the old one is gone", async () => {
  const wallet = openStranger();
  const first = await imprint.createDraft(wallet, "First words.");
  const second = await imprint.updateDraft(wallet, first.cid, "Second words.");
  assert.equal(second.group_id, first.group_id);
  assert.notEqual(second.cid, first.cid);
  const signedIn = await signIn(wallet);
  assert.equal((await signedIn.readDraft(second.cid)).content, "Second words.");
  assert.equal((await refusalOf(signedIn.readDraft(first.cid))).code, "not_found");
});

test("a thumbnail is public, and recoded as PNG", async () => {
  const wallet = openStranger();
  const draft = await imprint.createDraft(wallet, "Words.");
  const publication = { thumbnail: cover, hashtags: ["Essays", "#Ink"] };
  const { thumbnailCid } = await imprint.publishDraft(wallet, draft.cid, publication);
  const response = await fetch(`${imprint.url}/ipfs/${thumbnailCid}`);
  assert.equal(response.headers.get("content-type"), "image/png");
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.deepEqual([...bytes.slice(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const [file] = await imprint.listPosts({ cid: draft.cid }).collect();
  assert.deepEqual(file.hashtags, ["essays", "ink"]);
  assert.equal(file.thumbnail_cid, thumbnailCid);
});

test("a text is refused as a thumbnail", async () => {
  const wallet = openStranger();
  const draft = await imprint.createDraft(wallet, "Words.");
  const refusal = await refusalOf(imprint.publishDraft(wallet, draft.cid, { thumbnail: new Blob(["<svg/>"]), hashtags: [] }));
  assert.deepEqual([refusal.status, refusal.code], [415, "unsupported_media_type"]);
});

test("a deleted draft is gone", async () => {
  const wallet = openStranger();
  const draft = await imprint.createDraft(wallet, "Words.");
  assert.deepEqual(await imprint.deleteDraft(wallet, draft.cid), { id: draft.id, status: "deleted" });
  const signedIn = await signIn(wallet);
  assert.equal((await refusalOf(signedIn.readDraft(draft.cid))).code, "not_found");
});

test("a repeated write is refused with the file that it made", async () => {
  const wallet = openStranger();
  const body = { ...(await signFirst(wallet, "create")), content: "Once." };
  const { updatedUpload: draft } = await imprint.send("/create/group", body);
  const refusal = await refusalOf(imprint.send("/create/group", body));
  assert.deepEqual([refusal.status, refusal.code], [409, "nonce_used"]);
  assert.equal(refusal.problem.file.cid, draft.cid);
});

test("a repeated delete is refused without a file", async () => {
  const wallet = openStranger();
  const draft = await imprint.createDraft(wallet, "Words.");
  const body = await signFirst(wallet, "delete");
  await imprint.send(`/delete/file?cid=${draft.cid}`, body);
  const refusal = await refusalOf(imprint.send(`/delete/file?cid=${draft.cid}`, body));
  assert.deepEqual([refusal.status, refusal.code, refusal.problem.file], [409, "nonce_used", null]);
});

for (const [act, attempt] of [
  ["update", (stranger, cid) => imprint.updateDraft(stranger, cid, "Stolen words.")],
  ["publish", (stranger, cid) => imprint.publishDraft(stranger, cid, { thumbnail: cover, hashtags: [] })],
  ["delete", (stranger, cid) => imprint.deleteDraft(stranger, cid)],
  ["read", async (stranger, cid) => (await signIn(stranger)).readDraft(cid)],
]) {
  test(`a stranger may not ${act} a draft`, async () => {
    const draft = await imprint.createDraft(openStranger(), "Private words.");
    const refusal = await refusalOf(attempt(openStranger(), draft.cid));
    assert.deepEqual([refusal.status, refusal.code], [403, "not_owner"]);
  });
}

test("a refusal is a problem document with a sentence for people", async () => {
  const response = await fetch(`${imprint.url}/fileByCid?cid=nonsense`);
  const problem = await response.json();
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(problem.status, response.status);
  assert.equal(problem.error, problem.detail);
  for (const member of ["type", "title", "detail", "code"]) assert.equal(typeof problem[member], "string");
});

test("a protected read without a session is refused with a hint to log in", async () => {
  const draft = await imprint.createDraft(openStranger(), "Private words.");
  const response = await fetch(`${imprint.url}/fileByCid?cid=${draft.cid}`);
  assert.equal(response.status, 401);
  assert.match(response.headers.get("www-authenticate"), /^Bearer/);
  assert.equal((await response.json()).code, "session_missing");
});
