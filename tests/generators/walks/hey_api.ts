// From a draft to a reader, with the client that @hey-api/openapi-ts generates.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createClient, createConfig } from "./imprint/client/index.js";
import {
  createDraft,
  deleteDraft,
  getServiceFacts,
  listDrafts,
  listPosts,
  listPostsByTags,
  listWritingSessions,
  login,
  openWritingSession,
  publishDraft,
  readDraft,
  readFreePost,
  readPost,
  revokeWritingSession,
  updateDraft,
  type Problem,
  type ProblemCode,
  type ReadRecord,
} from "./imprint/index.js";
import { until, Wallet } from "./wallet.js";

const [url, cover] = process.argv.slice(2) as [string, string];
const client = createClient(createConfig({ baseUrl: url }));
const file = new Blob([await readFile(cover)], { type: "image/png" });
const price = 10n ** 15n;

/** The data of a response; throws the problem if the service refused. */
function taken<T>({ data, error }: { data?: T; error?: Problem }): T {
  if (data === undefined) throw new Error(`refused: ${error?.code} ${error?.detail}`);
  return data;
}

/** The code of a response; throws if the service did not refuse. */
function codeOf({ error }: { data?: unknown; error?: Problem }): ProblemCode {
  if (error === undefined) throw new Error("The service did not refuse.");
  return error.code;
}

const facts = taken(await getServiceFacts({ client }));
const [alice, bob] = [new Wallet(facts, 3), new Wallet(facts, 4)];

async function signIn(wallet: Wallet): Promise<string> {
  return taken(await login({ client, body: await wallet.signLogin(url) })).token;
}

async function publish(content: string) {
  const first = { ...(await alice.signWrite("create")), content: "A first line." };
  const { updatedUpload } = taken(await createDraft({ client, body: first }));
  const second = { ...(await alice.signUpdate(updatedUpload.cid, content)), content };
  const { upload } = taken(await updateDraft({ client, query: { cid: updatedUpload.cid }, body: second }));
  const form = { ...(await alice.signWrite("publish")), file, hashtags: "hey" };
  const { thumbnailCid } = taken(await publishDraft({ client, query: { cid: upload.cid }, body: form }));
  return { cid: upload.cid, thumbnailCid };
}

async function post(cid: string, thumbnailCid: string, cost: bigint) {
  const postId = await alice.createPost(cid, thumbnailCid, cost, ["hey"]);
  await until(async (): Promise<ReadRecord | undefined> => {
    const { files } = taken(await listPosts({ client, query: { cid } }));
    return files.find((each) => each.keyvalues.status === "onchain" && each.post_id === postId);
  });
  return postId;
}

const auth = await signIn(alice);
const draft = await publish("A better line.");
const { files } = taken(await listDrafts({ client, auth, query: { owner: alice.address } }));
assert.ok(files.some((each) => each.cid === draft.cid));
assert.equal(taken(await readDraft({ client, auth, query: { cid: draft.cid } })).content, "A better line.");
assert.equal(codeOf(await readDraft({ client, query: { cid: draft.cid } })), "session_missing");

const paid = await post(draft.cid, draft.thumbnailCid, price);
const shared = await publish("A line for all.");
const free = await post(shared.cid, shared.thumbnailCid, 0n);
const tagged = taken(await listPostsByTags({ client, query: { tags: "hey" } }));
assert.ok(tagged.count >= 2 && tagged.next_page_token !== undefined);

const reader = { client, auth: await signIn(bob), query: { user: bob.address, postId: paid } };
assert.equal(codeOf(await readPost(reader)), "not_entitled");
await bob.buyPost(paid, price);
assert.equal(taken(await readPost(reader)).content, "A better line.");

assert.equal(taken(await readFreePost({ client, query: { postId: free } })).content, "A line for all.");
assert.equal(codeOf(await readFreePost({ client, query: { postId: paid } })), "not_free");
const removal = { client, query: { cid: draft.cid }, body: await alice.signWrite("delete") };
assert.equal(codeOf(await deleteDraft(removal)), "already_onchain");

const { session } = taken(await openWritingSession({ client, body: await alice.signWritingSession(facts.service) }));
assert.deepEqual(session.actions, ["create", "update"]);
const writing = { client, auth: await signIn(alice) };
assert.ok(taken(await listWritingSessions(writing)).sessions.some((each) => each.id === session.id));
const revoked = await revokeWritingSession({ ...writing, path: { id: session.id } });
assert.equal(revoked.error, undefined);
assert.equal(codeOf(await revokeWritingSession({ ...writing, path: { id: session.id } })), "not_found");
console.log("The walk is complete.");
