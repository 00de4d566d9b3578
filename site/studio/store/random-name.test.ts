import assert from "node:assert/strict";
import { test } from "node:test";
import { randomName } from "./random-name.ts";

test("a name has 128 bits in hex digits, and is not repeated", () => {
  const names = Array.from({ length: 100 }, randomName);
  for (const name of names) assert.match(name, /^[0-9a-f]{32}$/);
  assert.equal(new Set(names).size, names.length);
});
