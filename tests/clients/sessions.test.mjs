// Writing sessions: a browser's key saves all day on one signature of a wallet, until it is revoked.
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { keccak256 } from "viem";
import { Imprint } from "../../examples/viem/imprint.mjs";
import {
  WalletNeeded,
  WritingSession,
  listWritingSessions,
  revokeWritingSessions,
} from "../../examples/viem/writing_session.mjs";
import { cover, imprint, openStranger, refusalOf } from "./world.mjs";

const SAVES = 100;

/** The same service in another process, over the same records. */
const replica = await Imprint.connect(process.env.SECOND_URL);

/** The same browser, whose requests reach the other process. */
const at = (service, writing) => new WritingSession(service, writing.session, writing.privateKey);

/** A wallet that counts how often it is asked. */
function openCounting() {
  const wallet = openStranger();
  const counting = {
    account: wallet.account,
    asked: 0,
    signMessage: (given) => ((counting.asked += 1), wallet.signMessage(given)),
    signTypedData: (given) => ((counting.asked += 1), wallet.signTypedData(given)),
  };
  return counting;
}

const signIn = (wallet) => imprint.signIn(wallet, imprint.facts.service);

/** The code with which a key is refused that the wallet has to replace. */
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
  const writing = await WritingSession.open(imprint, wallet);
  assert.equal(writing.privateKey.extractable, false);

  let draft = await writing.save("Save 0");
  for (let save = 1; save < SAVES; save += 1) draft = await writing.save(`Save ${save}, 墨 🖋`, draft.cid);
  assert.equal(wallet.asked, 1);
  assert.equal(draft.keyvalues.owner, wallet.account.address.toLowerCase());
  draft = await at(replica, writing).save("Saved at another replica.", draft.cid);

  const thumbnailHash = keccak256(new Uint8Array(await cover.arrayBuffer()));
  const signed = await writing.sign("publish", { cid: draft.cid, thumbnailHash, hashtags: "ink" });
  const form = new FormData();
  for (const name of ["address", "signature", "session"]) form.set(name, signed[name]);
  form.set("salt", JSON.stringify(signed.salt));
  form.set("hashtags", "ink");
  form.set("file", cover, "thumbnail");
  const unpublished = await refusalOf(imprint.send(`/publish/file?cid=${draft.cid}`, form));
  assert.deepEqual([unpublished.status, unpublished.code], [403, "writing_session_scope"]);
  const body = await writing.sign("delete", { cid: draft.cid });
  const undeleted = await refusalOf(imprint.send(`/delete/file?cid=${draft.cid}`, body));
  assert.deepEqual([undeleted.status, undeleted.code], [403, "writing_session_scope"]);

  const reader = await signIn(wallet);
  assert.deepEqual(await listWritingSessions(replica, reader), [writing.session]);
  await writing.revoke(reader);
  for (const each of [at(replica, writing), writing]) {
    assert.deepEqual(await needed(each.save("Too late.", draft.cid)), [401, "writing_session_invalid"]);
    assert.deepEqual(await needed(each.save("Too late.")), [401, "writing_session_invalid"]);
  }
  assert.deepEqual(await listWritingSessions(replica, reader), []);
  assert.equal((await replica.readDraft(reader, draft.cid)).content, "Saved at another replica.");
});

test("all sessions of a wallet are revoked together, and another wallet's stay", async () => {
  const [alice, bob] = [openStranger(), openStranger()];
  const sessions = [await WritingSession.open(imprint, alice), await WritingSession.open(imprint, alice)];
  const other = await WritingSession.open(imprint, bob, { actions: ["create"], seconds: 60 });
  for (const writing of sessions) await at(replica, writing).save("Words.");
  await revokeWritingSessions(imprint, await signIn(alice));
  for (const writing of sessions) {
    assert.deepEqual(await needed(at(replica, writing).save("Words.")), [401, "writing_session_invalid"]);
  }
  const draft = await other.save("Words.");
  assert.equal((await refusalOf(other.save("More.", draft.cid))).code, "writing_session_scope");
});

test("a key of another browser signs nothing", async () => {
  const wallet = openStranger();
  const { session } = await WritingSession.open(imprint, wallet);
  const { privateKey } = await WritingSession.open(imprint, wallet);
  const mixed = new WritingSession(imprint, session, privateKey);
  assert.deepEqual(await needed(mixed.save("Words.")), [401, "writing_session_invalid"]);
});
