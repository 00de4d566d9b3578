// The index: what a front page, a library and an author's dashboard need, each in one request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { imprint, makePost, openLocal, openStranger, refusalOf } from "./world.mjs";

/** What a read gives once it is as wanted; the index follows the chain a moment later. */
async function eventually(read, isWanted) {
  for (let attempt = 0; attempt < 150; attempt++) {
    const found = await read().catch(() => undefined);
    if (found !== undefined && isWanted(found)) return found;
    await sleep(100);
  }
  throw new Error("The index did not get there.");
}

const PRICE = 10n ** 15n;

/** All pages of a list. */
async function walk(path, member, query, session) {
  const found = [];
  let page = await imprint.read(path, query, session);
  for (;;) {
    found.push(...page[member]);
    if (page.next_page_token === null) return found;
    page = await imprint.read(path, { next_page_token: page.next_page_token }, session);
  }
}

test("a post is listed, shown, bought, and then in a library and among the sales", async () => {
  const [author, reader] = [openLocal(5), openLocal(6)];
  const { postId } = await makePost(author, { content: "Listed words.", price: PRICE, hashtags: ["index"] });
  const id = String(postId);
  const post = await eventually(() => imprint.read(`/posts/${id}`), (found) => found.hosted);
  assert.equal(post.author, author.account.address.toLowerCase());
  assert.equal(BigInt(post.price), PRICE);
  assert.deepEqual(post.hashtags, ["index"]);
  assert.equal(post.links.self, `${imprint.url}/posts/${id}`);

  const listed = await imprint.read("/posts", { tag: "index", author: author.account.address });
  assert.ok(listed.posts.some((each) => each.id === id));

  const session = await imprint.signIn(reader);
  const refusal = await refusalOf(imprint.read(`/posts/${id}/content`, {}, session));
  assert.deepEqual([refusal.status, refusal.code], [403, "not_entitled"]);
  await imprint.buyPost(reader, postId, PRICE);
  assert.equal((await imprint.read(`/posts/${id}/content`, {}, session)).content, "Listed words.");

  const held = await eventually(
    () => walk("/me/library", "posts", { limit: 1 }, session),
    (posts) => posts.some((each) => each.id === id),
  );
  assert.equal(held.find((each) => each.id === id).held.paid, String(PRICE));

  const authors = await imprint.signIn(author);
  const sales = await walk("/me/sales", "sales", { limit: 1 }, authors);
  assert.equal(sales[0].postId, id);
  assert.equal(sales[0].buyer, reader.account.address.toLowerCase());
  const table = await fetch(`${imprint.url}/me/sales`, {
    headers: { authorization: `Bearer ${authors.token}`, accept: "text/csv" },
  });
  const [names, first] = (await table.text()).split("\r\n");
  assert.equal(names, "postId,buyer,price,at,blockNumber,blockHash,transaction");
  assert.ok(first.startsWith(`${id},`));
});

test("a free post is read without a session, and an unchanged list is not sent again", async () => {
  const { postId } = await makePost(openLocal(7), { content: "Words for all.", price: 0n });
  const author = openLocal(7).account.address;
  await eventually(() => imprint.read("/posts", { author, free: true }), (page) => page.posts.length > 0);
  assert.equal((await imprint.read(`/posts/${postId}/content`)).content, "Words for all.");
  const address = `${imprint.url}/posts?author=${author}`;
  const first = await fetch(address);
  const again = await fetch(address, { headers: { "if-none-match": first.headers.get("etag") } });
  assert.equal(again.status, 304);
});

test("an author and the marketplace have their totals", async () => {
  const { postId } = await makePost(openLocal(8));
  const { address } = openLocal(8).account;
  const author = await eventually(() => imprint.read(`/authors/${address}`), (found) => found.posts > 0);
  assert.equal(author.address, address.toLowerCase());
  const stats = await imprint.read("/stats");
  assert.ok(stats.posts >= Number(postId));
  assert.equal(stats.days.length, 90);
  const nobody = openStranger().account.address;
  assert.equal((await refusalOf(imprint.read(`/authors/${nobody}`))).code, "not_found");
});
