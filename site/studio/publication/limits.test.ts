import "../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byteLength,
  cleanTitle,
  fitBytes,
  measureDescription,
  measureTitle,
  parsePrice,
  priceProblem,
} from "./limits.ts";

test("texts are measured in bytes of UTF-8", () => {
  assert.equal(byteLength("año"), 4);
  assert.equal(byteLength("🖋"), 4);
});

test("a title of 100 bytes fits, and one byte more does not", () => {
  assert.equal(measureTitle("é".repeat(50)).problem, null);
  const long = measureTitle(`${"é".repeat(50)}!`);
  assert.equal(long.problem, "Shorten the title by 1 character.");
  assert.deepEqual([long.used, long.limit, long.isOver], [51, 50, true]);
});

test("characters are counted as authors see them, and their limit depends on their bytes", () => {
  const shown = (text: string) => {
    const { used, limit } = measureTitle(text);
    return [used, limit];
  };
  assert.deepEqual(shown(""), [0, 100]);
  assert.deepEqual(shown("plain"), [5, 100]);
  assert.deepEqual(shown("日本語"), [3, 33]);
  assert.deepEqual(shown("👩‍👩‍👧"), [1, 5]);
  assert.equal(measureTitle("日".repeat(35)).problem, "Shorten the title by 2 characters.");
});

test("a title of nothing but white space is missing", () => {
  assert.equal(measureTitle(" \n\t").problem, "Give the post a title.");
});

test("a title is one line", () => {
  assert.equal(cleanTitle("  One \n two\t three "), "One two three");
});

test("half a character is reported, because the chain could not store it", () => {
  assert.match(measureTitle("\ud83d").problem ?? "", /broken character/);
});

test("a description may be empty and has at most 500 bytes", () => {
  assert.equal(measureDescription("").problem, null);
  assert.equal(measureDescription("x".repeat(500)).problem, null);
  assert.equal(
    measureDescription("x".repeat(512)).problem,
    "Shorten the description by 12 characters.",
  );
});

test("a text is cut between characters and at a word, never above its byte limit", () => {
  assert.equal(fitBytes("short", 100), "short");
  assert.equal(fitBytes("one two three four five", 20), "one two three…");
  const cut = fitBytes("🖋".repeat(40), 100);
  assert.ok(byteLength(cut) <= 100);
  assert.doesNotMatch(cut, /\p{Surrogate}/u);
});

test("a price is exact to the last wei", () => {
  assert.equal(parsePrice("0.000000000000000001"), 1n);
  assert.equal(parsePrice("0.1"), 100_000_000_000_000_000n);
  assert.equal(parsePrice("1"), 10n ** 18n);
});

test("a price may begin or end with the point, and an empty one is free", () => {
  assert.equal(parsePrice(".5"), 5n * 10n ** 17n);
  assert.equal(parsePrice("0."), 0n);
  assert.equal(parsePrice("  "), 0n);
});

test("an invalid price has a message", () => {
  for (const text of ["abc", "-1", "1e-3", "0x1", ".", "1.2.3", "0.0000000000000000001"]) {
    assert.notEqual(priceProblem(text), null, text);
  }
  assert.match(priceProblem("0,05") ?? "", /decimal point/);
  assert.match(priceProblem("1.000000000000000001") ?? "", /at most 1 ETH\./);
});
