import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, findEntries } from "./search-index.ts";

const entry = (kind: Entry["kind"], title: string, place = "", words = ""): Entry => ({
  kind,
  title,
  place,
  anchor: title,
  words,
});

const ENTRIES = [
  entry("Field", "cid", "Update a draft"),
  entry("Operation", "Update a draft", "POST /update/file", "updatedraft signed"),
  entry("Operation", "Create a draft", "POST /create/group", "createdraft signed"),
  entry("Error", "not_owner", "Error code", "the file belongs to somebody else"),
];

const titles = (query: string, most?: number) =>
  findEntries(ENTRIES, query, most).map(({ title }) => title);

test("an operation comes before the fields of operations", () =>
  assert.deepEqual(titles("update"), ["Update a draft", "cid"]));

test("every word must occur, in the title, the path or the text", () => {
  assert.deepEqual(titles("draft create"), ["Create a draft"]);
  assert.deepEqual(titles("draft nonsense"), []);
});

test("a code is found by its name and by its meaning, in any case", () => {
  assert.deepEqual(titles("NOT_OWNER"), ["not_owner"]);
  assert.deepEqual(titles("somebody"), ["not_owner"]);
});

test("an empty query finds nothing, and the length of a list is limited", () => {
  assert.deepEqual(titles("  "), []);
  assert.equal(titles("draft", 1).length, 1);
});
