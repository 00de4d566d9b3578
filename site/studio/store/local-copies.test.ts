import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseCopy, type LocalCopy } from "./local-copies.ts";

test("a tab continues with its own copy, or the latest one of closed tabs", () => {
  const copy = (tab: string, changedAt: number, isSaved = false): LocalCopy => ({
    account: "0xa",
    key: "group",
    tab,
    base: "cid1",
    content: tab,
    isSaved,
    changedAt,
  });
  const [mine, alive, gone, older] = [copy("me", 1), copy("b", 9), copy("c", 5), copy("d", 3)];
  const isAlive = (tab: string) => tab === "b";
  const all = [mine, alive, gone, older];
  assert.deepEqual(chooseCopy(all, "me", isAlive), { mine, left: [gone, older] });
  assert.deepEqual(chooseCopy([alive, gone, older], "me", isAlive), { mine: gone, left: [older] });
  assert.deepEqual(chooseCopy([alive], "me", isAlive), { mine: null, left: [] });
});
