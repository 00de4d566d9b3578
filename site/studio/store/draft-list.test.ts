import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostedFile, Page } from "imprint-press";
import { DraftList } from "./draft-list.ts";

const file = (group: string, day = 1): HostedFile =>
  ({ cid: `${group}-${day}`, group_id: group, created_at: `2026-11-0${day}` }) as HostedFile;

const page = (items: HostedFile[], nextPageToken: string | null = null): Page<HostedFile> => ({
  items,
  nextPageToken,
});

/** A list, and its requests, to which a test responds one by one. */
function opened() {
  const requests: {
    readonly token: string | undefined;
    respond(page: Page<HostedFile>): void;
    fail(error: unknown): void;
  }[] = [];
  const list = new DraftList(
    (token) =>
      new Promise((respond, fail) => {
        requests.push({ token, respond, fail });
      }),
  );
  const respond = async (at: number, found: Page<HostedFile>) => {
    requests[at]?.respond(found);
    await settled();
  };
  return { list, requests, respond };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const stateOf = (list: DraftList): string => list.listing.value.state;
const cidsOf = (list: DraftList): string[] => list.files.value.map(({ cid }) => cid);

test("pages are loaded until the list is complete", async () => {
  const { list, requests, respond } = opened();
  void list.reload();
  await respond(0, page([file("a")], "next"));
  assert.equal(stateOf(list), "partial");
  void list.loadMore();
  assert.equal(requests[1]?.token, "next");
  await respond(1, page([file("b")]));
  assert.deepEqual(cidsOf(list), ["a-1", "b-1"]);
  assert.equal(stateOf(list), "complete");
});

test("a reload that is requested during another one follows it", async () => {
  const { list, requests, respond } = opened();
  void list.reload();
  void list.reload();
  void list.reload();
  assert.equal(requests.length, 1);
  await respond(0, page([]));
  assert.equal(stateOf(list), "loading");
  await respond(1, page([file("a")]));
  assert.deepEqual(cidsOf(list), ["a-1"]);
  assert.equal(stateOf(list), "complete");
  assert.equal(requests.length, 2);
});

test("a deleted draft does not reappear with an older response", async () => {
  const { list, respond } = opened();
  void list.reload();
  await respond(0, page([file("a"), file("b")]));
  void list.reload();
  list.drop("a");
  await respond(1, page([file("a"), file("b")]));
  assert.deepEqual(cidsOf(list), ["b-1"]);
  await respond(2, page([file("b")]));
  assert.deepEqual(cidsOf(list), ["b-1"]);
});

test("a failure is reported, unless the list is loaded again anyway", async () => {
  const { list, requests, respond } = opened();
  void list.reload();
  void list.reload();
  requests[0]?.fail(new Error("away"));
  await settled();
  assert.equal(stateOf(list), "loading");
  requests[1]?.fail(new Error("away"));
  await settled();
  assert.equal(stateOf(list), "failed");
  void list.reload();
  await respond(2, page([file("a")]));
  assert.equal(stateOf(list), "complete");
});

test("a response for an earlier account is not shown", async () => {
  const { list, respond } = opened();
  void list.reload();
  list.clear();
  void list.reload();
  await respond(0, page([file("theirs")]));
  assert.deepEqual(cidsOf(list), []);
  await respond(1, page([file("mine")]));
  assert.deepEqual(cidsOf(list), ["mine-1"]);
});

test("of two versions of a draft the newer one is kept", () => {
  const { list } = opened();
  list.keep(file("a", 2));
  list.keep(file("a", 1));
  assert.deepEqual(cidsOf(list), ["a-2"]);
});
