// From a draft to a reader, with the types of openapi-typescript and the client openapi-fetch.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";
import { until, Wallet } from "./wallet.js";

type Problem = components["schemas"]["Problem"];
type ReadRecord = components["schemas"]["ReadRecord"];

const [url, cover] = process.argv.slice(2) as [string, string];
const api = createClient<paths>({ baseUrl: url });
const picture = new Blob([await readFile(cover)], { type: "image/png" });
const price = 10n ** 15n;

/** The data of a response; throws the problem if the service refused. */
function taken<T>({ data, error }: { data?: T; error?: Problem }): T {
  if (data === undefined) throw new Error(`refused: ${error?.code} ${error?.detail}`);
  return data;
}

/** The problem of a response; throws if the service did not refuse. */
function refused({ error }: { data?: unknown; error?: Problem }): Problem {
  if (error === undefined) throw new Error("The service did not refuse.");
  return error;
}

const facts = taken(await api.GET("/.well-known/imprint.json"));
const [alice, bob] = [new Wallet(facts, 1), new Wallet(facts, 2)];

async function login(wallet: Wallet) {
  const session = taken(await api.POST("/auth/login", { body: await wallet.signLogin(url) }));
  assert.equal(session.address, wallet.address.toLowerCase());
  return { Authorization: `Bearer ${session.token}` };
}

/** A form in which each text is a Blob, as a page sends JSON with its media type. */
function writeForm(form: components["schemas"]["PublishForm"]): FormData {
  const written = new FormData();
  for (const [name, value] of Object.entries(form)) {
    if (name === "salt") written.set(name, new Blob([JSON.stringify(value)], { type: "application/json" }));
    else written.set(name, value as string | Blob);
  }
  return written;
}

async function publish(content: string, cost: bigint) {
  const signed = { ...(await alice.signWrite("create")), content: "A first line." };
  const { updatedUpload: draft } = taken(await api.POST("/create/group", { body: signed }));
  const repeated = refused(await api.POST("/create/group", { body: signed }));
  assert.equal(repeated.code, "nonce_used");
  assert.equal(repeated.file?.cid, draft.cid);

  const { upload } = taken(
    await api.POST("/update/file", {
      params: { query: { cid: draft.cid } },
      body: { ...(await alice.signUpdate(draft.cid, content)), content },
    }),
  );
  assert.equal(upload.group_id, draft.group_id);

  const { thumbnailCid } = taken(
    await api.POST("/publish/file", {
      params: { query: { cid: upload.cid } },
      // The generated type of a binary member is a string; the serializer passes it through.
      body: { ...(await alice.signWrite("publish")), hashtags: "Essay, #Ink", file: picture as unknown as string },
      bodySerializer: writeForm,
    }),
  );
  return { cid: upload.cid, thumbnailCid, cost };
}

async function post({ cid, thumbnailCid, cost }: Awaited<ReturnType<typeof publish>>) {
  const postId = await alice.createPost(cid, thumbnailCid, cost, ["essay", "ink"]);
  const record = await until(async (): Promise<ReadRecord | undefined> => {
    const { files } = taken(await api.GET("/filesMetaData", { params: { query: { cid } } }));
    return files.find((file) => file.keyvalues.status === "onchain");
  });
  assert.equal(record.post_id, postId);
  assert.equal(record.thumbnail_cid, thumbnailCid);
  assert.deepEqual(record.hashtags, ["essay", "ink"]);
  return postId;
}

const headers = await login(alice);
const draft = await publish("A better line.", price);
const mine = taken(await api.GET("/pendingFilesByOwner", { params: { query: { owner: alice.address } }, headers }));
assert.ok(mine.files.some((file) => file.cid === draft.cid && file.post_id === null));
const own = taken(await api.GET("/fileByCid", { params: { query: { cid: draft.cid } }, headers }));
assert.equal(own.content, "A better line.");
const strange = refused(await api.GET("/fileByCid", { params: { query: { cid: draft.cid } } }));
assert.equal(strange.code, "session_missing");

const paid = await post(draft);
const free = await post(await publish("A line for all.", 0n));
const tagged = taken(await api.GET("/filesByTags", { params: { query: { tags: "ink" } } }));
assert.ok(tagged.files.some((file) => file.post_id === paid));

const reader = { params: { query: { user: bob.address, postId: paid } }, headers: await login(bob) };
assert.equal(refused(await api.GET("/fileByPostId", reader)).code, "not_entitled");
await bob.buyPost(paid, price);
assert.equal(taken(await api.GET("/fileByPostId", reader)).content, "A better line.");

const { content } = taken(await api.GET("/freeFileByPostId", { params: { query: { postId: free } } }));
assert.equal(content, "A line for all.");
const closed = refused(await api.GET("/freeFileByPostId", { params: { query: { postId: paid } } }));
switch (closed.code) {
  case "not_free":
    break;
  // @ts-expect-error: a code that the service does not have
  case "no_such_code":
  default:
    throw new Error(closed.code);
}
console.log("The walk is complete.");
