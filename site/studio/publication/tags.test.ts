import assert from "node:assert/strict";
import { test } from "node:test";
import { addTags, normalizeTag } from "./tags.ts";

const LIMITS = { count: 10, length: 32 };

test("one # is dropped from a hashtag, and its case and Unicode form are normalized", () => {
  assert.equal(normalizeTag(" #Essay ", LIMITS), "essay");
  assert.equal(normalizeTag("Ｆｕｌｌ", LIMITS), "full");
  assert.equal(normalizeTag("CAFE\u0301", LIMITS), "café");
  assert.equal(normalizeTag("H\u0331", LIMITS), "\u1e96");
});

test("letters of all scripts, digits, _ and - make hashtags", () => {
  for (const tag of ["größe", "日本語", "हिन्दी", "long_read-2", "٣"]) {
    assert.equal(normalizeTag(tag, LIMITS), tag);
  }
});

test("invalid hashtags are refused with a message", () => {
  const refused = [
    "",
    "#",
    "##a",
    "a b",
    "a.b",
    "<b>",
    "\u0301a",
    "1\u0301",
    "a\u200db",
    "a\ufe0f",
  ];
  for (const text of refused) assert.throws(() => normalizeTag(text, LIMITS), RangeError, text);
});

test("the length counts characters after normalization", () => {
  assert.equal(normalizeTag("e\u0301".repeat(32), LIMITS), "é".repeat(32));
  assert.throws(() => normalizeTag("x".repeat(33), LIMITS), RangeError);
  assert.equal(normalizeTag("𝒙".repeat(32), LIMITS), "x".repeat(32));
});

test("commas and spaces separate hashtags, and repetitions are dropped", () => {
  const added = addTags(["essay"], "#Essay, travel  maps", LIMITS);
  assert.deepEqual(added, { tags: ["essay", "travel", "maps"], rest: "", problem: null });
  assert.deepEqual(addTags([], "旅、地図，本", LIMITS).tags, ["旅", "地図", "本"]);
});

test("the first invalid hashtag stays in the field with everything after it", () => {
  const added = addTags([], "one t.wo three", LIMITS);
  assert.deepEqual(added.tags, ["one"]);
  assert.equal(added.rest, "t.wo three");
  assert.match(added.problem ?? "", /t\.wo/);
});

test("a hashtag beyond the limit stays in the field", () => {
  const added = addTags(["a", "b"], "c d", { count: 3, length: 32 });
  assert.deepEqual(added.tags, ["a", "b", "c"]);
  assert.equal(added.rest, "d");
  assert.equal(added.problem, "A post can have at most 3 hashtags.");
});
