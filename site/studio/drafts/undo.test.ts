import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentDeletions } from "./undo.ts";

const draft = (name: string) => ({ key: name, name, account: "0x1", content: name });

test("a deletion can be undone once, and only for ten seconds", () => {
  const due: { run: () => void; seconds: number }[] = [];
  const deletions = new RecentDeletions({
    set: (run, seconds) => due.push({ run, seconds }),
  });
  const [one, two] = [draft("one"), draft("two")];
  deletions.add(one);
  deletions.add(two);
  assert.deepEqual(deletions.drafts.value, [two, one]);
  assert.ok(deletions.take(two));
  assert.ok(!deletions.take(two));
  assert.deepEqual(
    due.map(({ seconds }) => seconds),
    [10, 10],
  );
  for (const { run } of due) run();
  assert.deepEqual(deletions.drafts.value, []);
  assert.ok(!deletions.take(one));
});
