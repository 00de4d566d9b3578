import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, headersOf, isDestructive, type Operation, type Parameter } from "./request.ts";

const parameter = (name: string, place: Parameter["in"]): Parameter => ({
  name,
  in: place,
  required: false,
  example: "",
  kind: "string",
  options: [],
});

const READ: Operation = {
  name: "getTagFeedAtom",
  method: "GET",
  path: "/feeds/tags/{tag}.atom",
  access: "none",
  parameters: [
    parameter("tag", "path"),
    parameter("limit", "query"),
    parameter("q", "query"),
    parameter("If-None-Match", "header"),
  ],
};

test("values are encoded into the path and the query, and empty ones are left out", () =>
  assert.equal(
    addressOf(READ, { tag: "a/b", limit: "", q: "ink & paper" }),
    "/feeds/tags/a%2Fb.atom?q=ink+%26+paper",
  ));

test("only the given headers are sent", () => {
  assert.deepEqual(headersOf(READ, { tag: "a", "If-None-Match": '"x"' }), {
    "If-None-Match": '"x"',
  });
  assert.deepEqual(headersOf(READ, { "If-None-Match": "" }), {});
});

test("a request that removes something is destructive, whatever its method", () => {
  const named = (name: string, method: Operation["method"]) =>
    isDestructive({ ...READ, name, method });
  assert.deepEqual(
    [named("deleteDraft", "POST"), named("removePrivateFeed", "DELETE"), named("logout", "POST")],
    [true, true, true],
  );
  assert.deepEqual([named("createDraft", "POST"), named("showPost", "GET")], [false, false]);
});
