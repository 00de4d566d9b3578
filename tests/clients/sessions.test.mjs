// Writing sessions: a browser's key saves all day on one signature of a wallet, until it is
// revoked.
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { BrowserKeyStore, Imprint, WalletNeeded, WritingSession } from "imprint-press";
import { cover, imprint, openStranger, refusalOf, signIn } from "./world.mjs";

const SAVES = 100;

/** The same service in another process, with the same records. */
const replica = await Imprint.connect(process.env.SECOND_URL);

/** The same browser, whose requests reach the other process. */
const at = (service, writing) => new WritingSession(service, writing.record, writing.privateKey);

const keyStore = new BrowserKeyStore();
const open = (wallet, options = {}) => imprint.openWritingSession(wallet, { keyStore, ...options });

/** A wallet that counts how often it is asked. */
function openCounting() {
  const wallet = openStranger();
  const counting = {
    address: wallet.address,
    asked: 0,
    signMessage: (given) => ((counting.asked += 1), wallet.signMessage(given)),
    signTypedData: (given) => ((counting.asked += 1), wallet.signTypedData(given)),
  };
  return counting;
}

/** The code with which a key that the wallet has to replace is refused. */
async function needed(promise) {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  assert.ok(error instanceof WalletNeeded, String(error));
  return [error.cause.status, error.cause.code];
}

test(`a key saves ${SAVES} times, does not publish, and is refused at once when it is revoked`, async () => {
  const wallet = openCounting();
  const writing = await open(wallet);
  assert.equal(writing.privateKey.extractable, false);

  let draft = await writing.save("Save 0");
  for (let save = 1; save < SAVES; save += 1) draft = await writing.save(`Save ${save}, 墨 🖋`, draft.cid);
  assert.equal(wallet.asked, 1);
  assert.equal(draft.keyvalues.owner, wallet.address.toLowerCase());
  draft = await at(replica, writing).save("Saved at another replica.", draft.cid);

  const unpublished = await refusalOf(imprint.publishDraft(writing, draft.cid, { thumbnail: cover, hashtags: ["ink"] }));
  assert.deepEqual([unpublished.status, unpublished.code], [403, "writing_session_scope"]);
  const undeleted = await refusalOf(imprint.deleteDraft(writing, draft.cid));
  assert.deepEqual([undeleted.status, undeleted.code], [403, "writing_session_scope"]);

  const reader = await signIn(wallet);
  assert.deepEqual(await replica.as(reader.session).listWritingSessions(), [writing.record]);
  await reader.revokeWritingSession(writing.id);
  for (const each of [at(replica, writing), writing]) {
    assert.deepEqual(await needed(each.save("Too late.", draft.cid)), [401, "writing_session_invalid"]);
    assert.deepEqual(await needed(each.save("Too late.")), [401, "writing_session_invalid"]);
  }
  assert.deepEqual(await replica.as(reader.session).listWritingSessions(), []);
  assert.equal((await replica.as(reader.session).readDraft(draft.cid)).content, "Saved at another replica.");
});

test("all sessions of a wallet are revoked together, and another wallet's stay", async () => {
  const [alice, bob] = [openStranger(), openStranger()];
  const sessions = [await open(alice), await open(alice)];
  const other = await open(bob, { actions: ["create"], seconds: 60 });
  for (const writing of sessions) await at(replica, writing).save("Words.");
  await (await signIn(alice)).revokeWritingSessions();
  for (const writing of sessions) {
    assert.deepEqual(await needed(at(replica, writing).save("Words.")), [401, "writing_session_invalid"]);
  }
  const draft = await other.save("Words.");
  assert.equal((await refusalOf(other.save("More.", draft.cid))).code, "writing_session_scope");
});

test("a key of another browser signs nothing", async () => {
  const wallet = openStranger();
  const { record } = await open(wallet);
  const { privateKey } = await open(wallet);
  const mixed = new WritingSession(imprint, record, privateKey);
  assert.deepEqual(await needed(mixed.save("Words.")), [401, "writing_session_invalid"]);
});
