import assert from "node:assert/strict";
import { test } from "node:test";
import { List } from "./list.js";

/** A list of three pages, and the page tokens that were requested. */
function openList() {
  const asked: (string | undefined)[] = [];
  const pages = [[1, 2], [], [3]];
  const list = new List(async (token?: string) => {
    asked.push(token);
    const at = Number(token ?? 0);
    return { items: pages[at] ?? [], nextPageToken: at + 1 < pages.length ? `${at + 1}` : null };
  });
  return { list, asked };
}

test("a list is read to its end, across an empty page", async () => {
  const { list, asked } = openList();
  assert.deepEqual(await list.collect(), [1, 2, 3]);
  assert.deepEqual(asked, [undefined, "1", "2"]);
});

test("no page is requested before it is needed", async () => {
  const { list, asked } = openList();
  for await (const item of list) if (item === 2) break;
  assert.deepEqual(asked, [undefined]);
  assert.deepEqual(await list.collect(1), [1]);
});

test("a list can be read page by page, from the start or from a page token", async () => {
  const { list } = openList();
  const sizes = [];
  for await (const { items } of list.pages()) sizes.push(items.length);
  assert.deepEqual(sizes, [2, 0, 1]);
  assert.deepEqual((await list.page("2")).items, [3]);
});
