import "../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "imprint-press";
import { findRefusal, refusalSentence } from "./refusals.ts";

const CALL: Call = { to: "0x00000000000000000000000000000000000000bb", data: "0x" };
const AUTHOR = "0x00000000000000000000000000000000000000aa";
const refusing = (error: unknown) => ({
  request: async () => {
    throw error;
  },
});

test("an error of the contract is named, wherever the wallet puts its data", () => {
  const data = `0x83dc6558${"0".repeat(128)}`;
  const ways = [
    { code: 3, message: "execution reverted", data },
    { code: -32603, message: "Internal", data: { originalError: { code: 3, data } } },
    new Error(`reverted with ${data}`),
  ];
  for (const way of ways) assert.match(refusalSentence(way) ?? "", /^The title is too long/);
});

test("a revert without a known error is a refusal without a reason", () => {
  assert.match(refusalSentence({ code: 3, message: "execution reverted" }) ?? "", /without saying/);
});

test("an unavailable node is not a refusal", async () => {
  const away = new Error("Failed to fetch");
  assert.equal(refusalSentence(away), null);
  await assert.rejects(findRefusal(refusing(away), AUTHOR, CALL), away);
});

test("a call is simulated without sending it", async () => {
  assert.equal(await findRefusal({ request: async () => "0x" }, AUTHOR, CALL), null);
  const refused = { code: 3, message: "execution reverted: 0xe508b9dc" };
  assert.match((await findRefusal(refusing(refused), AUTHOR, CALL)) ?? "", /needs a title/);
});
