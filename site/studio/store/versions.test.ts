import assert from "node:assert/strict";
import { test } from "node:test";
import { type DraftVersion, DraftVersions, isDue, surplus, type VersionKey } from "./versions.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 1000 * DAY;

const version = (age: number, given: Partial<DraftVersion> = {}): DraftVersion => ({
  account: "0x1",
  key: "a",
  at: NOW - age,
  size: 1,
  content: "x",
  ...given,
});

function store(versions: DraftVersion[]) {
  const isSame = (one: VersionKey, other: VersionKey) =>
    one.key === other.key && one.at === other.at;
  return {
    versions,
    keys: async () => versions.map(({ content, ...key }) => key),
    read: async (key: VersionKey) => versions.find((each) => isSame(each, key)) ?? null,
    put: async (made: DraftVersion) => void versions.push(made),
    remove: async (key: VersionKey) =>
      void versions.splice(
        versions.findIndex((each) => isSame(each, key)),
        1,
      ),
  };
}

test("a text is kept as a version if it is new, has words, and some minutes have passed", () => {
  assert.ok(isDue(null, "Words", NOW));
  assert.ok(!isDue(null, " \n", NOW));
  assert.ok(!isDue(version(DAY, { content: "Words" }), "Words", NOW));
  assert.ok(!isDue(version(4 * MINUTE), "Words", NOW));
  assert.ok(isDue(version(5 * MINUTE), "Words", NOW));
});

test("older versions are thinned to one an hour, then one a day", () => {
  const ages = [0, 5 * MINUTE, 55 * MINUTE, 2 * HOUR, 2 * HOUR + 5 * MINUTE, 30 * HOUR, 31 * HOUR];
  const removed = surplus(
    ages.map((age) => version(age)),
    NOW,
  ).map(({ at }) => NOW - at);
  assert.deepEqual(removed, [31 * HOUR]);
  const within = surplus(
    [2 * HOUR + MINUTE, 2 * HOUR + 20 * MINUTE].map((age) => version(age)),
    NOW,
  );
  assert.deepEqual(
    within.map(({ at }) => NOW - at),
    [2 * HOUR + 20 * MINUTE],
  );
});

test("a draft has at most thirty versions, and their total size is limited per account", () => {
  const many = Array.from({ length: 40 }, (_, index) => version((index + 2) * DAY));
  assert.equal(surplus(many, NOW).length, 10);
  const other = version(0, { key: "b" });
  assert.equal(surplus([...many, other], NOW).length, 10);
  const large = [0, 1, 2].map((index) =>
    version(index * MINUTE, { key: `large ${index}`, size: 16 * 1024 * 1024 }),
  );
  assert.deepEqual(
    surplus(large, NOW).map(({ key }) => key),
    ["large 2"],
  );
});

test("versions follow a draft to its new key, and are removed with it", async () => {
  const kept = store([]);
  let now = NOW;
  const versions = new DraftVersions(kept, () => now);
  await versions.record("0x1", "local-1", "One");
  now += MINUTE;
  await versions.record("0x1", "local-1", "One two");
  assert.equal(kept.versions.length, 1);
  await versions.record("0x1", "local-1", "One two", true);
  await versions.record("0x1", "local-1", "One two", true);
  await versions.rename("0x1", "local-1", "group");
  const listed = await versions.list("0x1", "group");
  assert.deepEqual(
    listed.map(({ content }) => content),
    ["One two", "One"],
  );
  await versions.forget("0x1", "group");
  assert.deepEqual(kept.versions, []);
});
