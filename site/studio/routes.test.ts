import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRoute, parseRoute, type Route } from "./routes.ts";

test("a route is parsed from its hash", () => {
  const routes: Route[] = [
    { view: "drafts" },
    { view: "draft", key: "6f0c/ä" },
    { view: "publish", key: "6f0c" },
    { view: "correct", key: "7" },
    { view: "post", key: "7" },
    { view: "continue", key: "7" },
    { view: "income" },
    { view: "profile" },
    { view: "import" },
  ];
  for (const route of routes) assert.deepEqual(parseRoute(formatRoute(route)), route);
});

test("an unknown hash leads to the list of drafts", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/draft/", "#/draft/a/b", "#/draft/%E0%A4%A"]) {
    assert.deepEqual(parseRoute(hash), { view: "drafts" }, hash);
  }
});
