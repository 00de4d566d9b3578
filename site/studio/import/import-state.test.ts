import "../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundPost } from "./formats/found-post.ts";
import {
  type ImportEvent,
  type ImportRecord,
  type ImportState,
  NOTHING,
  pendingItems,
  reduce,
} from "./import-state.ts";

const post = (source: string): FoundPost =>
  ({ source, title: source.toUpperCase(), format: "Ghost", pictures: [] }) as unknown as FoundPost;

const record = (source: string, isMade: boolean): ImportRecord => ({
  account: "0xa",
  source,
  title: source.toUpperCase(),
  key: isMade ? `group-${source}` : `local-${source}`,
  isMade,
});

const after = (...events: ImportEvent[]): ImportState => events.reduce(reduce, NOTHING);

const standings = (state: ImportState): string[] =>
  state.items.map(({ source, standing }) => `${source} ${standing.kind}`);

const found = (posts: string[], records: ImportRecord[] = []): ImportEvent => ({
  kind: "found",
  posts: posts.map(post),
  notes: [],
  records,
});

test("found posts are chosen, except those that were imported before", () => {
  const state = after({ kind: "reading" }, found(["a", "b", "c"], [record("b", true)]));
  assert.deepEqual(standings(state), ["a found", "b made", "c found"]);
  assert.deepEqual(
    pendingItems(state).map(({ source }) => source),
    ["a", "c"],
  );
});

test("an interrupted import is offered without its files", () => {
  const state = after({ kind: "records", records: [record("a", false), record("b", true)] });
  assert.deepEqual(standings(state), ["a kept"]);
  assert.equal(pendingItems(state).length, 1);
});

test("a resumed import that is done stays in the list when other files are read", () => {
  const made: ImportEvent = { kind: "made", source: "a", key: "group-a" };
  const records = [record("a", false)];
  const state = after({ kind: "records", records }, made, found(["b"], [record("a", true)]));
  assert.deepEqual(standings(state), ["a made", "b found"]);
});

test("files of an interrupted import are recognized", () => {
  const records = [record("a", false)];
  const state = after({ kind: "records", records }, found(["a", "b"], records));
  assert.deepEqual(standings(state), ["a kept", "b found"]);
});

test("posts of two sets of files are shown together, and the choice is kept", () => {
  const state = after(
    found(["a"]),
    { kind: "choose", source: "a", isChosen: false },
    found(["a", "b"]),
  );
  assert.deepEqual(
    state.items.map(({ isChosen }) => isChosen),
    [false, true],
  );
  assert.deepEqual(pendingItems(reduce(state, { kind: "choose-all", isChosen: true })).length, 2);
});

test("progress counts the texts stored in this browser, then the saved drafts", () => {
  let state = after(found(["a", "b"]), { kind: "keeping" });
  assert.deepEqual([state.phase, state.done, state.total], ["keeping", 0, 2]);
  state = reduce(state, { kind: "kept", source: "a", key: "local-a" });
  state = reduce(state, { kind: "failed", source: "b", sentence: "Too large." });
  state = reduce(state, { kind: "saving" });
  assert.deepEqual([state.phase, state.done, state.total], ["saving", 0, 1]);
  state = reduce(state, { kind: "made", source: "a", key: "group-a" });
  assert.deepEqual([state.done, standings(state)], [1, ["a made", "b failed"]]);
});

test("files without posts are reported", () => {
  assert.equal(after(found([])).problem, "No posts were found in these files.");
});

test("a forgotten post can be imported again", () => {
  const state = after(found(["a"], [record("a", true)]), { kind: "forgotten", source: "a" });
  assert.equal(pendingItems(state).length, 1);
});
