import assert from "node:assert/strict";
import { test } from "node:test";
import { learn, suggest } from "./known-values.ts";
import type { Operation, Parameter } from "./request.ts";

const operation = (name: string, path: string): Operation => ({
  name,
  method: "GET",
  path,
  access: "none",
  parameters: [],
});

const parameter = (name: string, required = true): Parameter => ({
  name,
  in: "query",
  required,
  example: "an example",
  kind: "string",
  options: [],
});

test("a field shows the example until something better is known", () =>
  assert.equal(suggest(operation("showPost", "/posts/{id}"), parameter("id"), {}), "an example"));

test("an id is that of a post, of a writing session or of a feed, depending on the path", () => {
  const known = { postId: "7", writingSession: "w", feed: "f" };
  const found = ["/posts/{id}", "/writing/sessions/{id}", "/me/feeds/{id}"].map((path) =>
    suggest(operation("any", path), parameter("id"), known),
  );
  assert.deepEqual(found, ["7", "w", "f"]);
});

test("an operation that reads free posts gets a free one", () => {
  const known = { postId: "7", freePostId: "3" };
  const read = operation("readFreePost", "/freeFileByPostId");
  assert.equal(suggest(read, parameter("postId"), known), "3");
});

test("an optional field stays empty, so that it is not sent", () => {
  const list = operation("listIndexedPosts", "/posts");
  assert.equal(suggest(list, parameter("tag", false), { tag: "essay" }), "");
});

test("a new draft is offered to operations that update and delete drafts", () => {
  const known = learn("createDraft", '{"updatedUpload": {"cid": "bafk1"}}');
  const update = operation("updateDraft", "/update/file");
  assert.equal(suggest(update, parameter("cid"), known), "bafk1");
});

test("the token of a private feed is taken from its URL", () => {
  const said = '{"id": "f", "atom": "http://a.example/feeds/private/to-ken.atom"}';
  assert.deepEqual(learn("addPrivateFeed", said), { feed: "f", feedToken: "to-ken" });
});

test("a response that is not JSON adds no values", () =>
  assert.deepEqual(learn("getPostMarkdown", "# Ink"), {}));
