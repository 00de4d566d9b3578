import "../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Code, Refusal } from "imprint-press";

Object.assign(globalThis, { window: new EventTarget() });
Object.assign(globalThis.document, { dispatchEvent: () => true });
const { AccountChanged } = await import("../wallet/index.ts");
const { account, disconnect, useDevelopmentAccount } = await import("../wallet/connection.ts");
const { DOUBTS, expectPresent, failureOf, walletAccount } = await import("./buyer.ts");

const ANN = "0x00000000000000000000000000000000000000A1";
const BOB = "0x00000000000000000000000000000000000000B2";

const wallet = (address: typeof ANN | typeof BOB) =>
  ({ address, name: "Test Wallet", provider: {}, wallet: {}, icon: null }) as never;

const refusal = (code: Code) =>
  new Refusal({ code, status: 403, detail: "", title: "", type: "" } as never);

test("a payment goes on only with the account that began it", () => {
  useDevelopmentAccount(wallet(ANN));
  const buyer = walletAccount(account.value ?? assert.fail());
  assert.equal(expectPresent(buyer), account.value);
  useDevelopmentAccount(wallet(BOB));
  assert.throws(() => expectPresent(buyer), AccountChanged);
  disconnect();
  assert.throws(() => expectPresent(buyer), AccountChanged);
});

test("failures that change what the page offers have a reason", () => {
  assert.equal(failureOf(new AccountChanged()).reason, "account-changed");
  assert.equal(failureOf(refusal("not_entitled")).reason, "not-entitled");
  for (const code of ["session_missing", "session_expired", "session_ended"] as const)
    assert.equal(failureOf(refusal(code)).reason, "session-ended", code);
  for (const other of [refusal("chain_unavailable"), new Error("odd"), null])
    assert.equal(failureOf(other).reason, null);
});

test("a declined payment is no error, and may be tried again", () => {
  const { isCancelled, action } = failureOf(Object.assign(new Error("no"), { code: 4001 }));
  assert.deepEqual([isCancelled, action], [true, "retry"]);
});

test("no sentence about a doubtful payment claims that nothing was paid", () => {
  for (const sentence of Object.values(DOUBTS)) {
    assert.doesNotMatch(sentence, /nothing was (paid|sent)|not paid/i);
    assert.match(sentence, /pay twice|don’t have to pay again/);
  }
});
