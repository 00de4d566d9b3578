import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnPost } from "imprint-press";
import { actionsOf, stateOf, studioAddress } from "./own-post.ts";

type Measure = NonNullable<OwnPost["measure"]>["measure"];

const post = (measure: Measure | null, hosted = true) => ({
  hosted,
  measure: measure && {
    postId: "7",
    measure,
    ground: "policy" as const,
    statement: "",
    since: "2026-11-17T00:00:00Z",
  },
});

test("a post that nothing hides is published", () => {
  assert.equal(stateOf(post(null)), "published");
});

test("a measure takes precedence over where the text is stored", () => {
  assert.equal(stateOf(post("unlisted", false)), "unlisted");
  assert.equal(stateOf(post("withheld")), "withheld");
  assert.equal(stateOf(post(null, false)), "elsewhere");
});

test("a post can be corrected only where the service takes corrections", () => {
  assert.equal(actionsOf(post(null), ["posts"]).canCorrect, false);
  assert.equal(actionsOf(post("unlisted"), ["revisions"]).canCorrect, true);
  assert.equal(studioAddress("correct", "7"), "/studio#/correct/7");
});

test("the author can do nothing about a withheld post", () => {
  const actions = actionsOf(post("withheld"), ["revisions"]);
  assert.deepEqual(Object.values(actions), [false, false, false, false]);
});

test("the price of a post whose text is elsewhere can be changed", () => {
  assert.deepEqual(actionsOf(post(null, false), ["revisions"]), {
    hasPage: true,
    canCorrect: false,
    canChangePrice: true,
    canContinue: false,
  });
});
