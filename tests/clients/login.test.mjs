// Logging in with the messages that wallets' libraries build.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Wallet } from "ethers";
import { SiweMessage, generateNonce } from "siwe";
import { host, imprint, openEthers, openLocal, openStranger, openUnlocked, origin, refusalOf, signIn } from "./world.mjs";

const signer = Wallet.createRandom();

function buildMessage(given = {}) {
  const required = { domain: host, address: signer.address, uri: origin, version: "1", chainId: 31337 };
  return new SiweMessage({ ...required, nonce: generateNonce(), ...given }).prepareMessage();
}

async function logIn(message, by = signer) {
  return imprint.send("/auth/login", { salt: message, address: by.address, signature: await by.signMessage(message) });
}

test("siwe's message, signed by ethers, gives a session of two hours", async () => {
  const before = Date.now();
  const session = await logIn(buildMessage({ statement: "Let me read." }));
  assert.equal(session.address, signer.address.toLowerCase());
  assert.equal(session.expiresIn, "2h");
  const lasting = Date.parse(session.expiresAt) - before;
  assert.ok(Math.abs(lasting - 7_200_000) < 5000, `it lasts ${lasting} ms`);
});

test("siwe's message with every optional field is understood", async () => {
  const message = buildMessage({
    statement: "All of it.",
    issuedAt: new Date().toISOString(),
    expirationTime: new Date(Date.now() + 60_000).toISOString(),
    notBefore: new Date(Date.now() - 60_000).toISOString(),
    requestId: "some-request",
    resources: [`${origin}/docs`, "ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"],
  });
  assert.ok((await logIn(message)).token);
});

for (const [who, wallet] of [
  ["a private key", openLocal(3)],
  ["a node's account", openUnlocked(3)],
  ["an ethers wallet", openEthers()],
  ["somebody without money", openStranger()],
]) {
  test(`viem's message, signed by ${who}, gives a session that reads`, async () => {
    const signedIn = await signIn(wallet);
    assert.deepEqual(await signedIn.listDrafts().collect(), []);
  });
}

test("a message logs in once", async () => {
  const message = buildMessage();
  await logIn(message);
  assert.equal((await refusalOf(logIn(message))).code, "nonce_used");
});

for (const [what, given, code] of [
  ["older than a minute", { issuedAt: new Date(Date.now() - 70_000).toISOString() }, "signature_stale"],
  ["for another site", { domain: "evil.example", uri: "https://evil.example" }, "invalid_login_message"],
  ["for another chain", { chainId: 1 }, "invalid_login_message"],
  ["that has expired", { expirationTime: new Date(Date.now() - 1000).toISOString() }, "signature_stale"],
]) {
  test(`a message ${what} is refused`, async () => {
    assert.equal((await refusalOf(logIn(buildMessage(given)))).code, code);
  });
}

test("a message signed by somebody else is refused", async () => {
  const message = buildMessage();
  const signature = await Wallet.createRandom().signMessage(message);
  const refusal = await refusalOf(imprint.send("/auth/login", { salt: message, address: signer.address, signature }));
  assert.deepEqual([refusal.status, refusal.code], [401, "signature_invalid"]);
});
