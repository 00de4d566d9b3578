// Lists: read to their end, page by page, with every file seen once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { imprint, makePost, openLocal, openStranger, refusalOf, signIn } from "./world.mjs";

const cids = (files) => files.map(({ cid }) => cid);

async function repeat(count, make) {
  const made = [];
  for (let turn = 0; turn < count; turn += 1) made.push(await make(turn));
  return made;
}

test("an owner's drafts are listed to the end, newest first, while more are written", async () => {
  const wallet = openStranger();
  const made = await repeat(26, (turn) => imprint.createDraft(wallet, `Draft ${turn}`));
  const signedIn = await signIn(wallet);
  const seen = [];
  for await (const file of signedIn.listDrafts()) {
    seen.push(file);
    if (seen.length === 13) await imprint.createDraft(wallet, "Written meanwhile.");
  }
  assert.deepEqual(cids(seen), cids(made).reverse());
});

test("a page has twelve drafts, and the next ones nine", async () => {
  const wallet = openStranger();
  await repeat(25, (turn) => imprint.createDraft(wallet, `Draft ${turn}`));
  const signedIn = await signIn(wallet);
  const sizes = [];
  for await (const { items } of signedIn.listDrafts().pages()) sizes.push(items.length);
  assert.deepEqual(sizes, [12, 9, 4]);
});

test("nobody lists somebody else's drafts", async () => {
  const owner = openStranger().address;
  const signedIn = await signIn(openStranger());
  const refusal = await refusalOf(signedIn.listDrafts({ owner }).page());
  assert.deepEqual([refusal.status, refusal.code], [403, "subject_mismatch"]);
});

test("posts are listed by all of their tags, to the end, and in the list of all", async () => {
  const wallet = openLocal(9);
  const tag = `t${Date.now()}`;
  const made = await repeat(11, (turn) =>
    makePost(wallet, { content: `Post ${turn}`, hashtags: turn < 10 ? [tag, "essays"] : [tag] }),
  );
  const posts = cids(made.map(({ file }) => file));
  const tagged = await imprint.listPostsByTags([tag]).collect();
  assert.deepEqual(cids(tagged), posts.toReversed());
  const both = await imprint.listPostsByTags(["essays", tag]).collect();
  assert.deepEqual(cids(both), posts.slice(0, 10).toReversed());
  const all = cids(await imprint.listPosts().collect());
  assert.deepEqual(all.filter((cid) => posts.includes(cid)), posts.toReversed());
  assert.equal(new Set(all).size, all.length);
});

test("a list by tags names the tags and how many it shows", async () => {
  const response = await imprint.get("/filesByTags", { tags: "#Nobody, used-this" });
  assert.deepEqual(response, { files: [], count: 0, tags: ["nobody", "used-this"], next_page_token: null });
});

test("drafts are not in public lists", async () => {
  const draft = await imprint.createDraft(openStranger(), "Private words.");
  assert.ok(!cids(await imprint.listPosts().collect()).includes(draft.cid));
});

test("a page token that was changed is refused", async () => {
  const wallet = openStranger();
  await repeat(13, (turn) => imprint.createDraft(wallet, `Draft ${turn}`));
  const signedIn = await signIn(wallet);
  const { nextPageToken: token } = await signedIn.listDrafts().page();
  const changed = token.slice(0, 20) + (token[20] === "A" ? "B" : "A") + token.slice(21);
  const refusal = await refusalOf(imprint.listNextPage(changed));
  assert.deepEqual([refusal.status, refusal.code], [400, "invalid_page_token"]);
});
