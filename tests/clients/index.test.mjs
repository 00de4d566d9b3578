// The index: what a front page, a library and an author's dashboard need, each in one request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buyPost, imprint, makePost, openLocal, openStranger, refusalOf, signIn } from "./world.mjs";

/** The result of a read once it is as expected; the index follows the chain a moment later. */
async function eventually(read, isWanted) {
  for (let attempt = 0; attempt < 150; attempt++) {
    const found = await read().catch(() => undefined);
    if (found !== undefined && isWanted(found)) return found;
    await sleep(100);
  }
  throw new Error("The index did not get there.");
}

const PRICE = 10n ** 15n;

test("a post is listed, shown, bought, and then in a library and among the sales", async () => {
  const [author, reader] = [openLocal(5), openLocal(6)];
  const { postId } = await makePost(author, { content: "Listed words.", price: PRICE, hashtags: ["index"] });
  const id = postId;
  const post = await eventually(() => imprint.showPost(id), (found) => found.hosted);
  assert.equal(post.author, author.address.toLowerCase());
  assert.equal(BigInt(post.price), PRICE);
  assert.deepEqual(post.hashtags, ["index"]);
  assert.equal(post.links.self, `${imprint.url}/posts/${id}`);

  const listed = await imprint.listIndexedPosts({ tag: "index", author: author.address }).collect();
  assert.ok(listed.some((each) => each.id === id));

  const signedIn = await signIn(reader);
  const refusal = await refusalOf(signedIn.readPostContent(id));
  assert.deepEqual([refusal.status, refusal.code], [402, "payment_required"]);
  await buyPost(reader, postId, PRICE);
  assert.equal((await signedIn.readPostContent(id)).content, "Listed words.");

  const held = await eventually(
    () => signedIn.listLibrary({ limit: 1 }).collect(),
    (posts) => posts.some((each) => each.id === id),
  );
  assert.equal(held.find((each) => each.id === id).held.paid, String(PRICE));

  const authors = await signIn(author);
  const sales = await authors.listSales({ limit: 1 }).collect();
  assert.equal(sales[0].postId, id);
  assert.equal(sales[0].buyer, reader.address.toLowerCase());
  const [names, first] = (await authors.salesCsv()).split("\r\n");
  assert.equal(names, "postId,buyer,price,at,blockNumber,blockHash,transaction,title,amount,coin,receiver");
  assert.ok(first.startsWith(`${id},`));
});

test("a free post is read without a session, and an unchanged list is not sent again", async () => {
  const { postId } = await makePost(openLocal(7), { content: "Words for all.", price: 0n });
  const author = openLocal(7).address;
  await eventually(() => imprint.listIndexedPosts({ author, free: true }).page(), (page) => page.items.length > 0);
  assert.equal((await imprint.readPostContent(postId)).content, "Words for all.");
  const address = `${imprint.url}/posts?author=${author}`;
  const first = await fetch(address);
  const again = await fetch(address, { headers: { "if-none-match": first.headers.get("etag") } });
  assert.equal(again.status, 304);
});

test("an author and the marketplace have their totals", async () => {
  const { postId } = await makePost(openLocal(8));
  const { address } = openLocal(8);
  const author = await eventually(() => imprint.showAuthor(address), (found) => found.posts > 0);
  assert.equal(author.address, address.toLowerCase());
  const stats = await imprint.showStats();
  assert.ok(stats.posts >= Number(postId));
  assert.equal(stats.days.length, 90);
  const nobody = openStranger().address;
  assert.equal((await refusalOf(imprint.showAuthor(nobody))).code, "not_found");
});
