// Writing sessions and logouts, as a page uses them: IndexedDB comes from a package, everything
// else is real.
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { BrowserKeyStore, Imprint, WalletNeeded, resumeWritingSession } from "imprint-press";
import { imprint, openStranger, refusalOf, signIn } from "./world.mjs";

const keyStore = new BrowserKeyStore();
const open = (wallet, options = {}) => imprint.openWritingSession(wallet, { keyStore, ...options });
const resume = (wallet) => resumeWritingSession(imprint, keyStore, wallet);

/** A wallet that counts how often it was asked to sign typed data. */
function openCounted() {
  const wallet = openStranger();
  const counted = { ...wallet, prompts: 0 };
  counted.signTypedData = (given) => {
    counted.prompts += 1;
    return wallet.signTypedData(given);
  };
  return counted;
}

test("one signature of the wallet is enough to create a draft and save it twenty times", async () => {
  const wallet = openCounted();
  const writing = await open(wallet);
  let draft = await writing.save("Version 0");
  for (let number = 1; number <= 20; number += 1) draft = await writing.save(`Version ${number}`, draft.cid);
  assert.equal(wallet.prompts, 1);
  const { content } = await (await signIn(wallet)).readDraft(draft.cid);
  assert.equal(content, "Version 20");
});

test("the key is found again after a reload, and cannot be exported", async () => {
  const wallet = openCounted();
  await open(wallet);
  const found = await resume(wallet);
  assert.ok((await found.save("Saved after a reload.")).cid);
  assert.equal(found.privateKey.extractable, false);
  await assert.rejects(crypto.subtle.exportKey("pkcs8", found.privateKey), /not extractable/);
  assert.equal(await resume(openStranger()), null);
});

test("a wrong clock is corrected by the time in the refusal", async () => {
  const late = await Imprint.connect(imprint.url);
  const writing = await late.openWritingSession(openStranger());
  late.setClock(Date.now() / 1000 - 3600);
  assert.ok((await writing.save("Saved by the clock of the service.")).cid);
  assert.ok(Math.abs(late.now() - imprint.now()) < 60);
});

test("a save whose response is lost is sent again, and saved once", async (context) => {
  const wallet = openStranger();
  const writing = await open(wallet);
  const signedIn = await signIn(wallet);
  const fetch = globalThis.fetch;
  let lost = 0;
  context.mock.method(globalThis, "fetch", async (...given) => {
    const response = await fetch(...given);
    lost += 1;
    if (lost === 1) throw new TypeError("fetch failed");
    return response;
  });
  const draft = await writing.save("Once.");
  assert.equal(lost, 2);
  context.mock.restoreAll();
  const files = await signedIn.listDrafts().collect();
  assert.deepEqual(files.map(({ cid }) => cid), [draft.cid]);
});

test("a revoked session needs the wallet again, and its key is gone", async () => {
  const wallet = openCounted();
  const writing = await open(wallet);
  await writing.save("Before.");
  const signedIn = await signIn(wallet);
  const other = await resume(wallet);
  await signedIn.revokeWritingSession(writing.id);
  await assert.rejects(other.save("After."), WalletNeeded);
  assert.equal(await resume(wallet), null);
  assert.deepEqual(await signedIn.listWritingSessions(), []);
});

test("a session that revokes itself ends everywhere, with its key", async () => {
  const wallet = openStranger();
  const signedIn = await signIn(wallet);
  const writing = await signedIn.openWritingSession(wallet, { keyStore });
  const other = await resume(wallet);
  await writing.revoke();
  assert.equal(await resume(wallet), null);
  assert.deepEqual(await signedIn.listWritingSessions(), []);
  await assert.rejects(other.save("After."), WalletNeeded);
});

test("all sessions of a wallet are listed, and revoked at once", async () => {
  const wallet = openStranger();
  const writing = await open(wallet, { seconds: 600, actions: ["update"] });
  await open(wallet);
  const signedIn = await signIn(wallet);
  const listed = await signedIn.listWritingSessions();
  assert.deepEqual(listed.map(({ actions }) => actions), [["update"], ["create", "update"]]);
  assert.equal(listed[0].wallet, wallet.address.toLowerCase());
  await signedIn.revokeWritingSessions();
  assert.deepEqual(await signedIn.listWritingSessions(), []);
  await assert.rejects(writing.save("After.", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"), WalletNeeded);
});

test("a session that may only update does not create, and none publishes", async () => {
  const wallet = openStranger();
  const updates = await open(wallet, { actions: ["update"] });
  assert.equal((await refusalOf(updates.save("New."))).code, "writing_session_scope");
  const draft = await imprint.createDraft(wallet, "By the wallet.");
  assert.ok((await updates.save("By the key.", draft.cid)).cid);
  const refusal = await refusalOf(imprint.deleteDraft(updates, draft.cid));
  assert.deepEqual([refusal.status, refusal.code], [403, "writing_session_scope"]);
});

test("a reader who signs out has to log in again, and so do all other browsers if all sessions are ended", async () => {
  const wallet = openStranger();
  const read = (signedIn) => signedIn.listDrafts().collect();
  const [first, second, third] = [await signIn(wallet), await signIn(wallet), await signIn(wallet)];
  const { session } = first;
  await first.logout();
  assert.equal(first.session, null);
  assert.equal((await refusalOf(read(imprint.as(session)))).code, "session_ended");
  assert.deepEqual(await read(second), []);
  await second.logout({ all: true });
  assert.equal((await refusalOf(read(third))).code, "session_ended");
  assert.deepEqual(await read(await signIn(wallet)), []);
});

test("a page may read the clock of the service in every response", async () => {
  const response = await fetch(`${imprint.url}/healthz`, { headers: { Origin: "https://page.example" } });
  assert.match(response.headers.get("access-control-expose-headers"), /\bDate\b/);
  assert.ok(Math.abs(Date.parse(response.headers.get("date")) / 1000 - imprint.now()) < 60);
});
