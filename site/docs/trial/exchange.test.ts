import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_SHOWN, readBody } from "./exchange.ts";

const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer as ArrayBuffer;

test("JSON is indented", () =>
  assert.equal(readBody(bytes('{"a":1}'), "application/json"), '{\n  "a": 1\n}'));

test("an invalid JSON body is shown unchanged", () =>
  assert.equal(readBody(bytes("{oops"), "application/problem+json"), "{oops"));

test("a binary body is shown as its number of bytes", () =>
  assert.equal(readBody(bytes("\u0001\u0002"), "image/png"), "2 bytes of image/png"));

test("a long text is truncated, with a note of how much is missing", () => {
  const shown = readBody(bytes("x".repeat(MOST_SHOWN + 5)), "text/plain");
  assert.equal(shown, `${"x".repeat(MOST_SHOWN)}\n… and 5 more characters`);
});

test("an empty body is an empty text", () => assert.equal(readBody(bytes(""), "text/plain"), ""));
